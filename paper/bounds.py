"""The bounds: never falling, never crossed, tighter with every layer.

The theorems of the paper, on systems so small that the total correlation is known exactly. The update for fixed alpha
is written out below, as in the paper. The bounds are those of the package, fitted to all values of X, each weighted by
its probability. A tree of three layers and groups of very different size show what each layer and factor contributes.
"""

from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.special import comb, rel_entr, xlogy

from hicorex import Corex, HierarchicalCorex, plot
from hicorex.datasets import make_latent_tree
from hicorex.information import total_correlation
from hicorex.plot.canvas import GREY, PALETTE

SOURCE = ""
VALUES = np.array(list(product((0, 1), repeat=6)))  # all 64 values of six binary variables
COPIES, FLIP = (40, 20, 10, 5), 0.05  # of four independent coins, and how often a copy is wrong


def random_system(rng: np.random.Generator) -> np.ndarray:
    """p(x) of six binary variables: without structure, or noisy copies of a hidden coin."""
    if rng.random() < 0.5:
        return rng.dirichlet(np.full(len(VALUES), rng.choice([0.1, 0.3, 1.0])))
    flips = rng.uniform(0.02, 0.4, size=6)
    return sum(0.5 * np.prod(np.where(coin == VALUES, 1 - flips, flips), axis=1) for coin in (0, 1))


def iterate(p: np.ndarray, alpha: np.ndarray, label: np.ndarray, n_iter: int) -> tuple[np.ndarray, float]:
    """The paper's update of p(y|x) for fixed alpha until it settles: the objective by iteration, and E[log Z]."""
    is_value = np.hstack([VALUES == 0, VALUES == 1]).astype(float)  # (64, 12): a column for each x_i = 0 and x_i = 1
    alpha = np.tile(alpha, 2)
    p_i = is_value.T @ p
    objective: list[float] = []
    while len(objective) < 2 or (len(objective) < n_iter and objective[-1] - objective[-2] > 1e-12):
        p_y = p @ label
        p_y_i = is_value.T @ (p[:, None] * label)  # p(y, x_i)
        ratio = np.log(np.maximum(p_y_i / np.outer(p_i, p_y), 1e-300))  # log p(y|x_i) / p(y)
        objective.append(alpha @ (p_y_i * ratio).sum(axis=1) - p @ rel_entr(label, p_y).sum(axis=1))
        logits = np.log(p_y) + (is_value * alpha) @ ratio
        log_z = np.logaddexp.reduce(logits, axis=1)
        label = np.exp(logits - log_z[:, None])
    return np.array(objective), float(p @ log_z)


def copies_correlation(size: int) -> float:
    """The exact total correlation of noisy copies of a fair coin."""
    wrong = np.arange(size + 1)
    p = 0.5 * (FLIP**wrong * (1 - FLIP) ** (size - wrong) + (1 - FLIP) ** wrong * FLIP ** (size - wrong))
    return float(size * np.log(2) + comb(size, wrong) @ xlogy(p, p))


def check_updates(rng: np.random.Generator, n_systems: int, n_iter: int, ax: Axes) -> list[tuple]:
    """a. The objective by iteration for fixed alpha, and its difference from the mean of log Z in the end."""
    falls, gaps = [], []
    for case in range(n_systems):
        objective, log_z = iterate(random_system(rng), rng.random(6), rng.dirichlet((1, 1), size=64), n_iter)
        falls.append(np.diff(objective).min())
        gaps.append(abs(log_z - objective[-1]))
        if case < 30:
            ax.plot(np.arange(1, len(objective) + 1), objective, color=PALETTE[case % 3], linewidth=0.8)
    ax.set(xscale="log", xlabel="iteration", ylabel="objective, nats", title="a. Fixed alpha: it never falls")
    return [
        (
            "never-falls",
            "For fixed alpha between 0 and 1 an update never lowers the objective.",
            "theorem, any system",
            f"largest fall {-min(0, *falls):.1e} nats in {n_systems} systems (criterion: 1e-10)",
            min(falls) >= -1e-10,
        ),
        (
            "log-z",
            "The mean of log Z is the objective once the updates have settled.",
            "equal at the fixed point",
            f"largest difference {max(gaps):.1e} nats, median {np.median(gaps):.1e} (criterion: 1e-6)",
            max(gaps) <= 1e-6,
        ),
    ]


def check_both_sides(rng: np.random.Generator, n_fits: int, ax: Axes) -> list[tuple]:
    """b. Bounds of systems of known total correlation."""
    exact, lower, upper = np.empty((3, n_fits))
    for case in range(n_fits):
        p = random_system(rng)
        exact[case] = total_correlation(p.reshape([2] * 6))
        model = HierarchicalCorex((2, 1), n_states=2, n_init=1, max_iter=30, n_jobs=1, random_state=case)
        bounds = model.fit(VALUES, sample_weight=1e6 * p).bounds_
        lower[case], upper[case] = bounds.lower, bounds.upper
    inside = int(np.sum((lower <= exact + 1e-9) & (upper >= exact - 1e-9)))
    order = np.argsort(exact)
    ax.vlines(np.arange(n_fits), lower[order], upper[order], color=GREY, linewidth=0.6)
    for values, mark, color, name in (
        (upper, "v", 1, "upper bound"),
        (exact, "_", 2, "truth"),
        (lower, "^", 0, "lower bound"),
    ):
        ax.plot(values[order], mark, color=PALETTE[color], markersize=4, label=name)
    ax.set(xlabel="system, by its total correlation", ylabel="nats", title="b. The truth is between the bounds")
    ax.set_ylim(top=1.25 * upper.max())
    ax.legend(frameon=False, ncols=3, loc="upper center")
    return [
        (
            "hold",
            "The total correlation lies between the lower and the upper bound.",
            "theorems, any system",
            f"in {inside} of {n_fits} systems of known p(x); median lower bound {np.median(lower / exact):.2f} of the "
            f"truth, upper bound {np.median(upper / exact):.1f} times it",
            inside == n_fits,
        )
    ]


