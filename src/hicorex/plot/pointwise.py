"""The point-wise total correlation of each sample over an index, and which samples are surprising."""

import re
from collections.abc import Mapping
from datetime import date
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.plot.canvas import (
    PALETTE,
    axes_or_new,
    check_model,
    count_ticks,
    edges_of,
    label_of,
    name_ticks,
    place_labels,
    points_of,
    thinned,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator

# More samples than this are drawn as a band, and the number of its parts.
MOST_SAMPLES, BINS = 5000, 1000
ISO_DATE = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?)?")


class Index(NamedTuple):
    """Where samples are on an axis.

    places : (n_samples,), those that matplotlib gives to dates
    names : what each sample is called, (n_samples,)
    kind : "dates", "numbers" or "names"
    title : what the axis is called
    """

    places: np.ndarray
    names: np.ndarray
    kind: str
    title: str


def pointwise(
    model: "LayeredEstimator", X: Any, *, index: Any = None, series: Any = None, surprising: int = 5, ax: Any = None
) -> "Axes":
    """Draw the point-wise total correlation of each sample, and name the most surprising samples.

    More than 5000 samples are drawn as the mean and the range of 1000 parts.

    Parameters
    ----------
    model : Corex or HierarchicalCorex
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
    index : array-like of shape (n_samples,), default=None
        Dates, text such as "2008-10" among them, numbers or names; None counts from 0.
    series : array-like of shape (n_samples,), or a mapping of one name to such, default=None
        Numbers to be drawn beside, on a second axis. A pandas Series is called by its name.
    surprising : int, default=5
        How many samples are marked: those whose ``surprise`` is farthest from 0.
    ax : matplotlib Axes, default=None
        None makes a figure.

    Returns
    -------
    Axes
        That of the point-wise total correlation; that of the series lies upon it.

    Examples
    --------
    >>> from hicorex import Corex, plot
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(200, 30, 3, random_state=0)
    >>> model = Corex(3, n_states=2, n_init=4, random_state=0).fit(X)
    >>> ax = plot.pointwise(model, X, surprising=3)
    >>> len(ax.texts)
    3
    """
    check_model(model)
    values = model.score_samples(X)
    surprise = model.fitted_.usual.of_samples(values)
    return draw_pointwise(values, surprise, index=index, series=series, surprising=surprising, ax=ax)


def draw_pointwise(
    values: np.ndarray,
    surprise: np.ndarray,
    *,
    index: Any = None,
    series: Any = None,
    surprising: int = 5,
    ax: Any = None,
) -> "Axes":
    """As ``pointwise``, for values that are known.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        As of ``score_samples``.
    surprise : ndarray of shape (n_samples,)
        As of ``surprise(X).samples``.
    index, series, surprising, ax
        As of ``pointwise``.
    """
    if not isinstance(surprising, Integral) or surprising < 0:
        raise HicorexError(f"surprising is {surprising!r}; give a whole number, 0 or more.")
    where = index_of(index, values.size)
    beside = None if series is None else _series(series, values.size)
    ax = axes_or_new(ax, 8, 3.6)
    order = np.argsort(where.places, kind="stable")
    _line(ax, where.places[order], values[order], PALETTE[0], 1.2)
    ax.set_xlabel(where.title)
    ax.set_ylabel("point-wise total\ncorrelation, nats")
    ax.margins(x=0.02, y=0.14)
    _set_ticks(ax, where, counted=index is None)
    if beside is not None:
        name, numbers = beside
        _draw_beside(ax, where.places[order], numbers[order], name)
    marked = np.argsort(-np.abs(surprise), kind="stable")[:surprising]
    x, y = where.places[marked], values[marked]
    ax.plot(x, y, "o", color="black", markersize=4, fillstyle="none", linestyle="none")
    place_labels(ax, x.tolist(), y.tolist(), [str(where.names[i]) for i in marked])
    return ax


def _set_ticks(ax: "Axes", where: Index, counted: bool) -> None:
    """Say where samples are: by dates, names or numbers, whole ones if they are counted."""
    if where.kind == "dates":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        ax.xaxis_date()
        locator = AutoDateLocator()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    elif counted:
        count_ticks(ax.xaxis)
    elif where.kind == "names":
        _name_samples(ax, where)


def _draw_beside(ax: "Axes", x: np.ndarray, numbers: np.ndarray, name: str) -> None:
    """A series on a second axis."""
    twin = ax.twinx()
    # The values of the model lie above, so that its labels can be read.
    ax.set_zorder(twin.get_zorder() + 1)
    ax.patch.set_visible(False)
    _line(twin, x, numbers, PALETTE[1], 1.0)
    twin.set_ylabel(label_of(name, 40), color=PALETTE[1])
    twin.tick_params(axis="y", colors=PALETTE[1])
    ax.yaxis.label.set_color(PALETTE[0])
    ax.tick_params(axis="y", colors=PALETTE[0])


