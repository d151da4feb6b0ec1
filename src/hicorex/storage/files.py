"""Files and folders that appear whole or not at all.

This holds whatever ends the writing, be it an error, a signal or a power cut:

- A file is written as a draft beside its place, brought to the disk and renamed: the old one or the new one is there,
  whole. It keeps the mode and owner of the one it replaces. A link stays a link.
- A new folder is written as a draft beside its place in the same way.
- A folder that is there stays the same folder, with its mode and owner, be it the current one or a mount point. The
  draft is a folder within it. When all of it is on the disk the draft is renamed to ``READY``: from then on the new
  files count. One after the other they take their places, the model last, so that whoever loads it meets the old or the
  new one. What a kill leaves undone, the next ``finish`` or ``whole_folder`` there completes.
- Other files of a folder are not touched.
- A pipe or a device such as /dev/null takes what it is given. A disk is refused.
"""

import errno
import io
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from hicorex.exceptions import HicorexError, NotWrittenError, warn_caller
from hicorex.storage.drafts import alone_in, clear_drafts, drafted

# What can be done about an error.
REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "; free some space there, or choose another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT), "; choose another place"),
    errno.ENAMETOOLONG: "; choose a shorter name",
}
# Within a folder of results: the folder of new files that are whole, and in it the list of old files to remove.
READY, GOING = ".hicorex-ready", ".going"
# What drafts within a folder are named after.
WITHIN = "results"


class _Named(io.FileIO):
    """A file to write to, whose errors say what it is called."""

    def __init__(self, path: Any, mode: str, name: Any):
        super().__init__(path, mode)
        self._called = name

    def write(self, data: Any) -> int:
        with naming(self._called):
            return super().write(data)


def new_file(path: Any, mode: str = "wb", name: Any = None) -> BinaryIO:
    """A file to write to; errors name it, or say ``name``, the name that it is going to have."""
    return io.BufferedWriter(_Named(path, mode, name or path))


@contextmanager
def naming(name: Any) -> Iterator[None]:
    """Make an OSError one that names what cannot be written; a broken pipe stays one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _not_written(name, error) from error


@contextmanager
def whole_file(path: Any, allow: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
    """A file to write to that takes its name only when all of it is on the disk.

    Until then the old file stays as it was, whatever ends the writing. ``allow`` is called right before the old file is
    replaced, and may refuse.
    """
    if is_stream(path):
        with naming(path), new_file(path) as device:
            yield device
        return
    path = real_path(path)  # a link stays a link
    clear_drafts(path)
    with naming(path), drafted(path) as draft:
        with new_file(draft, "wb", path) as file:
            _take_rights(draft, path)
            yield file
            file.flush()
            os.fsync(file.fileno())
        _ask(allow)
        os.replace(draft, path)
        _sync_folder(path.parent)


@contextmanager
def whole_folder(path: Any, replace: Collection[str] = (), allow: Callable[[], None] | None = None) -> Iterator[Path]:
    """A folder to write files into. They appear in their place only when all of them are on the disk.

    Old files that ``replace`` names are replaced or removed; others stay. ``allow`` is called right before
    that, and may refuse.
    """
    path = real_path(path)
    made = [folder for folder in path.parents if not folder.exists()]
    within = os.path.isdir(path)
    try:
        clear_drafts(path / WITHIN if within else path)
        with drafted(path / WITHIN if within else path, folder=True) as draft:
            if within:  # what it replaces may be private
                draft.chmod(stat.S_IMODE(draft.stat().st_mode) & ~0o077)
            yield draft
            for file in draft.iterdir():
                with naming(path / file.name), open(file, "rb") as written:
                    os.fsync(written.fileno())
            _sync_folder(draft)
            with alone_in(path if path.is_dir() else path.parent):
                _ask(allow)
                if path.exists():
                    _replace_all(path, draft, replace)
                else:
                    os.rename(draft, path)
                    _sync_folder(path.parent)
    except OSError as error:
        raise _not_written(path, error) from error
    except NotWrittenError as error:
        raise NotWrittenError(error.args[0].replace(str(draft), str(path))) from error
    finally:
        for folder in made:
            with suppress(OSError):  # those that hold something stay
                folder.rmdir()


def finish(path: Any, is_ours: Callable[[Path], bool]) -> None:
    """Complete what a killed run has left undone in a folder, and warn of it.

    ``is_ours`` tells whether a file of the folder may be replaced, by its name and contents.
    """
    path = Path(path)
    if not (path / READY).is_dir():
        return
    with naming(path), alone_in(path):
        if (path / READY).is_dir():  # otherwise the run was not killed, and has ended
            _check_ready(path, is_ours)
            _finish(path)
            warn_caller(f"A run was killed while it put its results into {path}; they are complete now.")


def held_in(folder: Path) -> list[str]:
    """What a folder holds, but for what is never touched."""
    return sorted(name for name in os.listdir(folder) if not name.startswith(".") and name != "lost+found")


def is_stream(path: Any) -> bool:
    """Whether a path is a pipe or a device that takes what it is given; folders and disks are refused."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISDIR(mode):
        raise HicorexError(f"{path} is a folder; give the name of a file.")
    if stat.S_ISBLK(mode):
        raise HicorexError(f"{path} is a disk; give the name of a file.")
    return not stat.S_ISREG(mode)


