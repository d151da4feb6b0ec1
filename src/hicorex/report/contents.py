"""What a report tells, as plain numbers and text: sums, extremes and examples, never a whole table of samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from hicorex.compatibility import safe_indexing
from hicorex.findings.graph import graph_of, weights_of
from hicorex.findings.groups import Grouping
from hicorex.findings.layout import arrange
from hicorex.findings.text import shortened
from hicorex.findings.words import short
from hicorex.input.reader import Reader, rows_of
from hicorex.names import factor_names, names_of
from hicorex.plot.canvas import label_of, thinned
from hicorex.plot.factor import value_names
from hicorex.plot.pointwise import Index, index_of
from hicorex.printing import printable

if TYPE_CHECKING:
    from hicorex.base import LayeredEstimator

# The strongest links that a page shows, so that it stays small and quick.
MOST_LINKS = 100_000
# Longer names are cut in the middle.
NAME_WIDTH = 80
# Of a factor, so many variables are described state by state, from so many samples at most.
PROFILED, PROFILE_ROWS = 30, 50_000
# Of a state, so many samples are named; of all samples, so many surprising ones, with so many factors that say so.
EXAMPLES, SURPRISING, REASONS = 3, 20, 3
# Nearer than this to what is usual, in standard deviations, nothing is surprising.
USUAL = 2
# What the values of a factor are called, for a layer above it.
STATES = tuple(f"state {s}" for s in range(100))


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
    """A factor that finds a sample unusual, by so many standard deviations."""

    factor: str
    deviation: float


class Surprising(NamedTuple):
    """A sample that is far from what is usual.

    total_correlation, surprise : of the sample, in nats and in standard deviations
    reasons : the factors that say so most
    """

    name: str
    total_correlation: float
    surprise: float
    reasons: tuple[Reason, ...]


def shown(name: Any) -> str:
    """A name that a page can show."""
    return shortened(printable(str(name)), NAME_WIDTH)


class Map(NamedTuple):
    """The hierarchy for the page to draw.

    payload : nodes and links as columns, with the places of the nodes
    variables : the node of each variable that is in it, by column
    factors : the node of each factor that is in it, by name
    n_links : how many links the model has
    """

    payload: dict[str, Any]
    variables: dict[int, int]
    factors: dict[str, int]
    n_links: int


def map_of(model: "LayeredEstimator", groupings: Sequence[Grouping]) -> Map:
    """The linked variables and factors, and where they go."""
    whole = graph_of(model)
    graph = whole.strongest(MOST_LINKS)
    at = {node.id: i for i, node in enumerate(graph.nodes)}
    columns = [i for i, node in enumerate(whole.nodes) if node.layer == 0 and node.id in at]
    first = groupings[0].number[columns] if groupings else np.zeros(len(columns), int)
    places = arrange(graph, np.pad(first, (0, len(graph.nodes) - len(columns))))
    steps = np.diff(np.unique(places.place[: len(columns)]))
    below, above, weight = graph.links()
    payload = {
        "names": [shown(node.name) for node in graph.nodes],
        "level": places.level.tolist(),
        "information": _short(node.information for node in graph.nodes),
        "place": _short(places.place, 6),
        "home": places.home.tolist(),
        "depth": places.depth,
        "slots": float(f"{1 / steps.min():.4g}") if steps.size else 1.0,
        "below": below.tolist(),
        "above": above.tolist(),
        "weight": _short(weight),
        "alpha": _short(edge.alpha for edge in graph.edges),
        "known": _short(edge.mutual_information for edge in graph.edges),
        "linked": (model._stack[0].clusters_[columns] >= 0).astype(int).tolist(),
        "groupings": [
            {
                "title": shown(one.title),
                "groups": [shown(name) for name in one.groups],
                "number": one.number[columns].tolist(),
            }
            for one in groupings
        ],
    }
    factors = {node.name: at[node.id] for node in graph.nodes if node.layer}
    return Map(payload, {i: node for node, i in enumerate(columns)}, factors, len(whole.edges))


def details_of(model: "LayeredEstimator", samples: Samples | None, drawn: Map) -> dict[int, dict[str, Any]]:
    """For the node of each factor: how many samples are in each state, examples of them, and what its variables do."""
    if samples is None:
        return {}
    rows = thinned(len(samples.states), PROFILE_ROWS)
    names = names_of(model)
    details = {}
    below: list[Values] = []
    done = 0
    for k, layer in enumerate(model._stack, start=1):
        weights = weights_of(layer)
        leading = [_largest(weights[:, j], PROFILED) for j in range(layer.n_factors_)]
        known = _read(layer, samples.X, rows, np.unique(np.concatenate(leading))) if k == 1 else dict(enumerate(below))
        for j, name in enumerate(names[k]):
            if name not in drawn.factors:
                continue
            states, log_z = samples.states[:, done + j], samples.log_z[:, done + j]
            own = [np.flatnonzero(states == state) for state in range(layer.n_states_)]
            deviation = model._surprise_of_factors(log_z, done + j)
            odd = [i for i in _largest(-deviation, EXAMPLES) if deviation[i] < -USUAL]
            profile = {}
            for i in leading[j].tolist():
                node = drawn.variables.get(i) if k == 1 else drawn.factors.get(names[k - 1][i])
                if node is not None and weights[i, j] > 0:
                    profile[node] = _by_state(known[i], states[rows], layer.n_states_)
            details[drawn.factors[name]] = {
                "counts": [members.size for members in own],
                "typical": [[samples.name(i) for i in m[_largest(log_z[m], EXAMPLES)]] for m in own],
                "odd": [[samples.name(i), round(float(deviation[i]), 1)] for i in odd],
                "profile": profile,
            }
        below = [Values(column, STATES) for column in samples.states[rows, done : done + layer.n_factors_].T]
        done += layer.n_factors_
    return details


def surprising_samples(
    model: "LayeredEstimator", samples: Samples, total: np.ndarray, surprise: np.ndarray
) -> list[Surprising]:
    """The samples that are farthest from what is usual, and the factors that say so.

    ``total`` and ``surprise`` are the samples' point-wise total correlation and how unusual that is.
    """
    names = factor_names(model)
    found = []
    for i in _largest(np.abs(surprise), SURPRISING):
        if abs(surprise[i]) < USUAL:
            break
        own = model._surprise_of_factors(samples.log_z[i], slice(None))
        reasons = (Reason(names[j], float(own[j])) for j in _largest(np.abs(own), REASONS) if own[j] != 0)
        found.append(Surprising(samples.name(i), float(total[i]), float(surprise[i]), tuple(reasons)))
    return found


class Values(NamedTuple):
    """A variable: numbers, NaN where missing, or codes of values, beyond the last where missing."""

    column: np.ndarray
    values: Sequence[str] | None = None


def _read(layer: Any, X: Any, rows: np.ndarray, columns: np.ndarray) -> dict[int, Values]:
    """Some columns of some samples, by their index in the table."""
    if isinstance(X, np.ndarray | list | tuple):
        part = np.asarray(X)[np.ix_(rows, columns)]
    elif issparse(X):
        part = rows_of(X, rows)[:, columns]
    else:  # of a data frame, columns first, which copies little
        part = safe_indexing(safe_indexing(X, columns, axis=1), rows)
    read = Reader(part, least_samples=1)
    found = {}
    for at, i in enumerate(columns.tolist()):
        categories = layer._schema.categories.get(i)
        if categories is None:
            found[i] = Values(read.numbers(np.array([at]))[:, 0])
        else:
            found[i] = Values(read.codes(at, categories)[0], [shown(name) for name in value_names(categories)])
    return found


def _by_state(variable: Values, states: np.ndarray, n_states: int) -> list[str]:
    """In words, what a variable is in each state: mean and spread, or how frequent a value is.

    Of two values that is the rarer one, of more the most frequent one in the state.
    """
    own = [variable.column[states == state] for state in range(n_states)]
    if variable.values is None:
        known = [column[~np.isnan(column)] for column in own]
        return [_mean_and_spread(column) if column.size else "" for column in known]
    size = len(variable.values)
    counts = [np.bincount(column, minlength=size)[:size] for column in own]
    rarer = int(np.sum(counts, axis=0).argmin()) if size == 2 else None
    words = []
    for count in counts:
        value = int(count.argmax()) if rarer is None else rarer
        words.append(f"{variable.values[value]}: {count[value] / count.sum():.0%}" if count.sum() else "")
    return words


def _mean_and_spread(column: np.ndarray) -> str:
    # By a power of two, which is exact, so that sums and squares of huge numbers are finite.
    _, power = np.frexp(np.abs(column).max())
    scaled = np.ldexp(column, -power)
    mean, spread = np.ldexp([scaled.mean(), scaled.std()], power)
    return f"{short(mean, 3)} \u00b1 {short(spread, 2)}"


def _largest(values: np.ndarray, most: int) -> np.ndarray:
    """The indices of the largest values, falling, the first of equals first."""
    if len(values) > most:
        least = np.partition(values, len(values) - most)[len(values) - most]
        own = np.flatnonzero(values >= least)
    else:
        own = np.arange(len(values))
    return own[np.argsort(-values[own], kind="stable")][:most]


def _short(numbers: Any, digits: int = 4) -> list[float]:
    return [float(f"{x:.{digits}g}") for x in numbers]
