"""Warnings name the line of the caller, whatever lies between it and hicorex."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import hicorex
from hicorex import Checkpoint, Corex, HicorexError, HierarchicalCorex, representation_bounds
from hicorex.datasets import make_latent_tree

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FAST = {"n_states": 2, "n_init": 1, "max_iter": 12, "tol": 0.5, "n_jobs": 1, "random_state": 0}
X = pd.DataFrame(make_latent_tree(40, 6, 2, random_state=0)[0], columns=list("abcdef"))
STRANGE = X.assign(c=X["c"] + 1)
MODELS = {
    "layer": lambda **own: Corex(2, **FAST | own),
    "hierarchy": lambda **own: HierarchicalCorex((2, 1), **FAST | own),
}


def told_here(act, category, word):
    """Whether an act warns of this at a line of this file, once."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        act()
    own = [w for w in told if issubclass(w.category, category) and word in str(w.message)]
    assert own
    assert {w.filename for w in own} == {__file__}
    assert {w.lineno for w in own} <= set(range(act.__code__.co_firstlineno, act.__code__.co_firstlineno + 3))
    return own


@pytest.fixture(scope="module", params=MODELS)
def make(request):
    return MODELS[request.param]


@pytest.fixture(scope="module")
def model(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(X)


@pytest.mark.parametrize("method", ["fit", "fit_transform", "partial_fit"])
def test_a_fit_that_stops_early_warns_of_it_here(make, method):
    for output in ("default", "pandas"):
        own = make(max_iter=1).set_output(transform=output)
        told_here(lambda: getattr(own, method)(X), ConvergenceWarning, "max_iter")  # noqa: B023


def test_a_fit_that_stops_early_names_its_layer_and_the_option():
    told_here(
        lambda: Corex(2, **FAST | {"max_iter": 1}).fit(X), ConvergenceWarning, "The objective still grew after 1 it"
    )
    own = told_here(lambda: HierarchicalCorex((2, 1), **FAST | {"max_iter": 1}).fit(X), ConvergenceWarning, "max_iter=")
    assert [f"objective of layer {k} still" in str(w.message) for k, w in enumerate(own, start=1)] == [True, True]


@pytest.mark.parametrize("name", ["onehot", "titanic"])
def test_objectives_that_creep_are_not_warned_of_in_real_tables(name, real_data):
    table = hicorex.read_table(real_data / "messy" / f"{name}.csv.gz")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = HierarchicalCorex("auto", n_states="auto", marginals=table.kinds, random_state=0).fit(table.frame)
    assert len(model.layers_) == 2
    assert max(layer.n_iter_ for layer in model.layers_) < 150


@pytest.mark.parametrize("method", ["transform", "posteriors", "log_odds", "log_z", "score", "surprise", "bounds"])
def test_unseen_categories_are_warned_of_here(model, method):
    told_here(lambda: getattr(model, method)(STRANGE), UserWarning, "not seen count as missing, in column 'c'")


def test_unseen_categories_in_a_stream_are_warned_of_here(make):
    own = make().fit(X).partial_fit(X)
    told_here(lambda: own.partial_fit(STRANGE), UserWarning, "not seen")


def test_unseen_categories_in_the_report_and_with_frames_as_output_are_warned_of_here(make, tmp_path):
    own = make().set_output(transform="pandas").fit(X)
    told_here(lambda: own.transform(STRANGE), UserWarning, "not seen")
    told_here(lambda: own.report(tmp_path / "r.html", STRANGE), UserWarning, "not seen")


def test_pipelines_and_cross_validation_warn_here(make):
    pipe = make_pipeline(FunctionTransformer(), make(max_iter=1))
    told_here(lambda: pipe.fit(X), ConvergenceWarning, "max_iter")
    told_here(lambda: pipe.fit_transform(X), ConvergenceWarning, "max_iter")
    told_here(lambda: pipe.transform(STRANGE), UserWarning, "not seen")
    told_here(lambda: cross_val_score(make(max_iter=1), X, cv=2), ConvergenceWarning, "max_iter")


def test_very_many_categories_are_warned_of_here(make):
    many = pd.concat([X] * 10, ignore_index=True).assign(c=[f"v{i}" for i in range(10 * len(X))])
    told_here(lambda: make().fit(many), UserWarning, "Column 'c' has another text in nearly every row")
    told_here(lambda: make().partial_fit(many), UserWarning, "Column 'c' has another text in nearly every row")


def test_a_checkpoint_that_cannot_be_written_is_warned_of_here(make, tmp_path, monkeypatch):
    def full(*args):
        raise HicorexError("The disk is full.")

    monkeypatch.setattr("hicorex.storage.checkpoint.write_archive", full)
    told_here(lambda: make().fit(X, checkpoint=Checkpoint(tmp_path / "c", every=0)), UserWarning, "disk is full")


def test_posteriors_that_look_like_states_are_warned_of_here():
    posteriors = np.eye(2)[np.arange(40) % 2]
    told_here(lambda: representation_bounds(X, posteriors, n_jobs=1), UserWarning, "sums to one")


def test_only_one_place_warns():
    """Whoever adds a warning names the caller's line by the same way."""
    package = Path(hicorex.__file__).parent
    assert [f.name for f in package.rglob("*.py") if "warnings.warn(" in f.read_text()] == ["exceptions.py"]
