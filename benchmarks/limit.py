"""One iteration against its matrix products.

One iteration of one start against the float32 products that it cannot do without, on all cores: X W and X^T P with m
columns, and for Gaussian marginals the same for X^2. The two take turns; each time is the shortest of forty runs. The
rule `overlap` looks at the guess of every factor for every variable in every sample, which no product gives.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, shortest
from internals import RULES, LocalEngine, encode, iterate, settled, source_of
from tables import gaussian_groups

from hicorex.datasets import make_latent_tree, make_overlapping_clusters

ITERATIONS = 4


def products(n_samples, n_columns, n_factors, n_features):
    """X W and X^T P in float32, for X alone or for X and its square."""
    rng = np.random.default_rng(0)
    features = [rng.standard_normal((n_samples, n_columns)).astype(np.float32) for _ in range(n_features)]
    w = rng.standard_normal((n_columns, n_factors)).astype(np.float32)
    p = rng.random((n_samples, n_factors)).astype(np.float32)
    return lambda: [(x @ w, x.T @ p) for x in features]


def iterations(X, n_factors, structure):
    """Several iterations from the same state."""
    with LocalEngine() as engine:
        data = encode(source_of(X), engine)
        state = settled(data, n_factors, 1, structure, engine)

    def run():
        with LocalEngine() as engine:
            for _ in range(ITERATIONS):
                iterate(state, data, structure, engine)

    return run


def measure(quick: bool) -> Iterator[Block]:
    part, rounds = (10, 1) if quick else (1, 4)
    cases = [
        ("binary, latent tree", make_latent_tree(2000 // part, 2000 // part, 20, random_state=0)[0], 20, 1),
        ("Gaussian, groups", gaussian_groups(2000 // part, 1000 // part, 20, noise=0.5), 20, 2),
        ("Gaussian, example 2", make_overlapping_clusters(100, 5000 // part, random_state=0)[0], 3, 2),
    ]
    rows = []
    for name, X, n_factors, n_features in cases:
        for structure in RULES:
            floor = products(*X.shape, n_factors, n_features)
            ours = iterations(X, n_factors, structure)
            floor_seconds, seconds = shortest(floor, ours, rounds=rounds, repeats=10 // part, pause=0.1 / part)
            seconds /= ITERATIONS
            shape = f"{X.shape[0]} x {X.shape[1]}"
            rows.append(
                [name, shape, n_factors, 1e3 * floor_seconds, structure, 1e3 * seconds, seconds / floor_seconds]
            )
    columns = {"data": "", "N x n": "", "m": "", "products, ms": ".1f", "rule": "", "iteration, ms": ".1f"}
    yield Table(columns | {"ratio": ".1f"}, rows)


if __name__ == "__main__":
    alone(measure)
