"""Latent trees, reconstructed in linear time.

Binary variables are noisy copies of 20 hidden coins, these of 4 further ones, and these of a root. The tree rule, which
links each variable to one factor, has to find all of it from 500 samples: which variable belongs to which of the 20,
and to which of the 4. The default rule is not told that the structure is a tree. The reference is average linkage on
the matrix of all correlations, which grows with the square of the number of variables. Slopes are those of log time by
log size, from 300 variables upward, taking the fastest run of each size.
"""

from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from hicorex import HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.plot.canvas import PALETTE

SOURCE = ""
N_SAMPLES = 500
LINKAGE_LIMIT = 3000  # its matrix has n * n entries
NAMES = {"tree": "tree rule", "unique": "default rule", "linkage": "average linkage"}


def clusters_of(X: np.ndarray, method: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The groups of the variables, 20 and 4, by one of the methods."""
    if method == "linkage":
        distance = 1 - np.abs(np.corrcoef(X.T))
        return tuple(
            AgglomerativeClustering(n, metric="precomputed", linkage="average").fit(distance).labels_ for n in (20, 4)
        )
    model = HierarchicalCorex((20, 4, 1), n_states=2, structure=method, n_init=2, random_state=seed).fit(X)
    first, second = (layer.clusters_ for layer in model.layers_[:2])
    return first, np.where(first >= 0, second[first], -1)


def slope(sizes: list[int], seconds: list[float]) -> float:
    """The exponent with which the time grows."""
    large = np.array(sizes) >= 300
    return float(np.polyfit(np.log(sizes)[large], np.log(seconds)[large], 1)[0])


class Measured(NamedTuple):
    """By method: the agreement with the 20 and with the 4 groups for each size and seed, and the shortest times."""

    lower: dict[str, list[list[float]]]
    upper: dict[str, list[list[float]]]
    times: dict[str, list[float]]

    def agreement(self, method: str, sizes: list[int]) -> str:
        """In words, how well a method finds both layers."""
        pairs = zip(self.lower[method], self.upper[method], strict=True)
        least = ", ".join(f"{min(np.min(low), np.min(high)):.3f}" for low, high in pairs)
        return f"smallest index of both layers {least} for {', '.join(map(str, sizes))} variables"

    def exact(self, method: str) -> bool:
        """Does a method find all of every tree?"""
        return bool(min(map(min, self.lower[method] + self.upper[method])) == 1)


def measure(sizes: list[int], seeds: range) -> Measured:
    """Reconstruct trees of each size by each method."""
    found = Measured(*({method: [] for method in NAMES} for _ in range(3)))
    for n in sizes:
        trees = [make_latent_tree(N_SAMPLES, n, (20, 4), root_flip=0.2, random_state=seed) for seed in seeds]
        for method in NAMES:
            if method == "linkage" and n > LINKAGE_LIMIT:
                continue
            scores, seconds = [], []
            for seed, (X, truth) in zip(seeds, trees, strict=True):
                if method == "unique" and n == 10_000 and seed:
                    continue  # one run of the longest is enough
                begun = perf_counter()
                twenty, four = clusters_of(X, method, seed)
                seconds.append(perf_counter() - begun)
                above = truth.parents[0][truth.clusters]
                scores.append([adjusted_rand_score(truth.clusters, twenty), adjusted_rand_score(above, four)])
            found.lower[method].append([row[0] for row in scores])
            found.upper[method].append([row[1] for row in scores])
            found.times[method].append(min(seconds))
    return found


def draw(sizes: list[int], found: Measured, slopes: dict[str, float], out: Path) -> None:
    """Agreement with both layers, and time, as variables grow."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for k, (method, name) in enumerate(NAMES.items()):
        style = {"color": PALETTE[k], "marker": "os^"[k], "linestyle": ("-", "--", ":")[k]}
        known = sizes[: len(found.times[method])]
        for ax, scores in ((axes[0], found.lower), (axes[1], found.upper)):
            ax.plot(known, [np.mean(values) for values in scores[method]], label=name, **style)
        axes[2].plot(known, found.times[method], label=f"{name}, slope {slopes[method]:.2f}", **style)
    for ax, n_groups in ((axes[0], 20), (axes[1], 4)):
        ax.set(xscale="log", xlabel="variables", ylabel="adjusted Rand index, mean")
        ax.set_ylim(min(0.9, ax.get_ylim()[0]), 1.01)
        ax.set_title(f"Agreement with the {n_groups} groups of the truth")
    axes[2].set(xscale="log", yscale="log", xlabel="variables", ylabel="seconds", title="Time")
    for ax in axes:
        ax.legend(frameon=False)
    figure.savefig(out / "latent_trees.png", dpi=110)
    plt.close(figure)


def run(out: Path, quick: bool, source: Path | None) -> list[dict]:
    """Grow the number of variables; draw agreement and time."""
    sizes = [100, 300, 500] if quick else [100, 300, 1000, 3000, 10_000]
    warm, _ = make_latent_tree(100, 40, 2, random_state=0)
    HierarchicalCorex((2, 1), n_states=2, n_init=2, random_state=0).fit(warm)  # loads the compiled code
    found = measure(sizes, range(1 if quick else 3))
    times = found.times
    slopes = {method: slope(sizes[: len(seconds)], seconds) for method, seconds in times.items()}
    draw(sizes, found, slopes, out)
    return [
        {
            "id": "latent_trees:perfect",
            "claim": "The tree rule reconstructs synthetic latent trees perfectly.",
            "paper": "perfect reconstruction",
            "measured": found.agreement("tree", sizes),
            "reproduced": found.exact("tree"),
        },
        {
            "id": "latent_trees:default-rule",
            "claim": "So does the rule that allows overlap, on the same trees (our default, not in the paper).",
            "paper": "not in the paper",
            "measured": found.agreement("unique", sizes),
            "reproduced": found.exact("unique"),
        },
        {
            "id": "latent_trees:linear",
            "claim": "The time is linear in the number of variables.",
            "paper": "O(n)",
            "measured": f"{times['tree'][-1]:.1f} s for {sizes[-1]} variables; slope {slopes['tree']:.2f}, "
            f"with the default rule {slopes['unique']:.2f} (criterion: at most 1.15)",
            "reproduced": slopes["tree"] <= 1.15,
        },
        {
            "id": "latent_trees:competitors",
            "claim": "Other ways to learn the tree need time that grows with the square at least.",
            "paper": "at least O(n^2)",
            "measured": f"average linkage on all correlations: slope {slopes['linkage']:.2f} up to "
            f"{sizes[len(times['linkage']) - 1]} variables (criterion: above that of the tree rule, and at least 1.7)",
            "reproduced": slopes["linkage"] >= 1.7 and slopes["linkage"] > slopes["tree"],
        },
    ]
