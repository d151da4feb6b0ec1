"""Amounts as they are, or by rank.

Held-out bounds in nats, five folds and the same sizes: all amounts Gaussian, all by rank, and as "auto" chooses column
by column. The last numbers are how far "auto" is from the better of both at the worst of three seeds, and how many
amounts it reads by rank. Made tables have five groups of six columns about a factor each, or clusters that stand apart.
"""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from harness import Block, Table, alone, real_data

import hicorex
from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_overlapping_clusters

AMOUNTS = ("gaussian", "rank")
MOST_ROWS = 12_000
SEEDS = range(3)


class Amounts(NamedTuple):
    """A table, and the number of factors and of states that it is fitted with."""

    name: str
    frame: pd.DataFrame
    n_factors: int
    n_states: int


def groups(rng: np.random.Generator) -> np.ndarray:
    root = rng.normal(size=(500, 1))
    factors = 0.6 * root + 0.8 * rng.normal(size=(500, 5))
    return factors.repeat(6, axis=1) + 0.7 * rng.normal(size=(500, 30))


def made(seed: int) -> Iterator[Amounts]:
    rng = np.random.default_rng(seed)
    x = groups(rng)
    shares = rng.choice(3, p=[0.7, 0.2, 0.1], size=(400, 4)).repeat(8, axis=1)
    rare = (rng.random((500, 4)) < 0.08).repeat(8, axis=1)
    tables = [
        ("example 1", make_independent_clusters(300, 4, 12, random_state=seed)[0], 4, 2),
        ("example 2", make_overlapping_clusters(300, 12, random_state=seed)[0], 3, 2),
        ("three clusters, uneven", 2.0 * shares + 0.3 * rng.normal(size=shares.shape), 4, 3),
        ("rare clusters", 3.0 * rare + rng.normal(size=rare.shape), 4, 2),
        ("Gaussian", x, 5, 3),
        ("lognormal", np.exp(1.5 * x), 5, 3),
        ("heavy tails, t(2)", x + 0.5 * rng.standard_t(2, size=x.shape), 5, 3),
        ("counts about 20", rng.poisson(np.exp(x + 3)), 5, 3),
        ("counts, many 0", rng.poisson(np.exp(1.5 * x)), 5, 3),
        ("lognormal or 0", np.where(x > 0.5, np.exp(x), 0), 5, 3),
    ]
    for name, table, n_factors, n_states in tables:
        yield Amounts(name, pd.DataFrame(table), n_factors, n_states)


REAL = {
    "sp500/monthly_returns.csv.gz": ("S&P 500", 10, 3),
    "tcga_ov/tcga_ov_881genes.csv.gz": ("genes", 10, 3),
    "census_kdd/census_income_kdd.parquet": ("census", 5, 3),
    "messy/diamonds.csv.gz": ("diamonds", 3, 4),
    "messy/grads.csv.gz": ("grads", 3, 3),
    "messy/titanic.csv.gz": ("titanic", 2, 3),
    "messy/penguins_raw.csv.gz": ("penguins", 2, 3),
    "messy/chocolate.csv.gz": ("chocolate", 2, 3),
}


def real() -> Iterator[Amounts]:
    for file, (name, n_factors, n_states) in REAL.items():
        path = real_data.find(file)
        if path is not None:
            frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
            frame = frame if len(frame) <= MOST_ROWS else frame.sample(MOST_ROWS, random_state=0)
            yield Amounts(name, frame.reset_index(drop=True), n_factors, n_states)


def explained(table: Amounts, seed: int) -> tuple[list[float], int, int]:
    """Held-out bounds of all Gaussian, all by rank, and by itself; amounts by rank, and amounts."""
    read = hicorex.read_table(table.frame)
    ways = [[kind if own in AMOUNTS else own for own in read.kinds] for kind in AMOUNTS]
    bounds = []
    for kinds in (*ways, read.kinds):
        model = Corex(table.n_factors, n_states=table.n_states, marginals=kinds, n_init=3, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bounds.append(model.fit(read.frame).bounds(cv=5).lower)
    return bounds, read.kinds.count("rank"), sum(own in AMOUNTS for own in read.kinds)


def measure(quick: bool) -> Iterator[Block]:
    seeds = SEEDS[:1] if quick else SEEDS
    tables = [(table, seed) for seed in seeds for table in made(seed)]
    if not quick:
        tables += [(table, 0) for table in real()]
    found: dict[str, list] = {}
    for table, seed in tables:
        found.setdefault(table.name, []).append((table, *explained(table, seed)))
    rows = []
    for name, runs in found.items():
        gaussian, rank, auto = np.mean([bounds for _, bounds, _, _ in runs], axis=0)
        lacks = min(bounds[2] / max(bounds[:2]) - 1 for _, bounds, _, _ in runs)
        by_rank, n_amounts = np.sum([run[2:] for run in runs], axis=0).tolist()
        rows.append([name, *runs[0][0][2:], gaussian, rank, auto, 100 * lacks, f"{by_rank} of {n_amounts}"])
    titles = {"table": "", "factors": "", "states": "", "Gaussian": ".2f", "rank": ".2f", "auto": ".2f"}
    yield Table(titles | {"least, %": "+.1f", "by rank": ""}, rows)


if __name__ == "__main__":
    alone(measure)
