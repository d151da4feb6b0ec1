"""The race of starts: the best iterate wins, hopeless starts are given up, and a stored race goes on as it was."""

import numpy as np
import pytest
from models import encoded
from numpy.testing import assert_array_equal

from hicorex.datasets import make_latent_tree
from hicorex.engine import LocalEngine
from hicorex.layer.loop import fit_layer
from hicorex.layer.notes import Notes
from hicorex.layer.options import FitOptions
from hicorex.layer.progress import Progress
from hicorex.layer.race import PACE, PACE_OF_BATCHES, Race, Run
from hicorex.layer.state import State
from hicorex.layer.structure import RULES

N_FACTORS = 2


@pytest.fixture(scope="module")
def data():
    return encoded(make_latent_tree(100, 6, 2, random_state=0)[0])


def race_of(data, n_starts, pace=PACE, max_iter=100, tol=0.0):
    """A race of which nothing is known yet."""
    run = Run.of(State.neutral(data.blocks, N_FACTORS, 2, n_starts))
    return Race(run, FitOptions(N_FACTORS, 2, n_starts, max_iter, tol), pace)


def iterate(race, courses, n_iterations):
    """Let every start explain what its course says, half of it by each factor."""
    for _ in range(n_iterations):
        if race.settled:
            break
        log_z = np.repeat([courses[start](race.iteration) / N_FACTORS for start in race.running], N_FACTORS)
        race.record(log_z, np.zeros(log_z.size))
        if not race.settled:
            race.advance(race.state)


def test_a_start_that_falls_behind_is_given_up(data):
    race = race_of(data, 3)
    iterate(race, [lambda t: 10 + t, lambda t: 1 + 0.01 * t, lambda t: 9 + t], 8)
    assert race.running == [0, 2]
    assert race.best.history == race.histories[0]
    assert len(race.histories[1]) < len(race.histories[0]) == 8
    assert race.state.n_starts == 2


def test_a_race_is_settled_once_no_start_grows(data):
    race = race_of(data, 2)
    iterate(race, [lambda t: 5.0, lambda t: 5.0], 50)
    assert race.settled
    assert max(map(len, race.histories)) == 2 * PACE.window


def test_an_objective_that_samples_cannot_tell_from_a_flat_one_is_settled_unless_the_fixed_point_is_asked_for(data):
    creeping = 1e-4 / data.total  # a thousandth of what the samples tell in ten iterations
    for tol, settled in ((1e-9, True), (0.0, False)):
        race = race_of(data, 1, PACE.over(data.total), tol=tol)
        iterate(race, [lambda t: 0.01 + creeping * t], 30)
        assert race.settled is settled
    race = race_of(data, 1, PACE.over(data.total), tol=1e-9)
    iterate(race, [lambda t: 0.01 + 500 * creeping * t], 30)
    assert not race.settled


def test_the_first_iterates_cannot_be_the_best(data):
    race = race_of(data, 1)
    iterate(race, [lambda t: 100.0 - t], 2)
    assert race.best.objective == -np.inf
    iterate(race, [lambda t: 100.0 - t], 1)
    assert race.best.objective == 98
    lone = race_of(data, 1, max_iter=1)
    iterate(lone, [lambda t: 7.0], 1)
    assert lone.best.objective == 7


def test_what_the_objective_counts_twice_is_taken_off(data):
    race = race_of(data, 1)
    race.record(np.array([3.0, 2.0]), np.array([1.0, 0.5]))
    assert race.histories == [[3.5]]


@pytest.mark.parametrize(("pace", "winner"), [(PACE, 1), (PACE_OF_BATCHES, 0)])
def test_one_lucky_pass_makes_the_best_iterate_unless_passes_are_batches(pace, winner, data):
    race = race_of(data, 2, pace)
    iterate(race, [lambda t: 10 + 0.1 * t, lambda t: 9.9 + 0.1 * t + (t == 12) / 2], 13)
    assert race.best.history == race.histories[winner]


