"""Shared helpers: random tables of every kind, the real data sets where they are, leak checks."""

import threading
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def real_data():
    """The folder of real data sets, which is not part of the project."""
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}")
    return DATA


@pytest.fixture(autouse=True)
def no_leaked_threads():
    """Whatever a test starts has ended when it is over."""
    before = set(threading.enumerate())
    yield
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("ThreadPoolExecutor")]


def mixed_table(rng, n_samples=60, missing=0.0):
    """Gaussian, binary and categorical columns that depend on two hidden coins, and noise of each kind."""
    coins = rng.integers(2, size=(n_samples, 2))
    columns = []
    for coin in coins.T:
        columns += [coin + rng.normal(scale=0.5, size=n_samples) for _ in range(2)]
        columns += [coin ^ (rng.random(n_samples) < 0.15) for _ in range(2)]
        columns += [2 * coin + rng.integers(2, size=n_samples)]
    columns += [coins.sum(axis=1) + rng.normal(scale=0.3, size=n_samples), coins.sum(axis=1)]
    columns += [rng.normal(size=n_samples), rng.integers(3, size=n_samples)]
    kinds = ["gaussian" if c.dtype.kind == "f" else "categorical" for c in columns]
    table = np.column_stack(columns).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    return table, kinds
