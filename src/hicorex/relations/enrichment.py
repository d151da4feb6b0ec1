"""Whether the variables of a factor are of one group more often than chance would have it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import hypergeom

from hicorex.fitted.model import FittedModel
from hicorex.relations.variable_groups import VariableGroup
from hicorex.selection.significance import q_values
from hicorex.support.compatibility import check_pandas_support
from hicorex.support.printing import printable

# A group of fewer variables of the model can be enriched nowhere; rows that are printed.
LEAST_GROUP, SHOWN = 2, 20


class Enriched(NamedTuple):
    """A factor and a group of variables.

    factor : its name
    grouping, group : what the groups are, such as "sector", and the name of this one
    n_variables, n_group : the number of variables of the factor, and of the group, among those of the model
    n_shared : the number of variables of both
    expected : how many that would be by chance
    fold : n_shared / expected
    p_value : how likely chance alone gives so many or more, by the hypergeometric distribution
    q_value : the least false discovery rate, over all factors and groups, at which this would be called significant
    variables : those of both
    """

    factor: str
    grouping: str
    group: str
    n_variables: int
    n_group: int
    n_shared: int
    expected: float
    fold: float
    p_value: float
    q_value: float
    variables: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Enrichment:
    """A row for each factor and group that share variables, the least p-value first.

    rows : tuple of Enriched
    n_tests : the number of pairs of a factor and a group, over which the false discovery rate is
    """

    rows: tuple[Enriched, ...]
    n_tests: int

    def __repr__(self) -> str:
        width = max([7, *(len(printable(row.group)) + 2 for row in self.rows[:SHOWN])])
        lines = [f"{'':<18}{'group':<{width}}{'shared':>8}{'of':>5}{'expected':>10}{'p-value':>10}{'q-value':>10}"]
        lines += [
            f"{row.factor:<18}{printable(row.group):<{width}}{row.n_shared:>8}{row.n_variables:>5}{row.expected:>10.3g}"
            f"{row.p_value:>10.2g}{row.q_value:>10.2g}"
            for row in self.rows[:SHOWN]
        ]
        if len(self.rows) > SHOWN:
            lines.append(f"and {len(self.rows) - SHOWN} more")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a table (needs pandas)."""
        pd = check_pandas_support("to_frame")
        return pd.DataFrame(list(self.rows), columns=Enriched._fields)


def variables_of_factors(fitted: FittedModel) -> list[np.ndarray]:
    """Which variables (n,) each factor has, of all layers: by ``clusters_``, through those of the layers below."""
    main = fitted.layers[0].clusters
    members = []
    for k, layer in enumerate(fitted.layers):
        if k:
            main = np.where(main >= 0, layer.clusters[main], -1)
        members += [main == j for j in range(layer.n_factors)]
    return members


def enrichment_of(
    names: Sequence[str], variables: Sequence[str], members: Sequence[np.ndarray], groups: Sequence[VariableGroup]
) -> Enrichment:
    """How many variables factors share with groups, against chance among all variables of the model.

    names, members : of the factors, and which variables (n,) each has
    """
    groups = [group for group in groups if group.members.size >= LEAST_GROUP]
    found = []
    for factor, is_member in zip(names, members, strict=True):
        n_variables = int(is_member.sum())
        if not n_variables:
            continue
        for group in groups:
            shared = group.members[is_member[group.members]]
            size = group.members.size
            p = float(hypergeom.sf(shared.size - 1, len(variables), size, n_variables)) if shared.size else 1.0
            found.append((p, factor, group, n_variables, shared))
    q = q_values(np.array([row[0] for row in found])).tolist() if found else []
    rows = []
    for at in sorted(range(len(found)), key=lambda at: found[at][0]):
        p, factor, group, n_variables, shared = found[at]
        if not shared.size:
            continue
        expected = n_variables * group.members.size / len(variables)
        rows.append(
            Enriched(
                factor,
                group.grouping,
                group.name,
                n_variables,
                group.members.size,
                shared.size,
                expected,
                shared.size / expected,
                p,
                q[at],
                tuple(variables[i] for i in shared.tolist()),
            )
        )
    return Enrichment(tuple(rows), len(found))
