"""One pass over the samples: their labels, and every sum that the next state needs."""

from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import Relabel, add_scores, block_coefficients, labels_of
from hicorex.layer.state import State
from hicorex.marginals.base import Answers


class PassSums(NamedTuple):
    """What one pass over the data gives: sums of labels (k, J), mean log Z_j (J,), answers by block.

    measured_share : of the weight of the sums, that of the samples which answered all other questions
    """

    label_sum: np.ndarray
    log_z: np.ndarray
    answers: list[Answers]
    measured_share: float = 1.0


def run_pass(state: State, data: Data, engine: Engine, relabel: Relabel | None = None) -> PassSums:
    """One pass over the data under the state: labels, log Z, and every sum that the next state needs.

    The sums of labels are those of eq:marg, the mean log Z_j the objective (eq:Z, eq:est). ``relabel`` puts other
    labels in the place of those of the state.
    """
    coefficients = block_coefficients(state, data, engine)
    # A function that is sent away takes along what it names: not the samples.
    blocks, prior, map_blocks = data.blocks, state.prior, engine.map_within(data.parts, data.lone_tile)

    def over_tile(part: Part, rows: slice) -> tuple[np.ndarray, np.ndarray, list[Answers]]:
        sample_weight = part.sample_weight[rows]
        tiles = part.tile(blocks, rows, map_blocks)
        labels, log_normaliser = labels_of(add_scores(blocks, tiles, coefficients, map_blocks), prior)
        if relabel is not None:
            labels = relabel(labels, part.first + rows.start)
        answers = list(
            map_blocks(
                lambda b: blocks[b].measure(tiles[b], labels, sample_weight, coefficients[b]), range(len(blocks))
            )
        )
        label_sum, log_z = np.empty(prior.shape), np.empty(prior.shape[1])
        kernels.labels.weighted_sums(labels.reshape(prior.size, -1), sample_weight, label_sum.reshape(-1))
        kernels.labels.weighted_sums(log_normaliser, sample_weight, log_z)
        return label_sum, log_z, answers

    label_sum, log_normaliser, answers = engine.sum(over_tile, data.parts)
    mixture = sum(block.log_mixture_sum(*both) for block, *both in zip(blocks, answers, coefficients, strict=True))
    return PassSums(label_sum, (log_normaliser - mixture) / data.total, answers)