def _line(ax: "Axes", x: np.ndarray, y: np.ndarray, color: str, width: float) -> None:
    """Draw values in order, or the mean and the range of equal parts of them if there are very many."""
    if y.size <= MOST_SAMPLES:
        ax.plot(x, y, color=color, linewidth=width)
        return
    edges = edges_of(y.size, BINS)
    known = np.isfinite(y)
    count = np.add.reduceat(known, edges, dtype=int)
    mean = np.add.reduceat(np.where(known, y, 0), edges) / np.where(count, count, np.nan)
    middle = np.add.reduceat(x, edges) / np.diff(np.append(edges, y.size))
    low, high = np.fmin.reduceat(y, edges), np.fmax.reduceat(y, edges)
    ax.fill_between(middle, low, high, color=color, alpha=0.25, linewidth=0)
    ax.plot(middle, mean, color=color, linewidth=width)


def _name_samples(ax: "Axes", where: Index) -> None:
    """Name as many samples on the axis as there is room for."""
    some = thinned(where.places.size, max(2, int(points_of(ax)[0] / 14)))
    name_ticks(ax.xaxis, [str(where.names[i]) for i in some], where.places[some], 8)
    ax.tick_params(axis="x", rotation=90 if some.size > 8 else 0)


def index_of(index: Any, n_samples: int, what: str = "index") -> Index:
    """Dates, numbers or names, whatever they came as; ``what`` is how an error calls them."""
    if isinstance(index, Index):
        return index
    count = np.arange(n_samples)
    if index is None:
        return Index(count.astype(float), count, "numbers", "sample")
    title = label_of(getattr(index, "name", None) or "", 40)
    try:
        entries = np.asarray(index)
    except ValueError:
        raise HicorexError(f"{what} is not a list of names, numbers or dates; give one a sample.") from None
    if entries.shape != (n_samples,):
        raise HicorexError(f"{what} has shape {entries.shape} for {n_samples} samples; give one entry a sample.")
    if entries.dtype.kind in "fiu":
        return Index(entries.astype(float), entries, "numbers", title)
    dates = _dates(entries)
    if dates is None:
        return Index(count.astype(float), entries, "names", title)
    from matplotlib.dates import date2num

    names = entries if entries.dtype.kind in "OTU" and isinstance(entries[0], str) else _short_dates(dates)
    return Index(date2num(dates), names, "dates", title)


def _dates(entries: np.ndarray) -> np.ndarray | None:
    """Entries as datetime64 (n_samples,), None if they are not all dates."""
    if entries.dtype.kind == "M":
        return entries
    if all(hasattr(entry, "to_timestamp") for entry in entries):  # periods of pandas
        entries = np.array([entry.to_timestamp() for entry in entries], object)
    if all(isinstance(entry, date) for entry in entries):
        # Times of a zone are shown as their clocks show them.
        plain = [entry.replace(tzinfo=None) if getattr(entry, "tzinfo", None) else entry for entry in entries]
        return np.array(plain, "datetime64[us]")
    if all(isinstance(entry, str) and ISO_DATE.fullmatch(entry) for entry in entries):
        try:
            return np.array([str(entry) for entry in entries], "datetime64[us]")
        except ValueError:  # a thirteenth month
            return None
    return None


def _short_dates(dates: np.ndarray) -> np.ndarray:
    """Dates as text, without what all of them leave at its beginning."""
    unit = next((u for u in ("Y", "M", "D", "m", "s") if np.all(dates == dates.astype(f"datetime64[{u}]"))), "ms")
    return np.datetime_as_string(dates.astype(f"datetime64[{unit}]"))


def _series(series: Any, n_samples: int) -> tuple[str, np.ndarray]:
    """The name of a series and its numbers, NaN where missing."""
    name = getattr(series, "name", None) or ""
    if isinstance(series, Mapping):
        if len(series) != 1:
            raise HicorexError(f"series has {len(series)} entries; give one name with its numbers.")
        ((name, series),) = series.items()
    try:
        numbers = np.asarray(series, dtype=float)
    except (TypeError, ValueError):
        raise HicorexError("series holds what is not a number; give a number for each sample.") from None
    if numbers.shape != (n_samples,):
        raise HicorexError(f"series has shape {numbers.shape} for {n_samples} samples; give one number a sample.")
    return str(name), np.where(np.isfinite(numbers), numbers, np.nan)
