"""Text for a terminal: lines that are filled, and names that are shortened."""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from hicorex.support.printing import printable

# The most columns of a line, and of a name in it.
WIDTH, NAME_WIDTH = 100, 32


def fill(text: str, names: Iterable[str | Sequence[str]] = (), indent: str = "", widest: int = NAME_WIDTH) -> list[str]:
    """Text and then a list of names as lines that are not too long; names are shortened, but not broken.

    Of a name in pieces the longest ones are shortened, so that all of them can be read.
    """
    pieces = [shortened(printable(word), WIDTH // 2) for word in text.split()]
    shown = [_joined_pieces([name] if isinstance(name, str) else name, widest) for name in names]
    pieces += [f"{name}," for name in shown[:-1]] + shown[-1:]
    lines = [indent + pieces[0]]
    for piece in pieces[1:]:
        longer = f"{lines[-1]} {piece}"
        if _columns(longer) <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(f"{indent}  {piece}" if indent else piece)
    return lines


def shortened(text: str, most: int) -> str:
    """Text of at most this many columns, with an ellipsis in the middle if it has more.

    >>> shortened("a long name", 7)
    'a l…ame'
    """
    if _columns(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{_start(text, most - 1 - end)}\u2026{_start(text[::-1], end)[::-1]}"


def _joined_pieces(pieces: Sequence[str], most: int) -> str:
    """Pieces of text as one of at most this many columns; all that are longer than some width get that width.

    >>> _joined_pieces(["a very long name", " = ", "yes", " (97%)"], 20)
    'a ve\u2026ame = yes (97%)'
    """
    pieces = [printable(piece) for piece in pieces]
    widths = [_columns(piece) for piece in pieces]
    each = next(w for w in range(max(widths), -1, -1) if sum(min(w, width) for width in widths) <= most)
    return "".join(shortened(piece, max(each, 1)) for piece in pieces)


def value_names(categories: np.ndarray) -> list[str]:
    """What values are called: a whole number is one, though its column had to be floats."""
    return [str(value).removesuffix(".0") if categories.dtype.kind == "f" else str(value) for value in categories]


def _start(text: str, most: int) -> str:
    """The longest start of a text that has at most this many columns."""
    return text[: sum(width <= most for width in accumulate(map(_columns, text)))]


def _columns(text: str) -> int:
    """The width of a text in a terminal, where some characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
