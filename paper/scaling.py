"""Cost grows linearly

An iteration costs as much as variables x samples x factors. Fits of one start and ten iterations are timed as one of
the three grows and the others stay: example 2 with larger groups, then with more samples, then example 1 with 160
groups and more factors. Slopes are of log time over log size; time is that of the processor, which other work on the
machine changes little. At last example 2 with 20,000 variables, by the clock.
"""

import time
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_overlapping_clusters
from hicorex.layer.progress import Progress
from hicorex.plot.canvas import PALETTE

SOURCE = ""
ITERATIONS = 10


class Clock(Progress):
    """Notes the time at each iteration."""

    def __init__(self):
        self.ticks: list[float] = []

    def iteration(self, *_) -> None:
        """An iteration is done."""
        self.ticks.append(time.process_time())


def seconds(X: np.ndarray, n_factors: int) -> tuple[float, float]:
    """Processor seconds of an iteration, the median of nine, and of the whole fit with its start, tests and bounds."""
    corex, clock = Corex(n_factors, n_states=2, n_init=1, max_iter=ITERATIONS, tol=0, random_state=0), Clock()
    corex._progress = lambda: clock
    begun = time.process_time()
    corex.fit(X)
    return float(np.median(np.diff(clock.ticks))), time.process_time() - begun


def more_variables(size: int) -> tuple[np.ndarray, int]:
    """Example 2 with groups of a quarter of the variables each."""
    return make_overlapping_clusters(100, size // 4, random_state=0)[0], 3


def more_samples(size: int) -> tuple[np.ndarray, int]:
    """Example 2 with 200 variables."""
    return make_overlapping_clusters(size, 50, random_state=0)[0], 3


def more_factors(size: int) -> tuple[np.ndarray, int]:
    """Example 1 with 160 groups of ten and more noise; ``size`` is the number of factors."""
    return make_independent_clusters(1000, 160, 10, noise=0.5, random_state=0)[0], size


SWEEPS: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "variables": (more_variables, (2_000, 6_000, 20_000, 60_000, 200_000)),
    "samples": (more_samples, (1_000, 3_000, 10_000, 30_000, 100_000)),
    "factors": (more_factors, (10, 20, 40, 80, 160)),
}


def slope_of(sizes: tuple[int, ...], times: np.ndarray) -> float:
    """The slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def draw(found: dict[str, tuple[tuple[int, ...], np.ndarray]], out: Path) -> None:
    """Time over size, one panel each."""
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.8), layout="constrained", sharey=True)
    fixed = ("100 samples, 3 factors", "200 variables, 3 factors", "1000 samples, 1600 variables")
    for ax, (name, (sizes, times)), rest in zip(axes, found.items(), fixed, strict=True):
        for seconds_taken, what, colour, marker in zip(
            times.T, ("one iteration", "whole fit"), PALETTE, "os", strict=False
        ):
            slope = slope_of(sizes, seconds_taken)
            line = (np.array(sizes) / np.exp(np.log(sizes).mean())) ** slope * np.exp(np.log(seconds_taken).mean())
            ax.loglog(sizes, line, color=colour, linestyle="--", linewidth=1)
            ax.loglog(sizes, seconds_taken, marker, color=colour, label=f"{what}, slope {slope:.2f}")
        ax.set(xlabel=f"number of {name}", title=rest)
        ax.legend(frameon=False, loc="upper left")
        ax.spines[["top", "right"]].set_visible(False)
    low, high = axes[0].get_ylim()
    axes[0].set(ylabel="processor seconds", ylim=(low, 8 * high))
    figure.savefig(out / "scaling.png", dpi=110)
    plt.close(figure)


def growth_claim(name: str, sizes: tuple[int, ...], times: np.ndarray) -> dict:
    """How an iteration grows with one of the sizes."""
    slope = slope_of(sizes, times[:, 0])
    return {
        "id": f"scaling:{name}",
        "claim": f"An iteration costs no more than in proportion to the number of {name} (slope at most 1.2).",
        "paper": "O(m n N)",
        "measured": f"slope {slope:.2f} from {sizes[0]:,} to {sizes[-1]:,} {name}, "
        f"{slope_of(sizes[-2:], times[-2:, 0]):.2f} over the last step; "
        f"{', '.join(f'{1000 * t:.3g}' for t in times[:, 0])} ms",
        "reproduced": bool(slope <= 1.2),
    }


def large_claim(cluster_size: int) -> dict:
    """Example 2 with many variables."""
    X, truth = make_overlapping_clusters(cluster_size=cluster_size, random_state=0)
    begun = time.perf_counter()
    corex = Corex(3, n_states=2, n_init=10, random_state=0).fit(X)
    taken = time.perf_counter() - begun
    alone = truth.clusters < 3
    index = adjusted_rand_score(truth.clusters[alone], corex.clusters_[alone])
    explained = corex.bounds().lower / truth.total_correlation
    return {
        "id": "scaling:large",
        "claim": "Example 2 with 20,000 variables gives the same result, and takes no longer than the paper's "
        "12 minutes (criterion: groups of one coin without error, bound within 1% of the truth, less time).",
        "paper": "about 12 minutes, laptop of 2012, unoptimised",
        "measured": f"{taken:.1f} s for ten starts on {X.shape[1]:,} variables; adjusted Rand index {index:.2f}, "
        f"bound {explained:.4f} of TC(X)",
        "reproduced": bool(index == 1 and abs(explained - 1) <= 0.01 and taken < 720),
    }


def run(out: Path, quick: bool, source: Path | None) -> list[dict]:
    """Time all sizes, draw them, and return the claims."""
    seconds(*more_variables(2_000))  # compiled code is loaded once
    found = {}
    for name, (make, sizes) in SWEEPS.items():
        sizes = sizes[:2] if quick else sizes
        found[name] = sizes, np.array([seconds(*make(size)) for size in sizes])
    draw(found, out)
    whole = {name: slope_of(sizes, times[:, 1]) for name, (sizes, times) in found.items()}
    last = {name: slope_of(sizes[-2:], times[-2:, 1]) for name, (sizes, times) in found.items()}
    sizes, times = found["variables"]
    return [
        *(growth_claim(name, *measured) for name, measured in found.items()),
        {
            "id": "scaling:whole-fit",
            "claim": "So does the whole fit in the number of variables (criterion: slope at most 1.2).",
            "paper": "empirically linear in the size of the problem",
            "measured": f"{', '.join(f'{t:.2g}' for t in times[:, 1])} s for {sizes[0]:,} to {sizes[-1]:,} variables; "
            + "slopes "
            + ", ".join(f"in {name} {whole[name]:.2f} ({last[name]:.2f} over the last step)" for name in found),
            "reproduced": bool(whole["variables"] <= 1.2),
        },
        large_claim(500 if quick else 5000),
    ]
