"""What passes over the samples at each iteration: all of them, or batches with sums that fade."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.batches import Batches, FadingSums
from hicorex.layer.data import Data
from hicorex.layer.one_pass import PassSums, run_pass
from hicorex.layer.race import PACE, PACE_OF_BATCHES, Best, Pace
from hicorex.layer.state import State
from hicorex.layer.step import update
from hicorex.layer.structure import Rule
from hicorex.marginals.base import Block

# What an iterate may count twice, as a part of the objective, and the most steps that lower it.
LEAST_EXCESS, MOST_SETTLING = 1e-4, 10


class Passes(Protocol):
    """One pass an iteration.

    data : the table
    pace : how the course of a start is judged that sees these passes
    fading : sums over the batches so far, None if every pass is over all samples
    """

    data: Data
    pace: Pace
    fading: FadingSums | None

    def next(self, state: State, iteration: int) -> tuple[PassSums, list[Block]]:
        """The sums of a pass under the state, and the blocks that they are sums over."""

    def keep_factors(self, factors: np.ndarray) -> None:
        """Go on with some of the factors."""

    def conclude(self, best: Best, rule: Rule) -> Best:
        """The iterate to keep, which all samples led to."""


class AllSamples(Passes):
    """Every pass is over all samples."""

    fading = None

    def __init__(self, data: Data, engine: Engine):
        self.data, self._engine = data, engine
        self.pace = PACE.over(data.total)

    def next(self, state: State, iteration: int) -> tuple[PassSums, list[Block]]:
        """The sums over all samples."""
        return run_pass(state, self.data, self._engine), self.data.blocks

    def keep_factors(self, factors: np.ndarray) -> None:
        """Nothing is held from one pass to the next."""

    def conclude(self, best: Best, rule: Rule) -> Best:
        """The best iterate, its alpha lowered to what its labels allow, so that nothing is counted twice."""
        state, history = best.state, list(best.history)
        while best.excess > LEAST_EXCESS * abs(best.objective) and len(history) < len(best.history) + MOST_SETTLING:
            sums = run_pass(state, self.data, self._engine)
            following, excess = update(state, sums, self.data.blocks, rule, self._engine)
            objective = float((sums.log_z - excess).sum())
            history.append(objective)
            best = Best(objective, best.history, state, sums.log_z, float(excess.sum()))
            lowered = [np.minimum(*both) for both in zip(state.alpha, following.alpha, strict=True)]
            if all(np.array_equal(*both) for both in zip(lowered, state.alpha, strict=True)):
                break  # the rest is held
            state = replace(state, alpha=lowered, questions=following.questions)
        return best._replace(history=history)


class RandomBatches(Passes):
    """Every pass is over a batch of random samples; its sums are added to those of earlier ones, which fade."""

    def __init__(self, data: Data, batches: Batches, engine: Engine, fading: FadingSums | None):
        self.data, self._batches, self._engine, self.fading = data, batches, engine, fading
        self.pace = PACE_OF_BATCHES.over(data.total)

    def next(self, state: State, iteration: int) -> tuple[PassSums, list[Block]]:
        """The sums over all batches up to that of the iteration."""
        batch = self._batches.take(iteration)
        sums, self.fading = run_batch(state, batch, self.fading, self._engine)
        return sums, self.fading.blocks(batch)

    def keep_factors(self, factors: np.ndarray) -> None:
        """Let go of the sums of the other factors."""
        if self.fading is not None:
            self.fading = self.fading.take(factors)

    def conclude(self, best: Best, rule: Rule) -> Best:
        """One step more by all samples; log Z_j is that before it."""
        sums = run_pass(best.state, self.data, self._engine)
        state, _ = update(best.state, sums, self.data.blocks, rule, self._engine)
        return best._replace(state=state, log_z=sums.log_z)


def passes_over(
    data: Data, batch_size: int | None, engine: Engine, seed: np.random.SeedSequence, fading: FadingSums | None
) -> Passes:
    """Passes over batches of this size after those that are already in ``fading``, or over all samples."""
    if batch_size is None or batch_size >= data.n_samples:
        return AllSamples(data, engine)
    return RandomBatches(data, Batches(data, batch_size, engine, seed), engine, fading)


def run_batch(state: State, batch: Data, fading: FadingSums | None, engine: Engine) -> tuple[PassSums, FadingSums]:
    """One pass over a batch, with sums over this and all batches before."""
    label_sum, log_z, of_batch, _ = run_pass(state, batch, engine)
    fading = FadingSums.after(fading, batch, label_sum, [answers.sums for answers in of_batch])
    answers = [of_block._replace(sums=sums) for of_block, sums in zip(of_batch, fading.sums, strict=True)]
    return PassSums(fading.label_sum, log_z, answers, batch.total / fading.total), fading
