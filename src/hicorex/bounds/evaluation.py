"""What the labels of one layer say about samples: the tighter form of Thm basic, sample by sample.

Labels are probabilistic functions of a sample, fixed before it is looked at. p(y) is always that of the
samples at hand. The marginals p(x_i | y) are those of the samples at hand for a bound on their own
distribution, or those of the fit for an estimate without optimism: any other marginals than the true ones
only lower the bound.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import block_coefficients, label_tile
from hicorex.layer.one_pass import run_pass
from hicorex.layer.state import State
from hicorex.layer.structure import first_factors, kept_links
from hicorex.marginals.base import PRIOR_SAMPLES, Answers, Block, Estimate, Joint, Questions, linked, most_likely


class Explained(NamedTuple):
    """What a layer says about some samples, one by one.

    explained : (T,), sum_i log p(x_i | y_{S_i}) / p(x_i) - sum_j log p(y_j | x) / p(y_j), the mean over the labels
    labels : (m, T), the most likely state of each factor
    log_z : (m, T), log Z_j
    cost : (m, T), the mean over the labels of log p(y_j | x) / p(y_j)
    unique : (m, T), what explained loses without factor j
    """

    explained: np.ndarray
    labels: np.ndarray
    log_z: np.ndarray
    cost: np.ndarray
    unique: np.ndarray


class View(NamedTuple):
    """All that it takes for a layer to say something about samples.

    blocks, state, weights : of the layer
    ratios : by block, the marginals given the labels that it goes by, relative to those of all labels
    prior : (k, m, 1), p(y) of the samples at hand
    share : 1 / 2N for N new samples, 0 for those of the marginals; see marginals.base.unbiased
    relabel : as in ``run_pass``
    smoothed : by block, the marginals of the samples at hand given the labels, smoothed as in a fit
    log_z : (m,) mean log Z_j of the samples at hand
    """

    blocks: list[Block]
    state: State
    weights: list
    ratios: list[list[Any]]
    prior: np.ndarray
    share: float
    relabel: Callable | None
    smoothed: list[list[Joint]]
    log_z: np.ndarray

    def explain(self, tiles: list[Any], first: int) -> Explained:
        """What the layer says about some samples, by block, of which the first is this one of the table."""
        labels, log_z = label_tile(self.state, self.blocks, self.weights, tiles)
        if self.relabel is not None:
            labels = self.relabel(labels, first)
        cost = np.empty(labels.shape[1:])
        kernels.labels.costs(labels, self.prior[:, :, 0], cost)
        if self.share:
            cost += self.share * ((labels**2 / self.prior).sum(axis=0) - 1)
        explained, unique = -cost.sum(axis=0), -cost
        for block, tile, own in zip(self.blocks, tiles, self.ratios, strict=True):
            for ratios in own:
                block.add_explained(tile, ratios, labels, explained, unique)
        return Explained(explained, most_likely(labels), log_z, cost, unique)


def links_of(state: State, data: Data) -> list[np.ndarray]:
    """For each block, the factors that each variable belongs to, best first, (1, D, n)."""
    estimates = [
        Estimate(parameters, state.prior, block.dependence(parameters, state.prior))
        for block, parameters in zip(data.blocks, state.parameters, strict=True)
    ]
    return [kept_links(*args) for args in zip(data.blocks, estimates, state.alpha, strict=True)]


def _joints(
    block: Block, links: np.ndarray, answers: Answers, label_sum: np.ndarray, prior_samples: float
) -> list[Joint]:
    n_states, n_factors = label_sum.shape
    n_linked = (links[0] >= 0).sum(axis=0)
    alone = np.flatnonzero(n_linked == 1)
    factors = links[0, :1, alone].T
    prior = label_sum / label_sum.sum(axis=0)
    parameters = block.of_pairs(block.estimate(answers.sums, label_sum, prior_samples), factors[0], alone)
    joints = [Joint(alone, factors, prior[:, factors[0]], parameters)]
    if answers.joint is not None:
        _, columns, factors = linked(links, n_factors)
        for depth in range(2, len(factors) + 1):
            own = n_linked[columns] == depth
            sums = first_factors(block.of_columns(answers.joint, columns, own), n_states, len(factors), depth)
            probability, parameters = block.joint_parameters(sums, columns[own], prior_samples)
            joints.append(Joint(columns[own], factors[:depth, own], probability, parameters))
    return [joint for joint in joints if joint.columns.size]


def view(
    state: State,
    links: list,
    data: Data,
    engine: Engine,
    trained: list[list[Joint]] | None = None,
    relabel: Callable | None = None,
) -> View:
    """How a layer looks at samples, by its marginals ``trained``, or by those of these very samples.

    ``relabel`` as in ``run_pass``; ``harden`` for maximum-likelihood labels.
    """
    deep = links[0].shape[1] > 1
    asking = State(state.prior, state.parameters, state.alpha, [Questions(own if deep else None) for own in links], 1)
    found = run_pass(asking, data, engine, relabel)
    parts = list(zip(data.blocks, links, found.answers, strict=True))
    smoothed = [_joints(*part, found.label_sum, PRIOR_SAMPLES) for part in parts]
    joints = [_joints(*part, found.label_sum, part[0].least_prior_samples) for part in parts]
    if trained is not None:
        joints = [
            [fitted._replace(probability=here.probability) for fitted, here in zip(*both, strict=True)]
            for both in zip(trained, joints, strict=True)
        ]
    # Not 0, should rounding give a sample another most likely state than in the pass before.
    prior = np.maximum(found.label_sum / data.total, 1e-12)[:, :, None]
    share = 0.0 if trained is None else 1 / (2 * data.total)
    n_states = len(state.prior)
    ratios = [
        [block.ratios(joint, n_states, share) for joint in own] for block, own in zip(data.blocks, joints, strict=True)
    ]
    weights = block_coefficients(state, data, engine)
    return View(data.blocks, state, weights, ratios, prior, share, relabel, smoothed, found.log_z)


def explain(seen: View, data: Data, engine: Engine) -> Explained:
    """What a layer says about each sample of a table in memory."""

    def of_tile(part: Part, rows: slice) -> Explained:
        return seen.explain(part.tile(seen.blocks, rows), part.first + rows.start)

    arrays = zip(*engine.tiles(of_tile, data.parts), strict=True)
    return Explained(*(np.concatenate(own, axis=-1) for own in arrays))
