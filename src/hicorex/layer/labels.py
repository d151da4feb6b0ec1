"""The labels of samples, p(y_j | x), and log Z_j(x), under a state (eq:label_m)."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add

import numpy as np

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.engine.base import Mapper
from hicorex.layer.data import Data, Part
from hicorex.layer.state import State
from hicorex.marginals.base import Block, Coefficients, Tile, most_likely, without_tiny

# Puts other labels in the place of those (k, J, T) of the samples from the given one on.
Relabel = Callable[[np.ndarray, int], np.ndarray]


def block_coefficients(state: State, data: Data, engine: Engine) -> list[Coefficients]:
    """The state in the form that a pass uses, block by block."""

    def coefficients(b: int) -> Coefficients:
        return data.blocks[b].coefficients(state.parameters[b], state.alpha[b], state.prior, state.questions[b])

    return list(engine.map(coefficients, range(len(data.blocks))))


def add_scores(
    blocks: Sequence[Block], tiles: list[Tile], coefficients: list[Coefficients], map_blocks: Mapper = map
) -> np.ndarray:
    """The exponents of eq:label_m, sum_i alpha_ij log p(x_i | y_j=s) / p(x_i | y_j=0), ((k - 1) J, T)."""
    return reduce(add, map_blocks(lambda b: blocks[b].scores(tiles[b], coefficients[b]), range(len(blocks))))


def labels_of(scores: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels p(y_j | x) (k, J, T) from scores ((k - 1) J, T), and their log normaliser (J, T) (eq:label, eq:label_m).

    p(y_j | x_i) / p(y_j) of the paper is p(x_i | y_j) / p_j(x_i). The mixture p_j(x_i) is the same in every state, so
    that labels do without it: log Z_j is the log normaliser less sum_i alpha_ij log p_j(x_i) / p(x_i | y_j=0).
    """
    n_states, n_factors = prior.shape
    labels = np.empty((n_states, n_factors, scores.shape[1]), scores.dtype)
    log_normaliser = np.empty(labels.shape[1:], scores.dtype)
    log_prior = np.log(prior).astype(scores.dtype)
    kernels.labels.probabilities(scores.reshape(labels[1:].shape), log_prior, labels, log_normaliser)
    return labels, log_normaliser


def label_tile(
    state: State, blocks: Sequence[Block], coefficients: list[Coefficients], tiles: list[Tile]
) -> tuple[np.ndarray, np.ndarray]:
    """The labels (k, J, T) and log Z_j(x) (J, T) of some samples, in double precision (eq:label_m)."""
    labels, log_z = labels_of(add_scores(blocks, tiles, coefficients).astype(float), state.prior)
    for block, tile, of_block in zip(blocks, tiles, coefficients, strict=True):
        log_z -= block.log_mixture(tile, of_block)
    return labels, log_z


def harden(labels: np.ndarray, first: int) -> np.ndarray:
    """All of each label's probability on its most likely state, the first of equals."""
    hard = np.zeros_like(labels)
    np.put_along_axis(hard, most_likely(labels)[None], 1, axis=0)
    return hard


def labels_of_samples(state: State, sample: Data, engine: Engine) -> np.ndarray:
    """The labels (k, J, N) of samples in memory, for products in single precision."""
    blocks, coefficients = sample.blocks, block_coefficients(state, sample, engine)

    def of_tile(part: Part, rows: slice) -> np.ndarray:
        labels, _ = label_tile(state, blocks, coefficients, part.tile(blocks, rows))
        return without_tiny(labels.astype(np.float32))

    return np.concatenate(list(engine.tiles(of_tile, sample.parts)), axis=2)


def labels_by(state: State, data: Data, engine: Engine) -> np.ndarray:
    """The most likely states of samples in memory, (m, N)."""
    blocks, coefficients = data.blocks, block_coefficients(state, data, engine)

    def of_tile(part: Part, rows: slice) -> np.ndarray:
        labels, _ = label_tile(state, blocks, coefficients, part.tile(blocks, rows))
        return most_likely(labels)

    return np.concatenate(list(engine.tiles(of_tile, data.parts)), axis=1)
