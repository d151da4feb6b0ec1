"""Which variable belongs to which factor, as an image."""

from typing import TYPE_CHECKING

import numpy as np

from hicorex.findings.numbers import count
from hicorex.plot.canvas import (
    AMOUNTS,
    LEAST_SIZE,
    axes_or_new,
    column_order,
    edges_of,
    figure_of,
    label_of,
    layer_of,
    name_ticks,
    points_of,
    thinned,
)
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator

# A picture shows no more columns than this, and names no more of them, nor more rows.
MOST_COLUMNS, MOST_NAMES, MOST_ROWS = 2000, 60, 40


def structure(model: "LayeredEstimator", *, layer: int = 1, ax: "Axes | None" = None) -> "Axes":
    """Draw alpha of a layer: a row for each factor, a column for each variable.

    Variables are sorted by their factor and falling weight; those without a significant link come last.
    Of more than 2000 variables, neighbours share a column, which shows the largest of their values.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
        Fitted.
    layer : int, default=1
        1 is the first one; above it the variables are the factors of the layer below.
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
    >>> ax = plot.structure(Corex(3, n_states=2, n_init=4, random_state=0).fit(X))
    >>> ax.images[0].get_array().shape
    (3, 30)
    """
    drawn = layer_of(model, layer)
    below, factors = names_of(model)[layer - 1 : layer + 1]
    n, m = drawn.alpha.shape
    order = column_order(drawn)
    alpha = np.maximum.reduceat(drawn.alpha[order].T, edges_of(n, MOST_COLUMNS), axis=1)
    names = [label_of(below[i]) for i in order] if n <= MOST_NAMES else []
    height = np.clip(1.2 + 0.25 * m, 2, 5) + 0.08 * max(map(len, names), default=0)
    ax = axes_or_new(ax, float(np.clip(2.5 + 0.13 * n, 6.4, 9)), float(height))
    extent = (-0.5, n - 0.5, m - 0.5, -0.5)
    image = ax.imshow(alpha, cmap=AMOUNTS, vmin=0, vmax=1, aspect="auto", interpolation="nearest", extent=extent)
    figure_of(ax).colorbar(image, ax=ax, pad=0.02).set_label("alpha")
    sizes = np.bincount(drawn.clusters + 1, minlength=m + 1)
    if m <= MOST_ROWS:  # the lines of more factors would hide what they divide
        for end in np.unique(np.cumsum(sizes[1:])):
            if 0 < end < n:
                ax.axvline(end - 0.5, color="white", linewidth=0.8, alpha=0.8)
    rows = thinned(m, MOST_ROWS)
    name_ticks(ax.yaxis, [factors[j] for j in rows], rows, float(np.clip(0.8 * points_of(ax)[1] / rows.size, 5, 9)))
    size = min(9, 0.85 * points_of(ax)[0] / n)
    ax.set_xticks([])
    if names and size >= LEAST_SIZE:
        ax.set_xticks(range(n), names, fontsize=size, rotation=90)
    apart = f"; {sizes[0]:,} without a significant link at the end" if sizes[0] else ""
    ax.set_xlabel(f"{count(n, 'variable' if layer == 1 else 'factor')} by factor and weight{apart}")
    return ax
