"""One factor: how its variables differ between its states."""

from difflib import get_close_matches
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.findings.graph import ranked_links
from hicorex.findings.numbers import short
from hicorex.findings.text import value_names
from hicorex.input.encoder import Encoder
from hicorex.input.readers import Reader
from hicorex.input.sources import source_of
from hicorex.plot.canvas import (
    LEAST_SIZE,
    SMALL_SIZE,
    axes_or_new,
    check_model,
    label_of,
    name_ticks,
    points_of,
    style_of,
    thinned,
)
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator

# The most samples that a density is drawn from, and the number of points that it is drawn at.
MOST_SAMPLES, GRID = 2000, 200
# The most cells of a strip; the rarer values have the last one together.
MOST_VALUES = 12
# The room between two rows, of which each has a height of 1.
GAP = 0.32


class Strip(NamedTuple):
    """A discrete variable: its values, and how likely each is in each state, (n_states, n_values)."""

    values: list[str]
    probabilities: np.ndarray


class Densities(NamedTuple):
    """A continuous variable: a grid over its usual range, (g,), and the density of each state, (n_states, g).

    Densities of huge and tiny numbers are known but for a factor.
    """

    grid: np.ndarray
    heights: np.ndarray


def factor(
    model: "LayeredEstimator", name: str | int, X: Any = None, *, top: int = 8, ax: "Axes | None" = None
) -> "Axes":
    """Draw how the first variables of a factor differ between its states, a row for each.

    A continuous variable is drawn as one density for each state, over its usual range. A discrete one, or a
    factor of the layer below, is drawn as one line for each state, with a cell for each value: the fuller
    its colour, the more likely the value.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
        Fitted.
    name : str or int
        As "layer1_factor0", or a number that counts the factors of all layers from 0.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        None stands for the samples of the fit, if the model still knows them.
    top : int, default=8
        Most variables, those of the largest weight first.
    ax : matplotlib Axes, default=None
        None makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from hicorex import Corex, plot
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(200, 30, 3, random_state=0)
    >>> ax = plot.factor(Corex(3, n_states=2, n_init=4, random_state=0).fit(X), "layer1_factor0", top=4)
    >>> len(ax.get_yticks())
    4
    """
    check_model(model)
    if not isinstance(top, Integral) or top < 1:
        raise HicorexError(f"top is {top!r}; give a whole number, 1 or more.")
    k, j = _find(model, name)
    layer, names = model.fitted_.layers[k - 1], names_of(model)
    below, owner = ranked_links(layer)
    rows = below[owner == j][:top]
    if not rows.size:
        raise HicorexError(f"{names[k][j]} has no links, so that it explains nothing; take another factor.")
    table, weight = model.samples_of_fit(X)
    for lower in model.fitted_.layers[: k - 1]:
        table = source_of(lower.label(table, model.n_jobs))
    states = layer.label(table, model.n_jobs)[:, j]
    weight = np.ones(states.size) if weight is None else weight
    drawn = _measure(layer.encoder, table.typed_head, rows, states, layer.n_states, weight)
    lines = sum(max(2.0, layer.n_states * isinstance(row, Strip)) for row in drawn)
    ax = axes_or_new(ax, 6.4, float(np.clip(1.2 + 0.24 * lines, 2.4, 9)))
    ax.set_xlim(0, 1)
    ax.set_ylim(rows.size * (1 + GAP), -GAP)
    for at, row in enumerate(drawn):
        (_draw_strip if isinstance(row, Strip) else _draw_densities)(ax, row, at * (1 + GAP))
    name_ticks(ax.yaxis, [names[k - 1][i] for i in rows], np.arange(rows.size) * (1 + GAP) + 0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    _name_states(ax, np.bincount(states, minlength=layer.n_states))
    ax.set_title(f"{names[k][j]} explains {short(layer.tcs[j])} nats", loc="left", fontsize=10)
    return ax


def _find(model: "LayeredEstimator", name: str | int) -> tuple[int, int]:
    """The layer of a factor, from 1, and its number in it."""
    places = {known: (k, j) for k, layer in enumerate(names_of(model)[1:], 1) for j, known in enumerate(layer)}
    if isinstance(name, Integral) and not isinstance(name, bool) and 0 <= name < len(places):
        return list(places.values())[int(name)]
    if isinstance(name, str) and name in places:
        return places[name]
    near = get_close_matches(str(name), places, 1, 0)[0]
    raise HicorexError(f"There is no factor {name!r}; the nearest is {near!r}, and numbers go to {len(places) - 1}.")


def _measure(
    encoder: Encoder, table: Reader, rows: np.ndarray, states: np.ndarray, n_states: int, weight: np.ndarray
) -> list[Strip | Densities]:
    """What is drawn of each variable."""
    drawn: list[Strip | Densities] = []
    for i in rows.tolist():
        if i in encoder.categories:
            codes, _ = table.codes(i, encoder.categories[i])
            drawn.append(_strip(codes, encoder.categories[i], states, n_states, weight))
        else:
            drawn.append(_densities(table.numbers(np.array([i]))[:, 0], states, n_states, weight))
    return drawn


def _strip(codes: np.ndarray, categories: np.ndarray, states: np.ndarray, n_states: int, weight: np.ndarray) -> Strip:
    size = categories.size
    counts = np.bincount(states * (size + 1) + codes, weight, n_states * (size + 1)).reshape(n_states, -1)[:, :size]
    values = value_names(categories)
    if size > MOST_VALUES:
        often = np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[: MOST_VALUES - 1])
        rest = np.delete(counts, often, axis=1).sum(axis=1)
        values = [*(values[v] for v in often), f"{size - often.size} others"]
        counts = np.column_stack([counts[:, often], rest])
    total = counts.sum(axis=1, keepdims=True)
    return Strip(values, counts / np.where(total > 0, total, 1))


