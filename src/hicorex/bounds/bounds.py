"""Bounds on the total correlation and the entropy of a table, from the terms of its layers (Thm hierarchy, tcub)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex.bounds.evidence import Evidence, Facts, mean_and_spread
from hicorex.compatibility import check_pandas_support
from hicorex.names import factor_name, layer_name
from hicorex.printing import printable

# A factor that knows less than this, in nats, always has the same label.
UNUSED = 1e-9


class FactorBounds(NamedTuple):
    """What one factor explains, in nats.

    name : layer1_factor0, ...
    objective : E[log Z_j], what the fit maximises
    contribution : how much the layer's contribution falls without it; with overlap less than the objective
    contribution_stderr : its standard error over the samples
    information : I(Y_j:layer below), what it costs
    """

    name: str
    objective: float
    contribution: float
    contribution_stderr: float
    information: float


class LayerBounds(NamedTuple):
    """What one layer explains, in nats.

    name : layer1, ...
    n_factors : how many factors it has
    objective : sum_j E[log Z_j] of its soft labels
    contribution : what it adds to the lower bound: sum_i I(Y_{S_i}:X_i) - sum_j I(Y_j:X), with the labels
        that feed the layer above, or the soft ones of the top layer
    contribution_stderr : its standard error over the samples
    lower : the lower bound if this were the top layer, with soft labels: not less than without the layer
        unless making the labels below hard costs more than it explains
    conditional_entropy : sum_i H(X_i | Y_{S_i}), what the layer leaves open of its input; None if that is
        not discrete
    """

    name: str
    n_factors: int
    objective: float
    contribution: float
    contribution_stderr: float
    lower: float
    conditional_entropy: float | None


@dataclass(frozen=True, repr=False)
class Bounds:
    """Bounds on the total correlation TC(X) and the entropy H(X), in nats.

    Attributes
    ----------
    lower, lower_stderr : float
        The lower bound, and its standard error over the samples: the largest ``lower`` of the layers; on new
        samples that of the layer whose was the largest in the fit.
    depth : int
        How many layers it counts. It is fewer than there are where labels lose more by being made hard, to feed
        a layer above, than that layer explains.
    objective : float
        sum_j E[log Z_j] over all layers, what the fits maximise. A bound for one layer alone.
    upper, upper_stderr : float or None
        sum_i H(X_i) - H(Y^1), with the joint entropy of the first layer's most likely labels.
    upper_theorem : float or None
        The paper's upper bound, the sum over layers of contribution and conditional entropy up to one with a
        single factor; None if there is none such.
    entropy_lower, entropy_upper : float or None
        Bounds on H(X).
    no_upper : str
        Why there is no upper bound, if so.
    layers : tuple of LayerBounds
    factors : tuple of FactorBounds
        In the order of the layer. Empty for cross-fitted bounds, since every fold has factors of its own.
    n_samples : int
        Number of rows; standard errors go by how many they count for, by their weights.
    """

    lower: float
    lower_stderr: float
    depth: int
    objective: float
    upper: float | None
    upper_stderr: float | None
    upper_theorem: float | None
    entropy_lower: float | None
    entropy_upper: float | None
    no_upper: str
    layers: tuple[LayerBounds, ...]
    factors: tuple[FactorBounds, ...]
    n_samples: int

    def __repr__(self) -> str:
        above = f" <= {_short(self.upper)} (standard error {self.upper_stderr:.2g})" if self.upper is not None else ""
        lines = [f"{_short(self.lower)} nats (standard error {self.lower_stderr:.2g}) <= TC(X){above}"]
        if self.lower <= 0:
            lines.append("nothing is explained: TC(X) is never negative")
        if self.upper is not None:
            lines.append(f"{_short(self.entropy_lower)} <= H(X) <= {_short(self.entropy_upper)} nats")
        else:
            lines.append(f"no upper bound: {printable(self.no_upper)}")
        lines.append(
            f"{'':<8}{'factors':>8}{'contribution':>14}{'stderr':>9}{'lower':>10}{'objective':>11}{'H(X|Y)':>9}"
        )
        for row in self.layers:
            head = f"{printable(row.name):<8}{printable(row.n_factors):>8}"
            lines.append(
                f"{head}{_short(row.contribution):>14}{_short(row.contribution_stderr, 2):>9}"
                f"{_short(row.lower):>10}{_short(row.objective):>11}{_short(row.conditional_entropy):>9}".rstrip()
            )
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """All layers and factors as one table, a row each (needs pandas).

        A layer's row is followed by those of its factors. ``lower`` is the bound if this were the top layer;
        a layer's ``contribution`` falls by that of a factor if the factor is left out.
        """
        pd = check_pandas_support("to_frame")

        rows: list[dict] = []
        for layer in self.layers:
            rows.append(layer._asdict() | {"kind": "layer"})
            own = [f._asdict() for f in self.factors if f.name.startswith(f"{layer.name}_")]
            rows.extend(factor | {"kind": "factor"} for factor in own)
        columns = ["kind", "n_factors", "contribution", "contribution_stderr", "objective"]
        table = pd.DataFrame(rows).set_index("name")
        return table.reindex(columns=[*columns, "lower", "conditional_entropy", "information"])


def bounds_of(parts: Sequence[Evidence], cross_fitted: bool = False) -> Bounds:
    """The bounds from the evidence of one part of the samples, or of several parts with models of their own."""
    shares = np.array([part.total for part in parts]) / sum(part.total for part in parts)
    rows = []
    for k in range(len(parts[0].soft)):
        layers = [part.layers[k] for part in parts]
        added, stderr = _mean_and_error(parts, [part.explained_by(k) for part in parts])
        lower, _ = _mean_and_error(parts, [part.explained(k + 1) for part in parts])
        inputs = [part.entropies[k] for part in parts]
        cost = shares @ [facts.information.sum() for facts in layers]
        left = None if None in inputs else float(shares @ np.array(inputs, float) - cost - added)
        objective = float(shares @ [facts.log_z.sum() for facts in layers])
        rows.append(LayerBounds(layer_name(k + 1), len(layers[0].log_z), objective, added, stderr, lower, left))
    best = 1 + int(np.argmax([row.lower for row in rows]))
    depths = [part.depth or best for part in parts]
    lower, lower_stderr = _mean_and_error(
        parts, [part.explained(depth) for part, depth in zip(parts, depths, strict=True)]
    )
    no_upper = next((part.no_upper for part in parts if part.no_upper), "")
    upper = upper_stderr = theorem = entropy_lower = entropy_upper = None
    if not no_upper:
        surprisal, _ = _mean_and_error(parts, [part.surprisal for part in parts])
        known, upper_stderr = _label_entropy(parts)
        upper, entropy_lower, entropy_upper = surprisal - known, known, surprisal - lower
        theorem = _upper_theorem(parts, rows)
    return Bounds(
        lower,
        lower_stderr,
        max(set(depths), key=depths.count),
        sum(row.objective for row in rows),
        upper,
        upper_stderr,
        theorem,
        entropy_lower,
        entropy_upper,
        no_upper,
        tuple(rows),
        () if cross_fitted else _factors(parts[0].layers),
        sum(part.n_samples for part in parts),
    )


def _mean_and_error(parts: Sequence[Evidence], chosen: Sequence[np.ndarray]) -> tuple[float, float]:
    """The mean over the samples of all parts of what is chosen of each, and its standard error."""
    value = sum(own @ part.sums for part, own in zip(parts, chosen, strict=True))
    square = sum(own @ part.products @ own for part, own in zip(parts, chosen, strict=True))
    return _with_error(parts, value, square)


def _with_error(parts: Sequence[Evidence], value: float, square: float) -> tuple[float, float]:
    """Mean and its standard error, NaN for one sample or less, from the sums of values and of their squares."""
    total = sum(part.total for part in parts)
    mean, spread = mean_and_spread(total, value, square)
    return float(mean), float(spread / np.sqrt(total - 1)) if total > 1 else float("nan")


def _label_entropy(parts: Sequence[Evidence]) -> tuple[float, float]:
    """The entropy of the joint labels of the first layer, and the standard error of the upper bound made of it."""
    known = difference = square = 0.0
    for part in parts:
        weight, surprisal, surprisal_square = part.joint_labels.T
        own = -np.log(weight / part.total)
        known += weight @ own
        difference += (surprisal - weight * own).sum()
        square += (surprisal_square - 2 * own * surprisal + own**2 * weight).sum()
    return float(known / sum(part.total for part in parts)), _with_error(parts, difference, square)[1]


def _upper_theorem(parts: Sequence[Evidence], rows: Sequence[LayerBounds]) -> float | None:
    """The paper's upper bound, from the best of the layers in which at most one factor is in use."""
    terms = np.cumsum([row.contribution + (row.conditional_entropy or 0) for row in rows])
    single = [all((part.layers[k].information > UNUSED).sum() <= 1 for part in parts) for k in range(len(rows))]
    return float(terms[single].min()) if any(single) else None


def _factors(layers: Sequence[Facts]) -> tuple[FactorBounds, ...]:
    return tuple(
        FactorBounds(factor_name(k, j), *map(float, numbers))
        for k, facts in enumerate(layers, start=1)
        for j, numbers in enumerate(zip(facts.log_z, facts.unique, facts.unique_stderr, facts.information, strict=True))
    )


def _short(x: float | None, digits: int = 4) -> str:
    """A number in so many digits, rounding errors as 0."""
    return "" if x is None else "0" if abs(x) < 1e-9 else f"{x:.{digits}g}"
