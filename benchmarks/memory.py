"""Memory.

Peak memory of a fit in a process of its own, beside twice the table plus 300 MB. The first table is so small that its
row shows what Python and its libraries take. scikit-learn imports pandas wherever that is installed, though no fit has
a use for it: a second fit runs as if it were not. Ten starts side by side hold ten times the parameters: where memory
is short and variables are very many, use a smaller `n_init`.
"""

import sys
from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, apart

CASES = {
    "Gaussian, small": (1000, 10, np.float64),
    "Gaussian": (2000, 20_000, np.float64),
    "categorical, int64": (200_000, 500, np.int64),
    "categorical, int8": (200_000, 500, np.int8),
}


def fit(n_samples, n_columns, dtype, n_init, with_pandas) -> int:
    """Fit a table of noise; its bytes."""
    if not with_pandas:
        assert "pandas" not in sys.modules
        sys.modules["pandas"] = None  # type: ignore[assignment]  # an import then fails
    from hicorex import Corex

    rng = np.random.default_rng(0)
    shape = (n_samples, n_columns)
    X = rng.standard_normal(shape) if dtype is np.float64 else rng.integers(5, size=shape, dtype=dtype)
    Corex(5, n_states=2, n_init=n_init, max_iter=12, random_state=0).fit(X)
    return X.nbytes


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for kind, (n_samples, n_columns, dtype) in list(CASES.items())[: 1 if quick else None]:
        for n_init in (1,) if quick else (1, 10):
            runs = [apart(fit, n_samples, n_columns, dtype, n_init, with_pandas) for with_pandas in (True, False)]
            size = runs[0].result / 1e6
            peaks = [run.peak for run in runs]
            rows.append([f"{n_samples:,} x {n_columns:,} {kind}", size, n_init, *peaks, 2 * size + 300])
    columns = {"table": "", "size, MB": ".0f", "starts": "", "peak, MB": ".0f", "peak without pandas, MB": ".0f"}
    yield Table(columns | {"twice the table plus 300, MB": ".0f"}, rows)


if __name__ == "__main__":
    alone(measure)
