"""Whether the variables of a factor repeat each other or say something only together: the O-information.

Entropies are of the joint frequencies, which few samples make too small: the correction of Miller and Madow adds half
the number of values seen less one over the number of samples. A table of more cells than samples can fill is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex.information import frequencies
from hicorex.support.compatibility import check_pandas_support

# Samples that there must be for each cell of the joint table, and variables without which there is no O-information.
SAMPLES_PER_CELL, LEAST_VARIABLES = 5, 3
# Standard errors by which the O-information must differ from zero for a verdict.
LEAST_ERRORS = 2.0


class FactorRedundancy(NamedTuple):
    """Redundancy against synergy among the variables of one factor, in nats.

    factor : its name
    variables : those whose joint values were counted, the strongest of the factor first
    n_variables : the number of variables of the factor
    total_correlation, dual_total_correlation : of these variables, sum_i H(X_i) - H(X) and H(X) - sum_i H(X_i|rest)
    o_information : the first less the second: above zero where redundancy prevails, below where synergy does
    stderr : its standard error
    verdict : "redundancy", "synergy", or "unclear" where that is within two standard errors; "" if not counted
    why_not : why it was not counted; "" if it was
    """

    factor: str
    variables: tuple[str, ...]
    n_variables: int
    total_correlation: float
    dual_total_correlation: float
    o_information: float
    stderr: float
    verdict: str
    why_not: str


@dataclass(frozen=True, repr=False)
class Redundancy:
    """A row for each factor of the first layer that has variables.

    rows : tuple of FactorRedundancy
    """

    rows: tuple[FactorRedundancy, ...]

    def __repr__(self) -> str:
        lines = [f"{'':<18}{'counted':>10}{'TC':>9}{'dual TC':>9}{'O':>9}{'stderr':>9}"]
        for row in self.rows:
            counted = f"{len(row.variables)} of {row.n_variables}"
            numbers = (row.total_correlation, row.dual_total_correlation, row.o_information, row.stderr)
            told = "".join(f"{number:>9.3g}" for number in numbers) + f"  {row.verdict}"
            lines.append(f"{row.factor:<18}{counted:>10}{told if row.variables else '  ' + row.why_not}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a table (needs pandas)."""
        pd = check_pandas_support("to_frame")
        return pd.DataFrame(list(self.rows), columns=FactorRedundancy._fields)


class Counted(NamedTuple):
    """TC, dual TC and O-information of discrete columns, and the standard error of the last."""

    total_correlation: float
    dual_total_correlation: float
    o_information: float
    stderr: float


def redundancy_of(
    factor: str, names: Sequence[str], codes: dict[int, np.ndarray], sizes: dict[int, int], order: Sequence[int]
) -> FactorRedundancy:
    """Of one factor, by as many of its discrete variables as the samples can fill a joint table of.

    names : of all variables
    codes, sizes : of discrete ones, the values of the samples, (N,), the number of values for missing, and that number
    order : the variables of the factor, the strongest first
    """

    def left_out(why: str) -> FactorRedundancy:
        nothing = float("nan")
        return FactorRedundancy(factor, (), len(order), nothing, nothing, nothing, nothing, "", why)

    discrete = [i for i in order if i in codes]
    if len(discrete) < LEAST_VARIABLES:
        return left_out(f"it has fewer than {LEAST_VARIABLES} discrete variables")
    chosen, known = _countable(discrete, codes, sizes)
    if len(chosen) < LEAST_VARIABLES:  # where one of many values takes the place of several
        chosen, known = _countable(sorted(discrete, key=lambda i: sizes[i]), codes, sizes)
    if len(chosen) < LEAST_VARIABLES:
        return left_out(f"{known.sum()} samples are too few for the joint values of {LEAST_VARIABLES} variables")
    found = count_information([codes[i][known] for i in chosen])
    sure = abs(found.o_information) > LEAST_ERRORS * found.stderr
    verdict = ("redundancy" if found.o_information > 0 else "synergy") if sure else "unclear"
    return FactorRedundancy(factor, tuple(names[i] for i in chosen), len(order), *found, verdict, "")


def _countable(
    order: Sequence[int], codes: dict[int, np.ndarray], sizes: dict[int, int]
) -> tuple[list[int], np.ndarray]:
    """The columns, in order, that leave enough samples for each cell of their table, and the complete samples."""
    chosen: list[int] = []
    known, cells = np.ones(codes[order[0]].size, bool), 1
    for i in order:
        complete = known & (codes[i] < sizes[i])
        if cells * sizes[i] * SAMPLES_PER_CELL <= complete.sum():
            chosen.append(i)
            known, cells = complete, cells * sizes[i]
    return chosen, known


def count_information(columns: Sequence[np.ndarray]) -> Counted:
    """From the joint frequencies of discrete columns, each (N,).

    >>> coins = np.indices((2, 2)).reshape(2, -1).repeat(100, axis=1)
    >>> round(count_information([*coins, coins[0] ^ coins[1]]).o_information, 1)
    -0.7
    """
    n = len(columns)
    joint, joint_bias = _surprisals(columns)
    alone = [_surprisals([column]) for column in columns]
    rest = [_surprisals([*columns[:i], *columns[i + 1 :]]) for i in range(n)]
    total = sum(s for s, _ in alone) - joint
    total_bias = sum(b for _, b in alone) - joint_bias
    dual = sum(s for s, _ in rest) - (n - 1) * joint
    dual_bias = sum(b for _, b in rest) - (n - 1) * joint_bias
    tc, dtc = float(total.mean() + total_bias), float(dual.mean() + dual_bias)
    return Counted(tc, dtc, tc - dtc, float((total - dual).std() / np.sqrt(joint.size)))


def _surprisals(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
    """-log of the frequency of each sample's joint value, (N,), and what their mean, the entropy, lacks."""
    share, code = frequencies(*columns)
    return -np.log(share)[code], (share.size - 1) / (2 * code.size)
