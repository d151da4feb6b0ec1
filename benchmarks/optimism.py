"""How far in-sample, cross-fitted and true values lie apart as samples grow: a table, and a figure in docs/figures."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from hicorex import HierarchicalCorex
from hicorex.datasets import make_latent_tree

SIZES = (50, 100, 200, 1000, 5000)
SEEDS = 5
NEW = 20_000
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "optimism.png"


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
    alone = np.logaddexp(*away) - np.log(2)
    together = away @ (group[:, None] == np.arange(10)).astype(float)
    return X, float(((np.logaddexp(*together) - np.log(2)).sum(axis=1) - alone.sum(axis=1)).mean())


def measure(make, n_samples, seed):
    """In-sample, cross-fitted and new-sample lower bounds as shares of the truth, and the standard error of cv."""
    X, truth = make(n_samples, seed)
    model = HierarchicalCorex((10, 1), n_init=4, random_state=seed).fit(X[:n_samples])
    crossed = model.bounds(cv=5)
    found = model.bounds_.lower, crossed.lower, model.bounds(X[n_samples:]).lower, crossed.lower_stderr
    return np.array(found) / truth


def main():
    print("| data | N | in-sample | cross-fitted | its standard error | same model, 20,000 new samples |")
    print("|---|---|---|---|---|---|")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    titles = {"binary": "200 binary variables on a latent tree", "gaussian": "200 Gaussian variables in ten groups"}
    for axis, make in zip(axes, (binary, gaussian), strict=True):
        shares = np.array([[measure(make, n, seed) for seed in range(SEEDS)] for n in SIZES])
        for n, (inside, crossed, new, stderr) in zip(SIZES, shares.mean(axis=1), strict=True):
            print(f"| {make.__name__} | {n} | {inside:.3f} | {crossed:.3f} | {stderr:.3f} | {new:.3f} |", flush=True)
        middle, spread = shares.mean(axis=1), shares.std(axis=1)
        axis.axhline(1, color="black", linewidth=1, label="true total correlation")
        for column, name, colour, marker in ((0, "in-sample", "#d55e00", "o"), (1, "cross-fitted", "#0072b2", "s")):
            axis.errorbar(
                SIZES, middle[:, column], spread[:, column], color=colour, marker=marker, capsize=3, label=name
            )
        axis.set(xscale="log", xlabel="samples", title=titles[make.__name__], xticks=SIZES, xticklabels=SIZES)
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("lower bound / truth")
    axes[0].legend(frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=120)


if __name__ == "__main__":
    main()
