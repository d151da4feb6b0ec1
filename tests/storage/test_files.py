"""Files and folders appear whole or not at all, whatever ends their writing."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import textwrap
import warnings

import pytest

from hicorex import HicorexError
from hicorex.storage.drafts import drafted
from hicorex.storage.files import READY, finish, whole_file, whole_folder

OLD = {"model.hicorex": "old", "labels.csv": "old", "samples.parquet": "old"}
NEW = {"model.hicorex": "new", "labels.csv": "new", "report.html": "new"}


def held(folder):
    """The files of a folder and what they hold."""
    return {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}


def fill(folder, files, replace=()):
    with whole_folder(folder, replace) as draft:
        for name, text in files.items():
            (draft / name).write_text(text)


def in_child(work):
    """Whether a process of its own was killed at some work, or has ended it."""
    child = os.fork()
    if child == 0:
        warnings.simplefilter("ignore")
        work()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def killed_at(step):
    """Have this process be killed in the place of one of its steps on the disk."""
    taken = iter(range(step, -1, -1))

    def counted(real):
        def do(*args, **more):
            if next(taken) == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)

        return do

    for name in ("fsync", "rename", "replace", "unlink", "rmdir", "mkdir"):
        setattr(os, name, counted(getattr(os, name)))


def test_file_that_fails_half_way_leaves_the_old_one(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with contextlib.suppress(RuntimeError), whole_file(path) as file:
        file.write(b"new")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    with whole_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_file_keeps_a_link_and_takes_the_usual_rights(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with whole_file(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "real").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_replaces_a_file_is_as_private(tmp_path):
    for mode in (0o600, 0o664):
        path = tmp_path / f"{mode:o}"
        path.write_bytes(b"old")
        path.chmod(mode)
        with whole_file(path) as file:
            file.write(b"new")
            assert {stat.S_IMODE(own.stat().st_mode) for own in tmp_path.iterdir()} == {mode}
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.unlink()


def test_folder_for_a_file_is_refused(tmp_path):
    with pytest.raises(HicorexError, match=r"is a folder; give the name of a file"), whole_file(tmp_path):
        pass


def test_names_of_any_length_and_script_have_drafts(tmp_path):
    for name in ("a" * 255, "名" * 85, "😀" * 63):
        with whole_file(tmp_path / name) as file:
            file.write(b"new")
        assert (tmp_path / name).read_bytes() == b"new"


def test_folder_that_fails_half_way_leaves_nothing(tmp_path):
    with contextlib.suppress(RuntimeError), whole_folder(tmp_path / "new" / "out") as draft:
        (draft / "a").write_text("new")
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_folder_is_made_and_filled(tmp_path):
    out = tmp_path / "below" / "out"
    fill(out, OLD)
    assert held(out) == OLD
    fill(out, NEW, OLD)
    assert held(out) == NEW
    assert os.listdir(out.parent) == ["out"]
    assert sorted(os.listdir(out)) == sorted(NEW)


def test_a_folder_that_is_there_stays_the_same(tmp_path, monkeypatch):
    """The one that a shell is in, with its mode, and what else it holds."""
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o2750)
    (out / ".hidden").write_text("mine")
    (out / "diary").write_text("mine")
    monkeypatch.chdir(out)
    before = out.stat()
    for files, replace in ((OLD, ()), (NEW, OLD)):
        fill(".", files, replace)
        assert held(out) == files | {".hidden": "mine", "diary": "mine"}
    after = out.stat()
    assert (after.st_ino, after.st_mode, after.st_uid) == (before.st_ino, before.st_mode, before.st_uid)
    assert os.listdir(tmp_path) == ["out"]


def test_only_what_is_named_is_replaced(tmp_path):
    (tmp_path / "labels.csv").write_text("mine")
    with pytest.raises(HicorexError, match=r"holds labels.csv, which would be replaced"):
        fill(tmp_path, NEW)
    assert held(tmp_path) == {"labels.csv": "mine"}


def test_what_comes_meanwhile_is_asked_for(tmp_path):
    def refuse():
        raise HicorexError("it is taken")

    with pytest.raises(HicorexError, match="it is taken"), whole_file(tmp_path / "a", refuse) as file:
        file.write(b"new")
    with pytest.raises(HicorexError, match="it is taken"), whole_folder(tmp_path / "b", (), refuse) as draft:
        (draft / "a").write_text("new")
    assert os.listdir(tmp_path) == []


def test_interrupt_between_the_names_leaves_all_new_results(tmp_path, monkeypatch):
    out = tmp_path / "out"
    fill(out, OLD)
    real, calls = os.replace, []

    def replace(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*args)

    monkeypatch.setattr("os.replace", replace)
    with pytest.raises(KeyboardInterrupt):
        fill(out, NEW, OLD)
    assert held(out) == NEW
    assert sorted(os.listdir(out)) == sorted(NEW)


def test_kills_at_every_step_of_a_file_leave_the_old_or_the_new_one(tmp_path):
    path = tmp_path / "a"
    for step in range(20):
        path.write_text("old")

        def write(step=step):
            killed_at(step)
            with whole_file(path) as file:
                file.write(b"new")

        killed = in_child(write)
        assert path.read_text() in ("old", "new")
        if not killed:
            break
    assert 2 <= step < 10
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]  # each has removed what the one before has left


def drafted_again(path):
    with whole_file(path) as file:
        file.write(b"again")


@pytest.mark.parametrize("there", [True, False])
def test_kills_at_every_step_of_a_folder_leave_what_the_next_run_completes(tmp_path, there):
    """Old results in a folder, or none, and a kill at each of the steps by which new ones take their places."""
    seen, half = set(), 0
    for step in range(40):
        out = tmp_path / str(step) / "out"
        old = OLD if there else {}
        if there:
            fill(out, OLD)

        def write(step=step, out=out, old=old):
            killed_at(step)
            fill(out, NEW, old)

        killed = in_child(write)
        if (out / READY).exists():
            half += 1
            assert (out / "model.hicorex").read_text() in ("old", "new")  # whole, whoever reads it now
            with pytest.warns(UserWarning, match="killed while it put its results into .*; they are complete now"):
                finish(out, lambda file: True)
        found = held(out) if out.exists() else {}
        assert found in (old, NEW)
        seen.add(found == NEW)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fill(out, OLD, {*OLD, *NEW})
        assert held(out) == OLD
        assert sorted(os.listdir(out)) == sorted(OLD)  # no drafts, nothing half done
        assert os.listdir(out.parent) == ["out"]
        if not killed:
            break
    assert step > 5
    assert seen == {True, False}
    assert (half > 5) == there


def test_drafts_of_others_that_still_write_are_left_alone(tmp_path):
    """Two at once: each has its own draft, and the last one counts."""
    path, out = tmp_path / "a", tmp_path / "out"
    out.mkdir()
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with whole_file(path) as file, whole_folder(out, NEW) as draft:
            file.write(b"child")
            (draft / "labels.csv").write_text("child")
            os.write(ready[1], b".")
            os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    drafted_again(path)
    fill(out, NEW, NEW)
    assert path.read_bytes() == b"again"
    assert held(out) == NEW
    os.write(go[1], b".")
    assert os.waitpid(child, 0)[1] == 0
    assert path.read_bytes() == b"child"
    assert held(out) == {"labels.csv": "child"}
    assert sorted(os.listdir(tmp_path)) == ["a", "out"]


def test_drafts_of_the_killed_are_removed_and_told(tmp_path):
    path, out = tmp_path / "a", tmp_path / "out"
    with drafted(tmp_path / "b") as other:

        def write():
            with whole_file(path) as file, whole_folder(out) as draft:
                file.write(b"new")
                (draft / "labels.csv").write_text("new")
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(write)
        assert len(os.listdir(tmp_path)) == 3
        with pytest.warns(UserWarning, match="Removed .*draft, which a run that was killed has left"):
            drafted_again(path)
        with pytest.warns(UserWarning, match="Removed .*draft, which a run that was killed has left"):
            fill(out, NEW)
        assert sorted(os.listdir(tmp_path)) == sorted(["a", "out", other.name])


def test_pipes_take_what_they_are_given(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as file:
        file.write(b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)


def test_disks_are_no_files(tmp_path):
    try:
        os.mknod(tmp_path / "disk", stat.S_IFBLK | 0o600, os.makedev(7, 0))
    except PermissionError:
        pytest.skip("only an administrator can make a disk")
    with pytest.raises(HicorexError, match="is a disk; give the name of a file"), whole_file(tmp_path / "disk"):
        pass


def with_disks(folder, mounts, code):
    """What a program says that has file systems of its own below a folder."""
    (folder / "do.py").write_text(textwrap.dedent(code))
    script = f"{mounts} && {sys.executable} -c pass || exit 99; {sys.executable} do.py"
    try:
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("nothing can be mounted here")
    if done.returncode == 99 or done.stderr.startswith("unshare"):
        pytest.skip("nothing can be mounted here")
    return done


def test_mount_points_are_filled(tmp_path):
    """Also where nothing can be put beside them, as with a disk that somebody has plugged in."""
    code = """
        from pathlib import Path
        from hicorex.cli.fit import beside
        from hicorex.storage.files import probe_folder, whole_folder
        for text in ("old", "new"):
            probe_folder("outer/disk")
            with whole_folder("outer/disk", {"a"}) as draft:
                (draft / "a").write_text(text)
        print(sorted(file.name for file in Path("outer/disk").iterdir()), Path("outer/disk/a").read_text())
        print(beside(Path("outer/disk")), beside(Path("other")))
    """
    (tmp_path / "outer").mkdir()
    mount = "mount -t tmpfs none"
    mounts = f"{mount} outer && mkdir outer/disk && {mount} outer/disk && mount -o remount,ro outer"
    done = with_disks(tmp_path, mounts, code)
    assert (done.stdout, done.stderr) == ("['a'] new\nouter/disk/.checkpoint other.checkpoint\n", "")


def test_a_full_disk_is_told_before_anything_is_done(tmp_path):
    (tmp_path / "disk").mkdir()
    mounts = "mount -t tmpfs -o size=64k none disk && ! cat /dev/zero > disk/zeros 2> /dev/null"
    done = with_disks(tmp_path, mounts, "from hicorex.storage.files import probe_folder; probe_folder('disk/out')")
    assert "no space left on device; free some space there, or choose another place" in done.stderr
