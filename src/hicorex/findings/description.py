"""What there is to tell of a fitted model, as data."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.bounds.pairs.result import ResidualPair, residual_pairs_of
from hicorex.findings.graph import ranked_links
from hicorex.findings.numbers import ROUNDING
from hicorex.findings.reasons import why_no_further_layer, why_no_upper
from hicorex.findings.states import StateDescription, states_of_factors
from hicorex.fitted.model import StopReason
from hicorex.selection.stability import STABLE
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from hicorex.bounds.result import Bounds
    from hicorex.estimators.base import LayeredEstimator

# Standard errors by which a held-out bound must exceed zero.
LEAST_ERRORS = 2.0
# The number of variables that introduce a factor.
TOP = 10


class FactorDescription(NamedTuple):
    """What there is to tell of a factor.

    factor : its name, layer1_factor0, ...
    layer : 1, 2, ...
    states : their number
    explains : E[log Z_j], in nats
    contribution, contribution_stderr, information : as in ``FactorBounds``, in nats
    reproducibility : how much it comes back in fits to halves of the samples, from 0 to 1; None where not measured
    n_variables : the number of variables, or factors of the layer below, that have it as their main factor
    top_variables : the first of those that are linked to it: by falling weight, members first
    """

    factor: str
    layer: int
    states: int
    explains: float | None
    contribution: float | None
    contribution_stderr: float | None
    information: float | None
    reproducibility: float | None
    n_variables: int
    top_variables: list[str]

    def leading(self, most: int) -> list[str]:
        """The first variables that belong to the factor most; if there are none, those that are linked to it."""
        return self.top_variables[: min(most, self.n_variables or most)]


class Dependence(NamedTuple):
    """How much dependence there is at least, and what the factors explain of it, in nats.

    lower, stderr : the largest lower bound at hand, and its standard error
    by : what shows it: the factors, factors and residual pairs, or a Gaussian factor model of the numbers
    explained : by the factors
    share : explained / lower; None where nothing is sure
    """

    lower: float
    stderr: float
    by: str
    explained: float
    share: float | None


# What shows how much dependence there is.
BY_FACTORS, BY_PAIRS, BY_GAUSSIAN = "factors", "factors and pairs", "Gaussian factor model"


@dataclass(frozen=True)
class Description:
    """What there is to tell of a model.

    n_samples, n_variables : of the table of the fit
    layers : the number of factors of each layer
    stop_reason : why there is no further layer; None for a model of one layer
    chance_above : whether a further layer would add nothing
    bounds : on the samples of the fit
    cross_fitted : on samples that models of these sizes were not fitted to; None where nobody has made them
    factors : of all layers, from the bottom up
    states : of each factor, what its states are
    pairs : of variables that still depend on each other when the factors are known, most first
    unassigned : the variables without a significant link
    """

    n_samples: int
    n_variables: int
    layers: list[int]
    stop_reason: str | None
    chance_above: bool
    bounds: "Bounds"
    cross_fitted: "Bounds | None"
    factors: list[FactorDescription]
    states: list[list[StateDescription]]
    pairs: list[ResidualPair]
    unassigned: list[str]

    @property
    def explains(self) -> bool:
        """Whether anything is explained."""
        return self.bounds.lower > 0 and bool(self.used)

    @property
    def is_sure(self) -> bool:
        """Whether held-out samples show that something is explained, beyond what chance would."""
        crossed = self.cross_fitted
        return crossed is not None and _is_sure(crossed.lower, crossed.lower_stderr)

    @property
    def with_pairs(self) -> "Bounds | None":
        """The bounds to rely on of factors and pairs, if they say something beyond those of the factors."""
        known = self.cross_fitted or self.bounds
        sure = _is_sure(known.lower_with_pairs, known.lower_with_pairs_stderr)
        return known if sure and (known.lower_with_pairs or 0) > known.lower else None

    @property
    def dependence(self) -> Dependence:
        """How much dependence there is at least, and what the factors explain of it."""
        return dependence_of(self.cross_fitted or self.bounds)

    @property
    def n_stable(self) -> int | None:
        """The number of factors in use that come back in fits to halves; None where nobody has measured that."""
        known = [row.reproducibility for row in self.used if row.reproducibility is not None]
        return sum(value >= STABLE for value in known) if known else None

    def states_of(self, factor: str) -> list[StateDescription]:
        """What the states of a factor are, by its name."""
        return self.states[[row.factor for row in self.factors].index(factor)]

    @property
    def used(self) -> list[FactorDescription]:
        """The factors that explain anything, of all layers."""
        return [row for row in self.factors if row.explains]

    def of_layer(self, layer: int) -> list[FactorDescription]:
        """The factors of a layer, 1, 2, ..."""
        return [row for row in self.factors if row.layer == layer]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain numbers, text and lists, which JSON can hold."""
        return {
            "n_samples": self.n_samples,
            "n_variables": self.n_variables,
            "layers": self.layers,
            "stop_reason": self.stop_reason,
            "bounds": all_bounds_dict(self.bounds, self.cross_fitted),
            "factors": [row._asdict() for row in self.factors],
            "states": {
                row.factor: [
                    {"state": of.state, "probability": of.probability, "variables": list(of.variables)} for of in states
                ]
                for row, states in zip(self.factors, self.states, strict=True)
            },
            "pairs": [pair._asdict() | {"kind": str(pair.kind)} for pair in self.pairs],
            "unassigned": self.unassigned,
        }


