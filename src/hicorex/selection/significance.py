"""Whether a variable belongs to a factor at all, or only seems to, as some do in noise.

A factor is fitted to its variables, so that testing them on its labels would be circular. Two kinds of labels know
nothing of a variable: those of a layer that was fitted to the other columns alone, and those that a layer which was
fitted to other samples gives without the variable's own term. Under independence both are functions of other columns
and other samples, so that the tests are exact.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.layer.held import NOTHING_HELD, Held
from hicorex.layer.labels import add_scores, block_coefficients, harden, label_tile, labels_by
from hicorex.layer.loop import fit_layer
from hicorex.layer.numbers import some_rows
from hicorex.layer.options import FitOptions
from hicorex.layer.state import State
from hicorex.layer.structure import Rule
from hicorex.marginals.base import Block, Coefficients
from hicorex.selection.independence import IndependenceTest, OwnTerms, independence_test
from hicorex.selection.likeness import likeness

# Of the links that are called significant, the share that chance may have made.
LEVEL = 0.01
# The columns are left out in this number of groups. What tests without a column may spend of the odds of an error; the
# two tests by other samples, which find pairs of columns that depend on each other alone, share the rest.
N_GROUPS, WITHOUT_COLUMN = 8, 0.9
# Of so many columns a factor, a quarter can be missed; of more factors, half, for a fit to many takes long.
MANY_COLUMNS, FEWER_GROUPS = 32, 4
CROWD, FEWEST_GROUPS = 60, 2
# With fewer iterations factors are not yet the ones that the links are of, and few links look significant.
FIT_STARTS, FIT_ITERATIONS, FIT_TOL = 2, 25, 1e-3
# Tables of more cells are tested on some of their rows, but not on fewer than FEWEST_ROWS.
MOST_CELLS, FEWEST_ROWS = 2**23, 10_000


class Links(NamedTuple):
    """The links that are to be tested: a state, its number of factors in use, which are the first ones, and weights.

    weight : (n_columns, m), alpha x mutual information
    held : the factors that are anchored, in the fits of the tests too
    """

    state: State
    n_used: int
    weight: np.ndarray
    held: Held = NOTHING_HELD


def link_probabilities(
    links: Links, data: Data, rule: Rule, engine: Engine, seed: np.random.SeedSequence
) -> np.ndarray:
    """How likely chance alone would show each variable as dependent on each factor, (n_columns, m)."""
    data = _in_memory(data, engine)
    one = _one_half(data.n_samples, np.random.default_rng(seed.spawn(1)[0]))
    state, n_used = links.state, links.n_used
    options = FitOptions(n_used, len(state.prior), "auto", max_iter=FIT_ITERATIONS, tol=FIT_TOL, improve=False)
    options = replace(options, held=links.held)
    labels = labels_by(state, data, engine)[:n_used]

    def fitted(some: Data) -> State:
        n_starts = min(FIT_STARTS, options.starts(some.n_samples, some.n_columns))
        return fit_layer(some, rule, engine, replace(options, n_starts=n_starts), seed).state

    def in_order(chances: list[np.ndarray], of_fit: State) -> np.ndarray:
        """Those of the factors that stand for the ones of the links, (n_used, n_columns)."""
        share = data.sample_weight / data.sample_weight.sum()
        alike = likeness(labels, labels_by(of_fit, data, engine), len(state.prior), share)
        return data.to_table(chances)[linear_sum_assignment(-alike)[1]]

    chance, tests = np.ones((n_used, data.n_columns)), _tests(data)
    group = _groups(links.weight)
    for g in np.unique(group):
        without = fitted(without_columns(data, group == g))
        of_group = probabilities_of_labels(without, group == g, data, tests, engine)
        chance[:, group == g] = in_order(of_group, without)[:, group == g]
    del tests  # which take as much memory as the samples
    chance /= WITHOUT_COLUMN
    # One half is in memory at a time: fit to one, test on the other and fit to it, then test on the first again.
    states: list[State] = []
    for rows in (one, ~one, one):
        half = data.take(np.flatnonzero(rows), engine)
        if states:
            found = in_order(held_out_probabilities(states[-1], half, engine, depth=1), states[-1])
            chance = np.minimum(chance, found / ((1 - WITHOUT_COLUMN) / 2))
        if len(states) < 2:
            states.append(fitted(half))
        del half
    all_factors = np.ones(links.weight.shape)
    all_factors[:, :n_used] = np.minimum(1, chance).T
    return all_factors


def probabilities_of_labels(
    state: State, wanted: np.ndarray, data: Data, tests: list[IndependenceTest], engine: Engine
) -> list[np.ndarray]:
    """How likely the columns would be so unlike from state to state by chance: by block, of each factor, (J, n).

    The samples are in memory. This is exact for columns to which the state has no link; columns that are not
    ``wanted`` (n_columns,) have 1.
    """
    blocks, coefficients = data.blocks, block_coefficients(state, data, engine)

    def tabulate(part: Part, rows: slice) -> list[np.ndarray]:
        tiles = part.tile(blocks, rows)
        labels, _ = label_tile(state, blocks, coefficients, tiles)
        weighted, at = harden(labels, 0) * part.sample_weight[rows], _place(part, rows)
        return [test.tabulate(tile, at, weighted) for test, tile in zip(tests, tiles, strict=True)]

    tables = engine.sum(tabulate, data.parts)
    chances = []
    for test, table, of_block in zip(tests, tables, data.columns, strict=True):
        columns = np.flatnonzero(wanted[of_block])
        chances.append(np.ones((state.prior.shape[1], of_block.size)))
        if columns.size:
            chances[-1][:, columns] = test.probabilities(table, columns)
    return chances


def held_out_probabilities(state: State, data: Data, engine: Engine, depth: int | None = None) -> list[np.ndarray]:
    """How likely the links of a state would be by chance: by block, of each factor, (J, n); 1 where there is none.

    By samples that the state was not fitted to, and labels without the column's own term. ``depth`` is the number of
    links of a column that are tested, the strongest first; None stands for all.
    """
    data = _in_memory(data, engine)
    blocks, prior, coefficients = data.blocks, state.prior, block_coefficients(state, data, engine)
    tests = _tests(data)
    n_linked = max(np.count_nonzero(alpha, axis=0).max(initial=0) for alpha in state.alpha)
    owners = [
        np.argsort(np.where(alpha > 0, -block.dependence(parameters, prior), np.inf), axis=0, kind="stable")
        for block, parameters, alpha in zip(blocks, state.parameters, state.alpha, strict=True)
    ]
    alone = sum(np.count_nonzero(alpha, axis=1) for alpha in state.alpha) == 1
    chances = [np.ones(alpha.shape) for alpha in state.alpha]
    for place in range(n_linked if depth is None else min(depth, n_linked)):
        of_place = [owner[place] for owner in owners]
        own = [
            test.own_terms(parameters, alpha, owner)
            for test, parameters, alpha, owner in zip(tests, state.parameters, state.alpha, of_place, strict=True)
        ]
        tables = _tables_without(blocks, prior, coefficients, tests, of_place, own, data, engine)
        for chance, test, table, alpha, owner in zip(chances, tests, tables, state.alpha, of_place, strict=True):
            columns = np.arange(owner.size)
            # A factor of one column has no label without it, but rounding, which follows the column.
            is_link = (alpha[owner, columns] > 0) & ~alone[owner]
            chance[owner, columns] = np.where(is_link, test.probabilities(table), 1.0)
    return chances


def q_values(probabilities: np.ndarray) -> np.ndarray:
    """The least false discovery rate at which each would be called significant (Benjamini and Hochberg).

    >>> q_values(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.03]
    """
    order = np.argsort(probabilities, axis=None)[::-1]
    rank = np.arange(order.size, 0, -1)
    q = np.empty(order.size)
    q[order] = np.minimum.accumulate(probabilities.ravel()[order] * order.size / rank)
    return q.reshape(probabilities.shape)


def _tables_without(
    blocks: Sequence[Block],
    prior: np.ndarray,
    coefficients: list[Coefficients],
    tests: list[IndependenceTest],
    owners: list[np.ndarray],
    own: list[OwnTerms],
    data: Data,
    engine: Engine,
) -> list[np.ndarray]:
    """The sums of each column in the states that the label of its owner has without it."""

    def tabulate(part: Part, rows: slice) -> list[np.ndarray]:
        tiles = part.tile(blocks, rows)
        scores = add_scores(blocks, tiles, coefficients).reshape(len(prior) - 1, prior.shape[1], -1)
        scores = scores + np.log(prior[1:] / prior[0])[:, :, None].astype(scores.dtype)
        sample_weight, at = part.sample_weight[rows].astype(float), _place(part, rows)
        return [
            test.tabulate_without(tile, at, scores, owner, terms, sample_weight)
            for test, tile, owner, terms in zip(tests, tiles, owners, own, strict=True)
        ]

    return engine.sum(tabulate, data.parts, finer=8)  # finer tiles, since many values are made of every cell


def _tests(data: Data) -> list[IndependenceTest]:
    sample_weight = data.sample_weight.astype(float)
    return [independence_test(*of, sample_weight) for of in zip(data.blocks, data.samples, strict=True)]


def _place(part: Part, rows: slice) -> slice:
    """Where some rows of a part are among all samples."""
    return slice(part.first + rows.start, part.first + rows.stop)


def _groups(weight: np.ndarray) -> np.ndarray:
    """The group in which each column is left out, (n_columns,): columns of one factor are left out by turns."""
    n_factors = weight.shape[1]
    main = np.where(weight.any(axis=1), weight.argmax(axis=1), n_factors)
    group = np.empty(main.size, int)
    n_groups = FEWER_GROUPS if main.size >= MANY_COLUMNS * n_factors else N_GROUPS
    n_groups = n_groups if n_factors <= CROWD else FEWEST_GROUPS
    group[np.lexsort((-weight.max(axis=1), main))] = np.arange(main.size) % n_groups
    return group


def without_columns(data: Data, left_out: np.ndarray) -> Data:
    """The same samples for a fit to which some columns (n_columns,) say nothing."""
    blocks = []
    for block, columns in zip(data.blocks, data.columns, strict=True):
        blind = copy.copy(block)
        blind.informative = block.informative & ~left_out[columns]
        blocks.append(blind)
    return replace(data, blocks=blocks)


def _in_memory(data: Data, engine: Engine) -> Data:
    """The samples in memory, or where they are many, some of them."""
    return some_rows(data, max(FEWEST_ROWS, MOST_CELLS // data.n_columns), engine)


def _one_half(n_samples: int, rng: np.random.Generator) -> np.ndarray:
    """Which of the samples make one of two halves, (N,)."""
    # One of every two rows, since rows may be sorted; by chance, since they may come in turns, as case and control.
    first = rng.random(n_samples - n_samples // 2) < 0.5
    return np.repeat(first, 2)[:n_samples] ^ (np.arange(n_samples) % 2 == 1)
