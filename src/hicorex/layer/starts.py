"""Starts of factors that are primed by one variable each, the variables chosen to cover the table.

Among some candidate columns, m are chosen so that the dependence of every candidate on its nearest
chosen one is large in sum. That sum stands for the objective that the fit is about to raise.
"""

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.correlation import column_dependence, feature_correlation
from hicorex.layer.data import Data
from hicorex.layer.held import NOTHING_HELD, Held
from hicorex.layer.state import UNUSED_NATS, PrimingVariable, State, prime
from hicorex.marginals.base import take_factors

# Candidates beyond twice the number of factors, and swaps of one chosen candidate for another, are this many at most.
MOST_CANDIDATES, MOST_SWAPS = 650, 200


def primed_starts(data: Data, n_factors: int, n_states: int, n_starts: int, engine: Engine, first: int = 0) -> State:
    """Starts of factors that are primed by one variable each, those from number ``first`` on, whatever the seed."""
    state = State.neutral(data.blocks, n_factors, n_states, n_starts)
    rngs = [np.random.default_rng([5, first + start]) for start in range(n_starts)]
    for start, chosen in enumerate(choose_variables(data, n_factors, engine, rngs)):
        for j, variable in enumerate(chosen):
            prime(state, data.blocks, start * n_factors + j, variable, rngs[start])
    return state


def choose_variables(
    data: Data, n_factors: int, engine: Engine, rngs: list[np.random.Generator]
) -> list[list[PrimingVariable]]:
    """The variables that prime the factors of each start, which one of ``rngs`` chooses among some candidates."""
    places = _places(data)
    n_candidates = max(2 * n_factors, min(10 * n_factors + 50, MOST_CANDIDATES))
    candidates = places[np.random.default_rng(0).permutation(len(places))[:n_candidates]]
    correlation, offsets = feature_correlation(data, candidates, engine)
    dependence = column_dependence(correlation, offsets[:-1])
    starts = []
    for rng in rngs:
        some = rng.permutation(len(candidates))[: max(n_factors, 2 * len(candidates) // 3)]
        chosen = some[cover(dependence[np.ix_(some, some)], n_factors, rng)]
        variables = []
        for at in chosen:
            features = slice(offsets[at], offsets[at + 1])
            block, column = candidates[at]
            variables.append(PrimingVariable(block, column, telling_scores(correlation[features], features, rng)))
        starts.append(variables)
    return starts


def telling_scores(correlation: np.ndarray, features: slice, rng: np.random.Generator) -> np.ndarray:
    """Scores of a column's features along a random direction, the more likely the more other columns follow it."""
    others = correlation.copy()
    others[:, features] = 0
    return others @ (others.T @ rng.standard_normal(len(others)))


def cover(dependence: np.ndarray, n_chosen: int, rng: np.random.Generator) -> np.ndarray:
    """Choose rows so that the sum over columns of the largest chosen entry is large, by best swaps."""
    size = len(dependence)
    if size <= n_chosen:
        return np.resize(rng.permutation(size), n_chosen)
    chosen = rng.permutation(size)[:n_chosen]
    for _ in range(min(3 * n_chosen, MOST_SWAPS)):
        held = dependence[:, chosen]
        nearest = held.argmax(axis=1)
        best = held[np.arange(size), nearest]
        held[np.arange(size), nearest] = 0
        second = held.max(axis=1)
        with_new = np.maximum(dependence, best[:, None])
        without_nearest = np.maximum(dependence, second[:, None])
        member = (nearest == np.arange(n_chosen)[:, None]).astype(float)
        gain = with_new.sum(axis=0) - best.sum() - member @ (with_new - without_nearest)
        leaving, entering = np.unravel_index(gain.argmax(), gain.shape)
        if gain[leaving, entering] <= 1e-9 * size:
            break
        chosen[leaving] = entering
    return chosen


def prime_unused(
    state: State, log_z: np.ndarray, data: Data, running: list[int], iteration: int, held: Held = NOTHING_HELD
) -> set[int]:
    """Start factors that explain nothing anew, in place, from variables that are explained badly.

    Those that are held stay. ``running`` names the starts of the state. Return the places there of those that have
    such factors.
    """
    used = sum(alpha.sum(axis=1) for alpha in state.alpha)
    anew: set[int] = set()
    is_held = np.isin(np.arange(log_z.size) % state.n_factors, held.places)
    unused = np.flatnonzero(((log_z < UNUSED_NATS) | (used == 0)) & ~is_held)
    if not unused.size:
        return anew
    places = _places(data)
    dependence = _dependence(state, data, slice(None), places)
    rngs = [np.random.default_rng([2, start, iteration]) for start in running]
    for factor in unused:
        start = factor // state.n_factors
        # Rounding may make nothing a little less than nothing, which would be of endless odds.
        known = dependence[start * state.n_factors : (start + 1) * state.n_factors].max(axis=0).clip(min=0)
        if not known.size:
            break
        odds = np.exp(-known / max(known.mean(), 1e-12))
        b, column = places[rngs[start].choice(odds.size, p=odds / odds.sum())]
        prime(state, data.blocks, int(factor), PrimingVariable(b, column, np.empty(0)), rngs[start])
        alone = slice(factor, factor + 1)
        dependence[alone] = _dependence(state, data, alone, places)
        anew.add(int(start))
    return anew


def _places(data: Data) -> np.ndarray:
    """The block and the column there of every variable that varies, in the order of the table, whatever the blocks."""
    places = np.concatenate(
        [
            np.column_stack([np.full(columns.size, b), np.arange(columns.size)])[block.informative]
            for b, (block, columns) in enumerate(zip(data.blocks, data.columns, strict=True))
        ]
    )
    return places[np.argsort([data.columns[b][i] for b, i in places], kind="stable")]


def _dependence(state: State, data: Data, factors: slice, places: np.ndarray) -> np.ndarray:
    """The dependence of the variables of some places on some factors, (factors, places)."""
    prior = np.ascontiguousarray(state.prior[:, factors])
    dependence = np.empty((prior.shape[1], len(places)))
    for b, (block, parameters) in enumerate(zip(data.blocks, state.parameters, strict=True)):
        mine = places[:, 0] == b
        dependence[:, mine] = block.dependence(take_factors(parameters, factors), prior)[:, places[mine, 1]]
    return dependence
