"""Factors that are called stable come back in fresh samples; splits, links and files of stability."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import linear_sum_assignment

import hicorex
import real_data as data
from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.exceptions import HicorexError
from hicorex.findings.tables import factors_table, structure_table
from hicorex.findings.words import summary
from hicorex.layer.progress import Progress, heard_by
from hicorex.selection.stability import STABLE

# A factor is found again if one of a fit to fresh samples is so much like it, on the samples of both.
FOUND_AGAIN = 0.3
pytestmark = pytest.mark.filterwarnings("ignore:The objective still grew", "ignore:Categories that the fit")


def plain_likeness(one, other):
    """I(Y:Y') over the larger entropy of two labels, (N,) each."""
    p = np.histogram2d(one, other, bins=(one.max() + 1, other.max() + 1))[0] / one.size
    left, right = p.sum(axis=1), p.sum(axis=0)
    entropies = [-sum(x * np.log(x) for x in q.ravel() if x > 0) for q in (left, right, p)]
    return (entropies[0] + entropies[1] - entropies[2]) / max(*entropies[:2], 1e-3)


def likeness_of(labels, others):
    """The likeness of each factor to each other one, of labels (N, m) and (N, m')."""
    return np.array([[plain_likeness(a, b) for b in others.T] for a in labels.T])


def matched(labels, others):
    """The likeness of each factor, (N, m), to the one that stands for it, and which one that is."""
    alike = likeness_of(labels, others)
    _, match = linear_sum_assignment(-alike)
    return alike[np.arange(match.size), match], match


def trees():
    """Planted: weak and strong groups, in few samples and in many, and more factors than there are groups."""
    for n, flip in ((60, (0.05, 0.2)), (150, (0.1, 0.35)), (400, (0.1, 0.35)), (1000, (0.1, 0.4))):
        X, _ = make_latent_tree(2 * n, 30, 5, root_flip=0.2, flip=flip, random_state=n)
        yield X[:n], X[n:], 7, 2, "categorical"


def noise():
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(300, 25))
        yield X[:150], X[150:], 4, 2, "gaussian"


def surveys():
    """Real: disjoint samples of people."""
    answers = pd.read_csv(data.FOLDER / "bfi/bfi.csv").filter(regex="^[ACENO][1-5]$").dropna().to_numpy(int)
    answers = answers[np.random.default_rng(0).permutation(len(answers))]
    for n in (200, 1000):
        yield answers[:n], answers[n : 2 * n], 7, 3, "categorical"
    for name in ("nltcs", "plants"):
        held = np.load(data.FOLDER / "debd" / f"{name}.npz")
        table = np.unpackbits(held["train"], axis=1, count=int(held["n"])).astype(np.int8)
        table = table[np.random.default_rng(0).permutation(len(table))]
        for n in (300, 1000):
            yield table[:n], table[n : 2 * n], 8, 3, "categorical"


def found_again(cases):
    """For each factor in use of all cases: its reproducibility, and its likeness to one of a fit to fresh samples."""
    reproducibility, likeness = [], []
    for X, fresh, n_factors, n_states, marginals in cases:
        settings = {"n_states": n_states, "marginals": marginals, "n_jobs": 1, "random_state": 0}
        model, other = (Corex(n_factors, **settings).fit(table) for table in (X, fresh))
        both = np.vstack([X, fresh])
        alike = likeness_of(model.transform(both), other.transform(both)).max(axis=1)
        used = model.tcs_ > 0
        reproducibility += model.stability(n_resamples=20).factors[used].tolist()
        likeness += alike[used].tolist()
    return np.array(reproducibility), np.array(likeness)


@pytest.mark.parametrize("cases", [lambda: (*trees(), *noise()), surveys], ids=["planted", "real"])
def test_a_factor_called_stable_is_found_again_in_fresh_samples(cases, request):
    if cases is surveys and data.find("bfi") is None:
        pytest.skip(data.absent("bfi"))
    reproducibility, likeness = found_again(cases())
    stable = reproducibility >= STABLE
    assert stable.sum() >= 15
    assert np.mean(likeness[stable] >= FOUND_AGAIN) >= 0.95
    # And what is not called so is seldom a factor that is found again well.
    assert np.mean(likeness[~stable] >= 0.7) <= 0.15
    assert np.corrcoef(reproducibility, likeness)[0, 1] > 0.7


def test_factors_of_noise_are_not_stable():
    reproducibility, _ = found_again(noise())
    assert reproducibility.max(initial=0) < 0.3


