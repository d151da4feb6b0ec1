"""Beyond the paper: tighter bounds, sizes found, no optimism.

The paper leaves three things open: a better rule for unique information, the number of factors, and what
the bounds are worth when samples are few. Here are the answers of hicorex, on the two examples of the paper and on a
latent tree with variables that follow two factors each, all of known total correlation. Then a tree of 40 variables
among 100 variables of noise, with few samples: bounds on the samples of the fit are too high, held-out ones are not.
"""

from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters
from hicorex.plot.canvas import PALETTE

SOURCE = ""
FLIP, N_NOISE = 0.1, 100
LABELS = (
    "paper's rule: objective",
    "paper's rule: tighter bound",
    "our rule: objective",
    "our rule: tighter bound",
    "our rule: held-out bound",
)


def overlapping_tree(n_samples: int, seed: int) -> tuple[np.ndarray, float]:
    """Six coins on a tree, ten noisy copies of each, ten noisy sums of each pair; and the total correlation."""
    rng = np.random.default_rng(seed)
    states = np.array(list(product((0, 1), repeat=6)))  # of the six factors
    chance = sum(0.5 * np.prod(np.where(states == root, 0.7, 0.3), axis=1) for root in (0, 1))
    state = rng.choice(len(states), size=n_samples, p=chance)
    clean = np.hstack([np.repeat(states, 10, axis=1), np.repeat(states[:, ::2] + states[:, 1::2], 10, axis=1)])
    n_values = np.repeat([2, 3], [60, 30])
    noisy = rng.random((n_samples, 90)) < FLIP
    X = np.where(noisy, rng.integers(n_values, size=(n_samples, 90)), clean[state])
    # Given the factors the variables are independent, so that p(x) is a sum over the 64 states.
    right, wrong = 1 - FLIP + FLIP / n_values, FLIP / n_values
    log_p = np.log(np.where(X[:, None, :] == clean, right, wrong)).sum(axis=2)
    single = [chance @ np.where(clean == value, right, wrong) for value in range(3)]
    alone = np.log(np.choose(X, single)).sum(axis=1)
    return X, float((logsumexp(log_p + np.log(chance), axis=1) - alone).mean())


def tables(size: int, n_samples: int) -> dict[str, tuple[np.ndarray, float, int]]:
    """Of each table the samples, the total correlation and the number of factors."""
    found = {}
    for name, make, m in (("example 1", make_independent_clusters, 4), ("example 2", make_overlapping_clusters, 3)):
        X, truth = make(cluster_size=size, random_state=0)
        found[name] = (X, truth.total_correlation, m)
    return found | {"tree with overlap": (*overlapping_tree(n_samples, 0), 6)}


def bounds_over_truth(X: np.ndarray, truth: float, m: int, n_init: int) -> np.ndarray:
    """Objective and tighter bound by the paper's rule and by ours, and the held-out bound by ours."""
    paper, ours = (
        Corex(m, n_states=2, structure=rule, n_init=n_init, random_state=0).fit(X) for rule in ("overlap", "unique")
    )
    bounds = [paper.tc_, paper.bounds_.lower, ours.tc_, ours.bounds_.lower, ours.bounds(cv=5).lower]
    return np.array(bounds) / truth


def few_samples(counts: tuple[int, ...], seeds: range, n_init: int) -> np.ndarray:
    """In-sample and held-out bounds and the standard error of the latter, over the truth, (3, counts, seeds)."""
    found = np.empty((3, len(counts), len(seeds)))
    for seed in seeds:
        X, tree = make_latent_tree(20_000, 40, 4, random_state=seed)
        for k, count in enumerate(counts):
            noise = np.random.default_rng(seed).integers(2, size=(count, N_NOISE))
            corex = Corex(4, n_states=2, n_init=n_init, random_state=seed).fit(np.hstack([X[:count], noise]))
            crossed = corex.bounds(cv=5)
            bounds = np.array([corex.bounds_.lower, crossed.lower, crossed.lower_stderr])
            found[:, k, seed] = bounds / tree.total_correlation
    return found


