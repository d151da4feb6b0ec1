"""Smoothing.

Mean score of 2000 new samples after a fit to N, by the number of samples of the column's marginal that every state is
given, mean of five seeds. hicorex uses 1.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone
from internals import smoothed

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree

STRENGTHS = {"none": 1e-6, "0.3": 0.3, "1": 1.0, "3": 3.0, "10": 10.0}


def gaussian_factors(n_samples, seed):
    """Weak Gaussian dependence: five factors, ten variables each, signal and noise alike."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.normal(size=(n_samples, 5)), 10, axis=1) + rng.normal(size=(n_samples, 50))


DATA = {
    "example 1, 100 variables": (lambda n, s: make_independent_clusters(n, cluster_size=25, random_state=s)[0], 4),
    "Gaussian factors, 50 variables": (gaussian_factors, 5),
    "latent tree, 60 variables": (lambda n, s: make_latent_tree(n, 60, 4, random_state=s)[0], 4),
    "noise, 50 binary variables": (lambda n, s: np.random.default_rng(s).integers(2, size=(n, 50)), 4),
}


def score(make, n_factors, n_samples, seeds) -> float:
    scores = []
    for seed in seeds:
        X = make(n_samples + 2000, seed)
        scores.append(Corex(n_factors, n_states=2, random_state=0, n_init=3).fit(X[:n_samples]).score(X[n_samples:]))
    return float(np.mean(scores))


def measure(quick: bool) -> Iterator[Block]:
    sizes, seeds = ((50,), range(1)) if quick else ((50, 100, 200, 1000), range(5))
    rows = []
    for name, (make, n_factors) in list(DATA.items())[: 1 if quick else None]:
        for n_samples in sizes:
            scores = []
            for strength in STRENGTHS.values():
                with smoothed(strength):
                    scores.append(score(make, n_factors, n_samples, seeds))
            rows.append([name, n_samples, *scores])
    yield Table({"data": "", "N": ""} | dict.fromkeys(STRENGTHS, ".2f"), rows)


if __name__ == "__main__":
    alone(measure)
