"""Drafts: files and folders on their way, under a name beside the one that they are going to have.

A draft is called ``.NAME.<12 hexadecimal digits>.draft``. Its process holds a lock on it, which the system takes away
when the process ends, however it ends. So a draft without a lock was left by a killed process: the next process that
writes to the same place removes it and warns. Windows has no such locks, nor have folders on some network disks. There
a warning names the drafts of other processes, and they stay.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hicorex.exceptions import warn_caller

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

# The number of characters of a name that its draft repeats: a name may have 255 bytes, a character up to four.
LONGEST = 50
# The drafts that this process is writing.
_WRITING: set[Path] = set()


@contextmanager
def drafted(path: Path, folder: bool = False) -> Iterator[Path]:
    """A new, empty draft of a file or folder. It is removed in the end unless it has been renamed."""
    draft, handle = _made(path, folder)
    _WRITING.add(draft)
    try:
        yield draft
    finally:
        _WRITING.discard(draft)
        if folder:
            shutil.rmtree(draft, ignore_errors=True)
        else:
            with suppress(OSError):
                draft.unlink()
        if handle is not None:
            os.close(handle)


def clear_drafts(path: Path) -> list[Path]:
    """Remove drafts of this file or folder that killed processes have left, and warn; gives those still in use."""
    pattern = re.compile(re.escape(f".{path.name[:LONGEST]}.") + "[0-9a-f]{12}[.]draft")
    in_use = []
    with suppress(OSError):
        for draft in [path.parent / name for name in os.listdir(path.parent) if pattern.fullmatch(name)]:
            if draft not in _WRITING and _is_in_use(draft):
                in_use.append(draft)
    return in_use


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock a folder, where the system can: other processes that call this wait."""
    if fcntl is None:  # pragma: no cover - Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _locked(handle, wait=True)
        yield
    finally:
        os.close(handle)


def _is_in_use(draft: Path) -> bool:
    """Whether another process is writing a draft; an abandoned one is removed."""
    with suppress(OSError):  # gone by now, or of somebody else
        handle = os.open(draft, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        try:
            locked = _locked(handle, wait=False)
            if locked is None:
                warn_caller(f"{draft} is of another run; if none is writing there, delete it.")
            elif locked:
                shutil.rmtree(draft) if draft.is_dir() else draft.unlink()
                warn_caller(f"Removed {draft}, which a run that was killed has left.")
            return locked is False
        finally:
            os.close(handle)
    return False


def _made(path: Path, folder: bool) -> tuple[Path, int | None]:
    """A draft and the handle that holds its lock."""
    while True:
        draft = path.with_name(f".{path.name[:LONGEST]}.{secrets.token_hex(6)}.draft")
        if folder:
            draft.mkdir(parents=True)
        else:
            handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:  # pragma: no cover - Windows, where what is open cannot be renamed
            if not folder:
                os.close(handle)
            return draft, None
        with suppress(FileNotFoundError):  # another process may clear it before it is locked
            if folder:
                handle = os.open(draft, os.O_RDONLY)
            _locked(handle, wait=True)
            if os.path.samestat(os.stat(draft), os.fstat(handle)):
                return draft, handle
            os.close(handle)


def _locked(handle: int, wait: bool) -> bool | None:
    """Whether the lock was taken; None where the system has no locks."""
    if fcntl is None:  # pragma: no cover - Windows
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
