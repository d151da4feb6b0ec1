"""The size of a layer, factors and states together, by the bound on samples that the fit has not seen.

States come first: with too few of them, factors are spent on levels of one trait. A layer has the fewest states that
come within ``parsimony`` of the best bound there is, and with so many states as many factors as are worth it. A further
factor is worth it if it adds more than chance would, and more than this share of what the others add on average, and if
all factors are then found again in fits to other samples.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import numpy as np

from hicorex.layer.progress import Progress
from hicorex.selection.trials import LEAST_ERRORS, Size, Tried
from hicorex.support.compatibility import check_pandas_support

# Numbers of states that are tried; every second one at first, those between where they may do.
STATES = (2, 3, 4, 6, 8)
# The share of the best bound that people who read the factors forgo for fewer of them and fewer states.
PARSIMONY = 0.06
# A further factor must add this part of that share of what the others explain on average, and more standard errors than
# these; that it is found again in other samples tells more than they do.
FACTOR_SHARE, FACTOR_ERRORS = 0.5, 1.0
# How well every factor must be found again, from 0 to 1: so many times the parsimony, but at most so much.
FOUND_AGAIN, MOST_FOUND_AGAIN = 4.0, 0.5


class SizeReason(StrEnum):
    """Why a layer has as many factors as it has.

    CHANCE : no size explains more than chance would
    FEW_COLUMNS : there are too few columns for more factors
    NOT_ENOUGH_MORE : more factors do not explain enough more
    NOT_FOUND_AGAIN : more factors explain more, but other samples do not show the same ones
    AS_ASKED : the number of factors was given, only that of states was chosen
    """

    CHANCE = "chance"
    FEW_COLUMNS = "few columns"
    NOT_ENOUGH_MORE = "not enough more"
    NOT_FOUND_AGAIN = "not found again"
    AS_ASKED = "as asked"


class Sizing(NamedTuple):
    """The size that was chosen, and what the choice rests on.

    tried : the sizes that were tried, rising
    larger : the best of the larger numbers of factors with as many states; this and the next three are None where the
        reason is another
    gain, gain_stderr : how much more it explains of held-out samples, and its standard error, in nats
    least_gain : how much more it would have to explain
    n_states : None in files of early versions
    parsimony : by which it was chosen
    given : whether the number of factors was given
    """

    n_factors: int
    tried: tuple[Tried, ...]
    larger: int | None = None
    gain: float | None = None
    gain_stderr: float | None = None
    least_gain: float | None = None
    n_states: int | None = None
    parsimony: float | None = None
    given: bool = False

    @property
    def reason(self) -> SizeReason:
        """Why this number of factors was chosen, which follows from the sizes tried."""
        if not self.chosen.explains:
            return SizeReason.CHANCE
        if self.given:
            return SizeReason.AS_ASKED
        if self.larger is None:
            return SizeReason.FEW_COLUMNS
        enough = self.gain is not None and self.least_gain is not None and self.gain > self.least_gain
        return SizeReason.NOT_FOUND_AGAIN if enough else SizeReason.NOT_ENOUGH_MORE

    @property
    def size(self) -> Size:
        """The size that was chosen, of a model of this version."""
        if self.n_states is None:
            raise ValueError("an early version did not choose states")
        return Size(self.n_factors, self.n_states)

    @property
    def chosen(self) -> Tried:
        """The size that was chosen."""
        return next(size for size in self.tried if (size.n_factors, size.n_states) == (self.n_factors, self.n_states))

    @property
    def best(self) -> Tried:
        """The size that explains most of held-out samples, of those tried on all folds."""
        whole = [size for size in self.tried if size.n_states is None or size.reproducibility is not None]
        return max(whole, key=lambda size: size.lower)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each size tried."""
        pd = check_pandas_support("to_frame")
        rows = [
            {
                "factors": size.n_factors,
                "states": size.n_states,
                "lower": size.lower,
                "lower_stderr": size.lower_stderr,
                "reproducibility": size.reproducibility,
                "used": size.used,
                "chosen": size == self.chosen,
            }
            for size in self.tried
        ]
        return pd.DataFrame(rows)


class Trying(Protocol):
    """What tries sizes; see ``Trials``."""

    def scout(self, size: Size) -> Tried:
        """What became of a size on one fold alone."""

    def on_all_folds(self, size: Size) -> Tried:
        """What became of a size on all folds."""

    def gain(self, few: Size, many: Size) -> tuple[float, float]:
        """How much more one size explains than another on the folds of both, and the standard error of that."""


