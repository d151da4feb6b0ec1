"""In which factors groups of samples differ, and by how much."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex.relations.associations import Associations
from hicorex.support.compatibility import check_pandas_support
from hicorex.support.printing import printable


class GroupDifference(NamedTuple):
    """How far groups of samples differ in one factor.

    factor : its name
    state : the state whose share differs most between two groups
    most, least : the groups in which that state is most and least frequent
    share_of_most, share_of_least : how frequent it is there
    difference : of these two shares
    explained_share : what the factor explains of the groups, I(Y_j:G) / H(G), less what chance would
    p_value : how likely chance alone would show as much, by a likelihood-ratio test
    q_value : the least false discovery rate, over all factors, at which this would be called significant
    """

    factor: str
    state: int
    most: str
    least: str
    share_of_most: float
    share_of_least: float
    difference: float
    explained_share: float
    p_value: float
    q_value: float


@dataclass(frozen=True, repr=False)
class GroupDifferences:
    """In which factors groups of samples differ, the least p-value first.

    Attributes
    ----------
    rows : tuple of GroupDifference
        Of the factors whose states vary.
    groups : tuple of str
        The groups, as their names sort.
    n_samples : ndarray of shape (n_groups,)
    shares : ndarray of shape (n_factors, n_groups, n_states)
        How frequent each state is in each group.
    explains : ndarray of shape (n_factors, n_groups)
        The mean of log Z_j in each group, in nats: low where the variables of the factor do not follow it.
    """

    rows: tuple[GroupDifference, ...]
    groups: tuple[str, ...]
    n_samples: np.ndarray
    shares: np.ndarray
    explains: np.ndarray

    def __repr__(self) -> str:
        lines = [f"{'':<18}{'state':>6}{'most':>16}{'':>7}{'least':>16}{'':>7}{'p-value':>10}{'q-value':>10}"]
        lines += [
            f"{row.factor:<18}{row.state:>6}{printable(row.most)[:15]:>16}{row.share_of_most:>7.0%}"
            f"{printable(row.least)[:15]:>16}{row.share_of_least:>7.0%}{row.p_value:>10.2g}{row.q_value:>10.2g}"
            for row in self.rows
        ]
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a table (needs pandas)."""
        pd = check_pandas_support("to_frame")
        return pd.DataFrame(list(self.rows), columns=GroupDifference._fields)


def group_differences_of(
    found: Associations, groups: Sequence[Any], states: np.ndarray, log_z: np.ndarray, sample_weight: np.ndarray
) -> GroupDifferences:
    """How groups differ, by their association with the factors, and the states and log Z (N, m) of the samples.

    groups : (N,) the group of each sample as text
    """
    names, code = np.unique(np.asarray(groups), return_inverse=True)
    member = (np.arange(names.size)[:, None] == code) * sample_weight
    in_state = np.arange(states.max(initial=0) + 1) == states[:, :, None]
    total = member.sum(axis=1)
    shares = np.einsum("gt,tjs->jgs", member, in_state, optimize=True) / total[:, None]
    explains = (member @ log_z / total[:, None]).T
    rows = []
    place = {name: j for j, name in enumerate(found.factors)}
    for row in found.rows():
        of_factor = shares[place[row.factor]]
        state = int(np.ptp(of_factor, axis=0).argmax())
        most, least = int(of_factor[:, state].argmax()), int(of_factor[:, state].argmin())
        high, low = float(of_factor[most, state]), float(of_factor[least, state])
        of_groups = (str(names[most]), str(names[least]), high, low, high - low)
        rows.append(GroupDifference(row.factor, state, *of_groups, row.explained_share, row.p_value, row.q_value))
    return GroupDifferences(tuple(rows), tuple(map(str, names)), total, shares, explains)
