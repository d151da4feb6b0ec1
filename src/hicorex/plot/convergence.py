"""How the objective of a layer grew, in all its starts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.plot.canvas import GREY, PALETTE, axes_or_new, count_ticks, layer_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator


def convergence(model: "LayeredEstimator", *, layer: int = 1, ax: "Axes | None" = None) -> "Axes":
    """Draw the objective of a layer at each iteration, of every start.

    The start that was kept is bold. The view leaves out iterations far below the others, as the first ones
    often are.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
        Fitted. One from a file of an older version may know the start that was kept alone.
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
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(200, 30, 3, random_state=0)
    >>> ax = plot.convergence(Corex(3, n_states=2, n_init=4, random_state=0).fit(X))
    >>> len(ax.lines)
    4
    """
    drawn = layer_of(model, layer)
    best, histories = drawn.history, drawn.histories
    kept = next(at for at, history in enumerate(histories) if np.array_equal(history, best))
    others = [history for at, history in enumerate(histories) if at != kept]
    ax = axes_or_new(ax)
    label = "other starts" if len(others) > 1 else "other start"
    for at, history in enumerate(others):
        ax.plot(np.arange(1, history.size + 1), history, color=GREY, linewidth=0.8, label="" if at else label)
    # A single iteration is no line.
    marker: dict[str, Any] = {"marker": "o", "markersize": 4} if best.size == 1 else {}
    ax.plot(np.arange(1, best.size + 1), best, color=PALETTE[0], linewidth=2.2, label="start that was kept", **marker)
    low, high = _view([*others, best])
    room = 0.05 * (high - low) or 0.05 * max(abs(high), 1)
    ax.set_ylim(low - room, high + room)
    count_ticks(ax.xaxis)
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective, nats")
    ax.legend(loc="lower right", frameon=False, reverse=True)
    return ax


def _view(histories: list[np.ndarray]) -> tuple[float, float]:
    """The values to be seen: not those that are lower than most by far."""
    values = np.concatenate(histories)
    # The first two iterates do not have the structure of the rule yet.
    later = np.concatenate([history[2:] for history in histories])
    high, usual = values.max(), np.quantile(later if later.size else values, 0.25)
    # Where all starts agree there is more to see than rounding errors.
    return max(values.min(), high - max(4 * (high - usual), 0.1 * abs(high))), high
