"""Factors that have a place of their own in a layer: anchored by variables that stay with them, or frozen as they are.

An anchored factor is begun by its variables, whose alpha is 1 for it in every iteration. A frozen factor keeps its
marginals and its alpha. What such an alpha counts beyond what the labels allow is taken off the objective, so that the
objective stays a bound whatever is held.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from hicorex.engine import Engine
from hicorex.layer.correlation import feature_correlation
from hicorex.layer.data import Data, Part
from hicorex.layer.directions import soft_states, state_from_labels
from hicorex.layer.state import State, side_by_side
from hicorex.layer.structure import Measured, Rule
from hicorex.marginals.base import Questions

# Columns that say how the anchors of a factor go together, beside these themselves.
MOST_OTHERS = 400


@dataclass(frozen=True)
class Held:
    """The factors that have a place of their own.

    anchors : by the number of a factor, the columns of the table that it is begun by
    frozen : by the number of a factor, its state
    """

    anchors: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    frozen: Mapping[int, State] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.anchors or self.frozen)

    @property
    def places(self) -> list[int]:
        """The numbers of these factors, rising."""
        return sorted({*self.anchors, *self.frozen})

    @property
    def least_factors(self) -> int:
        """The least number of factors that a layer has with them."""
        return 1 + max(self.places, default=0)

    @property
    def anchored(self) -> "Held":
        """Those that are anchored, for fits to other samples: what is frozen was learned from all."""
        return replace(self, frozen={}) if self.frozen else self

    def seen_in(self, data: Data) -> "Held":
        """Without the factors whose anchors do not vary in some samples, or are left out of a fit."""
        if not self.anchors:
            return self
        varies = data.to_table([block.informative for block in data.blocks])
        return replace(self, anchors={j: of for j, of in self.anchors.items() if varies[list(of)].any()})

    def rule(self, rule: Rule, data: Data, n_factors: int) -> Rule:
        """A rule that holds these factors in fits to such data."""
        return HoldingRule(rule, self, self._alpha(data, n_factors)) if self else rule

    def begun(self, data: Data, n_states: int, rule: Rule, engine: Engine) -> State:
        """Their first state, in the order of their places, by samples in memory."""
        states = {j: self.frozen[j] for j in self.frozen}
        for j, columns in self.anchors.items():
            scores = _common_scores(data, columns, engine)
            labels = soft_states(scores[:, None], _share(data), n_states)
            states[j] = state_from_labels(labels, data, rule, engine)
        return side_by_side([states[j] for j in self.places], n_starts=1)

    def _alpha(self, data: Data, n_factors: int) -> list[np.ndarray]:
        """By block, the alpha (m, n) that is held, NaN where it is free."""
        table = np.full((n_factors, data.n_columns), np.nan)
        for j, of_factor in self.anchors.items():
            table[j, list(of_factor)] = 1
        of_blocks = []
        for b, (block, columns) in enumerate(zip(data.blocks, data.columns, strict=True)):
            held = table[:, columns]
            for j, state in self.frozen.items():
                held[j] = state.alpha[b][0]
            held[:, ~block.informative] = np.nan
            of_blocks.append(held)
        return of_blocks


NOTHING_HELD = Held()


class HoldingRule(Rule):
    """A rule of structure under which some factors hold their alpha, and some all that they are.

    base : the rule without that, for factors that have no place yet
    """

    def __init__(self, rule: Rule, held: Held, alpha: list[np.ndarray]):
        self.base, self._held, self._alpha = rule, held, alpha

    def alpha(self, measured: Measured) -> np.ndarray:
        """As by the rule."""
        return self.base.alpha(measured)

    def questions(self, measured: Measured, alpha: np.ndarray) -> Questions:
        """As by the rule."""
        return self.base.questions(measured, alpha)

    def excess(self, measured: Measured, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """As by the rule."""
        return self.base.excess(measured, before, after)

    def held(self, b: int, n_starts: int) -> np.ndarray:
        """The alpha of a block that is held, (J, n), NaN where it is free."""
        return np.tile(self._alpha[b], (n_starts, 1))

    def kept(self, state: State) -> State:
        """The state with what is held as it was."""
        alpha = [np.where(np.isnan(h), a, h) for h, a in zip(self._of_starts(state), state.alpha, strict=True)]
        frozen = self._held.frozen
        if not frozen:
            return replace(state, alpha=alpha)
        prior = state.prior.copy()
        parameters = [type(of_block)(*(array.copy() for array in of_block)) for of_block in state.parameters]
        for j, of_factor in frozen.items():
            every = slice(j, None, state.n_factors)
            prior[:, every] = of_factor.prior
            for mine, given in zip(parameters, of_factor.parameters, strict=True):
                for array, value in zip(mine, given, strict=True):
                    array[:, every] = value
        return replace(state, prior=prior, parameters=parameters, alpha=alpha)

    def _of_starts(self, state: State) -> list[np.ndarray]:
        return [self.held(b, state.n_starts) for b in range(len(self._alpha))]


def base_of(rule: Rule) -> Rule:
    """The rule for factors that have no place yet."""
    return rule.base if isinstance(rule, HoldingRule) else rule


def with_held(starts: State, held: Held, data: Data, rule: Rule, engine: Engine) -> State:
    """Starts side by side in which the held factors have their places.

    In each start they take the places of the factors that are most like them, and the others are moved to the places
    that are left.
    """
    if not held:
        return starts
    m, places = starts.n_factors, held.places
    begun = held.begun(data, len(starts.prior), base_of(rule), engine)
    everything = side_by_side([starts, begun], n_starts=1)
    known = [
        block.dependence(parameters, everything.prior) * block.informative
        for block, parameters in zip(data.blocks, everything.parameters, strict=True)
    ]
    first_held = starts.n_starts * m
    # What a factor knows of the columns that the held one does.
    alike = sum(of_block[:first_held] @ of_block[first_held:].T for of_block in known)
    factors = []
    for s in range(starts.n_starts):
        mine = np.arange(s * m, (s + 1) * m)
        leaving = mine[linear_sum_assignment(-alike[mine])[0]]
        order = np.empty(m, int)
        order[places] = first_held + np.arange(len(places))
        order[np.setdiff1d(np.arange(m), places)] = np.setdiff1d(mine, leaving)
        factors.append(order)
    nothing = [Questions() for _ in data.blocks]
    return rule.kept(everything.take_factors(np.concatenate(factors), nothing, starts.n_starts))


def _common_scores(data: Data, columns: tuple[int, ...], engine: Engine) -> np.ndarray:
    """What columns have in common, by how they and others go together: a score of each sample in memory, (N,)."""
    place = {i: (b, at) for b, of_block in enumerate(data.columns) for at, i in enumerate(of_block.tolist())}
    varying = [i for i, (b, at) in place.items() if data.blocks[b].informative[at]]
    anchors = [i for i in columns if i in set(varying)]
    others = np.setdiff1d(varying, anchors)
    others = others[np.random.default_rng(0).permutation(others.size)[:MOST_OTHERS]]
    places = np.array([place[i] for i in (*anchors, *others.tolist())])
    correlation, offsets = feature_correlation(data, places, engine)
    n_features = int(offsets[len(anchors)])
    of_anchors = correlation[:n_features].copy()
    for first, last in pairwise(offsets[: len(anchors) + 1]):
        of_anchors[first:last, first:last] = 0  # a column always goes with itself
    if not np.abs(of_anchors).max(initial=0) > 1e-9:
        of_anchors = correlation[:n_features, :n_features]
    direction = np.linalg.svd(of_anchors, full_matrices=False)[0][:, 0]
    last = offsets[1 : len(anchors) + 1] - 1
    # The last state is that of large numbers and late categories, such as a word that is there.
    direction *= 1.0 if direction[last].sum() >= 0 else -1.0
    return _scores(data, places[: len(anchors)], direction, engine)


def _scores(data: Data, places: np.ndarray, direction: np.ndarray, engine: Engine) -> np.ndarray:
    """The features of some columns, each of variance 1, along a direction (f,), (N,)."""
    blocks = data.blocks

    def of_tile(part: Part, rows: slice) -> np.ndarray:
        features: list = [None] * len(places)
        for b, tile in enumerate(part.tile(blocks, rows)):
            in_block = np.flatnonzero(places[:, 0] == b)
            if in_block.size:
                of_block = blocks[b].features(tile, places[in_block, 1])
                for at, feature in zip(in_block, of_block, strict=True):
                    features[at] = feature
        return np.concatenate(features).astype(float)

    features = np.concatenate(list(engine.tiles(of_tile, data.parts)), axis=1)
    centred = features - (features @ _share(data))[:, None]
    spread = np.sqrt(np.maximum(centred**2 @ _share(data), 1e-12))
    return (direction / spread) @ centred


def _share(data: Data) -> np.ndarray:
    """The share of each sample in memory in the weight of all, (N,)."""
    weight = data.sample_weight.astype(float)
    return weight / weight.sum()
