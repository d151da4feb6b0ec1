"""Bounds on the total correlation and the entropy of a table, from the terms of its layers (Thm hierarchy, tcub)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._optional_dependencies import check_pandas_support

from hicorex.archive import storable
from hicorex.data import Data
from hicorex.evaluation import Terms
from hicorex.information import frequencies, mean_and_error, sample_entropy
from hicorex.marginals import Categorical
from hicorex.marginals.base import PRIOR_SAMPLES

# A factor that knows less than this, in nats, always has the same label.
UNUSED = 1e-9


@storable("factor bounds")
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


@storable("layer bounds")
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


@storable("bounds")
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
        Number of rows; standard errors go by their weight.
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
            lines.append(f"no upper bound: {self.no_upper}")
        lines.append(
            f"{'':<8}{'factors':>8}{'contribution':>14}{'stderr':>9}{'lower':>10}{'objective':>11}{'H(X|Y)':>9}"
        )
        for row in self.layers:
            lines.append(
                f"{row.name:<8}{row.n_factors:>8}{_short(row.contribution):>14}{_short(row.contribution_stderr, 2):>9}"
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


class Evidence(NamedTuple):
    """What a stack of layers says about some samples, from the bottom up.

    weight : (N,)
    feeding : the terms of the most likely labels of all layers but the last
    soft : the terms of the soft labels of all layers
    entropies : for each layer sum_i H of its input, None where that is not discrete
    surprisal : (N,), -sum_i log p(x_i); None if there is none, and why
    depth : how many layers the lower bound counts; None for as many as make it largest
    """

    weight: np.ndarray
    feeding: list[Terms]
    soft: list[Terms]
    entropies: list[float | None]
    surprisal: np.ndarray | None
    no_upper: str
    depth: int | None

    @property
    def layers(self) -> list[Terms]:
        """The terms of the labels that count: most likely ones where they feed a layer, soft ones on top."""
        return [*self.feeding, self.soft[-1]]

    def explained(self, depth: int) -> np.ndarray:
        """What the first layers explain of each sample if there are so many, (N,)."""
        return np.sum([terms.explained for terms in (*self.feeding[: depth - 1], self.soft[depth - 1])], axis=0)


def gather(
    data: Data,
    feeding: list[Terms],
    soft: list[Terms],
    surprisals: list[np.ndarray] | None = None,
    depth: int | None = None,
    name: Callable[[int], str] = str,
) -> Evidence:
    """The evidence of the terms of layers about the samples of ``data``.

    ``surprisals`` by block, as of a fit, keep the entropies of new samples from coming out low; without
    them the samples' own frequencies count. ``name`` says how a column is called.
    """
    weight = data.weight.astype(float)
    reason = _why_no_entropy(data, name)
    entropy, surprisal = None, None
    if not reason:
        own = surprisals or marginal_surprisals(data, prior_samples=0)
        surprisal = np.zeros(weight.size)
        for block, table in zip(data.blocks, own, strict=True):
            if isinstance(block, Categorical):
                surprisal += np.concatenate([block.look_up(block.tile(rows), table) for rows in data.tiles])
        entropy = float(np.average(surprisal, weights=weight))
    entropies: list[float | None] = [entropy]
    for terms in feeding:
        entropies.append(sum(sample_entropy(own, weight=weight) for own in terms.labels))
    return Evidence(weight, feeding, soft, entropies, surprisal, reason, depth)


def marginal_surprisals(data: Data, prior_samples: float = PRIOR_SAMPLES) -> list[np.ndarray]:
    """-log p(v) of every category by block, empty where columns are not discrete."""
    return [block.surprisals(prior_samples) if isinstance(block, Categorical) else np.empty(0) for block in data.blocks]


def _why_no_entropy(data: Data, name: Callable[[int], str]) -> str:
    for block, columns in zip(data.blocks, data.columns, strict=True):
        if not isinstance(block, Categorical):
            if block.informative.any():  # a column that does not vary has no entropy of any kind
                return f"column {name(columns[block.informative.argmax()])} is not discrete"
            continue
        gap = (block.missing_weight() > 0) & block.informative
        if gap.any():
            return f"column {name(columns[gap.argmax()])} has missing values or categories that the fit has not seen"
    return ""


def bounds_of(parts: Sequence[Evidence], cross_fitted: bool = False) -> Bounds:
    """The bounds from the evidence of one part of the samples, or of several parts with models of their own."""
    weight = np.concatenate([part.weight for part in parts])
    shares = np.array([part.weight.sum() for part in parts]) / weight.sum()
    rows = []
    for k in range(len(parts[0].soft)):
        layers = [part.layers[k] for part in parts]
        added, stderr = mean_and_error(np.concatenate([terms.explained for terms in layers]), weight)
        lower, _ = mean_and_error(np.concatenate([part.explained(k + 1) for part in parts]), weight)
        inputs = [part.entropies[k] for part in parts]
        cost = shares @ [terms.information.sum() for terms in layers]
        left = None if None in inputs else float(shares @ np.array(inputs, float) - cost - added)
        objective = float(shares @ [terms.log_z.sum() for terms in layers])
        rows.append(LayerBounds(f"layer{k + 1}", len(layers[0].log_z), objective, added, stderr, lower, left))
    best = 1 + int(np.argmax([row.lower for row in rows]))
    depths = [part.depth or best for part in parts]
    explained = np.concatenate([part.explained(depth) for part, depth in zip(parts, depths, strict=True)])
    lower, lower_stderr = mean_and_error(explained, weight)
    no_upper = next((part.no_upper for part in parts if part.no_upper), "")
    upper = upper_stderr = theorem = entropy_lower = entropy_upper = None
    if not no_upper:
        surprisal = np.concatenate([part.surprisal for part in parts if part.surprisal is not None])
        known = np.concatenate([_surprisal_of_labels(part) for part in parts])
        upper, upper_stderr = mean_and_error(surprisal - known, weight)
        entropy_lower, _ = mean_and_error(known, weight)
        entropy_upper = mean_and_error(surprisal, weight)[0] - lower
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
        weight.size,
    )


def _upper_theorem(parts: Sequence[Evidence], rows: Sequence[LayerBounds]) -> float | None:
    """The paper's upper bound, from the best of the layers in which at most one factor is in use."""
    terms = np.cumsum([row.contribution + (row.conditional_entropy or 0) for row in rows])
    single = [all((part.layers[k].information > UNUSED).sum() <= 1 for part in parts) for k in range(len(rows))]
    return float(terms[single].min()) if any(single) else None


def _surprisal_of_labels(part: Evidence) -> np.ndarray:
    """-log p(y^1) of each sample's joint label in the first layer, (N,)."""
    share, code = frequencies(*part.layers[0].labels, weight=part.weight)
    return -np.log(share[code])


def _factors(layers: Sequence[Terms]) -> tuple[FactorBounds, ...]:
    return tuple(
        FactorBounds(f"layer{k}_factor{j}", *map(float, numbers))
        for k, terms in enumerate(layers, start=1)
        for j, numbers in enumerate(zip(terms.log_z, terms.unique, terms.unique_stderr, terms.information, strict=True))
    )


def _short(x: float | None, digits: int = 4) -> str:
    """A number in so many digits, rounding errors as 0."""
    return "" if x is None else "0" if abs(x) < 1e-9 else f"{x:.{digits}g}"
