"""How much memory may be taken by what is read, where somebody has set a limit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hicorex.exceptions import HicorexError


class Room(NamedTuple):
    """What may be taken.

    at_once : bytes of a table that is read at once
    piece : bytes of a row group or record batch of a table that is read part by part
    why : where these figures come from, for people
    """

    at_once: int
    piece: int
    why: str


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


def is_kept() -> bool:
    """Whether there is a limit."""
    return _Kept.room is not None


def most_at_once() -> int | None:
    """Bytes that a table may take that is read at once, None for any."""
    return None if _Kept.room is None else _Kept.room.at_once


def require_at_once(name: str, size: int, remedy: str, at_least: bool = False) -> None:
    """Refuse a table that takes so many bytes, or at least so many, if it is to be read at once."""
    room = _Kept.room
    if room is not None and size > room.at_once:
        about = "more than " if at_least else ""
        raise HicorexError(f"{name} takes {about}{in_gigabytes(size)} to be read at once, {room.why}; {remedy}.")


def require_piece(name: str, size: int, what: str) -> None:
    """Refuse a row group or record batch that takes so many bytes."""
    room = _Kept.room
    if room is not None and size > room.piece:
        raise HicorexError(
            f"{name} has a {what} that takes {in_gigabytes(size)}, {room.why}; write it with a tenth of the rows in "
            f"each {what}, or give more."
        )


def in_gigabytes(size: int) -> str:
    """A number of bytes for people."""
    return f"{size / 1e9:.3g} GB"
