"""Model files and checkpoints that somebody has changed and sealed again: refused, or used without harm."""

import copy
import os
import subprocess
import sys
import textwrap
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import GOLDEN, PROJECT
from crafted import HOSTILE, changed, changed_array, put_together, taken_apart, used
from models import MODELS, layers_of, model_bytes, model_from
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import hicorex
from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.bounds.result import NoUpperReason
from hicorex.findings.description import description
from hicorex.findings.words import summary
from hicorex.selection.sizing import SizeReason
from hicorex.storage.archive import read_archive, to_bytes, write_archive

X = pd.read_parquet(GOLDEN / "table.parquet")
RAW = {file.stem: file.read_bytes() for file in sorted(GOLDEN.glob("*.hicorex"))}
FEW = X[:12]


@pytest.mark.parametrize("name", RAW)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_array_of_a_file_may_be_changed(name, tmp_path):
    """Each in three ways, among them those that made compiled loops read beyond their arrays."""
    header, tensors = taken_apart(RAW[name])
    rng = np.random.default_rng(0)
    refused = 0
    checked = [place for place in tensors if "histories_" not in place]  # these may hold any numbers
    for place in tensors:
        for _ in range(3):
            file = put_together(header, tensors | {place: changed_array(tensors[place], rng)})
            refused += (not used(file, FEW, tmp_path, report=False)) and place in checked
    assert refused > 2 * len(checked)


