"""The stack of layers as its users meet it: labels, names, sizes, tests against chance, surprise."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from hicorex import Corex, HicorexError, HierarchicalCorex, representation_bounds
from hicorex.datasets import make_independent_clusters, make_latent_tree


@pytest.fixture(scope="module")
def tree():
    return make_latent_tree(600, 60, 6, root_flip=0.15, random_state=0)


@pytest.fixture(scope="module")
def model(tree):
    return HierarchicalCorex((6, 2, 1), n_states=(2, 3, 2), random_state=0).fit(tree[0])


def test_every_layer_has_its_labels_and_numbers(model, tree):
    X, _ = tree
    labels = model.transform(X)
    assert labels.shape == (600, 9)
    assert model.posteriors(X).shape == (600, 9, 3)
    assert_allclose(model.posteriors(X).sum(axis=2), 1)
    assert model.log_z(X).shape == (600, 9)
    assert model.log_odds(X).shape == (600, 9, 2)
    layers = [1, 2, 3]
    assert [model.posteriors(X, layer=k).shape for k in layers] == [(600, 6, 2), (600, 2, 3), (600, 1, 2)]
    assert [model.log_z(X, layer=k).shape for k in layers] == [(600, 6), (600, 2), (600, 1)]
    assert [model.log_odds(X, layer=k).shape for k in layers] == [(600, 6, 1), (600, 2, 2), (600, 1, 1)]
    assert_array_equal(np.hstack([model.log_z(X, layer=k) for k in layers]), model.log_z(X))
    assert_array_equal(model.posteriors(X).argmax(axis=2), labels)
    with pytest.raises(HicorexError, match="layer is 4; this model has layers 1 to 3"):
        model.log_z(X, layer=4)
    assert_allclose(model.score_samples(X), model.log_z(X).sum(axis=1))
    assert_allclose(model.score(X), model.tc_)
    assert_allclose(model.tc_, sum(layer.tc_ for layer in model.layers_))


def test_most_likely_labels_feed_the_next_layer(model, tree):
    X, _ = tree
    below = X
    for layer, labels in zip(model.layers_, np.split(model.transform(X), [6, 8], axis=1), strict=True):
        assert isinstance(layer, Corex)
        assert_array_equal(layer.transform(below), labels)
        below = labels


def test_frames_name_the_factors_of_all_layers(tree):
    X = pd.DataFrame(tree[0]).add_prefix("v").astype("category")
    model = HierarchicalCorex((6, 1), n_states=2, n_init=2, random_state=0).set_output(transform="pandas").fit(X)
    labels = model.transform(X)
    assert list(labels.columns) == [*(f"layer1_factor{j}" for j in range(6)), "layer2_factor0"]
    assert list(model.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(X.rename(columns={"v0": "w"}))


def test_new_samples_with_missing_values_go_through_all_layers(model, tree):
    X, _ = tree
    holes = X.astype(float)
    holes[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    same = (model.transform(holes) == model.transform(X)).mean(axis=0)
    assert same[:6].min() > 0.9
    assert np.isfinite(model.score_samples(holes)).all()
    assert np.isfinite(model.bounds(holes).lower)
    fitted = HierarchicalCorex((6, 1), n_states=2, marginals="categorical", random_state=0).fit(holes)
    assert adjusted_rand_score(tree[1].clusters, fitted.layers_[0].clusters_) > 0.9
    assert np.isfinite(fitted.bounds(holes).lower)


def test_weights_are_repeated_rows(tree):
    X, weight = tree[0][:200], np.random.default_rng(0).integers(0, 3, 200)
    weighted = HierarchicalCorex((3, 1), n_states=2, n_init=2, random_state=0).fit(X, sample_weight=weight)
    repeated = HierarchicalCorex((3, 1), n_states=2, n_init=2, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert_allclose(weighted.bounds_.lower, repeated.bounds_.lower)
    assert_allclose(weighted.bounds_.lower_stderr, repeated.bounds_.lower_stderr)
    assert_allclose(weighted.bounds_.upper, repeated.bounds_.upper)


def test_the_same_seed_gives_the_same_bits(tree):
    X, _ = tree
    one, four = (HierarchicalCorex((6, 1), n_states=2, n_init=2, n_jobs=n, random_state=3).fit(X) for n in (1, 4))
    assert one.bounds_ == four.bounds_
    assert one.bounds(X, cv=2) == four.bounds(X, cv=2)
    for a, b in zip(one.layers_, four.layers_, strict=True):
        assert_array_equal(a.alpha_, b.alpha_)


def test_pickled_models_work_but_do_not_carry_the_table(model, tree):
    X, _ = tree
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X), model.transform(X))
    assert again.bounds() == model.bounds()
    assert again.bounds(X) == model.bounds(X)
    assert again.bounds(X, cv=2) == model.bounds(cv=2)
    with pytest.raises(HicorexError, match="no longer knows the samples of its fit; pass them as X"):
        again.bounds(cv=2)
    with pytest.raises(HicorexError, match="pass them as X"):
        again.significance()
    assert clone(model).layers == (6, 2, 1)


# Progress


def test_verbose_fits_tell_how_far_they_are(tree, capsys):
    HierarchicalCorex("auto", n_states=2, n_init=2, verbose=1, random_state=0).fit(tree[0][:200, :20])
    told = capsys.readouterr().err
    assert "layer 1\n" in told
    assert "1 factors of 2 states: " in told
    assert "iteration 10: " in told
    HierarchicalCorex((2, 1), n_states=2, n_init=1, random_state=0).fit(tree[0][:200, :20])
    assert capsys.readouterr().err == ""


# Chance


def test_planted_layers_are_significant_and_noise_is_not(tree):
    X, _ = tree
    planted = HierarchicalCorex((6, 1), n_states=2, n_init=2, random_state=0).fit(X).significance(X, n_permutations=19)
    assert [row.name for row in planted] == [
        "layer1",
        *(f"layer1_factor{j}" for j in range(6)),
        "layer2",
        "layer2_factor0",
    ]
    assert all(row.p_value == 0.05 for row in planted)
    noise = np.random.default_rng(0).integers(2, size=(100, 20))
    chance = HierarchicalCorex((2, 1), n_states=2, n_init=2, random_state=0).fit(noise).significance(n_permutations=200)
    assert all(row.p_value > 0.02 for row in chance)
    # Where chance does as well at once, ten permutations are enough.
    assert min(row.n_permutations for row in chance) < 200
    assert list(planted.to_frame().columns) == ["explains", "p_value", "n_permutations"]
    assert repr(planted).count("\n") == 9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_p_values_of_noise_are_no_smaller_than_they_should_be():
    """In one of ten tables of noise the p-value is below a tenth, not more; where nothing is found it is 1."""
    p_values = []
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(30, 10))
        corex = Corex(1, n_states=2, n_init=1, max_iter=10, random_state=seed)
        p_values.append(corex.fit(X).significance(n_permutations=39)[0].p_value)
    assert np.mean(np.array(p_values) <= 0.1) <= 0.2
    assert np.mean(p_values) > 0.35


def test_significance_wants_the_samples_of_the_fit(model, tree):
    with pytest.raises(HicorexError, match="X, of 10 samples, is not what the model was fitted to, 600 samples"):
        model.significance(tree[0][:10])
    with pytest.raises(HicorexError, match="is not what the model was fitted to"):
        model.significance(1 - tree[0][::-1])
    for number in (0, 3.0, "3", True):
        with pytest.raises(HicorexError, match=f"n_permutations is {number!r}"):
            model.significance(tree[0], n_permutations=number)
    weighted = Corex(1, n_states=2, n_init=1, random_state=0).fit(tree[0], sample_weight=np.arange(1, 601))
    with pytest.raises(HicorexError, match="different weights"):
        weighted.significance()


def test_arguments_in_the_wrong_place_are_recognised(model, tree):
    with pytest.raises(HicorexError, match="write n_permutations=20"):
        model.significance(20)
    with pytest.raises(HicorexError, match="write cv=5"):
        model.bounds(5)
    for cv in (1, 601):
        with pytest.raises(HicorexError, match=f"cv is {cv}; give from 2 to 600 folds"):
            model.bounds(cv=cv)
    with pytest.raises(HicorexError, match="cv leaves 1 sample to fit to"):
        model.bounds(tree[0][:2], cv=2)


# Surprise


def test_surprise_names_the_sample_and_the_factor():
    X, truth = make_independent_clusters(n_samples=300, cluster_size=20, noise=0.3, random_state=0)
    model = HierarchicalCorex((4,), n_states=2, random_state=0).fit(X)
    usual = model.surprise(X)
    assert usual.samples.shape == (300,)
    assert usual.factors.shape == (300, 4)
    assert_allclose([usual.samples.mean(), usual.samples.std()], [0, 1], atol=1e-9)
    assert_allclose(usual.factors.std(axis=0), 1, atol=1e-9)
    odd = X[:1].copy()
    broken = np.flatnonzero(truth.clusters == 2)
    odd[0, broken[::2]] = 1 - odd[0, broken[::2]]  # half of one group says the opposite
    owner = np.bincount(model.layers_[0].clusters_[broken]).argmax()
    surprise = model.surprise(odd)
    assert surprise.samples[0] < -5
    assert surprise.factors[0].argmin() == owner
    assert np.abs(np.delete(surprise.factors[0], owner)).max() < 4


def test_surprise_of_a_factor_without_use_is_zero():
    X = np.random.default_rng(0).normal(size=(50, 3))
    corex = Corex(3, n_states=2, random_state=0).fit(X)
    assert np.isfinite(corex.surprise(X).factors).all()


# Real data


def read_table(path, **options):
    return pd.read_csv(path, **options)


@pytest.fixture(scope="module")
def finance(real_data):
    returns = read_table(real_data / "sp500" / "monthly_returns.csv.gz", index_col=0)
    sectors = read_table(real_data / "sp500" / "sectors.csv", index_col=0, keep_default_na=False)
    return returns, sectors.loc[returns.columns, "gics_sector"]


@pytest.mark.parametrize(("marginals", "seed"), [("auto", 0), ("rank", 1)])
def test_october_2008_is_the_strangest_month(finance, marginals, seed):
    returns, _ = finance
    model = HierarchicalCorex((20, 3, 1), n_states=3, marginals=marginals, random_state=seed).fit(returns)
    surprise = model.surprise(returns)
    assert returns.index[np.abs(surprise.samples).argmax()] == "2008-10"
    for bounds in (model.bounds_, model.bounds(cv=5)):
        assert all(row.contribution > 2 * row.contribution_stderr for row in bounds.layers)


def test_clusters_of_companies_agree_with_their_sectors(finance):
    """By the leading directions alone; what more starts add to the objective, sectors do not know of."""
    returns, sectors = finance
    agreement = []
    for seed in range(6):
        corex = Corex(40, n_states=4, marginals="rank", structure="tree", n_init=1, random_state=seed).fit(returns)
        agreement.append(normalized_mutual_info_score(sectors, corex.clusters_))
    assert np.mean(agreement) >= 0.54


# Bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"layers": (3, 8)}, r"layers \(3, 8\) grow upward; give the largest first"),
        ({"layers": (8, 0)}, "layers has 0 in it"),
        ({"layers": ()}, "layers is empty"),
        ({"layers": (8, 2.5)}, "layers has 2.5 in it"),
        ({"layers": (True,)}, "layers has True in it"),
        ({"layers": (3, "auto")}, "layers has 'auto' in it"),
        ({"layers": 8}, r"layers is 8; write \(8,\) for one layer"),
        ({"layers": "automatic"}, "The 'layers' parameter of HierarchicalCorex must be"),
        ({"layers": (3, 1), "n_states": (2, 2, 2)}, "n_states lists 3 numbers for 2 layers"),
        ({"layers": (3, 1), "n_states": (2, 1)}, "n_states has 1 in it; each layer needs a whole number from 2"),
        ({"layers": "auto", "n_states": (2, 2)}, 'give "auto" or one number for all layers'),
        ({"n_states": 1}, "The 'n_states' parameter of HierarchicalCorex must be"),
        ({"marginals": "poisson"}, "'poisson'; use one of gaussian, rank, categorical"),
    ],
)
def test_bad_parameters_are_named_with_a_remedy(tree, parameters, message):
    with pytest.raises(ValueError, match=message):
        HierarchicalCorex(**parameters).fit(tree[0])


@pytest.mark.parametrize(
    ("posteriors", "message"),
    [
        (np.full((600, 2, 2), 0.4), "sums to 0.8 over the states of unit 0 in sample 0; divide by the sum"),
        (np.full((600, 2), 1.5), "values outside 0 to 1"),
        (np.full((600, 2), np.nan), "missing ones"),
        (np.full((600, 2, 2), -0.5), "values outside 0 to 1"),
        (np.full((500, 2), 0.5), "posteriors has 500 samples, X has 600"),
        (np.full(600, 0.5), r"posteriors has shape \(600,\)"),
        (np.ones((600, 2, 1)), "one state a unit"),
        (np.full((600, 2), "a"), "give numbers"),
        (np.empty((600, 0)), r"shape \(600, 0\)"),
    ],
)
def test_bad_posteriors_are_named_with_a_remedy(tree, posteriors, message):
    with pytest.raises(HicorexError, match=message):
        representation_bounds(tree[0], posteriors)


def test_clusters_given_as_several_units_are_pointed_out(tree):
    clusters = np.eye(3)[np.arange(600) % 3]
    with pytest.warns(UserWarning, match=r"pass posteriors\[:, None, :\]"):
        representation_bounds(tree[0], clusters)


def test_texts_that_differ_in_nearly_every_row_are_pointed_out():
    remarks = pd.DataFrame({"remark": [f"no. {i % 60}" for i in range(100)], "code": np.arange(100) % 3})
    with pytest.warns(UserWarning, match="Column 'remark' has another text in nearly every row.* leave it out"):
        Corex(1, n_states=2, n_init=1, random_state=0).fit(remarks)


def test_a_failed_fit_leaves_the_model_as_it_was(tree):
    model = HierarchicalCorex((3, 1), n_states=2, n_init=2, random_state=0).fit(tree[0])
    before = model.bounds_
    with pytest.raises(HicorexError, match="infinity"):
        model.fit(np.full((10, 60), np.inf))
    assert model.bounds_ is before
    assert len(model.layers_) == 2


def test_an_earlier_search_is_forgotten(tree):
    corex = Corex("auto", n_states=2, n_init=2, random_state=0).fit(tree[0][:, :8])
    assert corex.set_params(n_factors=2).fit(tree[0][:, :8]).n_factors_ == 2
    assert not hasattr(corex, "sizing_")


def test_global_output_settings_do_not_disturb(tree, recwarn):
    import sklearn

    with sklearn.config_context(transform_output="pandas"):
        model = HierarchicalCorex((3, 1), n_states=2, n_init=2, random_state=0).fit(tree[0])
        assert isinstance(model.transform(tree[0]), pd.DataFrame)
        model.log_z(tree[0])
        model.significance(n_permutations=1)
    assert not [w for w in recwarn if "feature names" in str(w.message)]
