"""Memory.

Peak memory of a fit in a process of its own, beside twice the table plus 300 MB. The first table is so small that its
row shows what Python and its libraries take. Ten starts side by side hold ten times the parameters: where memory is
short and variables are very many, use a smaller `n_init`.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, apart

CASES = {
    "Gaussian, small": (1000, 10, np.float64),
    "Gaussian": (2000, 20_000, np.float64),
    "categorical, int64": (200_000, 500, np.int64),
    "categorical, int8": (200_000, 500, np.int8),
}


def fit(n_samples, n_columns, dtype, n_init) -> int:
    """Fit a table of noise; its bytes."""
    from hicorex import Corex

    rng = np.random.default_rng(0)
    shape = (n_samples, n_columns)
    X = rng.standard_normal(shape) if dtype is np.float64 else rng.integers(5, size=shape, dtype=dtype)
    Corex(5, n_init=n_init, max_iter=12, random_state=0).fit(X)
    return X.nbytes


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for kind, (n_samples, n_columns, dtype) in list(CASES.items())[: 1 if quick else None]:
        for n_init in (1,) if quick else (1, 10):
            size, _, peak = apart(fit, n_samples, n_columns, dtype, n_init)
            rows.append([f"{n_samples:,} x {n_columns:,} {kind}", size / 1e6, n_init, peak, 2 * size / 1e6 + 300])
    columns = {"table": "", "size, MB": ".0f", "starts": "", "peak, MB": ".0f", "twice the table plus 300, MB": ".0f"}
    yield Table(columns, rows)


if __name__ == "__main__":
    alone(measure)
