"""Checks of what a file holds of a layer: its state, its sums over batches, and a run of a fit on its way."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hicorex.input.encoder import FARTHEST
from hicorex.layer.batches import FadingSums
from hicorex.layer.race import Best, Run
from hicorex.layer.search import ALL_SAMPLES, MOST_FAILURES, MOST_ROUNDS, Stage
from hicorex.layer.state import State
from hicorex.layer.structure import most_links
from hicorex.marginals.base import Block, Questions
from hicorex.storage.soundness import ROUNDING, agree, array_of, checking, is_a, list_of, number, whole, whole_list

MOST_STATES = 100


@checking()
def check_stage(stage: Any, blocks: Sequence[Block], n_factors: int, n_states: int) -> None:
    """Refuse a stage from which a fit to these blocks cannot go on."""
    is_a(Stage, stage, "the stage")
    whole(stage.number, "the number of the stage", ALL_SAMPLES, MOST_ROUNDS)
    number(stage.before, "the objective before the stage", infinite=True)
    whole(stage.failures, "the number of rounds that failed", 0, MOST_FAILURES)
    is_a(bool, stage.converged, "whether the fit converged")
    _check_histories(stage.histories, None)
    check_run(stage.run, blocks, n_factors, n_states)
    if stage.pool is not None:
        is_a(State, stage.pool, "the pool")
        n_all = array_of(stage.pool.prior, "the pool", "f", (n_states, None)).shape[1]
        agree(n_all > 0, "the pool", "a pool of factors")
        check_state(stage.pool, blocks, n_states, n_all, 1)


def check_run(run: Any, blocks: Sequence[Block], n_factors: int, n_states: int) -> None:
    """Refuse a run from which a race over these blocks cannot go on."""
    is_a(Run, run, "the run")
    whole(run.iteration, "the number of iterations", 0)
    n_starts = len(is_a(list, run.histories, "histories"))
    running = whole_list(run.running, "the starts that run", 0, n_starts - 1)
    agree(0 < len(running) == len(set(running)), "the starts that run", "one another")
    check_state(run.state, blocks, n_states, n_factors, len(running))
    _check_histories(run.histories, n_starts)
    best = is_a(Best, run.best, "the best iterate")
    number(best.objective, "the best objective", infinite=True)
    number(best.excess, "what is counted twice")
    _check_histories([best.history], 1)
    check_state(best.state, blocks, n_states, n_factors, 1)
    array_of(best.log_z, "the best log Z", "f", (n_factors,))
    agree(len(whole_list(run.judged_from, "judged_from", 0)) == n_starts, "judged_from", "the number of starts")
    if run.sums is not None:
        check_sums(run.sums, len(blocks), n_states, n_factors * len(running))


def _check_histories(histories: Any, n_starts: int | None) -> None:
    """Refuse what are no objectives of starts."""
    for history in list_of(list, histories, "histories", n_starts):
        for value in history:
            number(value, "an objective")


def check_state(state: Any, blocks: Sequence[Block], n_states: int | None, n_factors: int, n_starts: int) -> None:
    """Refuse a state that no fit of ``n_starts`` starts, each of ``n_factors`` factors, could have."""
    is_a(State, state, "the state")
    agree(whole(state.n_starts, "n_starts", 1) == n_starts, "n_starts", "the starts that run")
    n_all = n_starts * n_factors
    prior = array_of(state.prior, "prior", "f", (n_states, n_all), np.nextafter(0, 1), 1)
    n_states = len(prior)
    agree(2 <= n_states <= MOST_STATES, "the number of states", f"2 to {MOST_STATES}")
    agree(np.allclose(prior.sum(axis=0), 1, atol=ROUNDING), "prior", "a distribution")
    n_blocks = len(blocks)
    for block, parameters in zip(blocks, list_of(tuple, state.parameters, "parameters", n_blocks), strict=True):
        neutral = block.neutral(1, 1)
        check_parameters(parameters, neutral, (n_states, n_all, neutral[0].shape[2]))
    for block, alpha in zip(blocks, list_of(np.ndarray, state.alpha, "alpha", n_blocks), strict=True):
        array_of(alpha, "alpha", "f", (n_all, block.n_columns), 0, 1 + ROUNDING)
    for block, questions in zip(blocks, list_of(Questions, state.questions, "questions", n_blocks), strict=True):
        shape = (n_starts, None, block.n_columns)
        if questions.links is not None:
            links = array_of(questions.links, "links", "i", shape, -1, n_factors - 1)
            agree(links.shape[1] <= min(n_factors, most_links(n_states)), "links", "the number of factors")
        if questions.order is not None:
            order = array_of(questions.order, "order", "i", (n_starts, n_factors, block.n_columns))
            agree((np.sort(order, axis=1) == np.arange(n_factors)[:, None]).all(), "order", "the factors")


def check_parameters(parameters: Any, neutral: Any, shape: tuple[int, ...]) -> None:
    """Refuse parameters of marginals that are not of the family of ``neutral``, of this shape and within limits."""
    is_a(type(neutral), parameters, "the parameters of a block")
    farthest = max(FARTHEST.values())
    limits = {
        "p": (np.nextafter(np.float32(0), np.float32(1)), 1 + ROUNDING),
        "log_p": (-800, ROUNDING),
        "mean": (-farthest, farthest),
        "variance": (1e-30, farthest**2),
        "log_variance": (-100, 100),
    }
    for name, array in parameters._asdict().items():
        array_of(array, name, "f", shape, *limits[name])


def check_sums(sums: Any, n_blocks: int, n_states: int, n_factors: int) -> None:
    """Refuse what are no sums over batches.

    The shapes of the sums of a block are not checked here: ``FadingSums.after`` compares them with the next batch.
    """
    is_a(FadingSums, sums, "the sums over batches")
    whole(sums.n_seen, "the number of batches", 1)
    number(sums.total, "the weight of the batches", np.nextafter(0, 1))
    array_of(sums.label_sum, "the sums of labels", "f", (n_states, n_factors))
    for of_blocks in (sums.totals, sums.sums):
        for of_block in list_of(tuple, of_blocks, "sums", n_blocks):
            for array in of_block:
                array_of(array, "sums", "f", None)


@checking()
def check_sizes(sizes: Any, fold_sizes: Sequence[int]) -> None:
    """Refuse what was noted of the sizes tried if it does not fit folds of these numbers of held-out samples."""
    n_all = sum(fold_sizes)
    for size, done in sizes.items():
        n_factors, n_states = is_a(tuple, size, "a size tried")
        whole(n_factors, "a number of factors", 1)
        whole(n_states, "a number of states", 2, MOST_STATES)
        agree(len(is_a(list, done, "what a size explains")) <= len(fold_sizes), "what a size explains", "the folds")
        for n_samples, (*explained, labels) in zip(fold_sizes, done, strict=False):
            agree(len(explained) == 3, "what a size explains", "a trial")
            for of_samples in explained:
                array_of(of_samples, "what a size explains", "f", (n_samples,))
            array_of(labels, "the labels of a size", "u", (None, n_all), 0, n_states - 1)
            agree(len(labels) <= n_factors, "the labels of a size", "its factors")