class Search:
    """A search over sizes that visits few of them: on one fold to see where to look, then on all folds.

    trials : try a size
    factors : the number of factors if it is given, or the most there may be
    given : whether it is given
    states : the numbers of states that there may be, rising
    parsimony : moves the choice; see ``Corex``
    progress : hears of each size
    least : the least number of factors, more than one where factors are anchored
    """

    def __init__(
        self,
        trials: Trying,
        factors: int,
        given: bool,
        states: Sequence[int],
        parsimony: float,
        progress: Progress,
        least: int = 1,
    ):
        self._least = least
        self._trials, self._factors, self._given, self._states = trials, factors, given, list(states)
        self._parsimony, self._progress = parsimony, progress
        self._scouted: dict[Size, Tried] = {}
        self.tried: dict[Size, Tried] = {}

    def choose(self) -> Sizing:
        """The size of a layer."""
        near = self._factors if self._given else self._least
        for n_states in self._states[::2]:
            best = self._climb(Size(near, n_states))
            gain, stderr = self._trials.gain(_best(self._scouted), best)
            if gain < -LEAST_ERRORS * stderr:  # with more states it is lower still
                break
            if not self._given:
                near = max(self._least, min(best.n_factors, self._scouted[best].used))
                self._scout(Size(near, n_states))
                self._scout(Size(self._least, n_states))  # a mixture may do better than any factors, or worse than two
        size = self._refine(_best(self._scouted))
        self._try(size)
        if self._try(size).explains:
            size = self._worth_it(self._fewest_states())
        if not self._try(size).explains:
            size = Size(self._factors if self._given else self._least, self._states[0])
            self._try(size)
        return self._sizing(size)

    def _climb(self, first: Size) -> Size:
        """Double the number of factors, or halve it, while that raises the bound; return the best size."""
        best, step, failures = first, first, 0
        self._scout(first)
        if self._given:
            return first
        # From one factor on, the first step may lead to a number that happens not to fit.
        while failures < (2 if first.n_factors == self._least else 1):
            step = step._replace(n_factors=2 * step.n_factors)
            if step.n_factors > self._factors or step.n_factors >= self._surplus():
                break
            best, failures = (step, 0) if self._scout(step) > self._scout(best) else (best, failures + 1)
        while self._least < best.n_factors <= first.n_factors:
            fewer = best._replace(n_factors=max(self._least, best.n_factors // 2))
            if self._scout(fewer) <= self._scout(best):
                break
            best = fewer
        return best

    def _refine(self, best: Size) -> Size:
        """The best number of factors about the best size so far, by one fold."""
        if self._given:
            return best
        used = best._replace(n_factors=max(self._least, min(best.n_factors, self._scouted[best].used)))
        return self._narrow(used, lambda few, many: self._scout(many) > self._scout(few))

    def _fewest_states(self) -> Size:
        """The best size of those with the fewest states that come close to the best bound."""
        best = size = _best(self.tried)
        close = (1 - self._parsimony) * max(tried.lower for tried in self._scouted.values())
        hoped = min(tried_size.n_states for tried_size, tried in self._scouted.items() if tried.lower >= close)
        fewer = [n_states for n_states in reversed(self._states) if n_states < best.n_states]
        # What one fold promises is tried first; numbers between that and the best are tried if it is not kept.
        for numbers in ([k for k in fewer if k <= hoped], [k for k in fewer if k > hoped]):
            for n_states in numbers:
                other = self._with_states(n_states, {self._used(best).n_factors, self._used(size).n_factors})
                if other is None:
                    break
                size = other
            if size != best:
                break
        return size

    def _with_states(self, n_states: int, near: set[int]) -> Size | None:
        """A size with this number of states that is close to the best one, and sound; None if there is none."""
        best = _best(self.tried)
        sizes = {Size(n_factors, n_states) for n_factors in near}
        for size in sorted(sizes):
            self._scout(size)
        # Factors that are not found again may come close, but split others.
        least = min(self._least_found_again(), self.tried[best].reproducibility or 0.0)
        for size in sorted(sizes | {_best(self._scouted, n_states)}, key=lambda size: -self._scouted[size].lower):
            if self._is_close(size) and (self.tried[size].reproducibility or 0.0) >= least:
                return size
        return None

    def _worth_it(self, size: Size) -> Size:
        """As many factors as are worth it, with the states of a size of the best bound."""
        if self._given:
            return size
        return self._narrow(self._used(size), self._is_worth)

    def _used(self, size: Size) -> Size:
        """The size without factors that explain nothing, unless their number is given."""
        used = size._replace(n_factors=min(size.n_factors, max(self._least, self._try(size).used)))
        return size if self._given else used

    def _narrow(self, size: Size, better: Callable[[Size, Size], bool]) -> Size:
        """The smallest size that no larger one up to twice as many factors is better than, if gains fall with it."""

        def of(n_factors: int) -> Size:
            return size._replace(n_factors=n_factors)

        best = size.n_factors
        # No larger one is looked at if one was tried that had a use for as many factors only.
        enough = any(
            other.n_states == size.n_states and other.n_factors > best >= tried.used
            for other, tried in self._scouted.items()
        )
        high = best + 1 if enough else min(2 * best, self._factors) + 1
        while high - best > 1:
            more = (best + high) // 2
            best, high = (more, high) if better(of(best), of(more)) else (best, more)
        # Below it, the next one tells whether there is anything to look for.
        step, low, none = 1, best - 1, self._least - 1
        while low > none and not better(of(low), of(best)):
            best, step = low, 2 * step
            low = max(none, best - step)
        while best - low > 1:
            fewer = (low + best) // 2
            low, best = (fewer, best) if better(of(fewer), of(best)) else (low, fewer)
        return of(best)

    def _is_worth(self, few: Size, many: Size) -> bool:
        """Whether more factors are worth it: the larger bound is needed, or they add enough and are found again."""
        self._try(few)
        other = self._try(many)
        gain, stderr = self._trials.gain(few, many)
        if not self._is_close(few):
            return gain > FACTOR_ERRORS * stderr
        found_again = other.reproducibility is None or other.reproducibility >= self._least_found_again()
        return found_again and gain > self._least_gain(few, many)

    def _least_gain(self, few: Size, many: Size) -> float:
        """How much more the larger size must explain."""
        each = max(self.tried[few].lower, 0) / few.n_factors
        share = FACTOR_SHARE * self._parsimony * each * (many.n_factors - few.n_factors)
        return max(FACTOR_ERRORS * self._trials.gain(few, many)[1], share)

    def _least_found_again(self) -> float:
        return min(MOST_FOUND_AGAIN, FOUND_AGAIN * self._parsimony)

    def _is_close(self, size: Size) -> bool:
        """Whether the bound of a size is close to the best one, as far as chance can tell."""
        self._try(size)
        best = _best(self.tried)
        gain, stderr = self._trials.gain(size, best)
        return gain - FACTOR_ERRORS * stderr <= self._parsimony * self.tried[best].lower

    def _scout(self, size: Size) -> float:
        """The bound of a size on one fold."""
        if size not in self._scouted:
            self._scouted[size] = self._trials.scout(size)
            self._progress.size(self._scouted[size])
        return self._scouted[size].lower

    def _try(self, size: Size) -> Tried:
        """What became of a size on all folds."""
        if size not in self.tried:
            self.tried[size] = self._trials.on_all_folds(size)
            self._progress.size(self.tried[size])
        return self.tried[size]

    def _surplus(self) -> float:
        """The smallest number of factors that left more than a third of them without use."""
        left = [size.n_factors for size, of in self._scouted.items() if 3 * of.used < 2 * of.n_factors]
        return min(left, default=np.inf)

    def _sizing(self, size: Size) -> Sizing:
        """The choice of a size that was tried, with the numbers that it rests on."""
        known = self._scouted | self.tried
        tried = tuple(known[each] for each in sorted(known))
        chosen = Sizing(size.n_factors, tried, n_states=size.n_states, parsimony=self._parsimony, given=self._given)
        larger = [other for other in sorted(known) if other > size and other.n_states == size.n_states]
        if not larger or self._given or not self.tried[size].explains:
            return chosen
        best = max(larger, key=lambda other: self._trials.gain(size, other)[0])
        gain, stderr = self._trials.gain(size, best)
        return chosen._replace(
            larger=best.n_factors, gain=gain, gain_stderr=stderr, least_gain=self._least_gain(size, best)
        )


def _best(tried: dict[Size, Tried], n_states: int | None = None) -> Size:
    """The size of the best bound, with this number of states if it is given; the smallest of equal ones."""
    sizes = [size for size in sorted(tried) if n_states in (None, size.n_states)]
    return max(sizes, key=lambda size: tried[size].lower)
