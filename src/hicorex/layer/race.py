"""The race of starts: which still run, how each fares, and the best iterate of all."""

from typing import NamedTuple

import numpy as np

from hicorex.layer.batches import FadingSums
from hicorex.layer.data import Data
from hicorex.layer.options import FitOptions
from hicorex.layer.starts import prime_unused
from hicorex.layer.state import State, factors_of


class Pace(NamedTuple):
    """How the course of a start is judged.

    window : the mean objective of this number of iterations is compared with that of as many before
    smooth : the iterations whose mean tells how high a start is and how fast it grows
    patience : a start is given up when this number of steps like its best recent one would not make it the best
    noisy : whether one pass may be luckier than another, so that the mean of a window counts as the objective
    flat : the objective has not grown if it has grown by this or less, in nats
    """

    window: int
    smooth: int
    patience: int
    noisy: bool
    flat: float = 0.0

    def over(self, total: float) -> "Pace":
        """The same for passes over samples of this weight."""
        return self._replace(flat=FLAT / total)

    def finished(self, history: list[float], tol: float) -> bool:
        """Whether the objective has not grown from one window to the next, the paper's end of the iterations.

        A ``tol`` of 0 asks for the fixed point, however flat the way to it.
        """
        if len(history) < 2 * self.window:
            return False
        before = sum(history[-2 * self.window : -self.window]) / self.window
        after = sum(history[-self.window :]) / self.window
        return after - before <= (max(tol * abs(after), tol * 1e-3, self.flat) if tol else 0.0)

    def hopeful(self, history: list[float], best: float, tol: float) -> bool:
        """Whether a start may yet exceed the best objective."""
        if len(history) < self.window:
            return True
        means = np.convolve(history[1 - self.window :], np.full(self.smooth, 1 / self.smooth), mode="valid")
        step = max(0.0, float(np.diff(means).max()))
        return means[-1] + self.patience * step > best + tol * abs(best)


PACE, PACE_OF_BATCHES = Pace(5, 1, 8, noisy=False), Pace(10, 5, 16, noisy=True)
# A log-likelihood of all samples that grows by less than this says nothing more: a parameter by chance adds a half.
FLAT = 0.05


class Best(NamedTuple):
    """The best iterate so far.

    objective, history : its objective, and that of all iterates that led to it
    state, log_z : its state, and mean log Z_j (m,)
    excess : what log Z_j count twice, in sum
    """

    objective: float
    history: list[float]
    state: State
    log_z: np.ndarray
    excess: float


class Run(NamedTuple):
    """A race on its way, all that its further iterations follow from.

    iteration : number of iterations done
    state, running : of the starts still running, and which these are
    histories : the objective of every start at each iteration, beginning with those that it inherits
    best : the best iterate so far
    judged_from : for every start, the place in its history from which it is judged
    sums : over the batches so far, None if every pass is over all samples
    """

    iteration: int
    state: State
    running: list[int]
    histories: list[list[float]]
    best: Best
    judged_from: list[int]
    sums: FadingSums | None

    @classmethod
    def of(cls, state: State, best: Best | None = None) -> "Run":
        """A race of which no iteration is done; its starts inherit the history of the best iterate so far."""
        inherited = [] if best is None else best.history
        nothing = Best(-np.inf, [], state.take([0]), np.zeros(state.n_factors), 0.0)
        starts = range(state.n_starts)
        histories = [list(inherited) for _ in starts]
        return cls(0, state, list(starts), histories, best or nothing, [len(inherited) for _ in starts], None)


class Race:
    """The starts of a fit, side by side; one that has no hope to become the best is given up.

    iteration : number of iterations done
    state, running : of the starts still running, and which these are
    histories : the objective of every start at each iteration
    best : the best iterate so far
    options : how the layer is fitted
    """

    def __init__(self, run: Run, options: FitOptions, pace: Pace, all_run_until: int = 0):
        self.iteration, self.state, self.running, histories, self.best, judged_from, _ = run
        self.histories, self._judged_from = [list(history) for history in histories], list(judged_from)
        self.options, self._pace, self._all_run_until = options, pace, all_run_until
        self._kept = list(range(len(self.running)))

    @property
    def settled(self) -> bool:
        """Whether no start has any more to win."""
        return not self._kept

    def record(self, log_z: np.ndarray, excess: np.ndarray) -> None:
        """Hear of the states at hand: mean log Z_j, and what the objective counts twice, both (J,)."""
        objective = (log_z - excess).reshape(len(self.running), -1).sum(axis=1)
        for start, value in zip(self.running, objective, strict=True):
            self.histories[start].append(float(value))
        if self._pace.noisy:
            objective = np.array([np.mean(self.histories[start][-self._pace.window :]) for start in self.running])
        leader = int(objective.argmax())
        leads = objective[leader] > self.best.objective or self._pace.noisy
        # The first two iterates do not have the structure of the rule yet.
        if leads and self.iteration >= min(2, self.options.max_iter - 1):
            state = self.state.take([leader])
            mine = factors_of([leader], state.n_factors)
            history = list(self.histories[self.running[leader]])
            self.best = Best(float(objective[leader]), history, state, log_z[mine], float(excess[mine].sum()))
        self._kept = [at for at, start in enumerate(self.running) if self._goes_on(start)]

    def prime_unused(self, following: State, log_z: np.ndarray, data: Data) -> None:
        """Start factors that explain nothing anew, in place; their starts are judged from here on."""
        for at in prime_unused(following, log_z, data, self.running, self.iteration, self.options.held):
            self._judged_from[self.running[at]] = len(self.histories[self.running[at]])

    def advance(self, following: State) -> np.ndarray:
        """Go on with the next states of the starts that are kept; return their factors among those so far."""
        factors = factors_of(self._kept, following.n_factors)
        self.state = following.take(self._kept)
        self.running = [self.running[at] for at in self._kept]
        self.iteration += 1
        return factors

    def as_run(self, fading: FadingSums | None) -> Run:
        """The race as it is stored, with the sums over batches that belong to it."""
        done = [list(history) for history in self.histories]
        return Run(self.iteration, self.state, self.running, done, self.best, list(self._judged_from), fading)

    def _goes_on(self, start: int) -> bool:
        """Whether a start has more to win: its objective still grows, and it is the best or may become it."""
        if self.iteration + 1 < self._all_run_until:
            return True
        recent = self.histories[start][self._judged_from[start] :]
        tol = self.options.tol
        if self._pace.finished(recent, tol):
            return False
        led = len(self.best.history)
        # All start from the best iterate so far where that is inherited: none of them leads yet.
        leads = led > self._judged_from[start] and self.histories[start][:led] == self.best.history
        return leads or self._pace.hopeful(recent, self.best.objective, tol)
