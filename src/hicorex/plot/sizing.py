"""What the sizes that were tried for a layer explain, and which one was taken."""

from typing import TYPE_CHECKING

from hicorex.exceptions import HicorexError
from hicorex.plot.canvas import GREY, axes_or_new, count_ticks, layer_of, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator


def sizing(model: "LayeredEstimator", *, layer: int = 1, ax: "Axes | None" = None) -> "Axes":
    """Draw the bound on held-out samples by the number of factors, a line for each number of states.

    The size that was taken has a ring, and a dashed line shows how high the best size is. Sizes that were tried on one
    fold alone are hollow.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
        Fitted, of a size that was chosen by "auto".
    layer : int, default=1
        1 is the first one.
    ax : matplotlib Axes, default=None
        None makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from hicorex import Corex, plot
    >>> from hicorex.datasets import make_independent_clusters
    >>> X, _ = make_independent_clusters(random_state=0)
    >>> ax = plot.sizing(Corex(random_state=0).fit(X))
    >>> ax.get_xlabel()
    'factors'
    """
    chosen = layer_of(model, layer).sizing
    if chosen is None:
        raise HicorexError(f'The size of layer {layer} was given; fit with "auto" to see others.')
    ax = axes_or_new(ax)
    for number, n_states in enumerate(sorted({size.n_states or 0 for size in chosen.tried})):
        tried = [size for size in chosen.tried if (size.n_states or 0) == n_states]
        colour, _ = style_of(number)
        label = f"{n_states} states" if n_states else None
        ax.plot([size.n_factors for size in tried], [size.lower for size in tried], color=colour, label=label)
        for size in tried:
            hollow = size.n_states is not None and size.reproducibility is None
            fill = "none" if hollow else colour
            ax.errorbar(
                size.n_factors, size.lower, size.lower_stderr, fmt="o", color=colour, mfc=fill, markersize=4, capsize=2
            )
    ax.axhline(chosen.best.lower, color=GREY, linestyle="--", linewidth=0.8, zorder=0)
    taken = chosen.chosen
    ax.plot(taken.n_factors, taken.lower, "o", markersize=12, mfc="none", color="black", label="taken")
    count_ticks(ax.xaxis)
    ax.set_xlabel("factors")
    ax.set_ylabel("explained of held-out samples, nats")
    ax.legend(loc="best", frameon=False)
    return ax
