"""Checkpoints: whole at any moment, and a fit that goes on from one gives the same bits."""

import contextlib
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from models import mixed_frame, model_bytes

from hicorex import Checkpoint, Corex, HicorexError, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.layer import passes as layer_passes
from hicorex.selection.trials import Trials
from hicorex.storage.archive import read_archive, write_archive


class Stop(Exception):
    """The end of a fit from outside."""


@pytest.fixture
def stopping(monkeypatch):
    """A checkpoint that saves whenever it can, and stops the fit after ``saves`` of them."""

    def make(path, saves):
        left = iter(range(saves - 1, -1, -1))

        def write(*args):
            write_archive(*args)
            if next(left) == 0:
                raise Stop

        monkeypatch.setattr("hicorex.storage.checkpoint.write_archive", write)
        return Checkpoint(path, every=0)

    return make


FRAME, KINDS = mixed_frame(150)
TREE, _ = make_latent_tree(300, 40, 4, root_flip=0.15, random_state=0)


FITS = {
    "mixed": (lambda: Corex(3, n_states=2, marginals=KINDS, random_state=0), FRAME),
    "overlap": (lambda: Corex(3, n_states=2, structure="overlap", random_state=np.random.RandomState(3)), TREE),
    "hierarchy": (lambda: HierarchicalCorex((4, 1), n_states=2, random_state=0), TREE),
    "three layers": (
        lambda: HierarchicalCorex((4, 2, 1), n_states=2, structure="tree", max_iter=15, random_state=0),
        TREE.astype(float),
    ),
    "size found": (lambda: Corex("auto", n_states=2, marginals=KINDS, random_state=0), FRAME),
    "sizes found": (lambda: HierarchicalCorex("auto", n_states=2, random_state=0), TREE),
}


@pytest.mark.parametrize(
    ("name", "saves"),
    [(name, saves) for name in FITS for saves in ((41, 60) if "found" in name else (1, 2, 7))],
)
@pytest.mark.filterwarnings("ignore")
def test_fit_stopped_again_and_again_gives_the_same_bits(name, saves, tmp_path, stopping):
    make, X = FITS[name]
    whole = make().fit(X)
    stops = 0
    while True:
        model = make()
        try:
            model.fit(X, checkpoint=stopping(tmp_path / "c", saves))
            break
        except Stop:
            stops += 1
    assert stops >= 2
    if isinstance(model.random_state, np.random.RandomState):
        model.random_state = whole.random_state
    assert model_bytes(model) == model_bytes(whole)


def test_fit_without_random_state_goes_on_with_its_own(tmp_path, stopping, monkeypatch):
    with pytest.raises(Stop):
        Corex(4, n_states=2).fit(TREE, checkpoint=stopping(tmp_path / "c", 4))
    monkeypatch.undo()
    path, copy = tmp_path / "c", tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    one = Corex(4, n_states=2).fit(TREE, checkpoint=path)
    two = Corex(4, n_states=2, n_jobs=1).fit(TREE, checkpoint=copy).set_params(n_jobs=None)
    assert model_bytes(one) == model_bytes(two)


def test_finished_checkpoint_gives_the_model_at_once(tmp_path):
    model = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    again = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(TREE, checkpoint=str(tmp_path / "c"))
    assert model_bytes(again) == model_bytes(model)
    assert (tmp_path / "c").read_bytes() == before


