"""Checkpoints: whole at any moment, and a fit that goes on from one gives the same bits."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from test_model_file import mixed_frame

from hicorex import Checkpoint, Corex, HicorexError, HierarchicalCorex, layer
from hicorex.archive import read_archive, to_bytes
from hicorex.datasets import make_latent_tree


class Stop(Exception):
    """The end of a fit from outside."""


def stopping(path, saves):
    """A checkpoint that saves whenever it can, and stops the fit after so many times."""

    class Stopping(Checkpoint):
        left = saves

        def _save(self):
            super()._save()
            Stopping.left -= 1
            if Stopping.left == 0:
                raise Stop

        def within(self, part):
            inner = super().within(part)
            inner.__class__ = Stopping
            return inner

    return Stopping(path, every=0)


FRAME, KINDS = mixed_frame(150)
TREE, _ = make_latent_tree(300, 40, 4, root_flip=0.15, random_state=0)


@pytest.mark.parametrize("saves", [1, 2, 7])
@pytest.mark.parametrize(
    ("make", "X"),
    [
        (lambda: Corex(3, marginals=KINDS, random_state=0), FRAME),
        (lambda: Corex("auto", marginals=KINDS, random_state=0), FRAME),
        (lambda: Corex(3, structure="overlap", random_state=np.random.RandomState(3)), TREE),
        (lambda: HierarchicalCorex((4, 1), random_state=0), TREE),
        (lambda: HierarchicalCorex((4, 2, 1), structure="tree", max_iter=15, random_state=0), TREE.astype(float)),
        (lambda: HierarchicalCorex("auto", random_state=0), TREE),
    ],
    ids=["mixed", "size found", "overlap", "hierarchy", "three layers", "sizes found"],
)
@pytest.mark.filterwarnings("ignore")
def test_fit_stopped_again_and_again_gives_the_same_bits(make, X, saves, tmp_path):
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
    assert to_bytes("model", model) == to_bytes("model", whole)


def test_fit_without_random_state_goes_on_with_its_own(tmp_path):
    with pytest.raises(Stop):
        Corex(4).fit(TREE, checkpoint=stopping(tmp_path / "c", 4))
    path, copy = tmp_path / "c", tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    one = Corex(4).fit(TREE, checkpoint=path)
    two = Corex(4, n_jobs=1).fit(TREE, checkpoint=copy).set_params(n_jobs=None)
    assert to_bytes("model", one) == to_bytes("model", two)


def test_finished_checkpoint_gives_the_model_at_once(tmp_path):
    model = HierarchicalCorex((4, 1), random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    again = HierarchicalCorex((4, 1), random_state=0).fit(TREE, checkpoint=str(tmp_path / "c"))
    assert to_bytes("model", again) == to_bytes("model", model)
    assert (tmp_path / "c").read_bytes() == before


def test_saves_no_more_often_than_asked(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr("hicorex.checkpoint.write_archive", lambda *args: saved.append(args))
    HierarchicalCorex((4, 1), random_state=0).fit(TREE, checkpoint=Checkpoint(tmp_path / "c", every=1e6))
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
def test_checkpoint_of_another_fit_is_refused(change, message, tmp_path):
    X = pd.DataFrame(TREE, columns=[f"v{i}" for i in range(40)])
    with pytest.raises(Stop):
        HierarchicalCorex((4, 1), random_state=0).fit(X, checkpoint=stopping(tmp_path / "c", 2))
    before = (tmp_path / "c").read_bytes()
    model = HierarchicalCorex((4, 1), random_state=0)
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


def test_other_files_are_no_checkpoints(tmp_path):
    model = Corex(2, random_state=0).fit(TREE)
    model.save(tmp_path / "model")
    (tmp_path / "text").write_text("hello")
    for name, message in (("model", "is a model; a checkpoint is needed"), ("text", "is not a file of hicorex")):
        with pytest.raises(HicorexError, match=message):
            Corex(2).fit(TREE, checkpoint=tmp_path / name)


def test_disk_that_is_full_does_not_end_the_fit(tmp_path, monkeypatch):
    def full(*_):
        raise HicorexError("c cannot be written: no space left on device.")

    whole = HierarchicalCorex((4, 1), random_state=0).fit(TREE)
    monkeypatch.setattr("hicorex.checkpoint.write_archive", full)
    with pytest.warns(UserWarning, match="no space left on device. The fit goes on without a new checkpoint"):
        model = HierarchicalCorex((4, 1), random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    assert to_bytes("model", model) == to_bytes("model", whole)


def test_folder_that_is_not_there_is_told_before_the_fit(tmp_path):
    with pytest.raises(HicorexError, match=r"No checkpoint can be written to the folder .*nowhere; choose another"):
        Corex(2).fit(TREE, checkpoint=tmp_path / "nowhere" / "c")


def test_interrupt_keeps_the_last_whole_iteration(tmp_path, monkeypatch):
    """Ctrl-C comes in the middle of an iteration: what the one before had reached is in the file."""
    whole = Corex(4, random_state=0).fit(TREE)
    passes = []
    real = layer.run_pass

    def run_pass(*args, **more):
        passes.append(1)
        if len(passes) == 6:
            raise KeyboardInterrupt
        return real(*args, **more)

    monkeypatch.setattr(layer, "run_pass", run_pass)
    with pytest.raises(KeyboardInterrupt):
        Corex(4, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    assert read_archive(tmp_path / "c", "checkpoint")["layer1.run"].iteration == 5
    model = Corex(4, random_state=0).fit(TREE, checkpoint=tmp_path / "c")
    assert to_bytes("model", model) == to_bytes("model", whole)


def test_fifty_kills_leave_a_whole_file_and_the_same_bits(tmp_path):
    """kill -9 at random moments; each time the fit goes on, until it is through, and then from the start again."""
    code = """
        import os, random, signal, sys, time
        from pathlib import Path
        from hicorex import Checkpoint, HierarchicalCorex
        from hicorex.archive import read_archive, to_bytes
        from hicorex.datasets import make_latent_tree
        X, _ = make_latent_tree(600, 80, 8, root_flip=0.15, random_state=0)
        make = lambda: HierarchicalCorex((8, 1), tol=0, max_iter=25, n_init=2, n_jobs=1, random_state=0)
        import warnings; warnings.simplefilter("ignore")
        begun = time.perf_counter()
        whole = to_bytes("model", make().fit(X))
        lasts = time.perf_counter() - begun
        path, random = Path("c"), random.Random(0)
        kills = finished = found = 0
        while kills < 50:
            child = os.fork()
            if child == 0:
                model = make().fit(X, checkpoint=Checkpoint(path, every=0))
                os._exit(0 if to_bytes("model", model) == whole else 1)
            time.sleep(random.random() * lasts / 2)
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
        assert to_bytes("model", model) == whole
        print(kills, finished > 3, found > 25, sorted(f.name for f in Path(".").iterdir()))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=tmp_path, timeout=600
    )
    assert run.stdout.split("\n")[0] == "50 True True ['c']", run.stderr
