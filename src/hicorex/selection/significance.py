"""Whether a variable belongs to a factor at all, or only seems to, as some do in noise.

A factor is fitted to its variables, so that testing them on its labels would be circular. Instead, a
layer is fitted to each half of the samples and labels the other half; there a variable is tested
against the labels that its factor has without it. Under independence those labels are a function of
the other variables and of other samples alone, so that the test is exact.
"""

from dataclasses import replace

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import add_scores, block_coefficients
from hicorex.layer.loop import fit_layer
from hicorex.layer.options import FitOptions
from hicorex.layer.state import State
from hicorex.layer.structure import Rule
from hicorex.selection.independence import independence_test

# Odds of a variable without any dependence to be called part of a cluster.
LEVEL = 0.005
HALF_FIT_STARTS, HALF_FIT_ITERATIONS = 2, 6
# Tables of more cells are tested on some of their rows, but not on fewer than FEWEST_ROWS.
MOST_CELLS, FEWEST_ROWS = 2**23, 10_000


def link_probabilities(
    data: Data, rule: Rule, engine: Engine, n_factors: int, n_states: int, seed: np.random.SeedSequence
) -> list[np.ndarray]:
    """For each column of each block, how likely its link to its factor would be by chance, (n,)."""
    data, one = _halves(data, engine, np.random.default_rng(seed.spawn(1)[0]))
    options = FitOptions(n_factors, n_states, "auto", max_iter=HALF_FIT_ITERATIONS, tol=0.0, improve=False)
    n_starts = min(HALF_FIT_STARTS, options.starts(data.n_samples, data.n_columns))
    options = replace(options, n_starts=n_starts)
    by_half: list[list[np.ndarray]] = []
    states: list[State] = []
    # One half is in memory at a time: fit to one, test on the other and fit to it, then test on the first again.
    for rows in (one, ~one, one):
        half = data.take(np.flatnonzero(rows), engine)
        if states:
            by_half.append(held_out_probabilities(states.pop(), half, engine))
        if len(by_half) < 2:
            states.append(fit_layer(half, rule, engine, options, seed).state)
        del half
    return [np.minimum(1, 2 * np.minimum(*chances)) for chances in zip(*by_half, strict=True)]


def _halves(data: Data, engine: Engine, rng: np.random.Generator) -> tuple[Data, np.ndarray]:
    """The samples, or some of them, in memory, and which of them make one of two halves."""
    most = max(FEWEST_ROWS, MOST_CELLS // data.n_columns)
    if data.n_samples > most:
        data = data.take(np.sort(rng.choice(data.n_samples, most, replace=False)), engine)
    elif not data.in_memory:
        data = data.take(np.arange(data.n_samples), engine)
    # One of every two rows, since rows may be sorted; by chance, since they may come in turns, as case and control.
    n_samples = data.n_samples
    first = rng.random(n_samples - n_samples // 2) < 0.5
    one = np.repeat(first, 2)[:n_samples] ^ (np.arange(n_samples) % 2 == 1)
    return data, one


def held_out_probabilities(state: State, data: Data, engine: Engine) -> list[np.ndarray]:
    """For each column of each block, how likely its link to its factor would be by chance, (n,).

    By samples that the state was not fitted to.
    """
    blocks, prior, coefficients = data.blocks, state.prior, block_coefficients(state, data, engine)
    owners = [
        block.dependence(parameters, prior).argmax(axis=0)
        for block, parameters in zip(blocks, state.parameters, strict=True)
    ]
    tests = [
        independence_test(*of_block) for of_block in zip(blocks, state.parameters, state.alpha, owners, strict=True)
    ]

    def tabulate(part: Part, rows: slice) -> list[np.ndarray]:
        tiles = part.tile(blocks, rows)
        scores = add_scores(blocks, tiles, coefficients).reshape(len(prior) - 1, prior.shape[1], -1)
        scores = scores + np.log(prior[1:] / prior[0])[:, :, None].astype(scores.dtype)
        sample_weight = part.sample_weight[rows].astype(float)
        return [test.tabulate(tile, scores, sample_weight) for test, tile in zip(tests, tiles, strict=True)]

    # Finer tiles, since many values are made of every cell.
    tables = engine.sum(tabulate, data.parts, finer=8)
    n_columns = sum(np.count_nonzero(alpha, axis=1) for alpha in state.alpha)
    chances = []
    for test, table, alpha, owner in zip(tests, tables, state.alpha, owners, strict=True):
        # A factor of one column has no label without it, but rounding, which follows the column.
        alone = (n_columns[owner] == 1) & (alpha[owner, np.arange(owner.size)] > 0)
        chances.append(np.where(alone, 1.0, test.probabilities(table)))
    return chances
