"""The bounds on the total correlation, and what each layer adds to the lower one."""

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from hicorex.bounds.result import Bounds
from hicorex.findings.numbers import short
from hicorex.findings.reasons import why_no_upper
from hicorex.plot.canvas import GREY, SMALL_SIZE, axes_or_new, check_model, label_of, points_of, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator


def bounds(model_or_bounds: "LayeredEstimator | Bounds", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the lower bound as a bar made of what each layer adds to it, and the upper bound above it.

    The layers that the lower bound does not count are left out. A layer that takes away from it is drawn
    left of zero; the line with the standard error is where the bound itself is.

    Parameters
    ----------
    model_or_bounds : Corex, HierarchicalCorex or Bounds
        A fitted model stands for its ``bounds_``.
    ax : matplotlib Axes, default=None
        None makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from hicorex import HierarchicalCorex, plot
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(500, 60, 6, root_flip=0.15, random_state=0)
    >>> model = HierarchicalCorex((6, 1), n_states=2, n_init=4, random_state=0).fit(X)
    >>> ax = plot.bounds(model.bounds(cv=2))
    >>> len(ax.patches)  # two layers and the upper bound
    3
    """
    shown = model_or_bounds
    if not isinstance(shown, Bounds):
        check_model(shown)
        shown = shown.bounds_
    both = [("lower bound", shown.lower, shown.lower_stderr), ("upper bound", shown.upper, shown.upper_stderr)]
    rows = [(name, value, stderr or 0.0) for name, value, stderr in both if value is not None]
    ax = axes_or_new(ax, 6.4, 1.4 + 0.6 * len(rows))
    leftmost = _draw_bars(ax, shown)
    for row, (_, value, stderr) in enumerate(rows):
        ax.errorbar(value, row, xerr=stderr, fmt="|", color="black", markersize=12, capsize=3, linewidth=1)
    ax.axvline(0, color="black", linewidth=0.8)
    # Beside the bars the numbers can be read however short a bar is.
    ax.set_yticks(range(len(rows)), [f"{name}\n{short(value)} ± {short(stderr, 2)}" for name, value, stderr in rows])
    ax.set_ylim(-0.5, len(rows) - 0.5)
    if leftmost == 0 and shown.lower >= 0:
        ax.set_xlim(left=0)
    ax.set_xlabel("total correlation, nats")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    _draw_legend(ax)
    note = _note(shown)
    if note:
        ax.annotate(note, (0, 0), (0, -36), "axes fraction", "offset points", va="top", fontsize=SMALL_SIZE, color=GREY)
    return ax


def layer_parts(bounds: Bounds) -> list[float]:
    """By how much the lower bound grows with each layer that counts, in nats; their sum is the lower bound."""
    reached = [0.0, *(row.lower for row in bounds.layers[: bounds.depth - 1]), bounds.lower]
    return np.diff(reached).tolist()


def _draw_bars(ax: "Axes", shown: Bounds) -> float:
    """A bar of the layers, and one of the upper bound; gives where the leftmost one begins."""
    ends = {1: 0.0, -1: 0.0}
    for k, width in enumerate(layer_parts(shown)):
        side = -1 if width < 0 else 1
        label = label_of(f"{shown.layers[k].name}: {short(width)}", 40)
        ax.barh(0, width, 0.6, left=ends[side], color=style_of(k)[0], edgecolor="white", linewidth=0.5, label=label)
        ends[side] += width
    if shown.upper is not None:
        ax.barh(1, shown.upper, 0.6, color=GREY, alpha=0.45)
    if shown.upper_theorem is not None:
        label = f"paper's upper bound: {short(shown.upper_theorem)}"
        ax.plot([shown.upper_theorem] * 2, [0.62, 1.38], color="black", linewidth=1.2, linestyle=":", label=label)
    return ends[-1]


def _draw_legend(ax: "Axes") -> None:
    """Name the layers, and after them the paper's upper bound, which was drawn as a line."""
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda at: isinstance(handles[at], Line2D))
    ax.legend(
        [handles[at] for at in order],
        [labels[at] for at in order],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=max(1, min(int(points_of(ax)[0] / 115), 3 if len(labels) <= 3 else 2)),
        frameon=False,
        fontsize=SMALL_SIZE,
        borderaxespad=0.2,
    )


def _note(shown: Bounds) -> str:
    """What the bars do not show."""
    parts = []
    if shown.upper is None:
        parts.append(f"no upper bound: {why_no_upper(shown.no_upper)}")
    if shown.lower <= 0:
        parts.append("nothing is explained: total correlation is never negative")
    left_out = [row.name for row in shown.layers[shown.depth :]]
    if left_out:
        parts.append(f"not counted, since nothing is added: {', '.join(left_out)}")
    return "\n".join(label_of(line, 90) for part in parts for line in textwrap.wrap(part, 90))
