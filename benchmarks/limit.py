"""One iteration against the matrix products it cannot do without, measured in the same run."""

from time import perf_counter, sleep

import numpy as np

from hicorex.datasets import make_latent_tree, make_overlapping_clusters
from hicorex.engine import LocalEngine
from hicorex.input.intake import take_in
from hicorex.layer.one_pass import run_pass
from hicorex.layer.starts import first_state
from hicorex.layer.step import update
from hicorex.layer.structure import RULES

ROUNDS = 4
REPEATS = 10


def shortest(*functions) -> list[float]:
    """The shortest of many runs of each, taken in rounds: what the machine can do when nothing disturbs it."""
    best = [np.inf] * len(functions)
    for _ in range(ROUNDS):
        for which, function in enumerate(functions):
            sleep(0.1)  # threads of the linear algebra library go on waiting for work for a while
            for _ in range(REPEATS):
                begin = perf_counter()
                function()
                best[which] = min(best[which], perf_counter() - begin)
    return best


def gaussian_groups(n_samples, n_columns, n_groups, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.standard_normal((n_samples, n_groups)) > 0
    return groups[:, np.arange(n_columns) % n_groups] + 0.5 * rng.standard_normal((n_samples, n_columns))


def products(n_samples, n_columns, n_factors, n_features):
    """X W and X^T P in float32, for X alone or for X and its square, on all cores."""
    rng = np.random.default_rng(0)
    features = [rng.standard_normal((n_samples, n_columns)).astype(np.float32) for _ in range(n_features)]
    w = rng.standard_normal((n_columns, n_factors)).astype(np.float32)
    p = rng.random((n_samples, n_factors)).astype(np.float32)
    return lambda: [(x @ w, x.T @ p) for x in features]


def times(X, n_factors, n_features, structure) -> tuple[float, float]:
    """Seconds of the products and of an iteration."""
    table = take_in(X)
    with LocalEngine() as engine:
        data = table.encode(table.learn("auto", None, engine), None, engine)
    rule = RULES[structure]
    floor = products(*X.shape, n_factors, n_features)
    with LocalEngine() as engine:
        state = first_state(data, n_factors, 2, engine, np.random.default_rng(0), [np.random.default_rng(1)])
        for _ in range(6):
            state, _ = update(state, run_pass(state, data, engine), data.blocks, rule, engine)

    def iteration():
        with LocalEngine() as engine:
            for _ in range(4):
                update(state, run_pass(state, data, engine), data.blocks, rule, engine)

    fastest = shortest(floor, iteration)
    return fastest[0], fastest[1] / 4


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
            floor, time = times(X, n_factors, n_features, structure)
            shape = f"{X.shape[0]} x {X.shape[1]}"
            numbers = f"{1e3 * floor:.1f} | {structure} | {1e3 * time:.1f} | {time / floor:.1f}"
            print(f"| {name} | {shape} | {n_factors} | {numbers} |")


if __name__ == "__main__":
    main()
