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

from hicorex.information import mean_and_error
from hicorex.layer.progress import Progress
from hicorex.selection.trials import Size
from hicorex.support.compatibility import check_pandas_support

# Numbers of states that are tried; every second one at first, those between where they may do.
STATES = (2, 3, 4, 6, 8)
# The share of the best bound that people who read the factors forgo for fewer of them and fewer states.
PARSIMONY = 0.06
# Standard errors by which a difference must exceed zero.
LEAST_ERRORS = 2.0
# Every factor must be found again this many times as well as ``parsimony`` says.
FOUND_AGAIN = 4.0


class Tried(NamedTuple):
    """A size that was tried.

    lower, lower_stderr : the lower bound on held-out samples and its standard error, in nats
    used : how many of the factors explain anything
    reproducibility : how well the factor that is found again worst in other folds is found again, from 0 to 1
    lost : how much less the layer explains by its most likely states, in nats
    n_states and these two are None in files of early versions
    """

    n_factors: int
    lower: float
    lower_stderr: float
    used: int
    n_states: int | None = None
    reproducibility: float | None = None
    lost: float | None = None

    @property
    def explains(self) -> bool:
        """Whether this size explains more than chance would."""
        return self.lower > LEAST_ERRORS * self.lower_stderr


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
        """The size that explains most of held-out samples."""
        return max(self.tried, key=lambda size: size.lower)

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

    sample_weight: np.ndarray

    def explained(self, size: Size) -> np.ndarray:
        """What a stack on a layer of this size explains of each held-out sample, (N,)."""

    def used(self, size: Size) -> int:
        """How many factors explain anything."""

    def reproducibility(self, size: Size) -> float:
        """How well the worst factor is found again."""

    def lost(self, size: Size) -> float:
        """How much less the layer explains by its most likely states."""


