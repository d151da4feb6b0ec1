"""How much of the total correlation a layer explains, from below (Thm basic)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr

from hicorex.columns import Data
from hicorex.layer import State, add_scores, block_weights, labels_of, run_pass
from hicorex.marginals.base import Answers, Block, Estimate, Joint, Questions, linked
from hicorex.structure import first_factors, kept_links

# Values held at once while joint states are evaluated.
MOST_VALUES = 2**20


@dataclass(frozen=True)
class Bounds:
    """Bounds on the total correlation TC(X), in nats.

    Attributes
    ----------
    lower : float
        sum_i I(Y_{S_i}:X_i) - sum_j I(Y_j:X), S_i the factors of variable i.
    lower_stderr : float
        Its standard error over the samples.
    objective : float
        sum_j E[log Z_j], what the fit maximises; a bound as well, and never the tighter one
        but for sampling noise.
    """

    lower: float
    lower_stderr: float
    objective: float

    def __str__(self) -> str:
        return (
            f"TC(X) >= {self.lower:.4g} nats (standard error {self.lower_stderr:.2g}); "
            f"objective {self.objective:.4g} nats"
        )


def joint_marginals(state: State, data: Data, engine) -> list[list[Joint]]:
    """For each block, the marginals of its columns given the joint states of the factors they belong to."""
    estimates = [
        Estimate(parameters, state.prior, block.rank(parameters, state.prior))
        for block, parameters in zip(data.blocks, state.parameters, strict=True)
    ]
    links = [kept_links(*args) for args in zip(data.blocks, estimates, state.alpha, strict=True)]
    deep = links[0].shape[1] > 1
    questions = [Questions(links=own if deep else None) for own in links]
    found = run_pass(State(state.prior, state.parameters, state.alpha, questions, 1), data, engine)
    return [_of_block(*args, found.label_sum) for args in zip(data.blocks, links, found.answers, strict=True)]


def _of_block(block: Block, links: np.ndarray, answers: Answers, label_sum: np.ndarray) -> list[Joint]:
    n_states, n_factors = label_sum.shape
    n_linked = (links[0] >= 0).sum(axis=0)
    alone = np.flatnonzero(n_linked == 1)
    factors = links[0, :1, alone].T
    prior = label_sum / label_sum.sum(axis=0)
    parameters = block.of_pairs(block.estimate(answers.sums, label_sum), factors[0], alone)
    joints = [Joint(alone, factors, prior[:, factors[0]], parameters)]
    if answers.joint is not None:
        _, columns, factors = linked(links, n_factors)
        for depth in range(2, len(factors) + 1):
            own = n_linked[columns] == depth
            sums = first_factors(block.of_columns(answers.joint, columns, own), n_states, len(factors), depth)
            joints.append(Joint(columns[own], factors[:depth, own], *block.joint_parameters(sums, columns[own])))
    return [joint for joint in joints if joint.columns.size]


def pointwise(state: State, joints: list[list[Joint]], data: Data, engine) -> np.ndarray:
    """For each sample, sum_i log p(x_i | y_{S_i}) / p(x_i) - sum_j log p(y_j | x) / p(y_j), its labels' mean, (N,)."""
    weights = block_weights(state, data, engine)

    def of_tile(rows: slice) -> np.ndarray:
        tiles = [block.tile(rows) for block in data.blocks]
        labels, _ = labels_of(add_scores(data, tiles, weights).astype(float), state.prior)
        known = -rel_entr(labels, state.prior[:, :, None]).sum(axis=(0, 1))
        for block, tile, own in zip(data.blocks, tiles, joints, strict=True):
            for joint in own:
                known += _explained(block, joint, labels, tile)
        return known

    return np.concatenate(list(engine.map(of_tile, data.small_tiles)))


def _explained(block: Block, joint: Joint, labels: np.ndarray, tile) -> np.ndarray:
    """sum_i E log p(x_i | y_{S_i}) / p(x_i) over some columns for each sample, (T,)."""
    n_joint, n_columns = joint.probability.shape
    explained = np.zeros(labels.shape[2])
    width = max(1, MOST_VALUES // (n_joint * labels.shape[2]))
    for first in range(0, n_columns, width):
        own = np.arange(n_columns) < first + width
        own[:first] = False
        parameters = block.parameters_of(joint, own)
        part = Joint(joint.columns[own], joint.factors[:, own], joint.probability[:, own], parameters)
        weight = np.ones((1, part.columns.size, labels.shape[2]))
        for factors in part.factors:
            weight = (weight[:, None] * labels[:, factors]).reshape(-1, *weight.shape[1:])
        explained += (weight * block.log_ratio(tile, part)).sum(axis=(0, 1))
    return explained


def layer_bounds(state: State, joints: list[list[Joint]], data: Data, engine) -> Bounds:
    """The bounds of one layer as means over the samples of the data."""
    known = pointwise(state, joints, data, engine)
    objective = run_pass(state, data, engine).log_z.sum()
    weight = data.weight.astype(float)
    lower = np.average(known, weights=weight)
    variance = np.average((known - lower) ** 2, weights=weight)
    return Bounds(float(lower), float(np.sqrt(variance / max(data.total - 1, 1))), float(objective))
