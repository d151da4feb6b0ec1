"""What a report tells, as plain numbers and text: sums, extremes and examples, never a whole table of samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from hicorex.columns import Columns
from hicorex.exceptions import HicorexError
from hicorex.graph import Graph, graph_of, names_of, weights_of
from hicorex.groups import Grouping
from hicorex.layout import arrange
from hicorex.plot.canvas import thinned
from hicorex.results import printable, shortened

if TYPE_CHECKING:
    from hicorex.explainer import Explainer

# The strongest links that a page shows, so that it stays small and quick.
MOST_LINKS = 100_000
# Longer names are cut in the middle.
NAME_WIDTH = 80
# Of a factor, so many variables are described state by state, from so many samples at most.
PROFILED, PROFILE_ROWS = 12, 50_000
# Of a state, so many samples are named; of all samples, so many surprising ones, with so many factors that say so.
EXAMPLES, SURPRISING, REASONS = 3, 20, 3
# What the values of a factor are called, for a layer above it.
STATES = tuple(f"state {s}" for s in range(100))


class Samples(NamedTuple):
    """Samples, and what a model says about them.

    X : array-like or data frame of shape (n_samples, n_features)
    states, log_z : (n_samples, n_factors of all layers)
    row_names : (n_samples,), what the samples are called
    row_title : what these names are, such as "month"
    """

    X: Any
    states: np.ndarray
    log_z: np.ndarray
    row_names: Any
    row_title: str = "sample"

    def name(self, i: int) -> str:
        """What a sample is called."""
        own = getattr(self.row_names, "iloc", self.row_names)[int(i)]
        return shown(own.as_py() if hasattr(own, "as_py") else own)


def named_samples(X: Any, states: np.ndarray, log_z: np.ndarray, row_names: Any = None) -> Samples:
    """Samples by the names given, by the index of a pandas data frame, or by their numbers."""
    title = "sample"
    if row_names is None and hasattr(X, "index") and hasattr(X, "iloc"):
        row_names, title = X.index, str(X.index.name or title)
    if row_names is None:
        row_names = np.arange(len(states))
    if len(row_names) != len(states):
        raise HicorexError(f"row_names has {len(row_names)} names for {len(states)} samples; give one a sample.")
    return Samples(X, states, log_z, row_names, title)


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


def map_of(model: "Explainer", groupings: Sequence[Grouping]) -> Map:
    """The linked variables and factors, and where they go."""
    whole = graph_of(model)
    graph = _strongest(whole)
    at = {node.id: i for i, node in enumerate(graph.nodes)}
    columns = [i for i, node in enumerate(whole.nodes) if node.layer == 0 and node.id in at]
    first = groupings[0].number[columns] if groupings else np.zeros(len(columns), int)
    places = arrange(graph, np.pad(first, (0, len(graph.nodes) - len(columns))))
    steps = np.diff(np.unique(places.place[: len(columns)]))
    payload = {
        "names": [shown(node.name) for node in graph.nodes],
        "level": places.level.tolist(),
        "information": _short(node.information for node in graph.nodes),
        "place": _short(places.place, 6),
        "home": places.home.tolist(),
        "depth": places.depth,
        "slots": float(f"{1 / steps.min():.4g}") if steps.size else 1.0,
        "below": [at[edge.below] for edge in graph.edges],
        "above": [at[edge.factor] for edge in graph.edges],
        "weight": _short(edge.weight for edge in graph.edges),
        "alpha": _short(edge.alpha for edge in graph.edges),
        "known": _short(edge.mutual_information for edge in graph.edges),
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


def _strongest(graph: Graph) -> Graph:
    """The nodes that are linked, and their links, or the strongest of these where there are very many."""
    weights = np.array([edge.weight for edge in graph.edges])
    least = -np.sort(-weights)[MOST_LINKS - 1] if weights.size > MOST_LINKS else 0
    return graph.select(least)


def details_of(model: "Explainer", samples: Samples | None, drawn: Map) -> dict[int, dict[str, Any]]:
    """For the node of each factor: how many samples are in each state, examples of them, and what its variables do."""
    if samples is None:
        return {}
    rows = thinned(len(samples.states), PROFILE_ROWS)
    read = Columns(_safe_indexing(samples.X, rows), least_samples=1)
    names = names_of(model)
    first = model._stack[0]
    leading = {j: _largest(weights_of(first)[:, j], PROFILED) for j in range(first.n_factors_)}
    # In rising order, since neighbouring columns of a data frame are read together.
    values = {i: _values(first, read, i) for i in sorted({int(i) for own in leading.values() for i in own})}
    details = {}
    before = done = 0
    for k, layer in enumerate(model._stack, start=1):
        weights = weights_of(layer)
        for j, name in enumerate(names[k]):
            if name not in drawn.factors:
                continue
            states, log_z = samples.states[:, done + j], samples.log_z[:, done + j]
            own = [np.flatnonzero(states == state) for state in range(layer.n_states)]
            deviation = model._surprise_of_factors(log_z, done + j)
            odd = [i for i in _largest(-deviation, EXAMPLES) if deviation[i] < -2]
            profile = {}
            for i in _largest(weights[:, j], PROFILED).tolist():
                node = drawn.variables.get(i) if k == 1 else drawn.factors.get(names[k - 1][i])
                if node is not None and weights[i, j] > 0:
                    column, known = values[i] if k == 1 else (samples.states[rows, before + i], STATES)
                    profile[node] = [_mostly(column, known, states[rows] == s) for s in range(layer.n_states)]
            details[drawn.factors[name]] = {
                "counts": [rows.size for rows in own],
                "typical": [[samples.name(i) for i in rows[_largest(log_z[rows], EXAMPLES)]] for rows in own],
                "odd": [[samples.name(i), round(float(deviation[i]), 1)] for i in odd],
                "profile": profile,
            }
        before, done = done, done + layer.n_factors_
    return details


def surprising_samples(model: "Explainer", samples: Samples) -> list[Surprising]:
    """The samples that are farthest from what is usual, and the factors that say so."""
    total = samples.log_z.sum(axis=1)
    surprise = model._surprise_of_samples(total)
    names = [name for own in names_of(model)[1:] for name in own]
    found = []
    for i in _largest(np.abs(surprise), SURPRISING):
        if surprise[i] == 0:
            break
        own = model._surprise_of_factors(samples.log_z[i], slice(None))
        reasons = (Reason(names[j], float(own[j])) for j in _largest(np.abs(own), REASONS) if own[j] != 0)
        found.append(Surprising(samples.name(i), float(total[i]), float(surprise[i]), tuple(reasons)))
    return found


def _values(layer: Any, read: Columns, i: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a variable as numbers, or as codes and the categories that these stand for."""
    categories = layer._schema.categories.get(i)
    if categories is None:
        return read.numbers(np.array([i]))[:, 0], None
    return read.codes(i, categories)[0], categories


def _mostly(values: np.ndarray, categories: Any, own: np.ndarray) -> str:
    """In words, what a variable is in some samples: its mean, or its most frequent value and how frequent that is."""
    values = values[own]
    if categories is None:
        values = values[~np.isnan(values)]
        return f"{values.mean():.3g}" if values.size else ""
    counts = np.bincount(values[values < len(categories)])
    if not counts.sum():
        return ""
    return f"{shown(categories[counts.argmax()])} ({counts.max() / counts.sum():.0%})"


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