class Search:
    """A search over sizes that visits few of them.

    trials : try a size
    factors : the number of factors if it is given, or the most there may be
    given : whether it is given
    states : the numbers of states that there may be, rising
    parsimony : moves the choice; see ``Corex``
    progress : hears of each size
    """

    def __init__(
        self, trials: Trying, factors: int, given: bool, states: Sequence[int], parsimony: float, progress: Progress
    ):
        self._trials, self._factors, self._given, self._states = trials, factors, given, list(states)
        self._parsimony, self._progress = parsimony, progress
        self.tried: dict[Size, Tried] = {}

    def choose(self) -> Sizing:
        """The size of a layer."""
        near = self._factors if self._given else 1
        for n_states in self._states[::2]:
            near = self._climb(Size(near, n_states)).n_factors
        self._refine(self._best())
        size = self._best()
        if self.tried[size].explains:
            size = self._worth_it(self._fewest_states())
        if not self.tried[size].explains:
            size = Size(self._factors if self._given else 1, self._states[0])
            self._try(size)
        return self._sizing(size)

    def _climb(self, first: Size) -> Size:
        """Double the number of factors, or halve it, while that raises the bound; return the best size."""
        self._try(first)
        best, step, failures = first, first, 0
        # From one factor on, the first step may lead to a number that happens not to fit.
        while not self._given and failures < (2 if first.n_factors == 1 else 1):
            step = step._replace(n_factors=2 * step.n_factors)
            if step.n_factors > self._factors or step.n_factors >= self._surplus():
                break
            best, failures = (step, 0) if self._try(step).lower > self.tried[best].lower else (best, failures + 1)
        while not self._given and best.n_factors > 1 and best.n_factors <= first.n_factors:
            fewer = best._replace(n_factors=best.n_factors // 2)
            if self._try(fewer).lower <= self.tried[best].lower:
                break
            best = fewer
        return best

    def _refine(self, best: Size) -> None:
        """Try numbers of factors about the best size so far."""
        if self._given:
            return
        used = best._replace(n_factors=max(1, self.tried[best].used))
        if used != best:
            self._try(used)
        high = min(2 * best.n_factors, self._factors + 1) if used == best else used.n_factors + 1
        self._narrow(used.n_factors // 2, used, high, lambda a, b: self._try(b).lower > self._try(a).lower)

    def _fewest_states(self) -> Size:
        """The best size of those with the fewest states that come close to the best bound."""
        close = (1 - self._parsimony) * self.tried[self._best()].lower
        size = self._best(min(size.n_states for size, tried in self.tried.items() if tried.lower >= close))
        for n_states in reversed([k for k in self._states if k < size.n_states]):
            for near in {size.n_factors, self._best().n_factors}:
                self._try(Size(near, n_states))
            if self.tried[self._best(n_states)].lower < close:
                break
            size = self._best(n_states)
        return size

    def _worth_it(self, size: Size) -> Size:
        """As many factors as are worth it, with the states of a size of the best bound."""
        if self._given:
            return size
        used = size._replace(n_factors=max(1, self.tried[size].used))
        high = min(2 * size.n_factors, self._factors + 1) if used == size else size.n_factors
        self._try(used)
        size, low = used, used.n_factors // 2
        while low and not self._is_worth(size._replace(n_factors=low), size):
            size, high, low = size._replace(n_factors=low), size.n_factors, low // 2
        return self._narrow(low, size, high, self._is_worth)

    def _narrow(self, low: int, size: Size, high: int, better: Callable[[Size, Size], bool]) -> Size:
        """Halve the gaps below and above a size until there are none; ``low`` is too small, ``high`` too large."""
        while size.n_factors - low > 1 or high - size.n_factors > 1:
            if high - size.n_factors > 1:
                more = size._replace(n_factors=(size.n_factors + high) // 2)
                if better(size, more):
                    low, size = size.n_factors, more
                else:
                    high = more.n_factors
            if size.n_factors - low > 1:
                fewer = size._replace(n_factors=(low + size.n_factors) // 2)
                if better(fewer, size):
                    low = fewer.n_factors
                else:
                    size, high = fewer, size.n_factors
        return size

    def _is_worth(self, few: Size, many: Size) -> bool:
        """Whether more factors are worth it: the larger bound is needed, or they add enough and are found again."""
        one, other = self._try(few), self._try(many)
        close = (1 - self._parsimony) * self.tried[self._best()].lower
        if one.lower < close:
            return other.lower > one.lower
        return self._gain(few, many)[0] > self._least_gain(few, many) and self._found_again(other)

    def _found_again(self, tried: Tried) -> bool:
        return tried.reproducibility is None or tried.reproducibility >= min(1.0, FOUND_AGAIN * self._parsimony)

    def _gain(self, few: Size, many: Size) -> tuple[float, float]:
        """How much more the larger size explains, and its standard error."""
        difference = self._trials.explained(many) - self._trials.explained(few)
        return mean_and_error(difference, self._trials.sample_weight)

    def _least_gain(self, few: Size, many: Size) -> float:
        """How much more the larger size must explain."""
        each = max(self.tried[few].lower, 0) / few.n_factors
        share = self._parsimony * each * (many.n_factors - few.n_factors)
        return max(LEAST_ERRORS * self._gain(few, many)[1], share)

    def _try(self, size: Size) -> Tried:
        if size not in self.tried:
            bound = mean_and_error(self._trials.explained(size), self._trials.sample_weight)
            more = self._trials.reproducibility(size), self._trials.lost(size)
            self.tried[size] = Tried(size.n_factors, *bound, self._trials.used(size), size.n_states, *more)
            self._progress.size(self.tried[size])
        return self.tried[size]

    def _best(self, n_states: int | None = None) -> Size:
        """The size of the best bound, with this number of states if it is given; the smallest of equal ones."""
        sizes = [size for size in sorted(self.tried) if n_states in (None, size.n_states)]
        return max(sizes, key=lambda size: self.tried[size].lower)

    def _surplus(self) -> float:
        """The smallest number of factors that left some of them without use."""
        return min((size.n_factors for size, tried in self.tried.items() if tried.used < tried.n_factors), default=np.inf)

    def _sizing(self, size: Size) -> Sizing:
        """The choice of a size that was tried, with the numbers that it rests on."""
        tried = tuple(self.tried[each] for each in sorted(self.tried))
        chosen = Sizing(
            size.n_factors, tried, n_states=size.n_states, parsimony=self._parsimony, given=self._given
        )
        larger = [other for other in self.tried if other.n_states == size.n_states and other.n_factors > size.n_factors]
        if not larger or self._given or not self.tried[size].explains:
            return chosen
        best = max(larger, key=lambda other: self.tried[other].lower)
        gain, stderr = self._gain(size, best)
        return chosen._replace(
            larger=best.n_factors, gain=gain, gain_stderr=stderr, least_gain=self._least_gain(size, best)
        )
