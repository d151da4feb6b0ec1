"""The state of a layer: everything that the labels of samples follow from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hicorex.layer.data import Data
from hicorex.marginals.base import Block, Parameters, Questions, take_factors

# A factor whose mean log Z_j is below this explains nothing.
UNUSED_NATS = 1e-3


@dataclass(frozen=True)
class State:
    """Everything that labels follow from, for the factors of all starts side by side.

    prior : (k, J), p(y_j)
    parameters : by block, those of p(x_i | y_j)
    alpha : by block, (J, n)
    questions : by block, what the next pass measures beyond the marginals
    """

    prior: np.ndarray
    parameters: list[Parameters]
    alpha: list[np.ndarray]
    questions: list[Questions]
    n_starts: int

    @classmethod
    def neutral(cls, blocks: Sequence[Block], n_factors: int, n_states: int, n_starts: int = 1) -> "State":
        """The state of factors that know nothing, ``n_factors`` in each start."""
        n_all = n_starts * n_factors
        return cls(
            np.full((n_states, n_all), 1 / n_states),
            [block.neutral(n_states, n_all) for block in blocks],
            [np.zeros((n_all, block.n_columns)) for block in blocks],
            [Questions() for _ in blocks],
            n_starts,
        )

    @property
    def n_factors(self) -> int:
        """The number of factors of one start."""
        return self.prior.shape[1] // self.n_starts

    def take(self, starts: list[int]) -> "State":
        """The state of some of the starts."""
        if starts == list(range(self.n_starts)):
            return self
        factors = factors_of(starts, self.n_factors)
        return self.take_factors(factors, [q.take(starts) for q in self.questions], len(starts))

    def take_factors(self, factors: np.ndarray, questions: list[Questions], n_starts: int = 1) -> "State":
        """The state of some of the factors, as those of ``n_starts`` starts with these questions."""
        parameters = [take_factors(p, factors) for p in self.parameters]
        prior = np.ascontiguousarray(self.prior[:, factors])
        return State(prior, parameters, [a[factors] for a in self.alpha], questions, n_starts)


def side_by_side(states: Sequence[State], n_starts: int) -> State:
    """The factors of several states in one, as those of ``n_starts`` starts, with no questions."""
    prior = np.concatenate([state.prior for state in states], axis=1)
    parameters = [
        type(of_block[0])(*(np.concatenate(arrays, axis=1) for arrays in zip(*of_block, strict=True)))
        for of_block in zip(*(state.parameters for state in states), strict=True)
    ]
    alpha = [np.concatenate(of_block) for of_block in zip(*(state.alpha for state in states), strict=True)]
    return State(prior, parameters, alpha, [Questions() for _ in alpha], n_starts)


class PrimingVariable(NamedTuple):
    """The variable that primes a factor: its block, its column there, and scores that set its categories apart."""

    block: int
    column: int
    scores: np.ndarray


def factors_of(starts: list[int], n_factors: int) -> np.ndarray:
    """The factors of some starts among those of all."""
    return (n_factors * np.array(starts)[:, None] + np.arange(n_factors)).ravel()


def clear(state: State, blocks: Sequence[Block], factor: int) -> None:
    """Empty a factor, in place: it knows nothing, and its states are equally likely."""
    n_states = len(state.prior)
    state.prior[:, factor] = 1 / n_states
    for b, block in enumerate(blocks):
        for array, neutral in zip(state.parameters[b], block.neutral(n_states, 1), strict=True):
            array[:, factor] = neutral[:, 0]
        state.alpha[b][factor] = 0


def prime(
    state: State, blocks: Sequence[Block], factor: int, variable: PrimingVariable, rng: np.random.Generator
) -> None:
    """Start a factor anew, in place: its label follows one variable alone."""
    clear(state, blocks, factor)
    block, column, scores = variable
    blocks[block].prime(state.parameters[block], factor, column, scores, rng)
    state.alpha[block][factor, column] = 1


def used_only(log_z: np.ndarray) -> np.ndarray:
    """Mean log Z_j, 0 for factors that explain nothing."""
    return np.where(log_z > UNUSED_NATS, log_z, 0)


def all_information(state: State, data: Data) -> list[np.ndarray]:
    """I(Y_j:X_i) of every factor and column, (J, n) by block."""
    known = []
    for block, parameters in zip(data.blocks, state.parameters, strict=True):
        shape = (state.prior.shape[1], block.n_columns)
        factors, columns = np.indices(shape).reshape(2, -1)
        information = block.information(parameters, state.prior, factors, columns)
        known.append(information.reshape(shape) * block.informative)
    return known
