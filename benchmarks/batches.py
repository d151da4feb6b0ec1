"""Batches against all samples: time and bound, as the rows grow.

    python benchmarks/batches.py [--small]

100 Gaussian columns, each of which belongs to one to three of 20 hidden bits; a fit of 20 factors by default settings,
and with batches of 10,000 samples. The goal: within 1% of the bound in a tenth of the time at 1,000,000 rows.
"""

import argparse
import time
import warnings

import numpy as np

from hicorex import Corex

N_COLUMNS, N_FACTORS, BATCH = 100, 20, 10_000


def make(n_rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    weight = np.zeros((N_FACTORS, N_COLUMNS), np.float32)
    for i in range(N_COLUMNS):
        own = rng.choice(N_FACTORS, rng.integers(1, 4), replace=False)
        weight[own, i] = rng.uniform(0.5, 1.5, own.size)
    table = np.empty((n_rows, N_COLUMNS), np.float32)
    for first in range(0, n_rows, 100_000):
        rows = table[first : first + 100_000]
        rows[:] = rng.integers(0, 2, (len(rows), N_FACTORS)).astype(np.float32) @ weight
        rows += 0.7 * rng.standard_normal(rows.shape, np.float32)
    return table


def main() -> None:
    """Print a row for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    few = make(50_000)
    for size in (None, 5000):  # to compile
        Corex(N_FACTORS, n_init=2, max_iter=3, batch_size=size).fit(few)
    print("     rows   all s  batches s  ratio  bound of all  of batches  iterations")
    for n_rows in (100_000, 300_000) if given.small else (100_000, 300_000, 1_000_000):
        table = make(n_rows)
        seconds, models = [], []
        for size in (None, BATCH):
            start = time.perf_counter()
            models.append(Corex(N_FACTORS, batch_size=size, random_state=0).fit(table))
            seconds.append(time.perf_counter() - start)
        bounds = [model.bounds_.lower for model in models]
        print(
            f"{n_rows:>9,}{seconds[0]:>8.1f}{seconds[1]:>11.1f}{seconds[1] / seconds[0]:>7.3f}{bounds[0]:>14.3f}"
            f"{bounds[1]:>12.3f}{models[0].n_iter_:>8} / {models[1].n_iter_}",
            flush=True,
        )


if __name__ == "__main__":
    main()
