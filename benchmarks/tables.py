"""Tables that several benchmarks fit: made ones of known structure, and some of the real ones."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from harness import real_data

from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters


class Case(NamedTuple):
    """A table with its settings and truth: the cluster of each variable, and the total correlation where known."""

    name: str
    X: np.ndarray | pd.DataFrame
    n_factors: int
    n_states: int
    clusters: np.ndarray
    total_correlation: float | None


def examples(cluster_size: int = 100) -> Iterator[Case]:
    """The two examples of the paper; in the second one the last cluster, 3, belongs to two factors."""
    X, truth = make_independent_clusters(cluster_size=cluster_size, random_state=0)
    yield Case("example 1", X, 4, 2, truth.clusters, truth.total_correlation)
    X, truth = make_overlapping_clusters(cluster_size=cluster_size, random_state=0)
    yield Case("example 2", X, 3, 2, truth.clusters, truth.total_correlation)


def latent_tree(n_samples: int, n_columns: int, n_factors: int, **settings: float) -> Case:
    """Binary variables on a tree."""
    X, truth = make_latent_tree(n_samples, n_columns, n_factors, random_state=0, **settings)
    name = f"latent tree, {n_samples} x {n_columns}, m={n_factors}"
    return Case(name, X, n_factors, 2, truth.clusters, truth.total_correlation)


def big5_sample() -> Case | None:
    """Two thousand people's answers to fifty questions, whose five traits take turns; None where it is absent."""
    path = real_data.find("big5/test_big5.csv.gz")
    if path is None:
        return None
    answers = pd.read_csv(path).iloc[:, -50:]
    return Case("Big-5 sample", answers.where(answers >= 0).astype("Int64"), 5, 3, np.arange(50) % 5, None)


def big5_full() -> tuple[np.ndarray, list[str]] | None:
    """All complete rows of the larger survey, and the trait of each question by its letter."""
    path = real_data.find("big5/big5_full.csv.gz")
    if path is None:
        return None
    answers = pd.read_csv(path, keep_default_na=False).iloc[:, 7:]
    return answers[(answers != 0).all(axis=1)].to_numpy(), [name[0] for name in answers]


def gaussian_groups(n_samples: int, n_columns: int, n_groups: int, noise: float, seed: int = 0) -> np.ndarray:
    """Columns in groups that take turns, each the group's hidden coin, 0 or 1, and noise; in single precision."""
    rng = np.random.default_rng(seed)
    coins = rng.integers(2, size=(n_samples, n_groups)).astype(np.float32)
    X = coins[:, np.arange(n_columns) % n_groups]
    X += np.float32(noise) * rng.standard_normal(X.shape, np.float32)
    return X


def binary_groups(n_samples: int, n_columns: int, n_groups: int, flip: float, seed: int = 0) -> np.ndarray:
    """Columns in groups that take turns, each a copy of the group's hidden coin that differs now and then."""
    rng = np.random.default_rng(seed)
    coins = rng.integers(2, size=(n_samples, n_groups), dtype=np.uint8)
    X = coins[:, np.arange(n_columns) % n_groups]
    X ^= rng.random(X.shape, np.float32) < flip
    return X


def arrow_columns(values: np.ndarray) -> pa.Table:
    """The columns of an array as a table of pyarrow."""
    return pa.table([pa.array(column) for column in values.T], names=[f"g{i}" for i in range(values.shape[1])])


def mixed_columns(n_rows: int, seed: int = 0) -> pa.Table:
    """Ten columns: names of rows, and real numbers, whole numbers and texts that follow a coin or nothing."""
    rng = np.random.default_rng(seed)
    coin = rng.integers(2, size=n_rows)
    columns = {"sample": np.char.add("s", np.arange(n_rows).astype(str))}
    for at, size in enumerate((5, 100, 1_000_000)):
        columns[f"real {at}"] = (coin + rng.standard_normal(n_rows)).round(5)
        columns[f"whole {at}"] = rng.integers(size, size=n_rows)
    for at, size in enumerate((3, 50, 1000)):
        words = np.array([f"category {k}" for k in range(size)])
        columns[f"text {at}"] = words[np.where(rng.random(n_rows) < 0.5, coin, rng.integers(size, size=n_rows))]
    return pa.table(columns)
