"""Files and folders appear whole or not at all."""

import contextlib
import os

import pytest

from hicorex import HicorexError
from hicorex.files import whole_file, whole_folder


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


def test_folder_for_a_file_is_refused(tmp_path):
    with pytest.raises(HicorexError, match=r"is a folder; give the name of a file"), whole_file(tmp_path):
        pass


def test_folder_that_fails_half_way_leaves_nothing(tmp_path):
    with contextlib.suppress(RuntimeError), whole_folder(tmp_path / "out") as draft:
        (draft / "a").write_text("new")
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_folder_is_made_filled_and_replaced(tmp_path):
    out = tmp_path / "below" / "out"
    for replace in (None, {"a"}):
        with whole_folder(out, replace) as draft:
            (draft / "a").write_text(str(replace))
        assert (out / "a").read_text() == str(replace)
    assert os.listdir(out.parent) == ["out"]


@pytest.mark.parametrize(
    ("held", "replace", "message"),
    [
        ("a", None, "is not empty; choose another folder, or add --overwrite to replace the results in it"),
        ("diary", {"a"}, "holds diary, which is not a result; choose another folder, or move it away"),
    ],
)
def test_folder_of_others_is_left_alone(tmp_path, held, replace, message):
    (tmp_path / held).write_text("mine")
    with pytest.raises(HicorexError, match=message), whole_folder(tmp_path, replace) as draft:
        (draft / "a").write_text("new")
    assert os.listdir(tmp_path) == [held]
    assert (tmp_path / held).read_text() == "mine"
    with pytest.raises(HicorexError, match="is a file"), whole_folder(tmp_path / held, replace):
        pass


def test_interrupt_between_the_names_leaves_the_old_results(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with whole_folder(out) as draft:
        (draft / "a").write_text("old")
    real, calls = os.rename, []

    def rename(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*args)

    monkeypatch.setattr("os.rename", rename)
    with pytest.raises(KeyboardInterrupt), whole_folder(out, {"a"}) as draft:
        (draft / "a").write_text("new")
    assert (out / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_pipes_take_what_they_are_given(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as file:
        file.write(b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
