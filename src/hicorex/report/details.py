"""What the panel of a factor tells of samples: how many are in each state, examples, and what its variables do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from hicorex.findings.graph import weights_of
from hicorex.findings.numbers import mean_and_spread, short
from hicorex.findings.text import value_names
from hicorex.input.readers import reader_of, rows_of
from hicorex.plot.canvas import thinned
from hicorex.report.map import Map
from hicorex.report.markup import shown
from hicorex.report.samples import USUAL, Samples, largest
from hicorex.support.compatibility import safe_indexing
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator
    from hicorex.fitted.layer import FittedLayer

# The most variables of a factor that are described state by state, and the most samples that they are described from.
PROFILED, PROFILE_ROWS = 30, 50_000
# The most values that are numbers whose frequencies are told one by one.
MOST_VALUES = 8
# The most samples of a state that are named.
EXAMPLES = 3
# What the values of a factor are called, for a layer above it.
STATES = tuple(f"state {s}" for s in range(100))


class Values(NamedTuple):
    """A variable: numbers, NaN where missing, or codes of values, beyond the last where missing.

    numbers : the values of several categories that are numbers, such as answers from 1 to 6
    """

    column: np.ndarray
    values: Sequence[str] | None = None
    numbers: np.ndarray | None = None


def details_of(model: "LayeredEstimator", samples: Samples | None, drawn: Map) -> dict[int, dict[str, Any]]:
    """The details of each factor on the map, by its node."""
    if samples is None:
        return {}
    rows = thinned(len(samples.states), PROFILE_ROWS)
    names = names_of(model)
    details = {}
    below: list[Values] = []
    done = 0
    for k, layer in enumerate(model.fitted_.layers, start=1):
        weights = weights_of(layer)
        leading = [largest(weights[:, j], PROFILED) for j in range(layer.n_factors)]
        known = (
            read_values(layer, samples.X, rows, np.unique(np.concatenate(leading)))
            if k == 1
            else dict(enumerate(below))
        )
        nodes = drawn.variables if k == 1 else _nodes(names[k - 1], drawn)
        for j, name in enumerate(names[k]):
            if name not in drawn.factors:
                continue
            states = samples.states[rows, done + j]
            profile = {
                nodes[i]: _by_state(known[i], states, layer.n_states)
                for i in leading[j].tolist()
                if i in nodes and weights[i, j] > 0
            }
            told = _examples(model, samples, done + j, layer.n_states)
            details[drawn.factors[name]] = told | {"profile": profile}
        below = [Values(column, STATES) for column in samples.states[rows, done : done + layer.n_factors].T]
        done += layer.n_factors
    return details


def _nodes(names: list[str], drawn: Map) -> dict[int, int]:
    """The node of each factor of a layer that is on the map, by its number."""
    return {j: drawn.factors[name] for j, name in enumerate(names) if name in drawn.factors}


def _examples(model: "LayeredEstimator", samples: Samples, factor: int, n_states: int) -> dict[str, Any]:
    """How many samples are in each state of a factor, the most typical of them, and the least in line with it."""
    states, log_z = samples.states[:, factor], samples.log_z[:, factor]
    members = [np.flatnonzero(states == state) for state in range(n_states)]
    deviation = model.fitted_.usual.of_factors(log_z, factor)
    odd = [i for i in largest(-deviation, EXAMPLES) if deviation[i] < -USUAL]
    return {
        "counts": [rows.size for rows in members],
        "typical": [[samples.name(i) for i in rows[largest(log_z[rows], EXAMPLES)]] for rows in members],
        "odd": [[samples.name(i), round(float(deviation[i]), 1)] for i in odd],
    }


def read_values(layer: "FittedLayer", X: Any, rows: np.ndarray, columns: np.ndarray) -> dict[int, Values]:
    """Some columns of some samples, by their index in the table."""
    if isinstance(X, np.ndarray | list | tuple):
        part = np.asarray(X)[np.ix_(rows, columns)]
    elif issparse(X):
        part = rows_of(X, rows)[:, columns]
    else:  # of a data frame, columns first, which copies little
        part = safe_indexing(safe_indexing(X, columns, axis=1), rows)
    reader = reader_of(part)
    variables = {}
    for at, i in enumerate(columns.tolist()):
        categories = layer.encoder.categories.get(i)
        if categories is None:
            variables[i] = Values(reader.numbers(np.array([at]))[:, 0])
        else:
            numbers = categories.astype(float) if categories.dtype.kind in "iuf" and categories.size > 2 else None
            names = [shown(name) for name in value_names(categories)]
            variables[i] = Values(reader.codes(at, categories)[0], names, numbers)
    return variables


def _by_state(variable: Values, states: np.ndarray, n_states: int) -> list[str]:
    """In words, what a variable is in each state: mean and spread, or how frequent a value is.

    Of two values that is the rarer one, of more the most frequent one in the state. Of several that are numbers it is
    their mean, and how frequent each of them is.
    """
    columns = [variable.column[states == state] for state in range(n_states)]
    if variable.values is None:
        known = [column[~np.isnan(column)] for column in columns]
        return [_mean_and_spread(column) if column.size else "" for column in known]
    size = len(variable.values)
    counts = [np.bincount(column, minlength=size)[:size] for column in columns]
    if variable.numbers is not None:
        return [_distribution(variable.numbers, variable.values, frequency) for frequency in counts]
    rarer = int(np.sum(counts, axis=0).argmin()) if size == 2 else None
    words = []
    for frequency in counts:
        value = int(frequency.argmax()) if rarer is None else rarer
        n_known = frequency.sum()
        words.append(f"{variable.values[value]}: {frequency[value] / n_known:.0%}" if n_known else "")
    return words


def _distribution(numbers: np.ndarray, values: Sequence[str], frequency: np.ndarray) -> str:
    """The mean of values that are numbers, and how frequent each is, or where they are many their spread."""
    if not frequency.any():
        return ""
    if numbers.size > MOST_VALUES:
        return _mean_and_spread(np.repeat(numbers, frequency))
    shares = frequency / frequency.sum()
    each = ", ".join(f"{value}: {share:.0%}" for value, share in zip(values, shares.tolist(), strict=True))
    return f"{short(float(shares @ numbers), 3)} ({each})"


def _mean_and_spread(column: np.ndarray) -> str:
    # By a power of two, which is exact, so that sums and squares of huge numbers are finite.
    _, power = np.frexp(np.abs(column).max())
    scaled = np.ldexp(column, -power)
    mean, spread = np.ldexp([scaled.mean(), scaled.std()], power)
    return mean_and_spread(float(mean), float(spread))
