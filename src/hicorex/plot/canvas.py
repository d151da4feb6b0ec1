"""What all pictures need: axes, colours that colour-blind people tell apart, and names that fit."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hicorex.exceptions import HicorexError
from hicorex.findings.graph import weights_of
from hicorex.findings.text import shortened
from hicorex.support.printing import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.path import Path
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

    from hicorex.estimators.base import LayeredEstimator
    from hicorex.fitted.layer import FittedLayer

# Paul Tol's muted scheme, which people of any colour vision tell apart, in an order that sets neighbours off.
PALETTE = ("#332288", "#cc6677", "#117733", "#ddcc77", "#88ccee", "#882255", "#44aa99", "#999933", "#aa4499")
# Where the colours begin anew, the shape changes.
MARKERS = ("o", "s", "^", "D")
# For what has no group, and for lines that only guide the eye.
GREY = "#8c8c8c"
# Amounts from none to much, and from low over usual to high.
AMOUNTS, CONTRASTS = "cividis", "RdBu_r"
# The smallest letters that can be read, and those of notes, in points.
LEAST_SIZE, SMALL_SIZE = 4.5, 8


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.0) -> "Axes":
    """The axes given, or those of a new figure of this size in inches, which leaves room for its labels."""
    if ax is not None:
        if not hasattr(ax, "transData"):
            raise HicorexError(f"ax is of type {type(ax).__name__}; give one Axes, such as of plt.subplots().")
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="compressed")[1]


def figure_of(ax: "Axes") -> "Figure":
    """The whole figure that axes belong to."""
    return cast("Figure", ax.get_figure(root=True))


def check_model(model: Any) -> None:
    """Refuse what is not a fitted model."""
    if not hasattr(type(model), "states_and_log_z"):
        raise HicorexError(f"model is of type {type(model).__name__}; give a fitted Corex or HierarchicalCorex.")
    check_is_fitted(model)


def layer_of(model: "LayeredEstimator", layer: int) -> "FittedLayer":
    """One layer of a fitted model, 1, 2, ..."""
    check_model(model)
    stack = model.fitted_.layers
    if layer not in range(1, len(stack) + 1):
        raise HicorexError(f"layer is {layer!r}; this model has layers 1 to {len(stack)}.")
    return stack[int(layer) - 1]


def column_order(layer: "FittedLayer") -> np.ndarray:
    """The variables by cluster and falling weight, those of no cluster last, (n_features,)."""
    weights, clusters = weights_of(layer), layer.clusters
    strength = np.where(clusters >= 0, weights[np.arange(clusters.size), clusters], weights.max(axis=1))
    return np.lexsort((-strength, np.where(clusters >= 0, clusters, layer.n_factors)))


def style_of(number: int) -> tuple[str, str]:
    """The colour and the marker of the group of this number, from 0; GREY and a circle for -1."""
    if number < 0:
        return GREY, MARKERS[0]
    return PALETTE[number % len(PALETTE)], MARKERS[number // len(PALETTE) % len(MARKERS)]


def label_of(name: Any, most: int = 24) -> str:
    """A name as a label: control characters spelt out, not too long, and free of what matplotlib reads as a formula.

    >>> label_of("cost in $")
    'cost in \\\\$'
    """
    return shortened(printable(str(name)), most).replace("$", r"\$")


def thinned(n: int, most: int) -> np.ndarray:
    """The indices of at most ``most`` of n things, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def edges_of(n: int, most: int) -> np.ndarray:
    """Where each of at most ``most`` runs of n things begins, their sizes as equal as can be."""
    n_runs = min(n, most)
    return np.arange(n_runs) * n // n_runs


def points_of(ax: "Axes") -> tuple[float, float]:
    """The width and the height of axes, in points."""
    box, scale = ax.get_window_extent(), 72 / figure_of(ax).dpi
    return box.width * scale, box.height * scale


