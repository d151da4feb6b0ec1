"""Saved models: the same to the last bit, whole or refused, without any code."""

import json
import pickle
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from conftest import GOLDEN
from crafted import resealed
from models import MODELS, layers_of, model_bytes, model_from
from numpy.testing import assert_allclose, assert_array_equal
from safetensors import numpy as safetensors
from safetensors import safe_open

import hicorex
from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.datasets import make_independent_clusters
from hicorex.fitted.model import StopReason
from hicorex.storage.archive import FORMAT, from_bytes, to_bytes


def assert_same(model, again, X):
    assert type(again) is type(model)
    assert model_bytes(again) == model_bytes(model)
    assert_array_equal(np.asarray(again.transform(X)), np.asarray(model.transform(X)))
    for method in ("posteriors", "log_odds", "log_z", "score_samples"):
        assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert again.bounds_ == model.bounds_
    assert again.bounds(X) == model.bounds(X)
    assert_array_equal(again.surprise(X).factors, model.surprise(X).factors)
    assert_array_equal(again.get_feature_names_out(), model.get_feature_names_out())
    mine, its = model.get_params(), again.get_params()
    for params in (mine, its):
        if isinstance(params["random_state"], np.random.RandomState):
            params["random_state"] = params["random_state"].get_state()[1].tolist()
    assert its == mine
    for mine, its in zip(layers_of(model), layers_of(again), strict=True):
        for name in ("alpha_", "mutual_information_", "tcs_", "link_pvalues_", "clusters_", "history_"):
            assert_array_equal(getattr(its, name), getattr(mine, name))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_save_and_load_give_the_same_model(name, tmp_path):
    model, X = MODELS[name]()
    model.fit(X)
    model.save(tmp_path / "model.hicorex")
    again = hicorex.load(tmp_path / "model.hicorex")
    assert_same(model, again, X)
    if isinstance(X, pd.DataFrame):
        assert_array_equal(again.feature_names_in_, X.columns.to_numpy(object))
        with pytest.raises(ValueError, match="feature names"):
            again.transform(X.rename(columns={X.columns[0]: "other"}))
    with pytest.raises(HicorexError, match="no longer knows the samples"):
        again.bounds(cv=2)


def test_loaded_model_fits_again_to_the_same(tmp_path):
    model, X = MODELS["hierarchy"]()
    model.fit(X).save(tmp_path / "model")
    again = hicorex.load(tmp_path / "model").fit(X)
    assert model_bytes(again) == model_bytes(model)


def test_same_model_gives_the_same_file(tmp_path):
    model, X = MODELS["mapping of kinds"]()
    for name in ("a", "b"):
        model.fit(X).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_safetensors_reads_it_too(tmp_path):
    model, X = MODELS["mapping of kinds"]()
    model.fit(X).save(tmp_path / "model")
    with safe_open(tmp_path / "model", framework="numpy") as file:
        assert json.loads(file.metadata()["hicorex"])["kind"] == "model"
        assert_array_equal(file.get_tensor("alpha_"), model.alpha_.T)  # in their order in memory


def test_arrays_of_every_type_and_shape_come_back():
    held = {f"{own}{size}": np.arange(size).astype(own) for own in "?bBhHiIlLefd" for size in (0, 1, 5)}
    held |= {"none": np.array(3.0), "turned": np.arange(12.0).reshape(3, 4).T, "big": np.arange(3, dtype=">f4")}
    held["large"] = np.random.default_rng(0).random(700_001)  # more than is handed on at a time
    raw = to_bytes("model", held)
    found = from_bytes(raw, "model", "it")
    for name, array in held.items():
        assert_array_equal(found[name], array, strict=name != "big")
    # To the last byte as safetensors itself would have it.
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert safetensors.save(safetensors.load(raw), header["__metadata__"]) == raw


def test_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        Corex().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_wrong_files_are_refused(tmp_path, monkeypatch):
    model, X = MODELS["gaussian"]()
    model.fit(X).save(tmp_path / "model")
    model.fit(X, checkpoint=tmp_path / "checkpoint")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("x,y\n1,2\n")
    (tmp_path / "pickle").write_bytes(pickle.dumps(model))
    monkeypatch.setattr("hicorex.storage.archive.FORMAT", FORMAT + 1)
    monkeypatch.setattr("hicorex.__version__", "99.0")
    model.save(tmp_path / "newer")
    monkeypatch.setattr("hicorex.storage.archive.FORMAT", FORMAT)
    for name, message in {
        "absent": "absent cannot be read: no such file or directory",
        "": "model.hicorex cannot be read: no such file",
        "empty": "empty is not a file of hicorex",
        "text": "text is not a file of hicorex",
        "pickle": "pickle is not a file of hicorex",
        "newer": r"newer was written by hicorex 99\.0, a newer one; update hicorex",
        "checkpoint": "checkpoint is a checkpoint; a model is needed",
    }.items():
        with pytest.raises(HicorexError, match=message):
            hicorex.load(tmp_path / name)
    with pytest.raises(HicorexError, match="cannot be written: no such file or directory"):
        model.save(tmp_path / "no" / "folder")
    with pytest.raises(HicorexError, match="is a folder"):
        model.save(tmp_path)


