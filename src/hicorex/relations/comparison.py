"""The result: how two models of the same columns agree, and what each explains beyond the other."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from hicorex.support.compatibility import check_pandas_support

# Factors that are less alike stand for nothing in each other.
LEAST_LIKENESS = 0.05


class FactorMatch(NamedTuple):
    """A factor of a model, and the factor of the other one that stands for it.

    factor, other : their names; other is None where no factor stands for it
    likeness : the mutual information of their labels over the larger entropy, from 0 to 1
    shared_variables : the share of the variables of either that both have; NaN where neither has any
    """

    factor: str
    other: str | None
    likeness: float
    shared_variables: float


class Explained(NamedTuple):
    """Nats of the total correlation, and their standard error."""

    nats: float
    stderr: float

    def __str__(self) -> str:
        return f"{self.nats:.4g} nats (standard error {self.stderr:.2g})"


@dataclass(frozen=True, repr=False)
class Comparison:
    """How two models of the same columns agree on some samples.

    The bounds are of the factors of the first layers, on held-out samples: with the labels fixed, marginals
    p(x_i | y) and structure are learned anew from the other samples, for all three alike.

    Attributes
    ----------
    matches : tuple of FactorMatch
        A row for each factor of this model that varies, in the order of ``transform``.
    unmatched : tuple of str
        Factors of the other model that vary and stand for none.
    likeness : ndarray of shape (n_factors, n_factors of the other), of all layers
    agreement : float
        The mean likeness of the factors in use of both models, 0 for one without a match.
    lower, other_lower, both_lower : Explained
        Bounds from below on the total correlation by this model, the other one, and the factors of both.
    beyond_other, other_beyond : Explained
        What this model explains beyond the other one, both_lower - other_lower, and the reverse, with paired standard
        errors.
    """

    matches: tuple[FactorMatch, ...]
    unmatched: tuple[str, ...]
    likeness: np.ndarray
    agreement: float
    lower: Explained
    other_lower: Explained
    both_lower: Explained
    beyond_other: Explained
    other_beyond: Explained

    def __repr__(self) -> str:
        lines = [f"{'':<18}{'other':<18}{'likeness':>10}{'shared variables':>18}"]
        for row in self.matches:
            shared = "-" if np.isnan(row.shared_variables) else f"{row.shared_variables:.0%}"
            lines.append(f"{row.factor:<18}{row.other or '-':<18}{row.likeness:>10.2f}{shared:>18}")
        lines += [f"{'-':<18}{name}" for name in self.unmatched]
        lines += [
            f"agreement: {self.agreement:.2f}",
            f"this model explains at least {self.lower}, the other {self.other_lower}, both {self.both_lower}",
            f"this beyond the other: {self.beyond_other}",
            f"the other beyond this: {self.other_beyond}",
        ]
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The matches as a table (needs pandas)."""
        pd = check_pandas_support("to_frame")
        return pd.DataFrame(list(self.matches), columns=FactorMatch._fields)


class FactorsOf(NamedTuple):
    """The factors of one of two models: their names, labels (m, N), and which variables (n,) each has."""

    names: list[str]
    labels: np.ndarray
    variables: list[np.ndarray]

    @property
    def used(self) -> np.ndarray:
        """Those whose states vary."""
        return np.flatnonzero(np.ptp(self.labels, axis=1) > 0)


def matched_factors(
    one: FactorsOf, other: FactorsOf, alike: np.ndarray
) -> tuple[tuple[FactorMatch, ...], tuple[str, ...], float]:
    """Factors matched one to one so that they are as alike as can be, those left over, and the agreement."""
    left, right = one.used, other.used
    chosen = alike[np.ix_(left, right)]
    chosen = np.where(chosen >= LEAST_LIKENESS, chosen, 0)
    pairs = zip(*linear_sum_assignment(-chosen), strict=True)
    partner = {int(left[a]): int(right[b]) for a, b in pairs if chosen[a, b]}
    matches = []
    for j in left.tolist():
        at = partner.get(j)
        if at is None:
            matches.append(FactorMatch(one.names[j], None, 0.0, float("nan")))
            continue
        either = int((one.variables[j] | other.variables[at]).sum())
        both = int((one.variables[j] & other.variables[at]).sum())
        shared = both / either if either else float("nan")
        matches.append(FactorMatch(one.names[j], other.names[at], float(alike[j, at]), shared))
    unmatched = tuple(other.names[at] for at in right.tolist() if at not in partner.values())
    n_used = left.size + right.size
    agreement = 2 * sum(row.likeness for row in matches) / n_used if n_used else 1.0
    return tuple(matches), unmatched, agreement
