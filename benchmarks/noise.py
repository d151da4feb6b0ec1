"""Noise.

The fraction of variables that are given a cluster in independent data, the mean over eight seeds, and the largest score
of 1000 new samples, in standard errors: structure that is not there would be above 0.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone

from hicorex import Corex

KINDS = {
    "Gaussian": lambda rng, shape: rng.normal(size=shape),
    "binary": lambda rng, shape: rng.integers(2, size=shape),
    "five categories": lambda rng, shape: rng.integers(5, size=shape),
}
# Samples, variables, factors, states.
SETTINGS = ((100, 50, 4, 2), (200, 200, 4, 2), (100, 1000, 3, 2), (1000, 50, 5, 3))


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for n_samples, n_columns, n_factors, n_states in SETTINGS[: 1 if quick else None]:
        clustered, largest = [], -np.inf
        for make in KINDS.values():
            fractions = []
            for seed in range(1 if quick else 8):
                rng = np.random.default_rng(seed)
                corex = Corex(n_factors, n_states=n_states, random_state=seed).fit(make(rng, (n_samples, n_columns)))
                scores = corex.score_samples(make(rng, (1000, n_columns)))
                fractions.append(np.mean(corex.clusters_ >= 0))
                if scores.std() > 0:
                    largest = max(largest, float(scores.mean() / scores.std() * np.sqrt(len(scores))))
            clustered.append(float(np.mean(fractions)))
        rows.append([f"{n_samples} x {n_columns}, {n_factors}, {n_states}", *clustered, largest])
    columns = {"N x n, factors, states": ""} | dict.fromkeys(KINDS, ".3f")
    yield Table(columns | {"largest score": ".1f"}, rows)


if __name__ == "__main__":
    alone(measure)