def test_loading_imports_no_pickle_and_makes_no_other_class(tmp_path):
    model, X = MODELS["gaussian"]()
    raw = model_bytes(model.fit(X))
    assert b'\\"is\\":\\"corex\\"' in raw
    for name in (b"print", b"evals", b"tuple"):  # no class of ours, or none that is a model
        other = raw.replace(b'\\"is\\":\\"corex\\"', b'\\"is\\":\\"%s\\"' % name)
        (tmp_path / "f").write_bytes(resealed(other))
        with pytest.raises(HicorexError, match=r"damaged|no fitted model"):
            hicorex.load(tmp_path / "f")
    load = f"hicorex.load({str(tmp_path / 'good')!r})"
    code = f"import sys, hicorex.estimators.hierarchy; sys.modules['pickle'] = None; {load}"
    model.save(tmp_path / "good")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_hold_everything_that_a_fit_sets():
    for name in ("auto", "hierarchy of sizes found"):
        model, X = MODELS[name]()
        model.fit(X)
        for own in (model, *layers_of(model)):
            assert set(vars(own)) <= set(vars(model_from(model_bytes(own))))


def test_subclasses_and_strange_parameters_are_not_saved(tmp_path):
    class Mine(Corex):
        pass

    with pytest.raises(HicorexError, match="The model is of type Mine, which a file cannot hold"):
        Mine(1, random_state=0).fit(MODELS["gaussian"]()[1]).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def _mutated(raw, other, rng):
    """A file with some bytes changed, cut, repeated, or mixed with another file."""
    kind = rng.integers(8)
    at, to = np.sort(rng.integers(len(raw) + 1, size=2))
    if kind == 0:  # a flipped bit
        at = rng.integers(len(raw))
        return raw[:at] + bytes([raw[at] ^ (1 << int(rng.integers(8)))]) + raw[at + 1 :]
    if kind == 1:  # cut short
        return raw[:at]
    if kind == 2:  # a part lost
        return raw[:at] + raw[to:]
    if kind == 3:  # a part twice
        return raw[:to] + raw[at:]
    if kind == 4:  # bytes of chance
        width = int(rng.integers(1, 9))
        return raw[:at] + rng.bytes(width) + raw[at + width :]
    if kind == 5:  # zeros, as a disk leaves them
        return raw[:at] + bytes(int(to - at)) + raw[to:]
    if kind == 6:  # the other file from here on
        return raw[:at] + other[at:]
    return raw[: rng.integers(8)] + rng.bytes(int(rng.integers(1, 9))) + raw[8:]  # the length of the header


def test_a_hundred_thousand_damaged_files_are_refused(tmp_path):
    model, X = MODELS["mapping of kinds"]()
    raw, other = (model_bytes(model.set_params(n_states=k).fit(X)) for k in (2, 3))
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(100_000):
        damaged = _mutated(raw, other, rng)
        if damaged in (raw, other):
            assert to_bytes("model", from_bytes(damaged, "model", "file")) == damaged
        else:
            with pytest.raises(HicorexError, match=r"file is (not a file of hicorex|damaged)"):
                from_bytes(damaged, "model", "file")
            refused += 1
    assert refused > 95_000


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.hicorex")), ids=lambda file: file.stem)
def test_files_of_older_versions_still_load(file):
    model = hicorex.load(file)
    expected = np.load(GOLDEN / "expected.npz")
    X = pd.read_parquet(GOLDEN / "table.parquet")
    assert_array_equal(model.transform(X), expected[f"{file.stem}_labels"])
    assert_allclose(model.score_samples(X), expected[f"{file.stem}_scores"], rtol=1e-6, atol=1e-9)
    assert_allclose(model.bounds_.lower, expected[f"{file.stem}_lower"], rtol=1e-12)


def test_there_is_a_file_of_every_format():
    found = {int(file.stem.split("_")[0].removeprefix("format")) for file in GOLDEN.glob("*.hicorex")}
    assert found == set(range(1, FORMAT + 1))


@pytest.mark.parametrize(
    ("asked", "words", "reason"),
    [
        ((2, 1), "as many layers as asked for", StopReason.AS_ASKED),
        ("auto", "there is one factor on top", StopReason.ONE_FACTOR),
        ("auto", "in layer 2, 1 factor explains 0.01 ± 0.02 nats on held-out samples, no more than chance", None),
        ((2, 1), "words that nobody wrote", StopReason.AS_ASKED),
    ],
)
def test_why_a_hierarchy_of_format_1_stops_is_told_by_its_data(asked, words, reason):
    X = make_independent_clusters(random_state=0)[0]
    model = HierarchicalCorex(asked, n_states=2, n_init=2, random_state=0).fit(X)
    record = model.record()
    record.stop_reason_ = words
    vars(record).pop("next_sizing_", None)
    again = model_from(to_bytes("model", record))
    assert again.stop_reason_ is (reason or model.stop_reason_)
    assert reason or again.stop_reason_ is StopReason.NOTHING_MORE
    assert again.next_sizing_ is None


def test_a_tuple_of_names_that_files_do_not_know_is_refused_when_it_is_written():
    class Pair(NamedTuple):
        one: int
        other: int

    with pytest.raises(HicorexError, match="Pair, which a file cannot hold"):
        to_bytes("model", {"pair": Pair(1, 2)})
