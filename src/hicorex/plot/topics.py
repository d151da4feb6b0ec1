"""The leading variables of each factor side by side, as topics are looked at."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hicorex.findings.leading import leading_variables
from hicorex.plot.canvas import PALETTE, axes_or_new, label_of, layer_of
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator

# Factors that are drawn unless others are asked for, and the width of a bar's column.
MOST_FACTORS, WIDTH = 12, 0.92


def topics(
    model: "LayeredEstimator",
    *,
    layer: int = 1,
    factors: Sequence[int] | None = None,
    n: int = 8,
    names: Sequence[str] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the leading variables of factors, as bars as long as their weight.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
    layer : int, default=1
    factors : sequence of int, default=None
        The factors of the layer; None for the first twelve that have variables, of which the first explains most.
    n : int, default=8
        The variables of each. A minus sign before a name says that the variable is lower in the factor's leading state.
    names : sequence of str, default=None
        The names of the columns where the table had none, as those of words.
    ax : matplotlib Axes, default=None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from hicorex import Corex, plot
    >>> from hicorex.datasets import make_latent_tree
    >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
    >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
    >>> len(plot.topics(model, n=4).patches)
    12
    """
    fitted = layer_of(model, layer)
    before = sum(below.n_factors for below in model.fitted_.layers[: layer - 1])
    asked = list(range(fitted.n_factors)) if factors is None else list(factors)
    told = [(j, leading_variables(model, before + j, n, names)) for j in asked]
    if factors is None:
        told = [(j, leading) for j, leading in told if leading][:MOST_FACTORS]
    ax = axes_or_new(ax, max(4.0, 1.7 * len(told)), 0.5 + 0.34 * n)
    for at, (j, leading) in enumerate(told):
        largest = max((variable.weight for variable in leading), default=1.0)
        lengths = [WIDTH * variable.weight / largest for variable in leading]
        ranks = np.arange(len(leading))
        ax.barh(ranks, lengths, left=at, height=0.8, color=PALETTE[j % len(PALETTE)], alpha=0.35)
        for rank, variable in enumerate(leading):
            name = ("\u2212 " if variable.sign < 0 else "") + variable.name
            ax.text(at + 0.02, rank, label_of(name), va="center", fontsize=8, clip_on=True)
    ax.set_xlim(0, max(len(told), 1))
    ax.set_ylim(n - 0.5, -0.5)
    ax.set_yticks([])
    ax.set_xticks(np.arange(len(told)) + WIDTH / 2, [label_of(names_of(model)[layer][j]) for j, _ in told])
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    return ax