def test_checkpoints_are_saved_no_more_often_than_asked(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr("hicorex.storage.checkpoint.write_archive", lambda *args: saved.append(args))
    HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(TREE, checkpoint=Checkpoint(tmp_path / "c", every=1e6))
    assert len(saved) == 2  # after each layer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_states": 3}, "of a fit with other n_states; delete it to start anew, or name another"),
        ({"layers": (4, 2)}, "other layers"),
        ({"random_state": 1}, "other random_state"),
        ({"marginals": ["categorical"] * 40, "tol": 0.1}, "other marginals, tol"),
        ("value", "other data"),
        ("row", "other data"),
        ("weight", "other data"),
        ("name", "other data"),
        ("category", "other data"),
    ],
)
def test_checkpoint_of_another_fit_is_refused(change, message, tmp_path, stopping):
    X = pd.DataFrame(TREE, columns=[f"v{i}" for i in range(40)])
    with pytest.raises(Stop):
        HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(X, checkpoint=stopping(tmp_path / "c", 2))
    before = (tmp_path / "c").read_bytes()
    model = HierarchicalCorex((4, 1), n_states=2, random_state=0)
    weight = None
    if isinstance(change, dict):
        model.set_params(**change)
    elif change == "value":
        X.iloc[17, 3] = 1 - X.iloc[17, 3]
    elif change == "row":
        X = X.iloc[1:]
    elif change == "weight":
        weight = np.linspace(0.5, 1.5, len(X))
    elif change == "name":
        X = X.rename(columns={"v3": "w3"})
    else:
        X["v3"] = X["v3"].map({0: 0, 1: 2})
    with pytest.raises(HicorexError, match=message):
        model.fit(X, sample_weight=weight, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == before


def test_columns_that_changed_places_are_other_data(tmp_path):
    """Two categories and three go to different blocks, each in order."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(2, size=50), rng.integers(3, size=50)] * 2)
    Corex(1, n_states=2, random_state=0).fit(X, checkpoint=tmp_path / "c")
    with pytest.raises(HicorexError, match="other data"):
        Corex(1, n_states=2, random_state=0).fit(X[:, [1, 0, 3, 2]], checkpoint=tmp_path / "c")


def test_another_generator_is_another_fit(tmp_path):
    for seed in (1, 1):
        model = HierarchicalCorex((4, 1), n_states=2, random_state=np.random.RandomState(seed))
        model.fit(TREE, checkpoint=tmp_path / "c")
    with pytest.raises(HicorexError, match="other random_state"):
        HierarchicalCorex((4, 1), n_states=2, random_state=np.random.RandomState(99)).fit(
            TREE, checkpoint=tmp_path / "c"
        )


def test_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    Corex(1, n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    monkeypatch.setattr("hicorex.__version__", "99.0")
    with pytest.raises(HicorexError, match="other version of hicorex"):
        Corex(1, n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")


def test_parameters_of_numpy_are_those_of_python(tmp_path):
    Corex(3, n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    model = Corex(np.int64(3), n_states=2, tol=np.float64(1e-5), random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    assert not hasattr(model, "sizing_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_large_tables_go_on_to_the_same_bits(n_jobs, tmp_path, stopping):
    """Single precision, several tiles and blocks, gaps, weights of zero and other numbers of threads."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(9000, 1)) + rng.normal(size=(9000, 20))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 10:] = np.round(X[:, 10:])
    kinds = ["gaussian"] * 5 + ["rank"] * 5 + ["categorical"] * 10
    weight = rng.random(9000) * (rng.random(9000) > 0.1)
    settings = {"n_states": 3, "marginals": kinds, "n_init": 3, "max_iter": 12, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = Corex(3, **settings).fit(X, sample_weight=weight)
        for saves in (2, 3, 50):
            model = Corex(3, n_jobs=n_jobs, **settings)
            with contextlib.suppress(Stop):
                model.fit(X, sample_weight=weight, checkpoint=stopping(tmp_path / "c", saves))
    assert model_bytes(model.set_params(n_jobs=None)) == model_bytes(whole)


def test_interrupt_while_sizes_are_tried_loses_nothing(tmp_path, monkeypatch):
    whole = Corex("auto", n_states=2, random_state=0).fit(TREE)
    real, passes = layer_passes.run_pass, []

    def run_pass(*args, **more):
        passes.append(1)
        if len(passes) % 60 == 0:
            raise KeyboardInterrupt
        return real(*args, **more)

    def try_size(*args):
        with monkeypatch.context() as trying:
            trying.setattr(layer_passes, "run_pass", run_pass)
            return really_try(*args)

    really_try = Trials._try
    monkeypatch.setattr(Trials, "_try", try_size)
    runs = 1
    while True:
        try:
            model = Corex("auto", n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
            break
        except KeyboardInterrupt:
            assert read_archive(tmp_path / "c", "checkpoint")["layer1.stage"][1].run.iteration > 0
            runs += 1
    assert runs > 3
    assert model_bytes(model) == model_bytes(whole)


def test_interrupt_with_a_full_disk_is_an_interrupt_still(tmp_path, monkeypatch):
    def full(*_):
        raise HicorexError("c cannot be written: no space left on device.")

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hicorex.storage.checkpoint.write_archive", full)
    monkeypatch.setattr(layer_passes, "run_pass", stop)
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="no space left"):
        Corex(4, n_states=2).fit(TREE, checkpoint=tmp_path / "c")


def test_a_second_interrupt_ends_the_saving_and_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    model = Corex(4, n_states=2, random_state=0)
    with pytest.MonkeyPatch.context() as once:
        once.setattr(layer_passes, "run_pass", stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(TREE, checkpoint=tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    monkeypatch.setattr(layer_passes, "run_pass", stop)
    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TREE, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


@pytest.mark.filterwarnings("ignore:Removed")
def test_drafts_of_a_killed_process_are_removed_and_no_others(tmp_path):
    for name in (".c[1].0123456789ab.draft", ".c1.0123456789ab.draft", ".c[1].x.0123456789ab.draft"):
        (tmp_path / name).write_text("")
    Corex(1, n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c[1]")
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        ".c1.0123456789ab.draft",
        ".c[1].x.0123456789ab.draft",
        "c[1]",
    ]


def test_other_files_are_no_checkpoints(tmp_path):
    model = Corex(2, n_states=2, random_state=0).fit(TREE)
    model.save(tmp_path / "model")
    (tmp_path / "text").write_text("hello")
    for name, message in (("model", "is a model; a checkpoint is needed"), ("text", "is not a file of hicorex")):
        with pytest.raises(HicorexError, match=message):
            Corex(2, n_states=2).fit(TREE, checkpoint=tmp_path / name)


def test_disk_that_is_full_does_not_end_the_fit(tmp_path, monkeypatch):
    def full(*_):
        raise HicorexError("c cannot be written: no space left on device.")

    whole = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(TREE)
    monkeypatch.setattr("hicorex.storage.checkpoint.write_archive", full)
    with pytest.warns(UserWarning, match="no space left on device. The fit goes on without a new checkpoint"):
        model = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    assert model_bytes(model) == model_bytes(whole)


def test_folder_that_is_not_there_is_told_before_the_fit(tmp_path):
    with pytest.raises(HicorexError, match=r"No checkpoint can be written to the folder .*nowhere; choose another"):
        Corex(2, n_states=2).fit(TREE, checkpoint=tmp_path / "nowhere" / "c")


def test_interrupt_keeps_the_last_whole_iteration(tmp_path, monkeypatch):
    """Ctrl-C comes in the middle of an iteration: what the one before had reached is in the file."""
    whole = Corex(4, n_states=2, random_state=0).fit(TREE)
    passes = []
    real = layer_passes.run_pass

    def run_pass(*args, **more):
        passes.append(1)
        if len(passes) == 6:
            raise KeyboardInterrupt
        return real(*args, **more)

    monkeypatch.setattr(layer_passes, "run_pass", run_pass)
    with pytest.raises(KeyboardInterrupt):
        Corex(4, n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    assert read_archive(tmp_path / "c", "checkpoint")["layer1.stage"][1].run.iteration == 5
    model = Corex(4, n_states=2, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    assert model_bytes(model) == model_bytes(whole)


def test_fifty_kills_leave_a_whole_file_and_the_same_bits(tmp_path):
    """kill -9 at random moments; each time the fit goes on, until it is through, and then from the start again.

    Fifty times at least, half of them with something done, and four times to the end.
    """
    code = """
        import os, random, signal, sys, time
        from pathlib import Path
        from hicorex import Checkpoint, HierarchicalCorex
        from hicorex.storage.archive import read_archive, to_bytes, write_archive
        from hicorex.datasets import make_latent_tree
        X, _ = make_latent_tree(600, 80, 8, root_flip=0.15, random_state=0)
        make = lambda: HierarchicalCorex((8, 1), tol=0, max_iter=25, n_init=2, n_jobs=1, random_state=0)
        import warnings; warnings.simplefilter("ignore")
        whole = to_bytes("model", make().fit(X).record())
        path, random = Path("c"), random.Random(0)
        begun = time.perf_counter()  # now that all is compiled
        make().fit(X, checkpoint=Checkpoint(path, every=0))
        lasts = time.perf_counter() - begun
        path.unlink(missing_ok=True)
        kills = finished = found = 0
        while kills < 50 or finished < 4 or found < 26:
            child = os.fork()
            if child == 0:
                model = make().fit(X, checkpoint=Checkpoint(path, every=0))
                os._exit(0 if to_bytes("model", model.record()) == whole else 1)
            time.sleep(1.2 * random.random() * lasts)
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            if os.WIFEXITED(status):
                assert os.WEXITSTATUS(status) == 0, "another model"
                finished += 1
                path.unlink()
                continue
            kills += 1
            if path.exists():
                read_archive(path, "checkpoint")
                found += 1
        model = make().fit(X, checkpoint=path)
        assert to_bytes("model", model.record()) == whole
        print(sorted(f.name for f in Path(".").iterdir()))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=tmp_path, timeout=600
    )
    assert run.stdout.split("\n")[0] == "['c']", run.stderr
