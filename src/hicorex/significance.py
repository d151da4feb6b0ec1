"""Whether a variable belongs to a factor at all, or only seems to, as some do in noise.

A factor is fitted to its variables, so that testing them on its labels would be circular. Instead, a
layer is fitted to each half of the samples and labels the other half; there a variable is tested
against the labels that its factor has without it. Under independence those labels are a function of
the other variables and of other samples alone, so that the test is exact.
"""

import numpy as np

from hicorex.data import Data
from hicorex.layer import State, add_scores, block_weights, fit_layer

# Odds of a variable without any dependence to be called part of a cluster.
LEVEL = 0.01
HALF_FIT_ITERATIONS = 6


def link_probabilities(data: Data, rule, engine, *, seed: np.random.SeedSequence, **sizes) -> list[np.ndarray]:
    """For each column of each block, how likely its link to its factor would be by chance, (n,)."""
    # One of every two rows, since rows may be sorted; by chance, since they may come in turns, as case and control.
    n_samples = data.weight.size
    first = np.random.default_rng(seed.spawn(1)[0]).random(n_samples - n_samples // 2) < 0.5
    one = np.repeat(first, 2)[:n_samples] ^ (np.arange(n_samples) % 2 == 1)
    by_half = []
    for fitted in (one, ~one):
        half = data.reweighted(data.weight * fitted)
        state = fit_layer(
            half, rule, engine, n_starts=2, max_iter=HALF_FIT_ITERATIONS, tol=0.0, seed=seed, **sizes
        ).state
        by_half.append(_test(state, data.reweighted(data.weight * ~fitted), engine))
    return [np.minimum(1, 2 * np.minimum(*chances)) for chances in zip(*by_half, strict=True)]


def _test(state: State, data: Data, engine) -> list[np.ndarray]:
    """p-values of each column against its factor's labels without it."""
    weights = block_weights(state, data, engine)
    owners = [
        block.rank(parameters, state.prior).argmax(axis=0)
        for block, parameters in zip(data.blocks, state.parameters, strict=True)
    ]

    def tabulate(rows: slice) -> list[np.ndarray]:
        return _tabulate(state, data, weights, owners, rows)

    tables: list = [0.0] * len(data.blocks)
    for found in engine.map(tabulate, data.small_tiles):
        tables = [table + more for table, more in zip(tables, found, strict=True)]
    return [block.independence(table) for block, table in zip(data.blocks, tables, strict=True)]


def _tabulate(state: State, data: Data, weights: list, owners: list[np.ndarray], rows: slice) -> list[np.ndarray]:
    n_states, n_factors = state.prior.shape
    tiles = [block.tile(rows) for block in data.blocks]
    scores = add_scores(data, tiles, weights).reshape(n_states - 1, n_factors, -1)
    scores = scores + np.log(state.prior[1:] / state.prior[0])[:, :, None].astype(scores.dtype)
    weight = data.weight[rows].astype(float)
    tables = []
    for block, tile, w, alpha, owner in zip(data.blocks, tiles, weights, state.alpha, owners, strict=True):
        without = scores[:, owner] - block.own_scores(tile, w, alpha, owner)
        label = np.where((without > 0).any(axis=0), without.argmax(axis=0) + 1, 0)
        tables.append(block.tabulate(tile, label, weight, n_states))
    return tables
