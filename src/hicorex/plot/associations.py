"""Which traits of samples go with which factors, as a heat map."""

from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.plot.canvas import AMOUNTS, LEAST_SIZE, axes_or_new, figure_of, label_of, points_of
from hicorex.relations.associations import Associations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A picture shows no more factors and traits than this, those of the least p-values; names have this many characters.
MOST_FACTORS, MOST_TRAITS, MOST_SIGNS = 60, 60, 24


def associations(found: Associations, *, level: float = 0.05, ax: "Axes | None" = None) -> "Axes":
    """Draw a row for each factor and a column for each trait: how much of the trait the factor explains.

    A dot marks pairs that are significant at a false discovery rate. Factors and traits that could not be tested are
    left out; of more than 60, those with the least p-values are shown.

    Parameters
    ----------
    found : Associations
        What ``associate`` gives.
    level : float, default=0.05
        The false discovery rate.
    ax : matplotlib Axes, default=None
        None makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from hicorex import Corex, plot
    >>> from sklearn.datasets import load_wine
    >>> X, grower = load_wine(return_X_y=True, as_frame=True)
    >>> model = Corex(n_factors=2, n_states=3, random_state=0).fit(X)
    >>> ax = plot.associations(model.associate({"grower": grower}))
    >>> ax.images[0].get_array().round(2).tolist()
    [[0.88], [0.06]]
    """
    if not isinstance(found, Associations):
        raise HicorexError(f"found is of type {type(found).__name__}; give what associate returns.")
    if not 0 < level < 1:
        raise HicorexError(f"level is {level!r}; give a false discovery rate between 0 and 1.")
    rows, columns = _least(found.p_values, MOST_FACTORS), _least(found.p_values.T, MOST_TRAITS)
    if not rows.size:
        raise HicorexError("No trait varies in samples in which a factor does, so that there is nothing to draw.")
    names = [label_of(found.traits[t], MOST_SIGNS) for t in columns]
    height = 1.0 + 0.22 * rows.size + 0.08 * max(map(len, names))
    ax = axes_or_new(ax, float(np.clip(3.4 + 0.35 * columns.size, 4, 10)), float(np.clip(height, 2.4, 12)))
    shares = found.explained_share[np.ix_(rows, columns)]
    image = ax.imshow(shares, cmap=AMOUNTS, vmin=0, vmax=max(0.01, float(shares.max())), aspect="auto")
    bar = figure_of(ax).colorbar(image, ax=ax, pad=0.02)
    bar.set_label("share explained")
    sure = np.argwhere(found.q_values[np.ix_(rows, columns)] <= level)
    ax.scatter(sure[:, 1], sure[:, 0], s=14, color="white", edgecolors="black", linewidths=0.5)
    width, tall = points_of(ax)
    _name(ax.yaxis, [label_of(found.factors[j], MOST_SIGNS) for j in rows], tall)
    _name(ax.xaxis, names, width, rotation=90)
    return ax


def _least(p_values: np.ndarray, most: int) -> np.ndarray:
    """The rows that could be tested, at most this number, those of the least p-values, in order."""
    least = np.where(np.isfinite(p_values), p_values, np.inf).min(axis=1)
    testable = np.flatnonzero(np.isfinite(least))
    return np.sort(testable[np.argsort(least[testable], kind="stable")[:most]])


def _name(axis: Any, names: list[str], points: float, rotation: int = 0) -> None:
    """Name rows or columns, in letters that leave each its place; None where these could not be read."""
    size = min(9.0, 0.85 * points / len(names))
    axis.set_ticks(range(len(names)), names if size >= LEAST_SIZE else [""] * len(names), fontsize=size)
    for tick in axis.get_ticklabels():
        tick.set_rotation(rotation)
