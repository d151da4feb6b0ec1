"""Names that factors are given, and what they must not be."""

import re
from collections.abc import Collection, Sequence

from hicorex.exceptions import HicorexError

# The most characters of a name.
LONGEST = 200
# What a factor without a name is called; see support/names.py.
UNNAMED = re.compile(r"layer\d+_factor\d+")


def check_names(given: Sequence[str], variables: Collection[str]) -> None:
    """Refuse names of factors that are blank, that two factors have, or that would be taken for something else."""
    known = set(variables)
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise HicorexError(f"The name of a factor is {name!r}; give it some text.")
        if len(name) > LONGEST:
            raise HicorexError(f"The name {name[:20] + '...'!r} has {len(name)} characters; {LONGEST} are the most.")
        if list(given).count(name) > 1:
            raise HicorexError(f"Two factors would be called {name!r}; give each a name of its own.")
        if name in known:
            raise HicorexError(f"{name!r} is the name of a column, so no factor can be called so; choose another.")
        if UNNAMED.fullmatch(name):
            raise HicorexError(f"{name!r} is what a factor without a name is called; choose another.")