def real_path(path: Any) -> Path:
    """A path without links."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:  # links that lead to themselves
        raise HicorexError(f"{path} cannot be written: its links lead nowhere; choose another name.") from error


def probe_file(path: Any) -> None:
    """Refuse a file that could not be written, before there is anything to lose."""
    if is_stream(path):
        return
    real = real_path(path)
    if not os.path.isdir(real.parent):
        above = Path(path).parent if not os.path.islink(path) else real.parent
        where = "is a file; choose another place" if os.path.exists(above) else "is not there; make that folder first"
        raise NotWrittenError(f"{path} cannot be written: {above} {where}.")
    _probe(real, path)


def probe_folder(path: Any) -> None:
    """Refuse a folder that could not be written, before there is anything to lose."""
    _probe(_drafts_of(path), path)


@contextmanager
def claimed_folder(path: Any) -> Iterator[None]:
    """Claim a folder that is going to be written: another process that claims it is refused.

    A draft stands for the claim. Of two claims at once the later one is refused.
    """
    place = _drafts_of(path)
    with naming(path), drafted(place) as claim:
        since = claim.stat().st_mtime_ns, claim.name
        for other in clear_drafts(place):
            with suppress(FileNotFoundError):  # it has ended
                if (other.stat().st_mtime_ns, other.name) < since:
                    raise HicorexError(f"Another run is writing to {path}; wait for it, or choose another folder.")
        yield


def _drafts_of(path: Any) -> Path:
    """The path after which drafts of a folder are named: inside it if it exists, else beside where it will be made."""
    real = real_path(path)
    if os.path.isdir(real):
        return real / WITHIN
    there = next(folder for folder in (real, *real.parents) if os.path.lexists(folder))
    if not os.path.isdir(there):
        raise NotWrittenError(f"{path} cannot be written: {there} is a file; choose another place.")
    return there / real.name


def _probe(path: Path, name: Any) -> None:
    """Write a little where a draft would be."""
    with naming(name):
        with suppress(FileNotFoundError):
            os.stat(path)  # which a name that is too long does not pass
        clear_drafts(path)
        with drafted(path) as draft, new_file(draft, "wb", name) as file:
            file.write(bytes(512))
            file.flush()
            os.fsync(file.fileno())


def _ask(allow: Callable[[], None] | None) -> None:
    """Ask whether the place may still be written; it may have changed while the draft was written."""
    try:
        if allow is not None:
            allow()
    except HicorexError as error:
        raise NotWrittenError(str(error)) from error


def _replace_all(path: Path, draft: Path, replace: Collection[str]) -> None:
    """Move the files of a draft into a folder, in place of the old ones."""
    if (path / READY).exists():
        _finish(path)  # of another run, which was killed meanwhile
    held, new = {*os.listdir(path)}, {file.name for file in draft.iterdir()}
    for name in sorted((held & new) - {*replace}):
        raise HicorexError(f"{path} holds {name}, which would be replaced; choose another folder, or move it away.")
    going = sorted((held & {*replace}) - new)
    with open(draft / GOING, "w", encoding="utf-8") as file:
        json.dump(going, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path / READY)
    _sync_folder(path)
    try:
        _finish(path)
    except KeyboardInterrupt:  # half of it would be worse than a moment
        _finish(path)
        raise


def _finish(path: Path) -> None:
    """Put the files that are ready in their places; a file that was moved before stays there."""
    ready = path / READY
    if (ready / GOING).exists():
        for name in json.loads((ready / GOING).read_text(encoding="utf-8")):
            if Path(name).name == name:
                (path / name).unlink(missing_ok=True)
        for file in sorted(ready.iterdir(), key=lambda file: (file.suffix == ".hicorex", file.name)):
            if file.name != GOING:
                _take_rights(file, path / file.name)
                os.replace(file, path / file.name)
        _sync_folder(path)
        (ready / GOING).unlink()
    ready.rmdir()


def _check_ready(path: Path, is_ours: Callable[[Path], bool]) -> None:
    """Refuse a folder of new files that no run has left."""
    ready = path / READY
    try:
        going = json.loads((ready / GOING).read_text(encoding="utf-8")) if (ready / GOING).exists() else []
        names = {*going, *os.listdir(ready)} - {GOING}
        left_by_us = all(is_ours(path / name) and not (ready / name).is_symlink() for name in names)
    except (ValueError, TypeError):
        left_by_us = False
    if not left_by_us:
        raise HicorexError(f"{ready} is not what a run of hicorex leaves; move it away, and start again.")


def _take_rights(draft: Path, path: Path) -> None:
    """Give a draft the mode and owner of the file that it is going to replace."""
    with suppress(OSError, AttributeError):
        old = path.stat()
        os.chmod(draft, stat.S_IMODE(old.st_mode))
        os.chown(draft, old.st_uid, old.st_gid)


def _not_written(path: Any, error: OSError) -> NotWrittenError:
    remedy = REMEDIES.get(error.errno or 0, "")
    return NotWrittenError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}{remedy}.")


def _sync_folder(folder: Path) -> None:
    """Make a new name last, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
