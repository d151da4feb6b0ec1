"""A fit that is refused, fails or is interrupted leaves the estimator and its predictions as they were."""

import warnings

import numpy as np
import pandas as pd
import pytest
from models import model_bytes
from numpy.testing import assert_array_equal

from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.exceptions import ClusterLostError
from hicorex.layer.progress import Progress, heard_by

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FAST = {"n_states": 2, "n_init": 1, "max_iter": 12, "tol": 0.1, "n_jobs": 1, "random_state": 0}
MODELS = {
    "layer": lambda: Corex(2, **FAST),
    "layer of any size": lambda: Corex("auto", **FAST),
    "hierarchy": lambda: HierarchicalCorex((2, 1), **FAST),
    "hierarchy of any size": lambda: HierarchicalCorex("auto", **FAST),
}
NAMES = list("abcdefgh")
OLD = pd.DataFrame(make_latent_tree(60, 8, 2, root_flip=0.2, random_state=0)[0], columns=NAMES)
# Other data of the same columns, so that a half-changed model would go on without an error.
NEW = pd.DataFrame(make_latent_tree(70, 8, 2, root_flip=0.4, random_state=1)[0][:, ::-1].astype(float), columns=NAMES)
NEW += np.random.default_rng(0).normal(scale=0.2, size=NEW.shape)


class Ending(Progress):
    """Ends a fit at the iteration of this number, counted from 1."""

    def __init__(self, error, iteration):
        self._error, self._left = error, iteration

    def iteration(self, *args, **options):
        self._left -= 1
        if not self._left:
            raise self._error("here")


def state_of(model, X):
    """All that a model is and says."""
    attributes = {name: id(value) for name, value in vars(model).items()}
    if not hasattr(model, "bounds_"):
        return attributes
    said = model.transform(X), model.log_z(X), model.score(X), repr(model.bounds()), repr(model.bounds(X))
    return attributes, model_bytes(model), [np.asarray(result).tolist() for result in said]


def assert_unchanged(model, act, error, match=None):
    before = state_of(model, OLD)
    with pytest.raises(error, match=match):
        act(model)
    assert state_of(model, OLD) == before


def changed(value, at=(3, "c")):
    table = NEW.astype(object) if isinstance(value, str) else NEW.copy()
    table.loc[at] = value
    return table


REFUSED = {
    "an infinity": (lambda m: m.fit(changed(np.inf)), HicorexError, "infinity"),
    "mixed types": (lambda m: m.fit(changed("x")), HicorexError, "Column 'c' mixes types"),
    "periods": (lambda m: m.fit(NEW.assign(c=pd.Period("2020-01"))), HicorexError, "Period"),
    "one sample": (lambda m: m.fit(NEW[:1]), HicorexError, "minimum of 2"),
    "no kind": (lambda m: m.set_params(marginals="x").fit(NEW), HicorexError, "kind 'x'"),
    "weights": (lambda m: m.fit(NEW, sample_weight=np.full(70, -1)), HicorexError, "sample_weight"),
    "infinity in a batch": (lambda m: m.partial_fit(changed(np.inf)), HicorexError, "infinity"),
    "a batch of one sample": (lambda m: m.partial_fit(NEW[:1]), HicorexError, "minimum of 2"),
    "weights of a batch": (lambda m: m.partial_fit(NEW, sample_weight=[1]), HicorexError, "sample_weight"),
}


@pytest.fixture(scope="module")
def fitted():
    """A fitted model of every kind, which no test changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: make().fit(OLD) for name, make in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("case", REFUSED)
def test_input_that_is_refused_changes_no_model(fitted, name, case):
    for model in (fitted[name], MODELS[name]()):
        before = model.marginals
        if case == "no kind":  # the parameter alone is another afterwards
            model.set_params(marginals="x")
        assert_unchanged(model, *REFUSED[case])
        model.set_params(marginals=before)


@pytest.mark.parametrize("name", MODELS)
def test_batches_that_are_refused_after_a_fit_change_no_model(fitted, name):
    model = fitted[name]
    assert_unchanged(model, lambda m: m.partial_fit(OLD[NAMES[:-1]]), ValueError, "feature")
    assert_unchanged(model, lambda m: m.partial_fit(OLD.rename(columns={"a": "z"})), ValueError, "feature")


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_of_other_data_or_parameters_changes_no_model(fitted, name, tmp_path):
    path = tmp_path / "c"
    MODELS[name]().fit(OLD, checkpoint=path)
    for model in (fitted[name], MODELS[name]()):
        assert_unchanged(model, lambda m: m.fit(NEW, checkpoint=path), HicorexError, "other data")
        model.set_params(max_iter=7)
        assert_unchanged(model, lambda m: m.fit(OLD, checkpoint=path), HicorexError, "other max_iter")
        model.set_params(max_iter=12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("iteration", [1, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ClusterLostError])
def test_an_end_in_the_middle_of_the_loop_changes_no_model(fitted, name, error, iteration, tmp_path):
    for k, model in enumerate((fitted[name], MODELS[name]())):
        for act in (lambda m, k=k: m.fit(NEW, checkpoint=tmp_path / f"c{k}"), lambda m: m.fit(NEW)):
            with heard_by(Ending(error, iteration)):
                assert_unchanged(model, act, error, "here")
        assert (tmp_path / f"c{k}").exists()  # what was done is kept, but not by the model
    with heard_by(Ending(error, iteration)):
        assert_unchanged(MODELS[name](), lambda m: m.partial_fit(NEW), error, "here")


@pytest.mark.parametrize("name", ["layer", "hierarchy"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_interruption_of_the_last_step_changes_no_model(fitted, name, method, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt("here")

    streaming = MODELS[name]().fit(OLD).partial_fit(OLD)
    with monkeypatch.context() as patched:
        module = "stack" if name == "hierarchy" else "learning" if method == "fit" else "corex"
        patched.setattr(f"hicorex.estimators.{module}.gather", interrupted)
        for model in (fitted[name], streaming, MODELS[name]()):
            assert_unchanged(model, lambda m: getattr(m, method)(OLD[::-1]), KeyboardInterrupt, "here")
    again = MODELS[name]().fit(OLD).partial_fit(OLD).partial_fit(OLD[::-1])
    assert model_bytes(streaming.partial_fit(OLD[::-1])) == model_bytes(again)


@pytest.mark.parametrize("name", ["layer", "hierarchy"])
def test_warnings_that_are_errors_change_no_model(fitted, name):
    strange = OLD.assign(c=OLD["c"] * 2)
    streaming = MODELS[name]().fit(OLD).partial_fit(OLD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (fitted[name], MODELS[name]()):
            model.set_params(max_iter=1)
            assert_unchanged(model, lambda m: m.fit(NEW), Warning, "max_iter")
            model.set_params(max_iter=12)
        assert_unchanged(streaming, lambda m: m.partial_fit(strange), UserWarning, "not seen")


@pytest.mark.parametrize("name", ["layer of any size", "hierarchy"])
def test_what_an_earlier_fit_left_is_gone_after_another(name):
    model = MODELS[name]().fit(OLD).partial_fit(OLD)
    model.with_reading({"names": NAMES})
    before = vars(model)["bounds_"]
    assert model.fit(NEW.to_numpy()) is model
    assert model.bounds_ is not before
    fresh = MODELS[name]().fit(NEW.to_numpy())
    assert vars(model).keys() == vars(fresh).keys()
    assert not hasattr(model, "feature_names_in_")
    assert model_bytes(model) == model_bytes(fresh)
    assert_array_equal(model.transform(NEW.to_numpy()), fresh.transform(NEW.to_numpy()))
