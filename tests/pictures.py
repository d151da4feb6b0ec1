"""How pictures are looked at: what overlaps, what can be saved, and the order of variables in them."""

import io
from itertools import combinations

import numpy as np
from matplotlib.text import Text


def plain_order(layer):
    """The variables by cluster and falling weight, those of none last, one by one."""
    weight = layer.alpha_ * layer.mutual_information_
    keys = []
    for i, cluster in enumerate(layer.clusters_.tolist()):
        assigned = cluster >= 0
        keys.append((cluster if assigned else np.inf, -(weight[i, cluster] if assigned else weight[i].max()), i))
    return [key[-1] for key in sorted(keys)]


def boxes_of(texts):
    """Where texts are on a picture."""
    texts[0].figure.canvas.draw()
    return [Text.get_window_extent(text) for text in texts]


def assert_apart(texts):
    for one, other in combinations(boxes_of(texts), 2):
        assert not one.overlaps(other)


def check_savable(axes):
    first = axes[0] if isinstance(axes, tuple) else axes
    for kind in ("png", "svg"):
        first.figure.savefig(io.BytesIO(), format=kind)
