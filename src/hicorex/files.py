"""Files and folders that appear whole or not at all."""

import errno
import io
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from hicorex.exceptions import HicorexError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotWrittenError(HicorexError):
    """A file that cannot be written; what was there before is as it was."""


class _Named(io.FileIO):
    """A file to write to, whose errors say what it is called."""

    def __init__(self, path: Any, mode: str, name: Any):
        super().__init__(path, mode)
        self._called = name

    def write(self, data: Any) -> int:
        with naming(self._called):
            return super().write(data)


def new_file(path: Any, mode: str = "wb", name: Any = None) -> BinaryIO:
    """A file to write to; what goes wrong is told with its name, or the one that it is going to have."""
    return io.BufferedWriter(_Named(path, mode, name or path))


@contextmanager
def naming(name: Any) -> Iterator[None]:
    """Say what cannot be written; a pipe whose reader has gone is another matter."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _not_written(name, error) from error


@contextmanager
def whole_file(path: Any) -> Iterator[BinaryIO]:
    """A file to write to that takes its name only when all of it is on the disk.

    Whatever ends the writing before, the file that had the name is left as it was.
    """
    if Path(path).is_dir():
        raise HicorexError(f"{path} is a folder; give the name of a file.")
    if Path(path).exists() and not Path(path).is_file():  # a pipe or a device takes what it is given
        with naming(path), new_file(path) as device:
            yield device
        return
    path = Path(path).resolve()  # a link stays a link
    draft = _draft(path)
    try:
        with naming(path):
            with new_file(draft, "xb", path) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            _sync_folder(path.parent)
    finally:
        with suppress(OSError):
            draft.unlink()


@contextmanager
def whole_folder(path: Any, replace: Collection[str] | None = None) -> Iterator[Path]:
    """A folder to write into that takes its name only when everything in it is on the disk.

    An empty folder of that name is filled; another is replaced if ``replace`` names all that it holds.
    """
    path = Path(path).resolve()
    check_folder(path, replace)
    draft = _draft(path)
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        draft.mkdir(parents=True)
        yield draft
        for file in draft.iterdir():
            with naming(path / file.name), open(file, "rb") as written:
                os.fsync(written.fileno())
        _sync_folder(draft)
        check_folder(path, replace)  # it may have come while the draft was written
        old = _draft(path)
        try:
            if path.exists():
                os.rename(path, old)
            os.rename(draft, path)
        except BaseException:
            if old.exists() and not path.exists():
                os.rename(old, path)
            raise
        shutil.rmtree(old, ignore_errors=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise _not_written(path, error) from error
    except NotWrittenError as error:
        raise NotWrittenError(error.args[0].replace(str(draft), str(path))) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        for folder in made:
            with suppress(OSError):  # those that hold something stay
                folder.rmdir()


def check_folder(path: Any, replace: Collection[str] | None = None) -> None:
    """Refuse a folder that ``whole_folder`` would refuse, or that cannot be written."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise HicorexError(f"{path} is a file; give the name of a folder.")
    held = sorted(os.listdir(path)) if path.exists() else []
    if held and replace is None:
        raise HicorexError(
            f"{path} is not empty; choose another folder, or add --overwrite to replace the results in it."
        )
    strange = [name for name in held if name not in (replace or ())]
    if strange:
        raise HicorexError(f"{path} holds {strange[0]}, which is not a result; choose another folder, or move it away.")
    there = next(folder for folder in path.resolve().parents if folder.is_dir())
    try:
        probe = _draft(there / "folder")
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Any, error: OSError) -> NotWrittenError:
    remedy = "; free some space there, or choose another place" if error.errno in FULL else ""
    return NotWrittenError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}{remedy}.")


def _draft(path: Path) -> Path:
    """A name beside that of the file, which nothing has."""
    return path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.draft")


def _sync_folder(folder: Path) -> None:
    """Make a new name last, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
