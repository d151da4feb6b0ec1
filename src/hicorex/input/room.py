"""How much memory may be taken by what is read, where somebody has set a limit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hicorex.exceptions import HicorexError


class Room(NamedTuple):
    """What may be taken.

    text : bytes of contents that are still to be read as a table
    table : bytes of a table, or of a row group or record batch of one that is read part by part
    of : what leaves so much, for people
    """

    text: int
    table: int
    of: str


class _Kept:
    room: Room | None = None


@contextmanager
def keeping(room: Room | None) -> Iterator[None]:
    """Refuse what is larger, within this block, in any thread."""
    before, _Kept.room = _Kept.room, room
    try:
        yield
    finally:
        _Kept.room = before


def current() -> Room | None:
    """What may be taken, None for anything."""
    return _Kept.room


def require_text(what: str, size: int, remedy: str, at_least: bool = False) -> None:
    """Refuse contents of so many bytes, or of at least so many, if that is more than may be taken."""
    if _Kept.room is not None and size > _Kept.room.text:
        raise _refusal(what, size, _Kept.room.text, _Kept.room.of, remedy, at_least)


def require_table(what: str, size: int, remedy: str, at_least: bool = False) -> None:
    """Refuse a table of so many bytes, or of at least so many, if that is more than may be taken."""
    if _Kept.room is not None and size > _Kept.room.table:
        raise _refusal(what, size, _Kept.room.table, _Kept.room.of, remedy, at_least)


def _refusal(what: str, size: int, most: int, of: str, remedy: str, at_least: bool) -> HicorexError:
    taken = f"more than {_for_people(size)}" if at_least else _for_people(size)
    return HicorexError(f"{what} takes {taken}, and {of} leaves {_for_people(most)} for it; {remedy}.")


def _for_people(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if size > 999e6 else f"{size / 1e6:.3g} MB"
