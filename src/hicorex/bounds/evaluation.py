"""What the labels of one layer say about samples: TC_L (eq:tcl) in its tighter form, sample by sample.

Labels are probabilistic functions of a sample, fixed before it is looked at. p(y) is always that of the
samples at hand. The marginals p(x_i | y) are those of the samples at hand for a bound on their own
distribution, or those of the fit for an estimate without optimism: any other marginals than the true ones
only lower the bound.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import Relabel, block_coefficients, label_tile
from hicorex.layer.one_pass import run_pass
from hicorex.layer.state import State
from hicorex.layer.structure import first_factors, kept_links
from hicorex.marginals import joint_marginals
from hicorex.marginals.base import (
    PRIOR_SAMPLES,
    Answers,
    Block,
    Coefficients,
    Estimate,
    Questions,
    Tile,
    linked,
    most_likely,
)
from hicorex.marginals.joint import Joint, LogRatios


class Evaluation(NamedTuple):
    """What the labels of a layer say about some samples, one by one.

    explained : (T,), sum_i log p(x_i | y_{S_i}) / p(x_i) - sum_j log p(y_j | x) / p(y_j), the mean over the labels;
        its mean over the samples is TC_L(X; Y) (eq:tcl) with I(Y_{S_i}:X_i) in the place of I(Y:X_i)
    labels : (m, T), the most likely state of each factor
    log_z : (m, T), log Z_j (eq:Z)
    cost : (m, T), the mean over the labels of log p(y_j | x) / p(y_j); its mean over the samples is I(Y_j:X)
    unique : (m, T), what ``explained`` loses without factor j
    """

    explained: np.ndarray
    labels: np.ndarray
    log_z: np.ndarray
    cost: np.ndarray
    unique: np.ndarray


@dataclass(frozen=True)
class LayerEvaluator:
    """Evaluates the labels of a layer on samples: what they explain of TC(X), sum_i I(X_i:Y) - I(X:Y) (eq:tcxy).

    blocks, state, coefficients : of the layer
    joints : by block, the marginals given the labels
    ratios : the same relative to those of all labels
    prior : (k, m, 1), p(y) of the samples at hand
    bias_correction : 1 / 2N for N new samples, 0 for those of the marginals; see marginals.joint.unbiased
    relabel : as in ``run_pass``
    smoothed : by block, the marginals of the samples at hand given the labels, smoothed as in a fit
    log_z : (m,) mean log Z_j of the samples at hand
    excess : what these count twice in sum, where a variable anchors several factors
    """

    blocks: list[Block]
    state: State
    coefficients: list[Coefficients]
    joints: list[list[Joint]]
    ratios: list[list[LogRatios]]
    prior: np.ndarray
    bias_correction: float
    relabel: Relabel | None
    smoothed: list[list[Joint]]
    log_z: np.ndarray
    excess: float = 0.0

    @classmethod
    def of(
        cls,
        state: State,
        links: list[np.ndarray],
        data: Data,
        engine: Engine,
        trained: list[list[Joint]] | None = None,
        relabel: Relabel | None = None,
    ) -> "LayerEvaluator":
        """The evaluator of samples by the marginals ``trained`` of a fit, or by those of these very samples.

        ``relabel`` as in ``run_pass``; ``harden`` for maximum-likelihood labels.
        """
        deep = links[0].shape[1] > 1
        questions = [Questions(of_block if deep else None) for of_block in links]
        sums = run_pass(State(state.prior, state.parameters, state.alpha, questions, 1), data, engine, relabel)
        parts = list(zip(data.blocks, links, sums.answers, strict=True))
        smoothed = [_joints(*part, sums.label_sum, PRIOR_SAMPLES) for part in parts]
        joints = [_joints(*part, sums.label_sum, part[0].least_prior_samples) for part in parts]
        if trained is not None:
            joints = [
                [fitted._replace(probability=here.probability) for fitted, here in zip(*both, strict=True)]
                for both in zip(trained, joints, strict=True)
            ]
        bias_correction = 0.0 if trained is None else 1 / (2 * data.total)
        ratios = [
            [joint_marginals(block).ratios(joint, len(state.prior), bias_correction) for joint in of_block]
            for block, of_block in zip(data.blocks, joints, strict=True)
        ]
        # Not 0, should rounding give a sample another most likely state than in the pass before.
        prior = np.maximum(sums.label_sum / data.total, 1e-12)[:, :, None]
        coefficients = block_coefficients(state, data, engine)
        fixed = data.blocks, state, coefficients, joints, ratios
        return cls(*fixed, prior, bias_correction, relabel, smoothed, sums.log_z)

    def evaluate_tile(self, tiles: list[Tile], first: int) -> Evaluation:
        """What the labels say about the samples of a tile, by block; ``first`` is the index of the first sample."""
        labels, log_z = label_tile(self.state, self.blocks, self.coefficients, tiles)
        if self.relabel is not None:
            labels = self.relabel(labels, first)
        cost = np.empty(labels.shape[1:])
        kernels.labels.costs(labels, self.prior[:, :, 0], cost)
        if self.bias_correction:
            cost += self.bias_correction * ((labels**2 / self.prior).sum(axis=0) - 1)
        explained, unique = -cost.sum(axis=0), -cost
        for tile, of_block in zip(tiles, self.ratios, strict=True):
            for ratios in of_block:
                ratios.add_explained(tile, labels, explained, unique)
        return Evaluation(explained, most_likely(labels), log_z, cost, unique)

    def evaluate(self, data: Data, engine: Engine) -> Evaluation:
        """What the labels say about each sample of a table in memory."""

        def of_tile(part: Part, rows: slice) -> Evaluation:
            return self.evaluate_tile(part.tile(self.blocks, rows), part.first + rows.start)

        arrays = zip(*engine.tiles(of_tile, data.parts), strict=True)
        return Evaluation(*(np.concatenate(of_tiles, axis=-1) for of_tiles in arrays))


def links_of(state: State, data: Data) -> list[np.ndarray]:
    """For each block, the factors S_i that each variable belongs to, best first, (1, D, n)."""
    estimates = [
        Estimate(parameters, state.prior, block.dependence(parameters, state.prior))
        for block, parameters in zip(data.blocks, state.parameters, strict=True)
    ]
    return [kept_links(*args) for args in zip(data.blocks, estimates, state.alpha, strict=True)]


def _joints(
    block: Block, links: np.ndarray, answers: Answers, label_sum: np.ndarray, prior_samples: float
) -> list[Joint]:
    """The marginals p(x_i | y_{S_i}) of the columns of a block, those with as many factors together."""
    n_states, n_factors = label_sum.shape
    marginals = joint_marginals(block)
    n_linked = (links[0] >= 0).sum(axis=0)
    alone = np.flatnonzero(n_linked == 1)
    factors = links[0, :1, alone].T
    prior = label_sum / label_sum.sum(axis=0)
    parameters = marginals.of_pairs(block.estimate(answers.sums, label_sum, prior_samples), factors[0], alone)
    joints = [Joint(alone, factors, prior[:, factors[0]], parameters)]
    if answers.joint is not None:
        _, columns, factors = linked(links, n_factors)
        for depth in range(2, len(factors) + 1):
            so_deep = n_linked[columns] == depth
            sums = first_factors(marginals.of_columns(answers.joint, columns, so_deep), n_states, len(factors), depth)
            probability, parameters = marginals.parameters(sums, columns[so_deep], prior_samples)
            joints.append(Joint(columns[so_deep], factors[:depth, so_deep], probability, parameters))
    return [joint for joint in joints if joint.columns.size]
