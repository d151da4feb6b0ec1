"""The result: which traits of samples go with which factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from hicorex.relations.dependence import Dependence
from hicorex.selection.significance import q_values
from hicorex.support.compatibility import check_pandas_support
from hicorex.support.printing import printable

# Rows that are printed.
SHOWN = 20


class Association(NamedTuple):
    """How far one trait goes with one factor.

    factor, trait : their names
    kind : what the trait is, "number", "category" or "survival"
    n_samples : the number of samples of which the trait is known
    explained_share : what the states of the factor explain of the trait, from 0 to 1, less what chance would
    p_value : how likely chance alone would show as much
    q_value : the least false discovery rate, over the whole table, at which this would be called significant
    """

    factor: str
    trait: str
    kind: str
    n_samples: int
    explained_share: float
    p_value: float
    q_value: float


@dataclass(frozen=True, repr=False)
class Associations:
    """Which traits of samples go with which factors.

    Attributes
    ----------
    factors, traits : tuple of str
        Their names.
    kinds : tuple of str
        What each trait is: "number", "category" or "survival".
    n_samples : ndarray of shape (n_traits,)
        The number of samples of which each trait is known.
    explained_share, p_values, q_values : ndarray of shape (n_factors, n_traits)
        As in the rows; p and q are NaN where a trait or the states of a factor do not vary.
    """

    factors: tuple[str, ...]
    traits: tuple[str, ...]
    kinds: tuple[str, ...]
    n_samples: np.ndarray
    explained_share: np.ndarray
    p_values: np.ndarray
    q_values: np.ndarray

    @classmethod
    def of(cls, factors: Sequence[str], found: Sequence[Dependence]) -> Self:
        """From what was found of each trait."""
        p_values = np.column_stack([of_trait.p_value for of_trait in found])
        return cls(
            tuple(factors),
            tuple(of_trait.name for of_trait in found),
            tuple(of_trait.kind for of_trait in found),
            np.array([of_trait.n_samples for of_trait in found]),
            np.column_stack([of_trait.share for of_trait in found]),
            p_values,
            known_q_values(p_values),
        )

    def rows(self) -> list[Association]:
        """A row for each pair that could be tested, the least p-value first."""
        pairs = np.argwhere(np.isfinite(self.p_values))
        order = np.lexsort((-self.explained_share[tuple(pairs.T)], self.p_values[tuple(pairs.T)]))
        return [
            Association(
                self.factors[j],
                self.traits[t],
                self.kinds[t],
                int(self.n_samples[t]),
                float(self.explained_share[j, t]),
                float(self.p_values[j, t]),
                float(self.q_values[j, t]),
            )
            for j, t in pairs[order].tolist()
        ]

    def __repr__(self) -> str:
        rows = self.rows()
        width = max([5, *(len(printable(row.trait)) for row in rows[:SHOWN])])
        lines = [f"{'':<18}{'trait':<{width}}{'kind':>10}{'explained':>11}{'p-value':>10}{'q-value':>10}"]
        lines += [
            f"{row.factor:<18}{printable(row.trait):<{width}}{row.kind:>10}{row.explained_share:>11.1%}"
            f"{row.p_value:>10.2g}{row.q_value:>10.2g}"
            for row in rows[:SHOWN]
        ]
        if len(rows) > SHOWN:
            lines.append(f"and {len(rows) - SHOWN} more")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a table (needs pandas)."""
        pd = check_pandas_support("to_frame")
        return pd.DataFrame(self.rows(), columns=Association._fields)


def known_q_values(p_values: np.ndarray) -> np.ndarray:
    """The q-values of all that could be tested; NaN where nothing could.

    >>> known_q_values(np.array([0.01, np.nan, 0.02])).tolist()
    [0.02, nan, 0.02]
    """
    q = np.full(p_values.shape, np.nan)
    known = np.isfinite(p_values)
    q[known] = q_values(p_values[known])
    return q