def test_it_is_the_mean_likeness_in_halves():
    """Refits to the halves, matched and counted one by one."""
    X, _ = make_latent_tree(300, 24, 3, root_flip=0.2, flip=(0.1, 0.3), random_state=0)
    model = Corex(4, n_states=2, random_state=3).fit(X)
    halves = []

    class Listener(Progress):
        def resample(self, number, n_resamples):
            halves.append((number, n_resamples))

    with heard_by(Listener()):
        found = model.stability(n_resamples=6)
    assert halves == [(at, 6) for at in range(1, 7)]
    drawn = np.random.default_rng(np.random.SeedSequence(np.random.RandomState(3).randint(2**31 - 1)).spawn(1)[0])
    factors, links = np.zeros(4), np.zeros((24, 4))
    for _ in range(3):
        half = drawn.permutation(300) % 2
        for side in (0, 1):
            other = Corex(4, n_states=2, n_init=6, tol=1e-3, random_state=0).fit(X[half == side])
            alike, match = matched(model.transform(X), other.transform(X))
            factors += alike / 6
            weight = (other.alpha_ * other.mutual_information_)[:, match]
            for i in np.flatnonzero(weight.max(axis=1) > 0):
                links[i, weight[i].argmax()] += 1 / 6
    # Refits make no rounds, which here find nothing better; the empty factor may be another.
    assert np.abs(found.factors - factors)[:3].max() < 0.05
    assert np.abs(found.links - links)[:, :3].mean() < 0.05


def test_links_and_consensus_follow_the_groups():
    X, truth = make_latent_tree(400, 30, 3, random_state=0)
    model = HierarchicalCorex((3, 1), n_states=2, n_jobs=1, random_state=0).fit(X)
    found = model.stability(n_resamples=8)
    assert found.factors.shape == (4,)
    assert found.links.shape == (30, 3)
    assert [layer.links.shape for layer in found.layers] == [(30, 3), (3, 1)]
    assert (found.links.sum(axis=1) <= 1 + 1e-9).all()
    assert_array_equal(found.consensus, model.layers_[0].clusters_)
    assert len(set(zip(found.consensus, truth.clusters, strict=True))) == 3
    assert "factors that come back in 8 fits to halves: " in repr(found)
    frame = found.to_frame()
    assert frame.index.tolist() == model.get_feature_names_out().tolist()
    assert_array_equal(frame["reproducibility"], found.factors)
    assert frame["n_variables"].tolist()[:3] == np.bincount(found.consensus).tolist()


def test_it_is_the_same_again_and_on_disk_and_kept(tmp_path):
    X, _ = make_latent_tree(300, 20, 3, random_state=0)
    model = HierarchicalCorex((3, 1), n_states=2, random_state=0).fit(X)
    assert model.fitted_.stability is None
    assert factors_table(model)["reproducibility"].null_count == 4
    assert structure_table(model)["stability"].null_count == structure_table(model).num_rows
    assert "come back" not in summary(model)
    found = model.stability(n_resamples=4)
    np.save(tmp_path / "x.npy", X)
    mapped = HierarchicalCorex((3, 1), n_states=2, random_state=0).fit(str(tmp_path / "x.npy")).stability(n_resamples=4)
    for layer, again, on_disk in zip(found.layers, model.stability(X, 4).layers, mapped.layers, strict=True):
        for ours, theirs, others in zip(layer, again, on_disk, strict=True):
            assert_array_equal(ours, theirs)
            assert_array_equal(ours, others)
    model.save(tmp_path / "m.hicorex")
    loaded = hicorex.load(tmp_path / "m.hicorex")
    assert_array_equal(loaded.fitted_.stability.factors, found.factors)
    assert factors_table(loaded)["reproducibility"].to_pylist() == found.factors.tolist()
    first = structure_table(loaded).to_pylist()[0]
    i, j = int(first["variable"][1:]), int(first["factor"].removeprefix("layer1_factor"))
    assert first["stability"] == found.links[i, j]
    n_stable = int((found.factors >= STABLE).sum())
    n_used = int((factors_table(loaded)["explains"].to_numpy() > 0).sum())
    said = " ".join(summary(loaded).split())
    assert f"{n_stable} of {n_used} factors come back in fits to halves of the samples." in said
    other = HierarchicalCorex((3, 1), n_states=2, random_state=1).fit(X).stability(n_resamples=4)
    assert not np.array_equal(other.factors, found.factors)  # other halves


def test_what_cannot_be_measured_is_refused():
    X = np.random.default_rng(0).integers(2, size=(50, 6))
    model = Corex(2, n_states=2, n_init=1, random_state=0).fit(X)
    with pytest.raises(HicorexError, match="X is 50; give samples, or write n_resamples=50"):
        model.stability(50)
    for wrong in (1, 2.5, True, "many"):
        with pytest.raises(HicorexError, match="; give a whole number, 2 or more"):
            model.stability(n_resamples=wrong)
    few = Corex(1, n_states=2, n_init=1, random_state=0).fit(X[:3])
    with pytest.raises(HicorexError, match="3 samples are too few for halves; give 4 or more"):
        few.stability()
    assert few.fitted_.stability is None
