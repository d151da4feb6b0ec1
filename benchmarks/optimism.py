"""Bounds in-sample, cross-fitted and true.

Lower bounds of a hierarchy (10, 1) as fractions of the true total correlation, the mean of five seeds: 200 binary
variables on a latent tree, and 200 Gaussian ones in ten groups. A spread is the standard deviation over the seeds.
Cross-fitted models see four fifths of the samples; with 40 samples that tells. The same model on many new samples lies
between.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone

from hicorex import HierarchicalCorex
from hicorex.datasets import make_latent_tree

SIZES = (50, 100, 200, 1000, 5000)
NEW = 20_000
COLUMNS = ("in-sample", "cross-fitted", "same model, 20,000 new samples", "standard error of cross-fitted")


def binary(n_samples, seed):
    X, truth = make_latent_tree(n_samples + NEW, 200, 10, root_flip=0.25, random_state=seed)
    return X, truth.total_correlation


def gaussian(n_samples, seed):
    """Ten groups of twenty: x_i = y_j + noise with binary y_j; the truth is a mean over samples of exact densities."""
    rng = np.random.default_rng(seed)
    coins = rng.integers(2, size=(n_samples + NEW, 10)) * 2 - 1
    group = np.arange(200) % 10
    X = coins[:, group] + 1.5 * rng.normal(size=(len(coins), 200))
    away = -0.5 * (X[None] - np.array([-1, 1])[:, None, None]) ** 2 / 1.5**2
    single = np.logaddexp(*away) - np.log(2)
    together = away @ (group[:, None] == np.arange(10)).astype(float)
    return X, float(((np.logaddexp(*together) - np.log(2)).sum(axis=1) - single.sum(axis=1)).mean())


def fractions(make, n_samples, seed):
    """In-sample, cross-fitted and new-sample lower bounds and the standard error of cv, over the truth."""
    X, truth = make(n_samples, seed)
    model = HierarchicalCorex((10, 1), n_states=2, n_init=4, random_state=seed).fit(X[:n_samples])
    crossed = model.bounds(cv=5)
    bounds = model.bounds_.lower, crossed.lower, model.bounds(X[n_samples:]).lower, crossed.lower_stderr
    return np.array(bounds) / truth


def measure(quick: bool) -> Iterator[Block]:
    sizes, seeds = ((50,), range(1)) if quick else (SIZES, range(5))
    rows = []
    for make in (binary, gaussian):
        for n_samples in sizes:
            values = np.array([fractions(make, n_samples, seed) for seed in seeds])
            mean, spread = values.mean(axis=0).tolist(), values.std(axis=0).tolist()
            rows.append([make.__name__, n_samples, *mean, *spread[:2]])
    columns = {"data": "", "N": ""} | dict.fromkeys(COLUMNS, ".3f")
    yield Table(columns | dict.fromkeys(["spread in-sample", "spread cross-fitted"], ".3f"), rows)


def draw(tables: list[Table]):
    """The bounds of both kinds of data as samples grow."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    titles = {"binary": "200 binary variables on a latent tree", "gaussian": "200 Gaussian variables in ten groups"}
    for axis, (kind, title) in zip(axes, titles.items(), strict=True):
        sizes, inside, crossed, _, _, *spreads = zip(
            *(row[1:] for row in tables[0].rows if row[0] == kind), strict=True
        )
        axis.axhline(1, color="black", linewidth=1, label="true total correlation")
        for values, spread, style in (
            (inside, spreads[0], {"label": "in-sample", "color": "#d55e00", "marker": "o"}),
            (crossed, spreads[1], {"label": "cross-fitted", "color": "#0072b2", "marker": "s"}),
        ):
            axis.errorbar(sizes, values, spread, capsize=3, **style)
        axis.set(xscale="log", xlabel="samples", title=title, xticks=sizes, xticklabels=sizes)
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("lower bound / truth")
    axes[0].legend(frameon=False)
    return figure


if __name__ == "__main__":
    alone(measure)