def count_ticks(axis: "Axis") -> None:
    """Write whole numbers on an axis, large ones in full."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    axis.set_major_formatter("{x:,.0f}")


def name_ticks(axis: "Axis", names: Iterable[str], positions: Iterable[float], size: float | None = None) -> None:
    """Put names at positions of an axis (ax.xaxis or ax.yaxis)."""
    axis.set_ticks(list(positions), [label_of(name) for name in names], fontsize=size)


def place_labels(ax: "Axes", x: Sequence[float], y: Sequence[float], names: Sequence[str]) -> list["Annotation"]:
    """Name points of axes by labels that overlap neither each other nor the points.

    The first names choose first; one for which there is no room is left out.

    Parameters
    ----------
    ax : Axes
        With its limits as they will stay.
    x, y : sequences of float
        Where the points are.
    names : sequence of str

    Returns
    -------
    list of Annotation
    """
    from matplotlib.text import Text

    figure = figure_of(ax)
    figure.draw_without_rendering()  # so that the axes are where they will be
    scale = figure.dpi / 72
    points = ax.transData.transform(np.column_stack([x, y])) if len(names) else np.empty((0, 2))
    taken = np.hstack([points - 3 * scale, points + 3 * scale])  # left, lower, right and upper ends
    lines = [line.get_path().transformed(ax.transData) for line in ax.lines if line.get_linestyle() != "None"]
    placed = []
    for at, name in enumerate(names):
        text = _label(ax, (x[at], y[at]), name)
        extent = Text.get_window_extent(text)  # without the line to its point
        offsets = _offsets(extent.width / scale, extent.height / scale)
        corner = points[at] + scale * offsets
        boxes = np.hstack([corner, corner + np.array([extent.width, extent.height])])
        chosen = _best_place(ax, boxes, taken, lines)
        if chosen is None:
            text.remove()
            continue
        text.set_position(tuple(offsets[chosen]))
        taken = np.vstack([taken, boxes[chosen] + scale * np.array([-1, -1, 1, 1])])
        placed.append(text)
    return placed


def _label(ax: "Axes", point: tuple[float, float], name: str) -> "Annotation":
    """The name of a point, with a line to it."""
    from matplotlib.patheffects import withStroke

    return ax.annotate(
        label_of(name),
        point,
        xytext=(0, 0),
        textcoords="offset points",
        va="bottom",
        fontsize=SMALL_SIZE,
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkB": 3},
        path_effects=[withStroke(linewidth=2, foreground="white")],
    )


def _best_place(ax: "Axes", boxes: np.ndarray, taken: np.ndarray, lines: list["Path"]) -> int | None:
    """The first of some boxes (n, 4) inside the axes that overlaps none taken, best one that no line crosses."""
    from matplotlib.transforms import Bbox

    inside = ax.get_window_extent()
    within = np.all((boxes[:, :2] >= inside.min) & (boxes[:, 2:] <= inside.max), axis=1)
    clash = np.all((boxes[:, None, :2] < taken[:, 2:]) & (boxes[:, None, 2:] > taken[:, :2]), axis=2).any(axis=1)
    free = np.flatnonzero(within & ~clash).tolist()
    extents = (Bbox.from_extents(*boxes[i]) for i in free)
    clear = (i for i, box in zip(free, extents, strict=True) if not _crossed(box, lines))
    return next(clear, free[0]) if free else None


def _offsets(width: float, height: float) -> np.ndarray:
    """Where the lower left corner of a label may be, in points from the point it names, the nearest first, (n, 2)."""
    corners: list[tuple[float, float]] = []
    for away in range(5, 120, 7):
        for up in (away, -away - height):
            corners += [(left, up) for left in (-width / 2, 0, -width)]
        corners += [(left, -height / 2) for left in (away, -width - away)]
        corners += [(left, up) for up in (away / 2, -away / 2 - height) for left in (away, -width - away)]
    return np.array(corners)


def _crossed(box: "Bbox", lines: list["Path"]) -> bool:
    return any(line.intersects_bbox(box, filled=False) for line in lines)
