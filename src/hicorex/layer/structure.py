"""Structure: which factors each variable belongs to, alpha (eq:alpha), by one of three rules."""

from functools import reduce
from operator import add
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import chdtri

from hicorex import kernels
from hicorex.layer.data import Data
from hicorex.layer.state import State
from hicorex.marginals import joint_marginals
from hicorex.marginals.base import Answers, Block, Estimate, Questions, linked

# Odds that a factor of independent columns seems to explain something.
LEVEL = 0.05
# Odds that a variable is given a further factor that knows nothing more of it, in an iteration.
FURTHER_LEVEL = 0.001
# Dependence by which a factor that holds a variable comes before all others, more than any of them has.
FIRST = 1e3
# Shares that sum to 1 exceed it by less.
ROUNDING = 1e-9


class Measured(NamedTuple):
    """What a rule goes by, of one block, after a pass.

    estimate : the marginals by the sums of the pass, for the factors of ``n_starts`` starts
    questions, answers : what the pass was asked beyond the marginals, and what it measured
    measured_share : of the weight of the sums, that of the samples which answered
    held : (J, n) the alpha that some factors hold, NaN where it is free; None where none do
    """

    block: Block
    estimate: Estimate
    n_starts: int
    questions: Questions = Questions()
    answers: Answers = Answers(())
    measured_share: float = 1.0
    held: np.ndarray | None = None

    @property
    def dependence(self) -> np.ndarray:
        """The dependence by which factors are ordered, (J, n): those that hold a variable come before all others."""
        known = self.estimate.dependence
        if self.held is None:
            return known
        return np.where(self.held > 0, known + FIRST, np.where(self.held == 0, -1.0, known))

    @property
    def anchored(self) -> np.ndarray | None:
        """Whether a factor holds all of a variable, (J, n)."""
        return None if self.held is None else self.held == 1


