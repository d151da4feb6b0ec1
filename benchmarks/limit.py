"""One iteration against the matrix products it cannot do without, measured in the same run."""

from time import perf_counter

import numpy as np

from hicorex.columns import Columns, Schema
from hicorex.datasets import make_latent_tree, make_overlapping_clusters
from hicorex.engine import LocalEngine
from hicorex.layer import first_state, run_pass, update
from hicorex.structure import RULES

REPEATS = 15


def seconds(function) -> float:
    """The shortest of several runs: what the machine can do when nothing disturbs it."""
    times = []
    for _ in range(REPEATS):
        begin = perf_counter()
        function()
        times.append(perf_counter() - begin)
    return min(times)


def gaussian_groups(n_samples, n_columns, n_groups, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.standard_normal((n_samples, n_groups)) > 0
    return groups[:, np.arange(n_columns) % n_groups] + 0.5 * rng.standard_normal((n_samples, n_columns))


def limit(n_samples, n_columns, n_factors, n_features) -> float:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_samples, n_columns)).astype(np.float32)
    w = rng.standard_normal((n_columns, n_factors)).astype(np.float32)
    p = rng.random((n_samples, n_factors)).astype(np.float32)
    return n_features * (seconds(lambda: x @ w) + seconds(lambda: x.T @ p))


def iteration(X, n_factors, structure) -> float:
    table = Columns(X)
    weight = np.ones(len(X))
    data, _ = Schema(table, "auto", weight).encode(table, weight, np.float32)
    rule = RULES[structure]
    with LocalEngine() as engine:
        state = first_state(data, n_factors, 2, np.random.default_rng(0), [np.random.default_rng(1)])
        for _ in range(6):
            state, _ = update(state, run_pass(state, data, engine), data, rule, engine)
        return seconds(lambda: update(state, run_pass(state, data, engine), data, rule, engine))


def main() -> None:
    cases = [
        ("binary, latent tree", make_latent_tree(2000, 2000, 20, random_state=0)[0], 20, 1),
        ("Gaussian, groups", gaussian_groups(2000, 1000, 20), 20, 2),
        ("Gaussian, example 2", make_overlapping_clusters(100, 5000, random_state=0)[0], 3, 2),
    ]
    print("| data | N x n | m | products, ms | rule | iteration, ms | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, X, n_factors, n_features in cases:
        for structure in RULES:
            floor = limit(*X.shape, n_factors, n_features)
            time = iteration(X, n_factors, structure)
            shape = f"{X.shape[0]} x {X.shape[1]}"
            print(
                f"| {name} | {shape} | {n_factors} | {1e3 * floor:.1f} | {structure} | {1e3 * time:.1f} | {time / floor:.1f} |"
            )


if __name__ == "__main__":
    main()