@pytest.mark.parametrize("name", ["mapping of kinds", "hierarchy of several sizes", "bytes", "auto"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_files_changed_and_sealed_again_are_refused_or_used(name, tmp_path):
    model, samples = MODELS[name]()
    raw = model_bytes(model.fit(samples))
    assert used(raw, samples[:12], tmp_path)
    rng = np.random.default_rng(0)
    accepted = sum(used(changed(raw, rng), samples[:12], tmp_path, report=at % 50 == 0) for at in range(200))
    assert 0 < accepted < 100


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_residual_pairs_changed_and_sealed_again_are_refused_or_used(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"number": rng.normal(size=300), "group": rng.integers(40, size=300).astype(str)})
    table["copy"], table["noisy"] = table["group"], table["number"] + 0.3 * rng.normal(size=300)
    model = Corex(1, n_states=2, random_state=0).fit(table)
    assert model.residual_pairs().pairs
    header, tensors = taken_apart(model_bytes(model))
    of_pairs = [place for place in tensors if "_pairs." in place]
    assert len(of_pairs) >= 7
    refused = 0
    for place in of_pairs:
        for _ in range(10):
            file = put_together(header, tensors | {place: changed_array(tensors[place], rng)})
            refused += not used(file, table[:12], tmp_path, report=False)
    assert refused > 5 * len(of_pairs)


def test_no_changed_file_makes_a_loop_read_beyond_an_array(tmp_path):
    """The loops as plain Python, whose arrays know their bounds."""
    code = f"""
        import sys, warnings
        from pathlib import Path
        import numpy as np, pandas as pd
        sys.path.insert(0, {str(PROJECT / "tests")!r})
        from crafted import changed, used
        warnings.simplefilter("ignore", UserWarning)
        X = pd.read_parquet({str(GOLDEN / "table.parquet")!r})[:5]
        rng = np.random.default_rng(1)
        accepted = 0
        for file in sorted(Path({str(GOLDEN)!r}).glob("*.hicorex")):
            raw = file.read_bytes()
            accepted += sum(used(changed(raw, rng), X, Path("."), report=False) for _ in range(100))
        print(accepted)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )
    assert run.returncode == 0, run.stderr
    assert 10 < int(run.stdout) < 200


def test_what_does_not_hold_together_is_named(tmp_path):
    model = hicorex.load(GOLDEN / "format1_mixed.hicorex")
    record = model.record()
    record.alpha_ = np.repeat(model.alpha_, 500, axis=0)
    write_archive(tmp_path / "model", "model", record)
    message = r"model does not hold together \(alpha_ has the shape \(8000, 3\).*take another copy of it, or fit again"
    with pytest.raises(HicorexError, match=message):
        hicorex.load(tmp_path / "model")
    for name, value in {
        "n_jobs": 0.5,
        "n_factors_": 4,
        "n_iter_": 3,
        "tc_": np.inf,
        "bounds_": None,
        "clusters_": np.full(16, 3),
        "link_pvalues_": np.full((16, 3), 1.5),
        "_usual": ((0.0, 1.0), (np.zeros(3), np.full(3, -1.0))),
        "_reading": {"names": ["a"]},
        "feature_names_in_": np.array(["a"] * 15, object),
    }.items():
        record = hicorex.load(GOLDEN / "format1_mixed.hicorex").record()
        setattr(record, name, value)
        write_archive(tmp_path / "model", "model", record)
        with pytest.raises(HicorexError, match=r"model does not hold together \("):
            hicorex.load(tmp_path / "model")


def _bombs():
    """Small files that ask for much memory, by what they do."""
    header, tensors = taken_apart(RAW["format1_mixed"])
    of = header["content"]["of"]
    names = of["feature_names_in_"]

    def with_entry(key, value, **more):
        other = copy.deepcopy(header)
        other["content"]["of"][key] = value
        return put_together(other, tensors | more)

    def text(values):
        return np.frombuffer(values, np.uint8)

    long = text(b'["' + b"x" * 15_000 + b'"' + b',""' * 5_000 + b"]")
    return {
        "a text type of many characters": with_entry("feature_names_in_", names | {"type": "U20000000"}),
        "bytes of many characters": with_entry(
            "feature_names_in_", {"is": "bytes", "of": "feature_names_in_", "shape": [10**9], "type": "S1"}
        ),
        "one long text beside many": with_entry(
            "feature_names_in_", names | {"type": "str", "shape": [5001]}, feature_names_in_=long
        ),
        "many empty lists": with_entry("marginals", [[] for _ in range(100_000)]),
        "many short texts": with_entry("marginals", ["ab"] * 100_000),
        "many mappings": with_entry("marginals", [{"is": "map", "of": []}] * 30_000),
        "one array many times": with_entry("marginals", [names] * 2000),
        "many empty arrays": put_together(header, tensors | {f"a{i}": np.empty(0) for i in range(3000)}),
        "wide characters": with_entry("marginals", ["\U0001f600" + "a" * 10] * 20_000),
        "empty texts in an array": put_together(
            header, tensors | {"feature_names_in_": text(b"[" + b'"",' * 50_000 + b'""]')}
        ),
        "a shape of many": with_entry("feature_names_in_", names | {"shape": [10**9, 0]}),
        "a large shape of nothing": with_entry(
            "feature_names_in_", names | {"shape": [10**8]}, feature_names_in_=text(b"[]")
        ),
        "many factors": with_entry("n_factors_", 10**7),
    }


@pytest.mark.parametrize("name", _bombs())
def test_small_files_take_little_memory(name):
    raw = _bombs()[name]
    tracemalloc.start()
    try:
        with suppress(HicorexError):
            model_from(raw)
        assert tracemalloc.get_traced_memory()[1] < max(10 * len(raw), 2**20)
    finally:
        tracemalloc.stop()


def test_models_take_less_than_ten_times_their_file():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (40, 600)).astype(float)).add_prefix("v")
    for kind in ("rank", "categorical", "gaussian"):
        settings = {
            "n_states": 2,
            "marginals": dict.fromkeys(frame, kind),
            "n_init": 1,
            "max_iter": 2,
            "random_state": 0,
        }
        with pytest.warns(ConvergenceWarning):
            raw = model_bytes(Corex(1, **settings).fit(frame))
        tracemalloc.start()
        model_from(raw)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(raw)
        tracemalloc.stop()


def test_one_long_category_among_many_is_stored_and_read():
    """In memory every text of an array takes as much room as the longest."""
    texts = np.array([f"c{i}" for i in range(300)])
    frame = pd.DataFrame({"a": [*texts, "long " * 2000] * 2, "b": [*texts, "c0"] * 2})
    model = Corex(1, n_states=2, n_init=1, max_iter=3, random_state=0).fit(frame)
    raw = model_bytes(model)
    again = model_from(raw)
    assert model_bytes(again) == raw
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))


@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.filterwarnings("ignore")
def test_the_smallest_models_are_read_again(n_columns, tmp_path):
    """With names in other scripts, which take more room in a file and in memory."""
    frame = pd.DataFrame({"\u5927\u304d\u3055" + "\u00e4" * i: [0, 1] * 5 for i in range(n_columns)})
    for table in (frame, frame.to_numpy(), frame.astype(float), frame.astype(str)):
        for model in (
            Corex(1, n_states=2, max_iter=1, random_state=0),
            HierarchicalCorex((1,), n_states=2, max_iter=1, random_state=0),
        ):
            model.fit(table, checkpoint=tmp_path / "c")
            model.with_reading({"missing": ["k\u00e4se"], "row_names": "Gr\u00f6\u00dfe", "words": {}, "names": None})
            model.save(tmp_path / "m")
            np.testing.assert_array_equal(hicorex.load(tmp_path / "m").transform(table), model.transform(table))
            clone(model).fit(table, checkpoint=tmp_path / "c")
            (tmp_path / "c").unlink()


@pytest.mark.filterwarnings("ignore")
def test_models_of_odd_tables_are_read_again(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (40, 3))
    tables = {
        "half precision": (codes.astype(np.float16), {"marginals": "categorical"}, None),
        "ranks of uneven weights": (rng.normal(size=(40, 3)), {"marginals": "rank"}, rng.random(40) ** 20),
        "ranks of a few weights": (
            rng.normal(size=(40, 3)),
            {"marginals": "rank"},
            np.where(np.arange(40) < 37, 1.5, 1e-15),
        ),
        "two samples": (codes[:2], {}, None),
        "nothing there": (np.column_stack([codes, np.full(40, np.nan)]), {}, None),
        "a hundred states": (codes, {"n_states": 100}, None),
        "tiny": (rng.normal(size=(40, 3)) * 1e-310, {}, None),
    }
    for name, (table, settings, weight) in tables.items():
        model = Corex(2, n_init=1, max_iter=3, random_state=0, **settings).fit(table, sample_weight=weight)
        assert all(np.isfinite(scores).all() for _, scores in model.fitted_.layers[0].encoder.ranks.values()), name
        model.save(tmp_path / "m")
        np.testing.assert_array_equal(hicorex.load(tmp_path / "m").transform(table), model.transform(table))
    stream = Corex(2, n_states=2, n_init=2, random_state=0).partial_fit(codes).partial_fit(codes)
    record = stream.record()
    record.histories_ = [own[: len(own) - 1] for own in record.histories_]  # as the first version left them
    again = model_from(to_bytes("model", record))
    again.report(tmp_path / "r.html")
    again.partial_fit(codes).save(tmp_path / "m")
    hicorex.load(tmp_path / "m")


def test_what_could_not_be_read_again_is_not_saved(tmp_path):
    model = HierarchicalCorex((2, 1), n_states=2, n_init=1, random_state=0).fit(np.arange(40).reshape(10, 4) // 3 % 2)
    with pytest.raises(HicorexError, match=r"could not be read again: layers \(1, 2\) grow upward.* or fit again\."):
        model.set_params(layers=(1, 2)).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    model.set_params(layers=(3, 2), n_states=4).save(tmp_path / "m")
    assert hicorex.load(tmp_path / "m").layers_[0].n_states_ == 2


def test_a_version_or_kind_of_a_header_is_plain(tmp_path):
    header, tensors = taken_apart(RAW["format1_mixed"])
    for key, value in {"version": HOSTILE, "kind": HOSTILE, "format": "1"}.items():
        for more in ({}, {"format": 99}) if key == "version" else ({},):
            (tmp_path / "f").write_bytes(put_together(header | {key: value} | more, tensors))
            with pytest.raises(HicorexError, match=r"f is damaged; take another copy") as caught:
                hicorex.load(tmp_path / "f")
            assert "\x1b" not in str(caught.value)


def test_devices_and_pipes_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(HicorexError, match="is not a file"):
            hicorex.load(path)


@pytest.mark.parametrize("name", RAW)
def test_files_of_older_versions_do_everything(name, tmp_path):
    model = hicorex.load(GOLDEN / f"{name}.hicorex")
    assert set(model.get_params()) == set(type(model)().get_params())
    assert repr(clone(model)).startswith(type(model).__name__)
    assert model._repr_html_()
    for layer in layers_of(model):
        assert any(np.array_equal(layer.history_, own) for own in layer.histories_)
    assert model.score(X) > 0
    assert model.bounds(X).lower > 0
    assert summary(model)
    assert description(model)
    model.report(tmp_path / "r.html", X)
    model.save(tmp_path / "again")
    np.testing.assert_array_equal(hicorex.load(tmp_path / "again").transform(X), model.transform(X))
    clone(model).set_params(n_init=1, max_iter=3).fit(X)
    model.partial_fit(X)
    for command in (["describe"], ["transform", "X"], ["score", "X"], ["report", "X", "--out", "X.html"]):
        words = [str(GOLDEN / "table.parquet") if word == "X" else word for word in command[1:]]
        _command(command[0], str(GOLDEN / f"{name}.hicorex"), *words, cwd=tmp_path)


def test_reasons_that_older_files_hold_in_words_become_data():
    model = hicorex.load(GOLDEN / "format1_found.hicorex")
    assert model.bounds_.no_upper == (NoUpperReason.NOT_DISCRETE, "'a,b'")
    sizing = model.sizing_
    assert (sizing.n_factors, sizing.reason, sizing.larger) == (2, SizeReason.NOT_ENOUGH_MORE, 3)
    assert sizing.gain == sizing.tried[2].lower - sizing.tried[1].lower


def _command(*words, cwd):
    """Run a command in this process."""
    from typer.testing import CliRunner

    from hicorex.cli.app import app

    before = Path.cwd()
    os.chdir(cwd)
    try:
        result = CliRunner().invoke(app, words)
    finally:
        os.chdir(before)
    assert result.exit_code == 0, (words, result.output, result.exception)


TREE = hicorex.datasets.make_latent_tree(80, 12, 3, root_flip=0.2, random_state=0)[0]
FITS = {
    "run": lambda: Corex(3, n_states=2, n_init=2, max_iter=6, tol=0, random_state=0),
    "sizes": lambda: Corex("auto", n_states=2, max_iter=6, random_state=0),
    "batches": lambda: Corex(2, n_states=2, n_init=2, max_iter=6, tol=0, batch_size=30, random_state=0),
    "fitted": lambda: HierarchicalCorex((3, 1), n_states=2, n_init=2, max_iter=6, random_state=0),
}


def _checkpoint(name, path, monkeypatch):
    """The notes of a fit that was stopped on its way."""
    stop_after = {"run": 4, "sizes": 12, "batches": 4, "fitted": 8}[name]
    saved = []

    def write(own, kind, content):
        saved.append(to_bytes(kind, content))
        if len(saved) == stop_after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hicorex.storage.checkpoint.write_archive", write)
        with pytest.raises(KeyboardInterrupt):
            FITS[name]().fit(TREE, checkpoint=hicorex.Checkpoint(path, every=0))
    return saved[stop_after - 1]


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore")
def test_changed_checkpoints_are_refused_or_gone_on_from(name, tmp_path, monkeypatch):
    path = tmp_path / "c"
    raw = _checkpoint(name, path, monkeypatch)
    rng = np.random.default_rng(0)
    path.write_bytes(raw)
    FITS[name]().fit(TREE, checkpoint=path)
    messages = []
    for _ in range(100):
        path.write_bytes(changed(raw, rng))
        model = FITS[name]()
        try:
            model.fit(TREE, checkpoint=hicorex.Checkpoint(path, every=1e9)).transform(TREE)
        except HicorexError as error:
            messages.append(str(error))
            assert not hasattr(model, "alpha_")
    assert len(messages) > 30
    assert all("delete it to start anew" in own or "not a file of hicorex" in own for own in messages)


def test_a_checkpoint_sets_only_what_a_checkpoint_holds(tmp_path):
    path = tmp_path / "c"
    whole = Corex(2, n_states=2, n_init=1, max_iter=5, random_state=0)
    with pytest.warns(ConvergenceWarning):
        whole.fit(TREE, checkpoint=path)
    notes = read_archive(path, "checkpoint")
    for key, value in {"transform": "mine", "n_states": 3, "_training": "mine", "__class__": "mine"}.items():
        write_archive(path, "checkpoint", notes | {"layer1.fitted": notes["layer1.fitted"] | {key: value}})
        model = Corex(2, n_states=2, n_init=1, max_iter=5, random_state=0)
        with pytest.raises(HicorexError, match=r"c does not hold together \(an entry .*delete it to start anew"):
            model.fit(TREE, checkpoint=path)
        assert "transform" not in vars(model)
    write_archive(path, "checkpoint", notes | {"layer1.password": "x"})
    with pytest.raises(HicorexError, match="delete it to start anew"):
        Corex(2, n_states=2, random_state=0).fit(TREE, checkpoint=path)
