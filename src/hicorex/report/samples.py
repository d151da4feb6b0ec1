"""The samples that a report tells of, and the surprising ones among them."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.plot.canvas import label_of
from hicorex.plot.pointwise import Index, index_of
from hicorex.report.markup import shown
from hicorex.support.names import factor_names

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# The samples of most surprisal that are named.
UNUSUAL_NAMED = 20
# The most surprising samples that are named, and the most factors that say so of each.
SURPRISING, REASONS = 20, 3
# Nearer than this to what is usual, in standard deviations, nothing is surprising.
USUAL = 2


class Samples(NamedTuple):
    """Samples, and what a model says about them.

    X : array-like or data frame of shape (n_samples, n_features)
    states, log_z : (n_samples, n_factors of all layers)
    rows : what the samples are called
    title : what these names are, such as "month"
    n_all : how many samples there are, if these are but some of them
    """

    X: Any
    states: np.ndarray
    log_z: np.ndarray
    rows: Index
    title: str
    n_all: int = 0

    def name(self, i: int) -> str:
        """What a sample is called."""
        return shown(self.rows.names[int(i)])


def named_samples(
    X: Any, states: np.ndarray, log_z: np.ndarray, row_names: Any = None, title: str = "sample"
) -> Samples:
    """Samples by the names given, by the index of a pandas data frame, or by their numbers."""
    if row_names is None and hasattr(X, "index") and hasattr(X, "iloc"):
        row_names, title = X.index, str(X.index.name or title)
    index = index_of(row_names, len(states), "row_names")
    return Samples(X, states, log_z, index._replace(title=index.title or label_of(title)), title)


class Reason(NamedTuple):
    """A factor that finds a sample unusual, and by how many standard deviations."""

    factor: str
    deviation: float


class Surprising(NamedTuple):
    """A sample that is far from what is usual.

    row : which of the samples
    total_correlation, surprise : of the sample, in nats and in standard deviations
    reasons : the factors that say so most
    """

    row: int
    name: str
    total_correlation: float
    surprise: float
    reasons: tuple[Reason, ...]


def surprising_samples(
    model: "LayeredEstimator", samples: Samples, total: np.ndarray, surprise: np.ndarray
) -> list[Surprising]:
    """The samples that are farthest from what is usual, and the factors that say so.

    ``total`` and ``surprise`` are the samples' point-wise total correlation and how unusual that is.
    """
    names = factor_names(model)
    rows = []
    for i in largest(np.abs(surprise), SURPRISING):
        if abs(surprise[i]) < USUAL:
            break
        deviation = model.fitted_.usual.of_factors(samples.log_z[i], slice(None))
        loudest = [j for j in largest(np.abs(deviation), REASONS) if deviation[j] != 0]
        reasons = tuple(Reason(names[j], float(deviation[j])) for j in loudest)
        rows.append(Surprising(int(i), samples.name(i), float(total[i]), float(surprise[i]), reasons))
    return rows


class Unusual(NamedTuple):
    """A sample of much surprisal.

    row : which of the samples
    odd_values, odd_combination : how much more than usual there is, in nats, by single values and by their combination
    which : "values" or "combination", whichever is more
    """

    row: int
    name: str
    odd_values: float
    odd_combination: float
    which: str


def unusual_samples(model: "LayeredEstimator", samples: Samples, total: np.ndarray) -> list[Unusual]:
    """The samples of most surprisal beyond what is usual, of those that are unusual at all."""
    _, odd_values, odd_combination, which = model.fitted_.usual.of_whole(total, model.of_values(samples.X))
    found = largest(odd_values + odd_combination, UNUSUAL_NAMED)
    return [
        Unusual(int(i), samples.name(i), float(odd_values[i]), float(odd_combination[i]), str(which[i]))
        for i in found
        if which[i]
    ]


def largest(values: np.ndarray, most: int) -> np.ndarray:
    """The indices of the largest values, falling, the first of equals first."""
    if len(values) > most:
        least = np.partition(values, len(values) - most)[len(values) - most]
        some = np.flatnonzero(values >= least)
    else:
        some = np.arange(len(values))
    return some[np.argsort(-values[some], kind="stable")][:most]
