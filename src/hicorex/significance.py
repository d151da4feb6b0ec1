"""Whether a variable's link to its factor is more than what a fit finds in noise.

A factor was fitted to its variables, so that testing them on its labels would be circular. Each half
of the samples is therefore labelled by a layer fitted on the other half, and a variable is tested
against the labels that its factor would have without it.
"""

import numpy as np

from hicorex.columns import Data
from hicorex.layer import State, block_weights, refine

# Odds of a variable without any dependence to be called part of a cluster.
LEVEL = 0.01
STEPS = 6


def link_probabilities(state: State, data: Data, rule, engine, factors: list[np.ndarray]) -> list[np.ndarray]:
    """For each column of each block, how likely its link to its factor would be by chance, (n,)."""
    tables: list = [0.0] * len(data.blocks)
    half = np.arange(data.weight.size) % 2 == 0
    for fitted, tested in ((half, ~half), (~half, half)):
        there = refine(state, data.reweighted(data.weight * fitted), rule, engine, STEPS)
        # What counts is the layer's own structure, on parameters that have not seen the tested half.
        there = State(there.prior, there.parameters, state.alpha, state.questions, 1)
        weights = block_weights(there, data, engine)

        def tabulate(tile, there=there, weights=weights, tested=tested):
            return _tabulate(there, data, weights, factors, tile, tested)

        for found in engine.map(tabulate, data.tiles):
            tables = [table + more for table, more in zip(tables, found, strict=True)]
    return [block.independence(table) for block, table in zip(data.blocks, tables, strict=True)]


def _tabulate(state: State, data: Data, weights, factors, tile: slice, tested: np.ndarray) -> list[np.ndarray]:
    n_states, n_factors = state.prior.shape
    scores = sum(block.scores(tile, w) for block, w in zip(data.blocks, weights, strict=True))
    scores = scores.reshape(n_states - 1, n_factors, -1).astype(float)
    scores += np.log(state.prior[1:] / state.prior[0])[:, :, None]
    weight = data.weight[tile] * tested[tile]
    tables = []
    for block, w, alpha, own in zip(data.blocks, weights, state.alpha, factors, strict=True):
        without = scores[:, own].swapaxes(1, 2) - block.own_scores(tile, w, alpha, own)
        label = np.where((without > 0).any(axis=0), without.argmax(axis=0) + 1, 0)
        tables.append(block.tabulate(tile, label, weight.astype(float), n_states))
    return tables