class Rule(Protocol):
    """How alpha is chosen, one block at a time."""

    def alpha(self, measured: Measured) -> np.ndarray:
        """alpha (J, n); the first update of a fit has no answers yet and goes by the best factor alone."""

    def questions(self, measured: Measured, alpha: np.ndarray) -> Questions:
        """What the next pass is to measure under the new estimate and this alpha (J, n)."""

    def excess(self, measured: Measured, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """What the objective of the labels under the alpha before counts twice, (J,), by the alpha after, (J, n)."""

    def held(self, b: int, n_starts: int) -> np.ndarray | None:
        """The alpha (J, n) of a block that some factors hold, NaN where it is free; None where none do."""
        return None

    def kept(self, state: State) -> State:
        """The state with what some factors hold as it was."""
        return state


class Tree(Rule):
    """Each variable belongs to the one factor that knows most about it (eq:tree)."""

    def alpha(self, measured: Measured) -> np.ndarray:
        """1 for the best factor."""
        first = _most_informative(measured)
        return _spread(first, np.ones(first.shape), measured.estimate.dependence.shape) * measured.block.informative

    def questions(self, measured: Measured, alpha: np.ndarray) -> Questions:
        """Nothing: the marginals tell all."""
        return Questions()

    def excess(self, measured: Measured, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Nothing where alpha sums to at most 1, for any labels; what sums to more counts as if it summed to 1."""
        if measured.held is None:
            return np.zeros(len(after))
        total = np.repeat(_by_start(before, measured.n_starts).sum(axis=1), len(before) // measured.n_starts, axis=0)
        surplus = before * (1 - 1 / np.maximum(total, 1))
        surplus[surplus < ROUNDING] = 0
        return _information_of(surplus, measured)


class Overlap(Tree):
    """The paper's heuristic for eq:alpha: the share of all samples in which a factor is the first guessed right."""

    def alpha(self, measured: Measured) -> np.ndarray:
        """Shares of all samples, disjoint, so that those of a variable sum to at most 1."""
        guesses, block = measured.answers.guesses, measured.block
        if guesses is None:
            return super().alpha(measured)
        shares = guesses[1] / (measured.measured_share * block.total) * block.informative
        if measured.anchored is None:
            return shares
        # What an anchored variable has beyond its factors would count twice.
        of_starts = _by_start(measured.anchored, measured.n_starts).any(axis=1)
        anchored = np.repeat(of_starts, len(shares) // measured.n_starts, axis=0)
        return np.where(anchored, super().alpha(measured), shares)

    def questions(self, measured: Measured, alpha: np.ndarray) -> Questions:
        """For right guesses, in the order of those of the last pass."""
        guesses = measured.answers.guesses
        right = measured.dependence if guesses is None else guesses[0]
        if guesses is not None and measured.held is not None:
            right = np.where(measured.held > 0, right + measured.block.total, right)
        return Questions(order=np.argsort(-_by_start(right, measured.n_starts), axis=1, kind="stable"))


class Unique(Tree):
    """The share of a factor's information about a variable that better factors do not have (eq:alpha).

    For each variable the factors are taken in falling order of what they know of it, to a small depth, and
    alpha_ij = min(1, I(Y_j:X_i | those before) / I(Y_j:X_i)), measured on the joint states of the
    factors, less its bias. A further factor that may know no more by chance has 0.
    """

    def alpha(self, measured: Measured) -> np.ndarray:
        """Shares of unique information."""
        block, estimate = measured[:2]
        links, joint = measured.questions.links, measured.answers.joint
        if links is None:
            return super().alpha(measured)
        shares = np.zeros(links.shape)
        shares[:, 0] = 1
        if joint is not None:
            self._further(shares, measured, links, joint)
        return _spread(links, shares, estimate.dependence.shape) * block.informative

    def questions(self, measured: Measured, alpha: np.ndarray) -> Questions:
        """For the joint states of the best factors of each variable."""
        n_starts = measured.n_starts
        n_states, n_factors = measured.estimate.prior.shape
        depth = min(n_factors // n_starts, most_links(n_states))
        links = best_links(measured, depth)
        for d in range(2, depth):  # a third factor is worth a look only where it or the second adds something
            both = np.maximum(links[:, d - 1 : d + 1], 0)
            adds = np.take_along_axis(_by_start(alpha, n_starts), both, axis=1).any(axis=1)
            links[:, d][~adds] = -1
        return Questions(links=links)

    def excess(self, measured: Measured, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """What alpha, measured on the labels before, allows too much for the labels at hand, (J,).

        The objective less this stays a lower bound (eq:tclb2).
        """
        return _information_of(np.maximum(before - after, 0), measured)

    def _further(self, shares: np.ndarray, measured: Measured, links: np.ndarray, joint: np.ndarray) -> None:
        """Fill in the shares (S, D, n) of all factors but the first, by their joint sums."""
        block, estimate, measured_share = measured.block, measured.estimate, measured.measured_share
        n_states, n_factors = estimate.prior.shape
        start, columns, factors = linked(links, n_factors // len(links))
        marginals = joint_marginals(block)
        adds = np.ones(columns.size, bool)
        for d in range(1, len(factors)):
            adds &= factors[d] >= 0
            if not adds.any():
                break
            some, chosen = columns[adds], marginals.of_columns(joint, columns, adds)
            sums = first_factors(chosen, n_states, len(factors), d + 1)
            unique = marginals.conditional_information(sums, n_states, some)
            critical = _critical(FURTHER_LEVEL, block, (n_states - 1) * n_states**d)[some] / measured_share
            known = _known(block, estimate, factors[d, adds], some)
            # The bias of both, by the number of free parameters.
            bias = (n_states - 1) * block.freedom[some] / (2 * block.observed[some])
            ratio = (unique - n_states**d / measured_share * bias) / np.maximum(known - bias, 1e-12)
            shares[start[adds], d, some] = np.where(unique > critical, np.clip(ratio, 0, 1), 0)


RULES: dict[str, Rule] = {"tree": Tree(), "overlap": Overlap(), "unique": Unique()}


def best_links(measured: Measured, depth: int) -> np.ndarray:
    """The best factors of each variable by dependence, best first, (S, D, n), counted within their start.

    Insignificant ones after the first are -1.
    """
    dependence = _by_start(measured.dependence, measured.n_starts)
    least = _critical(FURTHER_LEVEL, measured.block, len(measured.estimate.prior) - 1)
    return kernels.structure.best_factors(dependence, min(depth, dependence.shape[1]), least)


def _most_informative(measured: Measured) -> np.ndarray:
    """The factor that knows most about each variable, (S, 1, n): the better of the two best by dependence."""
    block, estimate, n_starts = measured[:3]
    links = best_links(measured, 2)
    if not block.dependence_is_information and links.shape[1] > 1:
        comparable = links[:, 1] >= 0
        if measured.held is not None:  # a factor that holds a variable comes first whatever it knows
            comparable &= ~(_by_start(measured.held, n_starts) > 0).any(axis=1)
        start, column = np.nonzero(comparable)
        first, second = links[start, :, column].T
        offset = len(estimate.dependence) // n_starts * start
        other = _known(block, estimate, first + offset, column) < _known(block, estimate, second + offset, column)
        links[start, 0, column] = np.where(other, second, first)
    return np.ascontiguousarray(links[:, :1])


def _information_of(alpha: np.ndarray, measured: Measured) -> np.ndarray:
    """sum_i alpha_ij I(Y_j:X_i) of each factor (J,); where a variable is held by the information itself."""
    counted = alpha * measured.estimate.dependence
    if measured.held is not None and not measured.block.dependence_is_information:
        factors, columns = np.nonzero((measured.held > 0) & (alpha > 0))
        if factors.size:
            known = _known(measured.block, measured.estimate, factors, columns)
            counted[factors, columns] = alpha[factors, columns] * known
    return counted.sum(axis=1)


def _known(block: Block, estimate: Estimate, factors: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """I(Y_j:X_i) of pairs of factor and column."""
    if block.dependence_is_information:
        return estimate.dependence[factors, columns]
    return block.information(*estimate[:2], factors, columns)


def most_links(n_states: int) -> int:
    """The number of factors of a variable that are looked at together: their joint states stay few."""
    return 3 if n_states <= 3 else 2


def kept_links(block: Block, estimate: Estimate, alpha: np.ndarray) -> np.ndarray:
    """The factors that a variable belongs to, best first, (1, D, n), -1 after the last."""
    score = np.where(alpha > 0, estimate.dependence, -1)[None]
    least = _critical(FURTHER_LEVEL, block, len(estimate.prior) - 1)
    links = kernels.structure.best_factors(score, min(len(alpha), most_links(len(estimate.prior))), least)
    links[:, 0, ~(alpha > 0).any(axis=0)] = -1
    return links


def beyond_chance(log_z: np.ndarray, state: State, data: Data) -> np.ndarray:
    """Whether factors with these mean log Z_j (J,) explain more than they might of independent columns, (J,).

    Of those, 2 N log Z_j is at most about chi-square, with as many degrees of freedom as the factor has parameters.
    """
    freedom = sum((alpha > 0) @ block.freedom for block, alpha in zip(data.blocks, state.alpha, strict=True))
    return 2 * data.total * log_z > chdtri(np.maximum((len(state.prior) - 1) * freedom, 1), LEVEL)


def first_factors(joint: np.ndarray, n_states: int, depth: int, kept: int) -> np.ndarray:
    """Joint sums of the first ``kept`` of ``depth`` factors; states on axis 1."""
    n_rest = n_states ** (depth - kept)
    # Slice by slice, since sums over a short axis are slow.
    return reduce(add, (joint[:, rest::n_rest] for rest in range(n_rest)))


def _by_start(factors: np.ndarray, n_starts: int) -> np.ndarray:
    """(J, n) as (S, m, n)."""
    return factors.reshape(n_starts, -1, factors.shape[-1])


def _spread(links: np.ndarray, share: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The shares (S, D, n) of the linked factors as alpha (J, n)."""
    alpha = np.zeros((len(links), shape[0] // len(links), shape[1]))
    kernels.structure.spread(links, share, alpha)
    return alpha.reshape(shape)


def _critical(level: float, block: Block, n_contrasts: int) -> np.ndarray:
    """The information (n,) that independent data reach with this probability (likelihood-ratio test)."""
    values, which = block.distinct_freedom
    return chdtri(n_contrasts * np.maximum(values, 1), level)[which] / np.maximum(2 * block.observed, 1e-9)