def description(model: "LayeredEstimator") -> Description:
    """What there is to tell of a fitted model."""
    first = model.fitted_.layers[0]
    variables = names_of(model)[0]
    return Description(
        n_samples=_plain(model.bounds_.n_samples),
        n_variables=len(variables),
        layers=[int(layer.n_factors) for layer in model.fitted_.layers],
        stop_reason=why_no_further_layer(model.fitted_),
        chance_above=model.fitted_.stop_reason
        in (StopReason.NOTHING, StopReason.NOTHING_MORE, StopReason.ADDS_NOTHING),
        bounds=model.bounds_,
        cross_fitted=model.fitted_.cross_fitted,
        factors=list(factors_of(model)),
        states=states_of_factors(model),
        pairs=pairs_of(model),
        unassigned=[variables[i] for i in np.flatnonzero(first.clusters == -1)],
    )


def factors_of(model: "LayeredEstimator") -> Iterator[FactorDescription]:
    """What there is to tell of each factor, from the bottom up."""
    names = names_of(model)
    bounds, stability = iter(model.bounds_.factors), model.fitted_.stability
    for k, layer in enumerate(model.fitted_.layers, start=1):
        below, factor = ranked_links(layer)
        order = np.lexsort((layer.clusters[below] != factor, factor))  # members first
        below, factor = below[order], factor[order]
        first = np.searchsorted(factor, np.arange(layer.n_factors + 1))
        sizes = np.bincount(layer.clusters + 1, minlength=layer.n_factors + 1)[1:]
        for j, name in enumerate(names[k]):
            bound = next(bounds)
            reproducibility = None if stability is None else stability.layers[k - 1].factors[j]
            yield FactorDescription(
                name,
                k,
                layer.n_states,
                _plain(layer.tcs[j]),
                _plain(bound.contribution),
                _plain(bound.contribution_stderr),
                _plain(bound.information),
                _plain(reproducibility),
                int(sizes[j]),
                [names[k - 1][i] for i in below[first[j] : first[j + 1]][:TOP]],
            )


def pairs_of(model: "LayeredEstimator") -> list[ResidualPair]:
    """The residual pairs of a model, most first; none where nobody has looked for them."""
    decoder = model.fitted_.pairs
    return [] if decoder is None else residual_pairs_of(decoder, model.fitted_.variable_names())


def all_bounds_dict(in_sample: "Bounds", cross_fitted: "Bounds | None") -> dict[str, Any]:
    """The bounds to rely on, and those of the samples of the fit, as plain numbers, text and lists."""
    given = None if cross_fitted is None else bounds_dict(cross_fitted)
    there = {key: _plain(value) for key, value in dependence_of(cross_fitted or in_sample)._asdict().items()}
    return {"unit": "nats", "dependence": there, "cross_fitted": given, "in_sample": bounds_dict(in_sample)}


def dependence_of(bounds: "Bounds") -> Dependence:
    """How much dependence bounds show, and what the factors explain of it."""
    shown = [
        (bounds.lower, bounds.lower_stderr, BY_FACTORS),
        (bounds.lower_with_pairs, bounds.lower_with_pairs_stderr, BY_PAIRS),
        (bounds.lower_gaussian, bounds.lower_gaussian_stderr, BY_GAUSSIAN),
    ]
    sure = [of for of in shown if _is_sure(*of[:2])]
    lower, stderr, by = max(sure, key=lambda of: of[0] or 0, default=shown[0])
    explained = max(bounds.lower, 0.0)
    return Dependence(lower or 0.0, stderr or 0.0, by, explained, explained / lower if sure and lower else None)


def _is_sure(lower: float | None, stderr: float | None) -> bool:
    """Whether a lower bound exceeds 0 by more than chance would."""
    return lower is not None and stderr is not None and lower > max(LEAST_ERRORS * stderr, ROUNDING)


def bounds_dict(bounds: "Bounds") -> dict[str, Any]:
    """Bounds as plain numbers, text and lists, in nats; None for what is not a number."""
    plain = {name: _plain(value) for name, value in vars(bounds).items() if name not in ("layers", "factors")}
    for name, rows in (("layers", bounds.layers), ("factors", bounds.factors)):
        plain[name] = [{key: _plain(value) for key, value in row._asdict().items()} for row in rows]
    return {"unit": "nats"} | plain | {"no_upper": why_no_upper(bounds.no_upper)}


def _plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
