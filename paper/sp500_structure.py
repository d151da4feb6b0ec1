"""The structure of the S&P 500.

Monthly returns of the companies that were in the index from 1998 to 2013, layers of 20, 3 and 1 factors of three
states. Returns go in by their ranks, since they have heavy tails. The model does not see the sectors.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import normalized_mutual_info_score

from hicorex import Corex, HicorexError, HierarchicalCorex, plot
from hicorex.datasets import load_quantquote

SOURCE = "sp500"
THRESHOLD, LOWER = 0.16, 0.05
NAMED = ("TGT", "COP", "MRO")


def purity(clusters: np.ndarray, sectors: np.ndarray) -> float:
    """The share of companies that are of the most frequent sector of their cluster."""
    linked = clusters >= 0
    return sum(pd.Series(sectors[clusters == j]).value_counts().iloc[0] for j in set(clusters[linked])) / linked.sum()


def overlaps(weights: np.ndarray) -> np.ndarray:
    """How strongly each company is linked to its second factor."""
    return np.sort(weights, axis=1)[:, -2]


def run(out: Path, quick: bool, source: Path | None) -> list[dict[str, Any]]:
    """Fit by the rule of the paper and by ours; draw the graphs and the convergence."""
    returns = load_quantquote(source)
    if returns.sectors is None:
        raise HicorexError(
            "the sectors are not known; put sectors.csv, a ticker and a sector a line, beside the returns"
        )
    names, sectors = np.array(returns.feature_names), np.array(returns.sectors, dtype=object)
    X = pd.DataFrame(returns.data, index=returns.months, columns=names)
    groups = pd.Series(returns.sectors, index=names, name="sector")
    settings = {"n_states": 3, "marginals": "rank", "n_init": 1 if quick else 10, "random_state": 0}
    models = {rule: HierarchicalCorex((20, 3, 1), structure=rule, **settings).fit(X) for rule in ("unique", "overlap")}

    rng = np.random.default_rng(0)
    known = sectors != None  # noqa: E711 - by element
    found = {}
    for rule, model in models.items():
        clusters = np.where(known, model.layers_[0].clusters_, -1)
        chance = [purity(clusters, rng.permutation(sectors)) for _ in range(200)]
        linked = clusters >= 0
        found[rule] = {
            "purity": purity(clusters, sectors),
            "chance": max(chance),
            "nmi": normalized_mutual_info_score(sectors[linked], clusters[linked]),
        }
    model = models["unique"]
    first = model.layers_[0]
    all_weights = {rule: m.layers_[0].alpha_ * m.layers_[0].mutual_information_ for rule, m in models.items()}
    several = {
        rule: (np.mean((own >= THRESHOLD).sum(axis=1) > 1), np.mean((own > 0).sum(axis=1) > 1))
        for rule, own in all_weights.items()
    }
    order = {rule: names[np.argsort(-overlaps(own))] for rule, own in all_weights.items()}
    places: dict[str, list[int]] = {name: [] for name in NAMED if name in names}
    for seed in range(1 if quick else 3):  # which companies overlap most may depend on the start
        layer = Corex(20, structure="overlap", **settings | {"n_init": 1 if quick else 3, "random_state": seed}).fit(X)
        ranked = names[np.argsort(-overlaps(layer.alpha_ * layer.mutual_information_))]
        for name, own in places.items():
            own.append(int(np.flatnonzero(ranked == name)[0]) + 1)
    factors, n_named = [], 0
    for j in range(first.n_factors_):
        own = np.flatnonzero((first.clusters_ == j) & known)
        if own.size > 9:
            counts = pd.Series(sectors[own]).value_counts()
            leading = ", ".join(names[own[np.argsort(-all_weights["unique"][own, j])][:3]])
            n_named += counts.iloc[0] > 0.75 * own.size
            factors.append(f"{counts.index[0]} {counts.iloc[0]} of {own.size} ({leading})")
    starts = [history[-1] for history in first.histories_]

    for suffix, threshold in (("", THRESHOLD), ("_large", LOWER)):
        ax = plot.graph(model, groups=groups, threshold=threshold)
        ax.get_figure().savefig(out / f"sp500_structure{suffix}.png", dpi=110)
    plot.convergence(model).get_figure().savefig(out / "sp500_structure_convergence.png", dpi=110)
    plt.close("all")

    best = found["unique"]
    return [
        {
            "id": "sp500_structure:sectors",
            "claim": "The groups that are found are sectors of the economy",
            "paper": "significant sector-wide relationships",
            "measured": "; ".join(
                f"{rule}: {own['purity']:.0%} of the companies are of the main sector of their group (at most "
                f"{own['chance']:.0%} in 200 shuffles), NMI {own['nmi']:.2f}"
                for rule, own in found.items()
            ),
            "reproduced": bool(best["purity"] > 2 * best["chance"]),
        },
        {
            "id": "sp500_structure:groups",
            "claim": "Single groups are easy to name: at least five are of one sector by three quarters",
            "paper": "shown as a graph",
            "measured": "; ".join(factors),
            "reproduced": n_named >= 5,
        },
        {
            "id": "sp500_structure:tree-like",
            "claim": "Above the threshold of 0.16 nats the graph is tree-like, the whole structure is not",
            "paper": "thresholded graph tree-like, full one not",
            "measured": "companies with two links or more: "
            + "; ".join(
                f"{rule}: {above:.0%} above it, {whole:.0%} in all" for rule, (above, whole) in several.items()
            ),
            "reproduced": bool(several["overlap"][0] < 0.05 < several["overlap"][1]),
        },
        {
            "id": "sp500_structure:overlap",
            "claim": "Target, ConocoPhillips and Marathon Oil belong to two groups most of all",
            "paper": "TGT first, COP and MRO next",
            "measured": f"largest second links by the paper's rule: {', '.join(order['overlap'][:5])}; by ours: "
            f"{', '.join(order['unique'][:5])}; by the paper's rule, of {len(names)} companies, "
            + ", ".join(f"{name} is number {' or '.join(map(str, own))}" for name, own in places.items())
            + " from different starts",
            "reproduced": bool(places) and all(np.median(own) <= 10 for own in places.values()),
        },
        {
            "id": "sp500_structure:convergence",
            "claim": "From ten random starts the bound converges in a few dozen iterations, to nearly the same value",
            "paper": "shown as a figure",
            "measured": f"objective of the starts when they end: {min(starts):.1f} to {max(starts):.1f} nats (those "
            f"that cannot become the best are given up), in at most {max(map(len, first.histories_))} iterations",
            "reproduced": bool(min(starts) > 0.9 * max(starts)) and max(map(len, first.histories_)) <= 100,
        },
    ]
