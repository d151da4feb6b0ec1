"""Whether files are there, whole and what they were, and what is said if not."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hicorex.exceptions import HicorexError

Stamp = tuple[int, ...]
T = TypeVar("T")
# Seconds in which two changes of a file may get the same time, as the system counts it.
TICK = 0.02


def stamp_of(file: str | int, files: Any = None) -> Stamp:
    """What tells whether a file, given by its path or an open handle, is still the same, as ``now`` has it.

    A file that has only just changed is waited for, since one more change might get the same time.
    """
    stamp = now(file, files)
    if 0 <= time.time() - stamp[1] / 1e9 < TICK:
        time.sleep(TICK)
        stamp = now(file, files)
    return stamp


def now(file: str | int, files: Any = None) -> Stamp:
    """Size and time of the last change; on this computer also the time of the last change of status, and the inode.

    The number of the device is not the same on all computers that share a file.
    """
    if files is None:
        stat = os.stat(file)
        return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
    info = files.get_file_info(file)
    if info.size is None:
        raise FileNotFoundError(file)
    return info.size, info.mtime_ns or 0


def check_stamp(path: str, stamp: Stamp, files: Any = None) -> None:
    """Refuse a file that is not what it was."""
    try:
        found = now(path, files)
    except (FileNotFoundError, NotADirectoryError):
        raise HicorexError(f"{path} is no longer there; put it back and start again.") from None
    except OSError as error:
        raise unreadable(path, error) from None
    if found != stamp:
        raise changed(path)


@contextmanager
def unchanged(path: str, stamp: Stamp) -> Iterator[None]:
    """Refuse a file that has changed before or after it is read; this is told rather than any other error."""
    check_stamp(path, stamp)
    try:
        yield
    except Exception:
        check_stamp(path, stamp)
        raise
    check_stamp(path, stamp)


def check_handle(path: str, handle: int, stamp: Stamp) -> None:
    """Refuse a handle of another file than the one that had the stamp, as after a replacement."""
    if now(handle) != stamp:
        raise changed(path)


def whole(name: str, look: Callable[..., T], *given: Any, form: str | None = None) -> T:
    """What ``look`` gives for a file; whatever it raises for a broken one becomes one message.

    ``form`` is the format of the file, None if its first bytes do not tell it.
    """
    try:
        return look(*given)
    except (HicorexError, MemoryError):
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise not_opened(name, error) from None
    except Exception:
        raise broken(name, form) from None


def changed(path: str) -> HicorexError:
    """What is said of a file that is not what it was."""
    return HicorexError(
        f"{path} has changed since it was opened, its contents, rights or links; start again, and leave it as it is "
        "until the end."
    )


def broken(name: str, form: str | None = None) -> HicorexError:
    """What is said of a file that makes no sense."""
    looks = "is" if form is None else f"begins like a {form} file but is"
    return HicorexError(f"{name} {looks} broken; make or fetch it again.")


def not_opened(name: str, error: OSError) -> HicorexError:
    """What is said of a file that the system does not open."""
    if isinstance(error, FileNotFoundError) and os.path.islink(name):
        return HicorexError(f"{name} is a link to what is not there; mend the link, or give the file itself.")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return HicorexError(f"{name} is not there; check its name and folder.")
    if isinstance(error, PermissionError):
        return HicorexError(f"{name} may not be read; change its permissions.")
    return unreadable(name, error)


def unreadable(name: str, error: Exception) -> HicorexError:
    """What is said of a file that fails while it is read."""
    reason = " ".join((getattr(error, "strerror", None) or str(error)).split()).rstrip(".") or type(error).__name__
    return HicorexError(f"{name} cannot be read: {reason}; make or fetch it again.")