def test_starts_are_given_up_by_their_course_and_not_by_lucky_batches():
    noise = 0.05 * np.random.default_rng(0).standard_normal(60)
    flat, growing = 10 + noise, 9.5 + 0.05 * np.arange(60) + noise
    for n_seen in range(12, 60):
        assert not PACE_OF_BATCHES.hopeful(flat[:n_seen].tolist(), 10.5, 1e-5)
        assert PACE_OF_BATCHES.hopeful(growing[:n_seen].tolist(), 10.5, 1e-5)
    assert PACE_OF_BATCHES.hopeful(flat[:9].tolist(), 10.5, 1e-5)


def test_a_stored_race_is_not_changed_by_the_one_that_goes_on(data):
    race = race_of(data, 2)
    courses = [lambda t: 10 + t, lambda t: 9 + t]
    iterate(race, courses, 4)
    run = race.as_run(None)
    kept = run.iteration, [list(history) for history in run.histories], list(run.judged_from)
    again = Race(run, FitOptions(N_FACTORS, 2, 2, 100, 0.0), PACE)
    for other in (race, again):
        iterate(other, courses, 3)
    assert (run.iteration, run.histories, run.judged_from) == kept
    assert again.histories == race.histories
    assert again.running == race.running


def test_all_starts_run_until_their_factors_are_the_pool(data):
    race = Race(Run.of(State.neutral(data.blocks, N_FACTORS, 2, 2)), FitOptions(N_FACTORS, 2, 2, 100, 0.0), PACE, 10)
    iterate(race, [lambda t: 10 + t, lambda t: 1.0], 9)
    assert race.running == [0, 1]
    iterate(race, [lambda t: 10 + t, lambda t: 1.0], 1)
    assert race.running == [0]


def test_children_go_on_from_the_best_iterate(data):
    race = race_of(data, 2)
    iterate(race, [lambda t: 10 + t, lambda t: 9 + t], 5)
    best = race.best
    child = Race(Run.of(best.state, best), FitOptions(N_FACTORS, 2, 1, 100, 0.0), PACE)
    iterate(child, [lambda t: 20 + t], 3)
    assert child.best.history == [*best.history, 20, 21, 22]
    worse = Race(Run.of(best.state, best), FitOptions(N_FACTORS, 2, 1, 100, 0.0), PACE)
    iterate(worse, [lambda t: 5.0], 20)
    assert worse.settled
    assert worse.best is best


class Enough(Exception):
    pass


class Stopping(Progress):
    """Stops a fit after a number of iterations."""

    def __init__(self, at):
        self.left = at

    def iteration(self, *_):
        self.left -= 1
        if not self.left:
            raise Enough


class LastStage(Notes):
    """Holds the last stage that was noted."""

    def __init__(self):
        self.stage = None

    def note_stage(self, name, stage):
        self.stage = stage

    def recall_stage(self, name, blocks, options):
        return self.stage


@pytest.mark.parametrize("at", [2, 10, 14, 30, 40])
@pytest.mark.parametrize("batch_size", [None, 50])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(at, batch_size):
    data = encoded(make_latent_tree(400, 30, 6, random_state=5)[0])
    options, rule = FitOptions(5, 2, 3, 60, 1e-5, batch_size), RULES["unique"]
    with LocalEngine(1) as engine:
        whole = fit_layer(data, rule, engine, options, np.random.SeedSequence(0))
        notes = LastStage()
        with pytest.raises(Enough):
            fit_layer(data, rule, engine, options, np.random.SeedSequence(0), Stopping(at), notes)
        assert notes.stage.run.iteration < at
        resumed = fit_layer(data, rule, engine, options, np.random.SeedSequence(0), notes=notes)
    assert_array_equal(resumed.log_z, whole.log_z)
    assert_array_equal(resumed.state.alpha[0], whole.state.alpha[0])
    for one, other in zip(resumed.histories, whole.histories, strict=True):
        assert_array_equal(one, other)
    assert resumed.converged == whole.converged
