"""Whether files are there, whole and what they were, and what is said if not."""

import os
from collections.abc import Callable
from typing import Any

from hicorex.exceptions import HicorexError

Stamp = tuple[int, ...]


def stamp_of(path: str, files: Any = None) -> Stamp:
    """What tells whether a file is still the same: size, time of the last change and, on this computer, the inode."""
    if files is None:
        stat = os.stat(path)
        return stat.st_size, stat.st_mtime_ns, stat.st_ino
    info = files.get_file_info(path)
    if info.size is None:
        raise FileNotFoundError(path)
    return info.size, info.mtime_ns or 0


def check_stamp(path: str, stamp: Stamp, files: Any = None) -> None:
    """Refuse a file that is not what it was."""
    try:
        now = stamp_of(path, files)
    except (FileNotFoundError, NotADirectoryError):
        raise HicorexError(f"{path} is no longer there; put it back and fit again.") from None
    except OSError as error:
        raise unreadable(path, error) from None
    if now != stamp:
        raise HicorexError(f"{path} has changed since the fit began; fit again, and leave it as it is until the end.")


def whole(name: str, look: Callable, *given: Any) -> Any:
    """What a library says of a file; of a broken one it may say anything."""
    try:
        return look(*given)
    except (HicorexError, MemoryError):
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise not_opened(name, error) from None
    except Exception:
        raise broken(name) from None


def broken(name: str) -> HicorexError:
    """What is said of a file that makes no sense."""
    return HicorexError(f"{name} is broken; make or fetch it again.")


def not_opened(name: str, error: OSError) -> HicorexError:
    """What is said of a file that the system does not open."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return HicorexError(f"{name} is not there; check its name and folder.")
    if isinstance(error, PermissionError):
        return HicorexError(f"{name} may not be read; change its permissions.")
    return unreadable(name, error)


def unreadable(name: str, error: Exception) -> HicorexError:
    """What is said of a file in the middle of which something fails."""
    reason = " ".join((getattr(error, "strerror", None) or str(error)).split()).rstrip(".") or type(error).__name__
    return HicorexError(f"{name} cannot be read: {reason}; make or fetch it again.")
