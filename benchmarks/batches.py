"""Batches.

100 Gaussian columns, each of one to three of 20 hidden bits; 20 factors by default settings, and with batches of
10,000 samples. The optima are many, so that the bounds differ by some per cent from seed to seed; try more starts where
that matters.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, timed

from hicorex import Corex

N_COLUMNS, N_FACTORS = 100, 20


def mixtures(n_rows: int) -> np.ndarray:
    """Columns that are sums of one to three hidden bits and noise."""
    rng = np.random.default_rng(0)
    mixing = np.zeros((N_FACTORS, N_COLUMNS), np.float32)
    for i in range(N_COLUMNS):
        bits = rng.choice(N_FACTORS, rng.integers(1, 4), replace=False)
        mixing[bits, i] = rng.uniform(0.5, 1.5, bits.size)
    table = np.empty((n_rows, N_COLUMNS), np.float32)
    for first in range(0, n_rows, 100_000):
        rows = table[first : first + 100_000]
        rows[:] = rng.integers(0, 2, (len(rows), N_FACTORS)).astype(np.float32) @ mixing
        rows += 0.7 * rng.standard_normal(rows.shape, np.float32)
    return table


def measure(quick: bool) -> Iterator[Block]:
    sizes, batch_size = ((4000,), 1000) if quick else ((100_000, 300_000, 1_000_000), 10_000)
    few = mixtures(sizes[0] // 2)
    for size in (None, batch_size // 2):  # compiles
        Corex(N_FACTORS, n_states=2, n_init=2, max_iter=3, batch_size=size).fit(few)
    rows = []
    for n_rows in sizes:
        X = mixtures(n_rows)
        whole, model = timed(Corex(N_FACTORS, n_states=2, random_state=0).fit, X)
        seconds, of_batches = timed(Corex(N_FACTORS, n_states=2, batch_size=batch_size, random_state=0).fit, X)
        bounds = [fitted.bounds_.lower for fitted in (model, of_batches)]
        rows.append([n_rows, whole, seconds, seconds / whole, *bounds, [model.n_iter_, of_batches.n_iter_]])
    columns = {"rows": ",", "all samples, s": ".1f", "batches, s": ".1f", "ratio": ".2f"}
    yield Table(columns | {"bound of all": ".2f", "bound of batches": ".2f", "iterations of each": ""}, rows)


if __name__ == "__main__":
    alone(measure)
