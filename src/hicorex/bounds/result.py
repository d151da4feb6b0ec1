"""The result: bounds on the total correlation and the entropy of a table, of its layers and of its factors."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from hicorex.support.compatibility import check_pandas_support
from hicorex.support.printing import printable


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


class NoUpperReason(StrEnum):
    """Why there is no upper bound."""

    NOT_DISCRETE = "a column is not discrete"
    GAPS = "a column has missing values or unseen categories"
    NOT_A_FUNCTION = "equal samples have different labels"


class NoUpper(NamedTuple):
    """Why there is no upper bound, and the first column that stands against it.

    column : as messages call it, its name in quotes or its index; None if it is not a matter of one column
    """

    reason: NoUpperReason
    column: str | None = None


@dataclass(frozen=True, repr=False)
class Bounds:
    """Bounds on the total correlation TC(X) and the entropy H(X), in nats.

    Attributes
    ----------
    lower, lower_stderr : float
        The lower bound (Thm hierarchy), and its standard error over the samples. It counts as many layers as make it
        largest; on new samples, as many as in the fit.
    depth : int
        The number of layers that it counts. It leaves a layer out where labels lose more by being made hard, to feed
        that layer, than the layer explains.
    objective : float
        sum_j E[log Z_j] over all layers, what the fits maximise. A bound for one layer alone.
    upper, upper_stderr : float or None
        sum_i H(X_i) - H(Y^1), with the joint entropy of the first layer's most likely labels.
    upper_theorem : float or None
        The paper's upper bound (Thm tcub), the sum over layers of contribution and conditional entropy up to a layer
        with a single factor; None if there is no such layer.
    entropy_lower, entropy_upper : float or None
        Bounds on H(X).
    no_upper : NoUpper or None
        Why there is no upper bound: the reason and the column.
    layers : tuple of LayerBounds
    factors : tuple of FactorBounds
        In the order of the layer. Empty for cross-fitted bounds, since every fold has other factors.
    n_samples : int
        Number of rows. Standard errors go by the sum of their weights.
    lower_with_pairs, lower_with_pairs_stderr : float or None
        The lower bound of factors and residual pairs, and its standard error: that of ``residual_pairs``; None until
        that was asked for. Cross-fitted bounds always have it.
    lower_gaussian, lower_gaussian_stderr : float or None
        The lower bound of a Gaussian factor model of the numbers by their ranks, and its standard error, for
        comparison. Of cross-fitted bounds of tables with numbers.

    Examples
    --------
    >>> from hicorex import Corex
    >>> from hicorex.datasets import make_latent_tree
    >>> X, truth = make_latent_tree(500, 30, 3, root_flip=0.5, random_state=0)
    >>> model = Corex(3, n_states=2, n_init=1, random_state=0).fit(X)
    >>> found = model.bounds()
    >>> bool(found.lower < found.upper)
    True
    >>> len(found.layers), len(found.factors)
    (1, 3)
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
    no_upper: NoUpper | None
    layers: tuple[LayerBounds, ...]
    factors: tuple[FactorBounds, ...]
    n_samples: int
    lower_with_pairs: float | None = None
    lower_with_pairs_stderr: float | None = None
    lower_gaussian: float | None = None
    lower_gaussian_stderr: float | None = None

    def __repr__(self) -> str:
        above = f" <= {_short(self.upper)} (standard error {self.upper_stderr:.2g})" if self.upper is not None else ""
        lines = [f"{_short(self.lower)} nats (standard error {self.lower_stderr:.2g}) <= TC(X){above}"]
        if self.lower_with_pairs is not None:
            error = f"(standard error {self.lower_with_pairs_stderr:.2g})"
            lines.append(f"{_short(self.lower_with_pairs)} nats {error} <= TC(X) with residual pairs")
        if self.lower_gaussian is not None:
            error = f"(standard error {self.lower_gaussian_stderr:.2g})"
            lines.append(f"{_short(self.lower_gaussian)} nats {error} <= TC(X) by a Gaussian factor model")
        if self.lower <= 0:
            lines.append("nothing is explained: TC(X) is never negative")
        if self.upper is not None:
            lines.append(f"{_short(self.entropy_lower)} <= H(X) <= {_short(self.entropy_upper)} nats")
        if self.no_upper is not None:
            column = f" ({printable(self.no_upper.column)})" if self.no_upper.column is not None else ""
            lines.append(f"no upper bound: {self.no_upper.reason}{column}")
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
            factors = [factor for factor in self.factors if factor.name.startswith(f"{layer.name}_")]
            rows.extend(factor._asdict() | {"kind": "factor"} for factor in factors)
        columns = ["kind", "n_factors", "contribution", "contribution_stderr", "objective"]
        table = pd.DataFrame(rows).set_index("name")
        return table.reindex(columns=[*columns, "lower", "conditional_entropy", "information"])


def _short(x: float | None, digits: int = 4) -> str:
    """A number with this number of digits, rounding errors as 0."""
    return "" if x is None else "0" if abs(x) < 1e-9 else f"{x:.{digits}g}"
