"""What all pictures share: axes, colours that colour-blind people tell apart, and names that fit."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.results import printable, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Paul Tol's muted scheme, which people of any colour vision tell apart, in an order that sets neighbours off.
PALETTE = ("#332288", "#cc6677", "#117733", "#ddcc77", "#88ccee", "#882255", "#44aa99", "#999933", "#aa4499")
# Where the colours begin anew, the shape changes.
MARKERS = ("o", "s", "^", "D", "v", "P")
# For what has no group, and for lines that only guide the eye.
GREY = "#8c8c8c"
# Amounts from none to much, and from low over usual to high.
AMOUNTS, CONTRASTS = "cividis", "RdBu_r"


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.0) -> "Axes":
    """The axes given, or those of a new figure of this size in inches, which leaves room for its labels."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="compressed")[1]


def style_of(number: int) -> tuple[str, str]:
    """The colour and the marker of the group of this number, from 0; GREY and a circle for -1."""
    if number < 0:
        return GREY, MARKERS[0]
    return PALETTE[number % len(PALETTE)], MARKERS[number // len(PALETTE) % len(MARKERS)]


def label_of(name: Any, most: int = 24) -> str:
    """A name as a label: without control characters, not too long, and free of what matplotlib reads as a formula."""
    return shortened(printable(str(name)), most).replace("$", r"\$")


def thinned(n: int, most: int) -> np.ndarray:
    """The indices of at most so many of n things, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def name_ticks(axis: Any, names: Iterable[str], positions: Iterable[float], size: float | None = None) -> None:
    """Put names at positions of an axis (ax.xaxis or ax.yaxis)."""
    axis.set_ticks(list(positions), [label_of(name) for name in names], fontsize=size)