def _densities(numbers: np.ndarray, states: np.ndarray, n_states: int, weight: np.ndarray) -> Densities:
    known = np.flatnonzero(~np.isnan(numbers))
    if not known.size:
        return Densities(np.linspace(0, 1, GRID), np.zeros((n_states, GRID)))
    # Huge and tiny numbers are scaled by a power of two, so that their differences and squares are finite.
    largest = np.abs(numbers[known]).max()
    power = 0 if largest == 0 or 1e-100 < largest < 1e100 else int(np.frexp(largest)[1])
    scaled = np.ldexp(numbers, -power)
    # Single values far out would leave no room for the others.
    low, high = np.quantile(scaled[known], [0.005, 0.995])
    room = 0.1 * (high - low) or max(0.1 if power else 1.0, 0.1 * abs(high))
    least, most = scaled[known].min(), scaled[known].max()
    first, last = (max(low - room, least), min(high + room, most)) if least < most else (low - room, high + room)
    grid = np.linspace(first, last, GRID)
    heights = np.zeros((n_states, GRID))
    for state in range(n_states):
        rows = known[states[known] == state]
        rows = rows[thinned(rows.size, MOST_SAMPLES)] if rows.size else rows
        heights[state] = _density(grid, np.clip(scaled[rows], grid[0], grid[-1]), weight[rows])
    with np.errstate(over="ignore"):
        grid = np.nan_to_num(np.ldexp(grid, power))
    return Densities(grid, heights)


def _density(grid: np.ndarray, values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A kernel estimate of the density of weighted values at the points of a grid, (g,)."""
    weight = weight / max(weight.sum(), 1e-300)
    spread = np.sqrt(weight @ (values - weight @ values) ** 2)
    # Scott's rule, but never so narrow that the grid would miss a peak.
    width = max(spread * values.size**-0.2 if values.size else 0, 2 * (grid[1] - grid[0]))
    return np.exp(-(((grid[:, None] - values) / width) ** 2) / 2) @ weight / (width * np.sqrt(2 * np.pi))


def _draw_strip(ax: "Axes", row: Strip, top: float) -> None:
    from matplotlib.colors import to_rgb

    n_states, n_values = row.probabilities.shape
    height, width = 1 / n_states, 1 / n_values
    wide, high = np.array(points_of(ax)) * (width, height / abs(np.diff(ax.get_ylim())[0]))
    size = min(SMALL_SIZE, 0.7 * high)
    for state, probabilities in enumerate(row.probabilities):
        colour = np.array(to_rgb(style_of(state)[0]))
        for v, probability in enumerate(probabilities):
            shade = 1 - probability * (1 - colour)
            left, upper = v * width, top + state * height
            ax.add_patch(_cell(left, upper, width, height, shade))
            text = _fitting(row.values[v], probability, wide / (0.62 * size))
            if text and size >= LEAST_SIZE:
                dark = shade @ [0.3, 0.59, 0.11] < 0.5
                middle = (left + width / 2, upper + height / 2)
                ax.text(*middle, text, ha="center", va="center", size=size, color="white" if dark else "black")


def _cell(left: float, upper: float, width: float, height: float, shade: np.ndarray) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left, upper), width, height, facecolor=tuple(shade), edgecolor="#dddddd", linewidth=0.5)


def _fitting(value: str, probability: float, room: float) -> str:
    """What a cell tells that has room for this many letters: its value, and how likely that is."""
    if len(value) + 6 <= room:
        return f"{label_of(value)}  {probability:.0%}"
    return label_of(value, int(room)) if room >= min(3, len(value)) else ""


def _draw_densities(ax: "Axes", row: Densities, top: float) -> None:
    x = np.linspace(0, 1, row.grid.size)
    heights = row.heights / max(row.heights.max(), 1e-300)
    for state, height in enumerate(heights):
        if height.any():
            colour, _ = style_of(state)
            ax.fill_between(x, top + 1, top + 1 - height, color=colour, alpha=0.3, linewidth=0)
            ax.plot(x, top + 1 - height, color=colour, linewidth=1.2)
    ax.plot([0, 1], [top + 1] * 2, color="black", linewidth=0.6)
    for at, side in ((0, "left"), (1, "right")):
        ax.text(at, top + 1.06, short(row.grid[-at], 3), ha=side, va="top", size=6.5, color="#555555")


def _name_states(ax: "Axes", counts: np.ndarray) -> None:
    """Say which colour is which state, and how many samples have it."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=style_of(state)[0], label=f"state {state}: {count:,}") for state, count in enumerate(counts)
    ]
    columns = max(1, min(5, int(points_of(ax)[0] / 80)))
    ax.legend(
        handles=handles,
        title="samples by state",
        loc="upper right",
        bbox_to_anchor=(1, 0),
        ncols=columns,
        frameon=False,
        fontsize=SMALL_SIZE,
        title_fontsize=SMALL_SIZE,
    )