def check_layers(n_samples: int, ax: Axes) -> list[tuple]:
    """c. The bound of a tree on new samples, layer by layer."""
    X, tree = make_latent_tree(2 * n_samples, 120, (12, 3), root_flip=0.1, flip=(0.02, 0.1), random_state=0)
    model = HierarchicalCorex((12, 3, 1), n_states=2, n_init=2, random_state=0).fit(X[:n_samples])
    held_out, truth = model.bounds(X[n_samples:]), tree.total_correlation
    layers = [layer.lower for layer in held_out.layers]
    plot.bounds(held_out, ax=ax)
    ax.axvline(truth, color=PALETTE[1], linestyle="--")
    place = {"textcoords": "offset points", "color": PALETTE[1], "va": "center"}
    ax.annotate(f"truth {truth:.1f}", (truth, 0.5), (4, 0), **place)
    ax.set_title("c. A tree of three layers, new samples", pad=42)
    return [
        (
            "layers",
            "Each layer added makes the lower bound tighter.",
            "successively tighter bounds",
            f"{', '.join(f'{value:.2f}' for value in layers)} nats with one, two and three layers on new samples "
            f"(standard error {held_out.lower_stderr:.2f}); truth {truth:.2f}",
            np.all(np.diff(layers) > 0) and layers[-1] <= truth + 2 * held_out.lower_stderr,
        )
    ]


def check_factors(rng: np.random.Generator, n_samples: int, ax: Axes) -> list[tuple]:
    """d. What each of eight factors contributes, where there are four groups of very different size."""
    coins = rng.integers(2, size=(n_samples, len(COPIES)))
    group = rng.permutation(np.repeat(np.arange(len(COPIES)), COPIES))
    X = coins[:, group] ^ (rng.random((n_samples, group.size)) < FLIP)
    corex = Corex(8, n_states=2, n_init=4, random_state=0).fit(X)
    sizing = Corex("auto", n_states=2, n_init=4, random_state=0).fit(X)
    contributions = np.array([factor.contribution for factor in corex.bounds_.factors])
    members = [group[corex.clusters_ == j] for j in range(8)]
    owners = [int(np.bincount(variables).argmax()) if variables.size else -1 for variables in members]
    signals = np.array([copies_correlation(size) for size in COPIES])
    ax.bar(np.arange(8) - 0.2, contributions, 0.4, color=PALETTE[0], label="contribution of the factor")
    ax.bar(np.arange(4) + 0.2, signals, 0.4, color=PALETTE[3], label="total correlation of its group")
    ax.set(xlabel="factor", ylabel="nats", title=f"d. Groups of {COPIES} copies, eight factors", xticks=range(8))
    ax.legend(frameon=False)
    return [
        (
            "ranking",
            "The contributions of factors rank the signals in the data.",
            "ranks the most informative signals",
            f"contributions {', '.join(f'{value:.1f}' for value in contributions[:4])} nats for groups whose total "
            f"correlations are {', '.join(f'{value:.1f}' for value in signals)}",
            owners[:4] == [0, 1, 2, 3] and np.all(np.diff(contributions[:4]) < 0),
        ),
        (
            "diminishing",
            "Factors beyond those that the data have add next to nothing, which tells when to stop.",
            "diminishing returns",
            f"four surplus factors contribute {np.clip(contributions[4:], 0, None).sum():.3f} of {signals.sum():.1f} "
            f'nats; "auto" takes {sizing.n_factors_} factors of a true 4',
            contributions[4:].max() < 0.01 * signals.sum() and sizing.n_factors_ == 4,
        ),
    ]


def run(out: Path, quick: bool, source: Path | None) -> list[dict]:
    """Check the theorems and draw one figure of four parts."""
    rng = np.random.default_rng(0)
    n_systems, n_iter, n_fits, n_samples = (20, 1000, 4, 400) if quick else (200, 10_000, 100, 2000)
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
    rows = [
        *check_updates(rng, n_systems, n_iter, axes[0, 0]),
        *check_both_sides(rng, n_fits, axes[0, 1]),
        *check_layers(n_samples, axes[1, 0]),
        *check_factors(rng, n_samples, axes[1, 1]),
    ]
    figure.savefig(out / "bounds.png", dpi=110)
    plt.close(figure)
    return [
        {"id": f"bounds:{key}", "claim": claim, "paper": paper, "measured": measured, "reproduced": bool(holds)}
        for key, claim, paper, measured, holds in rows
    ]
