"""Factors from leading directions: nothing of them depends on a seed, and they find what no single variable shows.

Directions of the columns as numbers are rotated so that columns load on few of them (varimax). The scores of samples
along each are cut into states, softly, and the states are the labels that a factor starts from.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.data import Data
from hicorex.layer.numbers import Numbers, numbers_of, weighted_quantiles
from hicorex.layer.one_pass import run_pass
from hicorex.layer.state import State
from hicorex.layer.step import update
from hicorex.layer.structure import Measured, Rule
from hicorex.layer.subspace import leading_directions, upright, varimax
from hicorex.marginals.base import Estimate

# Of the distance between the middles of two states: how far a state reaches into the next.
SOFTNESS = 0.5
# Directions that are found at once for fits of fewer factors.
FEWEST_DIRECTIONS = 16


class Directions:
    """The columns of samples as numbers, and scores along their leading directions, for fits of several sizes.

    What is found for one size serves the others; it does not depend on the order in which they ask.
    """

    def __init__(self, data: Data, engine: Engine):
        self._data, self._engine = data, engine
        self._leading: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._scores: dict[int, list[np.ndarray]] = {}

    @cached_property
    def numbers(self) -> Numbers:
        """The columns as numbers."""
        return numbers_of(self._data, FEWEST_DIRECTIONS, self._engine)

    def scores(self, n_directions: int) -> list[np.ndarray]:
        """The scores (R, q) of samples along leading directions, rotated and as they are."""
        if n_directions not in self._scores:
            most = max(FEWEST_DIRECTIONS, 2 ** (n_directions - 1).bit_length())
            if most not in self._leading:
                self._leading[most] = leading_directions(self.numbers.first, self.numbers.share, most)
            loadings, scores = self._leading[most]
            self._scores[n_directions] = _turned(loadings[:, :n_directions], scores[:, :n_directions])
        return self._scores[n_directions]


def leading_scores(table: np.ndarray, share: np.ndarray, n_directions: int) -> list[np.ndarray]:
    """The scores (R, q) of samples along leading directions of columns (R, n), rotated and as they are."""
    return _turned(*leading_directions(table, share, n_directions))


def _turned(loadings: np.ndarray, scores: np.ndarray) -> list[np.ndarray]:
    """Scores (R, q) along directions of loadings (n, q), rotated and as they are."""
    if scores.shape[1] < 2:  # there is nothing to turn
        return [scores * upright(loadings)]
    rotation = varimax(loadings)
    return [scores @ turn * upright(loadings @ turn) for turn in (rotation, np.eye(len(rotation)))]


def rotated_scores(table: np.ndarray, share: np.ndarray, n_directions: int) -> np.ndarray:
    """The scores (R, q) of samples along rotated leading directions of columns (R, n), at most ``n_directions``."""
    return leading_scores(table, share, n_directions)[0]


def state_from_scores(scores: np.ndarray, numbers: Numbers, n_states: int, rule: Rule, engine: Engine) -> State:
    """The state of factors that are cut from scores (R, q) of the samples of the numbers."""
    return state_from_labels(soft_states(scores, numbers.share, n_states), numbers.sample, rule, engine)


def soft_states(scores: np.ndarray, share: np.ndarray, n_states: int) -> np.ndarray:
    """Labels (k, q, R) of scores (R, q): about as many samples in each state, those between two in both."""
    labels = np.empty((n_states, scores.shape[1], scores.shape[0]))
    places = (np.arange(n_states) + 0.5) / n_states
    for column, label in zip(scores.T, labels.transpose(1, 0, 2), strict=True):
        middle = weighted_quantiles(column, share, places)[:, None]
        # Middles are kept apart where many samples are equal.
        middle += 1e-3 * np.arange(n_states)[:, None]
        reach = SOFTNESS * float(middle[-1, 0] - middle[0, 0]) / (n_states - 1)
        exponent = -(((column - middle) / reach) ** 2) / 2
        odds = np.exp(exponent - exponent.max(axis=0))
        label[:] = odds / odds.sum(axis=0)
    return labels


def state_from_labels(labels: np.ndarray, data: Data, rule: Rule, engine: Engine) -> State:
    """The state that labels (k, m, N) of samples in memory lead to."""
    neutral = State.neutral(data.blocks, labels.shape[1], labels.shape[0])

    def given(of_state: np.ndarray, first: int) -> np.ndarray:
        return labels[:, :, first : first + of_state.shape[2]].astype(of_state.dtype)

    sums = run_pass(neutral, data, engine, relabel=given)
    state, _ = update(neutral, sums, data.blocks, rule, engine)
    return asking(state, data, rule)


def asking(state: State, data: Data, rule: Rule) -> State:
    """The state with the questions of the rule, so that the next step goes by joint states and not by a tree."""
    questions = []
    for b, (block, parameters, alpha) in enumerate(zip(data.blocks, state.parameters, state.alpha, strict=True)):
        estimate = Estimate(parameters, state.prior, block.dependence(parameters, state.prior))
        measured = Measured(block, estimate, state.n_starts, held=rule.held(b, state.n_starts))
        questions.append(rule.questions(measured, alpha))
    return replace(state, questions=questions)