def draw(fractions: dict[str, np.ndarray], counts: tuple[int, ...], few: np.ndarray, out: Path) -> None:
    """All bounds of each table, and those of few samples, over the truth."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained", width_ratios=(1.5, 1))
    for k, label in enumerate(LABELS):
        heights = [values[k] for values in fractions.values()]
        axes[0].bar(np.arange(3) + 0.16 * (k - 2), heights, 0.15, color=PALETTE[k], label=label)
    axes[0].set_xticks(range(3), fractions)
    axes[0].set(ylabel="fraction of the true total correlation", title="One layer of as many factors as there are")
    for k, (label, values) in enumerate(zip(("samples of the fit", "held out, cv=5"), few, strict=False)):
        mean = values.mean(axis=1)
        spread = [mean - values.min(axis=1), values.max(axis=1) - mean]
        style = {"color": PALETTE[3 + k], "label": label}
        axes[1].bar(np.arange(len(counts)) + 0.4 * k - 0.2, mean, 0.38, yerr=spread, capsize=3, **style)
    axes[1].set_xticks(range(len(counts)), counts)
    axes[1].set(xlabel="samples", title=f"40 variables of a tree, {N_NOISE} of noise (line: all seeds)")
    for ax in axes:
        ax.axhline(1, color="black", linestyle="--", linewidth=1, label="truth")
        ax.set_ylim(top=1.5 * max(1, ax.get_ylim()[1] / 1.05))
        ax.legend(frameon=False, fontsize=9, ncols=2)
    figure.savefig(out / "beyond.png", dpi=110)
    plt.close(figure)


def run(out: Path, quick: bool, source: Path | None) -> list[dict]:
    """Fit with the paper's rule and ours, find sizes, and hold the bounds against the truth."""
    n_init, n_samples, size, seeds = (1, 300, 20, range(1)) if quick else (10, 2000, 100, range(5))
    counts = (50,) if quick else (50, 100, 200)
    fractions, sizes = {}, {}
    for name, (X, truth, m) in tables(size, n_samples).items():
        fractions[name] = bounds_over_truth(X, truth, m, n_init)
        sizes[name] = (Corex("auto", n_states=2, n_init=n_init, random_state=0).fit(X).n_factors_, m)
    few = few_samples(counts, seeds, n_init)
    in_sample, held_out, errors = few
    draw(fractions, counts, few, out)
    every = np.array(list(fractions.values()))
    short = max(0, (every[:, 0] - every[:, 1]).max(), (every[:, 2] - every[:, 3]).max())
    above = int((held_out > 1 + 2 * errors).sum())
    return [
        {
            "id": "beyond:tighter",
            "claim": "A bound that counts what factors know together is not below the objective, and far above it "
            "where variables follow two factors.",
            "paper": "left to further research",
            "measured": "shares of the truth (paper's rule: objective, tighter bound; our rule: the same): "
            + "; ".join(f"{name} {', '.join(f'{v:.2f}' for v in values[:4])}" for name, values in fractions.items())
            + f"; below the objective by {short:.0e} at most (criterion: 1e-4, for rounding)",
            "reproduced": bool(short <= 1e-4 and np.all(every[1:, 3] > every[1:, 0] + 0.05)),
        },
        {
            "id": "beyond:sizing",
            "claim": "The number of factors is found from the data.",
            "paper": "future work",
            "measured": "; ".join(f"{name}: {found} of a true {m}" for name, (found, m) in sizes.items()),
            "reproduced": all(found == m for found, m in sizes.values()),
        },
        {
            "id": "beyond:held-out",
            "claim": "With few samples bounds on the samples of the fit are too high; held-out bounds are not.",
            "paper": "not in the paper",
            "measured": f"with {', '.join(map(str, counts))} samples: in-sample "
            f"{', '.join(f'{v:.2f}' for v in in_sample.mean(axis=1))} of the truth, held out "
            f"{', '.join(f'{v:.2f}' for v in held_out.mean(axis=1))} (means of {len(seeds)} seeds); "
            f"{above} of {held_out.size} held-out bounds above the truth by more than two standard errors",
            "reproduced": bool(np.all(held_out.mean(axis=1) <= 1) and above == 0 and in_sample[0].mean() > 1),
        },
    ]
