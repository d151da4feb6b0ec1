"""What passes over the samples: all of them, or batches whose sums fade."""

import numpy as np
import pytest
from models import encoded
from numpy.testing import assert_allclose, assert_array_equal

from hicorex.datasets import make_latent_tree
from hicorex.engine import LocalEngine
from hicorex.layer.batches import Batches
from hicorex.layer.directions import asking
from hicorex.layer.one_pass import run_pass
from hicorex.layer.passes import AllSamples, RandomBatches, passes_over
from hicorex.layer.race import Best
from hicorex.layer.starts import primed_starts
from hicorex.layer.state import side_by_side
from hicorex.layer.step import update
from hicorex.layer.structure import RULES

SEED = np.random.SeedSequence(3)


@pytest.fixture(scope="module")
def data():
    return encoded(make_latent_tree(600, 20, 2, random_state=0)[0])


@pytest.fixture
def engine():
    with LocalEngine(1) as engine:
        yield engine


@pytest.fixture
def state(data, engine):
    return primed_starts(data, 2, 2, 3, engine)


@pytest.mark.parametrize(("size", "kind"), [(None, AllSamples), (600, AllSamples), (599, RandomBatches)])
def test_batches_are_passed_over_if_they_are_smaller_than_the_table(size, kind, data, engine):
    assert isinstance(passes_over(data, size, engine, SEED, None), kind)


def test_a_pass_over_all_samples_holds_nothing(data, state, engine):
    passes = passes_over(data, None, engine, SEED, None)
    sums, blocks = passes.next(state, 0)
    assert_array_equal(sums.log_z, run_pass(state, data, engine).log_z)
    assert blocks is data.blocks
    assert passes.fading is None
    best = Best(1.0, [1.0], state.take([0]), sums.log_z[:2], 0.0)
    assert passes.conclude(best, RULES["unique"]) == best


def test_what_an_iterate_counts_twice_is_taken_off_its_alpha(data, engine):
    """Two copies of a factor, both with alpha 1: one of them must give up what the other tells."""
    rule = RULES["unique"]
    state = primed_starts(data, 1, 2, 1, engine)
    for _ in range(10):
        state, _ = update(state, run_pass(state, data, engine), data.blocks, rule, engine)
    twice = asking(side_by_side([state, state], n_starts=1), data, rule)
    sums = run_pass(twice, data, engine)
    _, excess = update(twice, sums, data.blocks, rule, engine)
    best = Best(float((sums.log_z - excess).sum()), [0.0], twice, sums.log_z, float(excess.sum()))
    assert excess.sum() > 0.4 * sums.log_z.sum()
    settled = passes_over(data, None, engine, SEED, None).conclude(best, rule)
    assert settled.excess <= 1e-4 * settled.objective
    assert_allclose(settled.log_z.sum(), settled.history[-1], rtol=1e-4)
    assert settled.objective >= best.objective - 1e-6
    assert all((lowered <= alpha).all() for lowered, alpha in zip(settled.state.alpha, twice.alpha, strict=True))


def test_sums_over_batches_hold_all_batches_so_far(data, state, engine):
    passes = passes_over(data, 100, engine, SEED, None)
    batches = Batches(data, 100, engine, SEED)
    first, blocks = passes.next(state, 0)
    assert first.measured_share == 1
    assert_array_equal(first.label_sum, run_pass(state, batches.take(0), engine).label_sum)
    second, blocks = passes.next(state, 1)
    assert passes.fading.n_seen == 2
    assert_allclose(blocks[0].total, passes.fading.total)
    assert_allclose(second.measured_share, 100 / passes.fading.total)
    assert_array_equal(second.log_z, run_pass(state, batches.take(1), engine).log_z)


def test_sums_of_starts_that_were_given_up_are_let_go(data, state, engine):
    passes = passes_over(data, 100, engine, SEED, None)
    sums, _ = passes.next(state, 0)
    passes.keep_factors(np.array([0, 1, 4, 5]))
    assert_array_equal(passes.fading.label_sum, sums.label_sum[:, [0, 1, 4, 5]])
    passes.next(state.take([0, 2]), 1)


def test_batches_end_with_a_step_by_all_samples(data, state, engine):
    passes = passes_over(data, 100, engine, SEED, None)
    best = Best(1.0, [1.0], state.take([1]), np.zeros(2), 0.0)
    _, _, ended, log_z, _ = passes.conclude(best, RULES["tree"])
    sums = run_pass(best.state, data, engine)
    expected, _ = update(best.state, sums, data.blocks, RULES["tree"], engine)
    assert_array_equal(log_z, sums.log_z)
    assert_array_equal(ended.alpha[0], expected.alpha[0])
    assert_array_equal(ended.prior, expected.prior)
