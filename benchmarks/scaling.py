"""Scaling.

Fits of fifteen iterations from one start, tests and bounds included, the shorter of two. An exponent of 1 is linear
cost.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, shortest, timed
from tables import gaussian_groups

from hicorex import Corex
from hicorex.datasets import make_latent_tree, make_overlapping_clusters


def gaussian(n_samples, n_columns, n_groups):
    return gaussian_groups(n_samples, n_columns, n_groups, noise=0.5).astype(float)


def binary(n_samples, n_columns, n_groups):
    return make_latent_tree(n_samples, n_columns, n_groups, random_state=0)[0]


# For each quantity that grows: its sizes, and of each size samples, variables, groups and factors.
SWEEPS = {
    "samples": ([4000, 8000, 16000, 32000], lambda size: (size, 500, 10, 10)),
    "variables": ([1000, 2000, 4000, 8000], lambda size: (1000, size, 10, 10)),
    "factors": ([10, 20, 40, 80], lambda size: (1000, 1000, 80, size)),
}


def fit_of(make, n_samples, n_columns, n_groups, n_factors):
    X = make(n_samples, n_columns, n_groups)
    return lambda: Corex(n_factors, n_states=2, n_init=1, max_iter=15, tol=0, random_state=0).fit(X)


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for growing, (sizes, shape_of) in SWEEPS.items():
        if quick:
            sizes, shape_of = (10, 20), lambda size: (10 * size, 10 * size, 10, 10)
        for kind, make in (("Gaussian", gaussian), ("binary", binary)):
            fits = [fit_of(make, *shape_of(size)) for size in sizes]
            fits[0]()  # compiles
            seconds = shortest(*fits, rounds=2)
            exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
            rows.append([growing, ", ".join(map(str, sizes)), kind, seconds, float(exponent)])
    yield Table({"growing": "", "sizes": "", "kind": "", "seconds": ".2f", "exponent": ".2f"}, rows)
    X, truth = make_overlapping_clusters(cluster_size=50 if quick else 5000, random_state=0)
    seconds, corex = timed(Corex(3, n_states=2, random_state=0).fit, X)
    explained = corex.bounds_.lower / truth.total_correlation
    yield (
        f"Example 2 with {X.shape[1]:,} variables takes {seconds:.1f} seconds with the default ten starts, and the "
        f"lower bound is {explained:.3f} of the true total correlation; the paper reports 12 minutes."
    )


if __name__ == "__main__":
    alone(measure)
