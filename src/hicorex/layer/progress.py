"""What a fit tells while it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import isfinite
from typing import Protocol


class Explained(Protocol):
    """A lower bound, in nats."""

    @property
    def lower(self) -> float:
        """The bound."""

    @property
    def lower_stderr(self) -> float:
        """Its standard error."""


class SizeTried(Explained, Protocol):
    """A size, and the bound on held-out samples that it gave."""

    @property
    def n_factors(self) -> int:
        """The number of factors."""

    @property
    def n_states(self) -> int | None:
        """The number of states of each."""


class Progress:
    """Hears of each step of a fit, and says nothing."""

    def layer(self, number: int) -> None:
        """A layer begins, 1 for the first."""

    def size(self, tried: SizeTried) -> None:
        """A size was tried on held-out samples."""

    def iteration(self, number: int, most: int, objective: float, n_starts: int) -> None:
        """An iteration, of ``most`` at most, is done: the best objective so far, and the starts still running."""

    def layer_done(self) -> None:
        """The factors of a layer are learned."""

    def fold(self, number: int, n_folds: int) -> None:
        """A model is fitted to all folds but one, 1 for the first."""

    def cross_fitted(self, bounds: Explained) -> None:
        """All folds are done."""

    def resample(self, number: int, n_resamples: int) -> None:
        """A model is fitted to a half of the samples, 1 for the first."""


class Lines(Progress):
    """Says it in lines on standard error."""

    def layer(self, number: int) -> None:
        """Name the layer."""
        print(f"layer {number}", file=sys.stderr, flush=True)

    def size(self, tried: SizeTried) -> None:
        """A line for each size."""
        reached = f"{tried.lower:.4f} +- {tried.lower_stderr:.2g} nats on held-out samples"
        line = f"{tried.n_factors} factors of {tried.n_states} states: {reached}"
        print(line, file=sys.stderr, flush=True)

    def iteration(self, number: int, most: int, objective: float, n_starts: int) -> None:
        """One line for all iterations."""
        reached = f"{objective:.4f} nats, " if isfinite(objective) else ""
        print(f"\riteration {number}: {reached}{n_starts} starts running ", end="", file=sys.stderr, flush=True)

    def layer_done(self) -> None:
        """End the line."""
        print(file=sys.stderr)

    def fold(self, number: int, n_folds: int) -> None:
        """One line for all folds."""
        print(f"\rcross-fitting: fold {number} of {n_folds} ", end="", file=sys.stderr, flush=True)

    def cross_fitted(self, bounds: Explained) -> None:
        """End the line."""
        print(f"-> {bounds.lower:.4f} +- {bounds.lower_stderr:.2g} nats", file=sys.stderr, flush=True)

    def resample(self, number: int, n_resamples: int) -> None:
        """One line for all fits to halves."""
        end = "\n" if number == n_resamples else ""
        print(f"\rstability: fit {number} of {n_resamples} ", end=end, file=sys.stderr, flush=True)


# For a fit that nobody listens to.
SILENT = Progress()

_LISTENER: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Progress | None) -> Iterator[None]:
    """Have this listener hear of the fits within, in the place of standard error; None leaves it as it is."""
    before = _LISTENER.set(listener or _LISTENER.get())
    try:
        yield
    finally:
        _LISTENER.reset(before)


def listener_of(verbose: int) -> Progress:
    """Who hears of a fit: the listener of ``heard_by``, standard error if the fit is verbose, or nobody."""
    return _LISTENER.get() or (Lines() if verbose else SILENT)
