"""How much memory the reading of a table may take, where somebody has set a limit."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hicorex.exceptions import HicorexError


class MemoryLimit(NamedTuple):
    """What may be taken.

    text : bytes of contents that are still to be read as a table
    table : bytes of a table, or of a row group or record batch of one that is read part by part
    set_by : who sets the limit, for people
    """

    text: int
    table: int
    set_by: str


class _Current:
    limit: MemoryLimit | None = None


@contextmanager
def keeping(limit: MemoryLimit | None) -> Iterator[None]:
    """Refuse what is larger, within this block, in any thread."""
    before, _Current.limit = _Current.limit, limit
    try:
        yield
    finally:
        _Current.limit = before


def current_limit() -> MemoryLimit | None:
    """The limit that holds now, None if there is none."""
    return _Current.limit


def require_text(what: str, n_bytes: int, remedy: str, at_least: bool = False) -> None:
    """Refuse contents of this size, or of at least this size, if the limit is less."""
    if _Current.limit is not None and n_bytes > _Current.limit.text:
        raise _refusal(what, n_bytes, _Current.limit.text, remedy, at_least)


def require_table(what: str, n_bytes: int, remedy: str, at_least: bool = False) -> None:
    """Refuse a table of this size, or of at least this size, if the limit is less."""
    if _Current.limit is not None and n_bytes > _Current.limit.table:
        raise _refusal(what, n_bytes, _Current.limit.table, remedy, at_least)


def free_memory() -> int | None:
    """Bytes of memory that are free, None where the system does not tell."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return 1024 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _refusal(what: str, n_bytes: int, most: int, remedy: str, at_least: bool) -> HicorexError:
    assert _Current.limit is not None
    taken = f"more than {_for_people(n_bytes)}" if at_least else _for_people(n_bytes)
    return HicorexError(
        f"{what} takes {taken}, and {_Current.limit.set_by} leaves {_for_people(most)} for it; {remedy}."
    )


def _for_people(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes > 999e6 else f"{n_bytes / 1e6:.3g} MB"
