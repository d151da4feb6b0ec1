"""The names of the columns of a table, looked up by name or pattern."""

import difflib
import re
from collections.abc import Iterable

from hicorex.exceptions import HicorexError

# Names are near from this likeness on, which a slip or two in a word leave.
NEAR = 0.6


class ColumnNames:
    """The names of columns, looked up by name or pattern; ``table`` is what messages call that which has them."""

    def __init__(self, names: list[str], table: str = "the file"):
        self.names, self._table = names, table
        self.place = {name: at for at, name in enumerate(names)}

    def one(self, name: str, option: str) -> int:
        """Where the column is that an option names."""
        if name not in self.place:
            raise self.unknown(name, option)
        return self.place[name]

    def match(self, patterns: Iterable[str], option: str) -> set[int]:
        """Where the columns are that an option names; each pattern must name one."""
        matched: set[int] = set()
        for pattern in patterns:
            places = {self.place[pattern]} if pattern in self.place else set()
            if not places and is_pattern(pattern):
                like = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
                places = {at for name, at in self.place.items() if like.fullmatch(name)}
            if not places:
                raise self.unknown(pattern, option)
            matched |= places
        return matched

    def closest(self, name: str) -> str:
        """The names that a name may stand for, as the end of a message.

        >>> ColumnNames(["fare", "passenger", "sex"]).closest("pasenger")
        ": did you mean 'passenger'?"
        """
        close = near(name, self.names)
        if close:
            return f": did you mean {' or '.join(map(repr, close))}?"
        first = ", ".join(map(repr, self.names[:3]))
        return f"; it has {first}{' and others' if len(self.names) > 3 else ''}."

    def unknown(self, name: object, option: str) -> HicorexError:
        """What is said of a name that the table does not have."""
        return HicorexError(
            f"{option} names column {name!r}, which {self._table} does not have{self.closest(str(name))}"
        )


def near(name: str, names: list[str]) -> list[str]:
    """At most three names that are near in letters, whatever their case, the nearest first.

    >>> near("Age", ["wage", "age", "stage", "cabin"])
    ['age', 'wage', 'stage']
    """
    folded = name.casefold()

    def likeness(other: str) -> float:
        matcher = difflib.SequenceMatcher(None, other.casefold(), folded)
        # A word that is a part of a longer name is near it as well.
        part = len(folded) >= 3 and folded in other.casefold()
        return max(matcher.ratio(), NEAR if part else 0) if matcher.quick_ratio() >= NEAR or part else 0

    ranked = sorted(((likeness(other), -at, other) for at, other in enumerate(names)), reverse=True)
    return [other for share, _, other in ranked[:3] if share >= NEAR]


def is_pattern(text: str) -> bool:
    """Whether a name stands for several: * is any characters, ? is one.

    >>> is_pattern("age*"), is_pattern("age")
    (True, False)
    """
    return re.search(r"[*?]", text) is not None
