"""The table as an image, before and after its rows and columns are sorted by the factors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from hicorex.exceptions import HicorexError
from hicorex.input.readers import reader_of, rows_of
from hicorex.input.sources import source_of
from hicorex.plot.canvas import CONTRASTS, GREY, axes_or_new, check_model, column_order, count_ticks, figure_of, thinned
from hicorex.support.compatibility import num_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator

# An image has no more rows, nor columns, than this.
MOST_CELLS = 1000
# How far the darkest colours are left out, since they would make a table of two values too dark to see.
SOFTER = 0.2


def sorted_data(model: "LayeredEstimator", X: Any, *, ax: Any = None) -> Any:
    """Draw a table as it is, and sorted by the factors of the first layer.

    Rows are sorted by the states of the factor that explains most, then of the next one, and so on; columns
    by the factor they belong to, and falling weight. Colours go from low to high values of each column.
    Larger tables than 1000 x 1000 are thinned evenly, each image in its order.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
    ax : matplotlib Axes or a pair of them, default=None
        A pair shows the table as it is and sorted, one the sorted table alone. None makes a figure of a pair.

    Returns
    -------
    Axes or pair of Axes

    Examples
    --------
    >>> from hicorex import Corex, plot
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(200, 30, 3, random_state=0)
    >>> before, after = plot.sorted_data(Corex(3, n_states=2, n_init=4, random_state=0).fit(X), X)
    >>> after.images[0].get_array().shape
    (200, 30)
    """
    before, after = sorted_image(model, X)
    shape = (num_samples(X), model.fitted_.n_columns)
    if ax is None:
        import matplotlib.pyplot as plt
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        layout = ConstrainedLayoutEngine(w_pad=0.1)
        ax = tuple(plt.subplots(1, 2, figsize=(8, 4), layout=layout, sharey=True)[1])
    single = not isinstance(ax, Sequence | np.ndarray)
    pair = (None, axes_or_new(ax)) if single else tuple(ax)
    if len(pair) != 2:
        raise HicorexError(f"ax holds {len(pair)} Axes; give one, or two for the table before and after.")
    for axes, picture, title in zip(pair, (before, after), ("as given", "sorted by factor"), strict=True):
        if axes is not None:
            _draw(axes, picture, shape)
            axes.set_title(title)
    _explain(pair[-1], pair[-1:] if single else pair, bool(np.isnan(after).any()))
    pair[-1 if single else 0].set_ylabel("samples")
    return ax if single else pair


def sorted_image(
    model: "LayeredEstimator", X: Any, labels: np.ndarray | None = None, most: int = MOST_CELLS
) -> tuple[np.ndarray, np.ndarray]:
    """A table as numbers from 0, low, to 1, high, before and after sorting, NaN where values are missing.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples, n_factors of all layers), default=None
        The most likely states, as of ``transform``, if they are known.
    most : int, default=1000
        Most rows, and columns, of the images.

    Returns
    -------
    before, after : ndarrays
        Each thinned evenly in its order.
    """
    check_model(model)
    validate_data(model, X, reset=False, skip_check_array=True)
    layer = model.fitted_.layers[0]
    if labels is None:
        labels = layer.label(source_of(X), model.n_jobs)
    states = labels[:, : layer.n_factors]
    # Small numbers are sorted by their digits, in linear time; the last key decides first.
    rows = np.lexsort(states[:, ::-1].T.astype(np.uint8))
    columns = column_order(layer)
    kept_rows, kept_columns = thinned(rows.size, most), thinned(columns.size, most)

    def picture(some_rows: np.ndarray, some_columns: np.ndarray) -> np.ndarray:
        return layer.encoder.shades(reader_of(rows_of(X, some_rows)), some_columns)

    return picture(kept_rows, kept_columns), picture(rows[kept_rows], columns[kept_columns])


def coloured(picture: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 as colours from low to high, grey where they are missing, (rows, columns, 4)."""
    return _scale().to_rgba(np.ma.masked_invalid(picture))


def _scale() -> Any:
    """From numbers to colours."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(-SOFTER, 1 + SOFTER), colormaps[CONTRASTS].with_extremes(bad=GREY))


def _draw(ax: "Axes", picture: np.ndarray, shape: tuple[int, int]) -> None:
    n_samples, n_columns = shape
    ax.imshow(
        np.ma.masked_invalid(picture),
        cmap=_scale().cmap,
        norm=_scale().norm,
        aspect="auto",
        interpolation="nearest",
        extent=(0, n_columns, n_samples, 0),
    )
    count_ticks(ax.xaxis)
    count_ticks(ax.yaxis)
    ax.set_xlabel("variables")


def _explain(ax: "Axes", beside: tuple, missing: bool) -> None:
    """Say what the colours mean."""
    bar = figure_of(ax).colorbar(ax.images[-1], ax=list(beside), pad=0.02)
    bar.ax.set_ylim(0, 1)
    bar.set_ticks([0, 1], labels=["low", "high"])
    if missing:
        bar.set_label("grey: missing")
