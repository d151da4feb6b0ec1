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
    """The fraction of companies that are of the most frequent sector of their cluster."""
    linked = clusters >= 0
    return sum(pd.Series(sectors[clusters == j]).value_counts().iloc[0] for j in set(clusters[linked])) / linked.sum()


def overlaps(weights: np.ndarray) -> np.ndarray:
    """How strongly each company is linked to its second factor."""
    return np.sort(weights, axis=1)[:, -2]


def agreement(clusters: np.ndarray, sectors: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Purity, the largest purity of shuffled sectors, and normalised mutual information."""
    clusters = np.where(sectors != None, clusters, -1)  # noqa: E711 - by element
    chance = [purity(clusters, rng.permutation(sectors)) for _ in range(200)]
    linked = clusters >= 0
    return {
        "purity": purity(clusters, sectors),
        "chance": max(chance),
        "nmi": normalized_mutual_info_score(sectors[linked], clusters[linked]),
    }


def places_of(names: np.ndarray, X: pd.DataFrame, settings: dict[str, Any], seeds: range) -> dict[str, list[int]]:
    """The place, from 1, of some companies among those that overlap most, from several starts."""
    places: dict[str, list[int]] = {name: [] for name in NAMED if name in names}
    for seed in seeds:
        layer = Corex(20, structure="overlap", **settings | {"random_state": seed}).fit(X)
        ranked = names[np.argsort(-overlaps(layer.alpha_ * layer.mutual_information_))]
        for name, found in places.items():
            found.append(int(np.flatnonzero(ranked == name)[0]) + 1)
    return places


def large_groups(layer: Corex, names: np.ndarray, sectors: np.ndarray, weights: np.ndarray) -> tuple[list[str], int]:
    """The groups of ten companies and more in words, and how many are of one sector by three quarters."""
    texts, n_named = [], 0
    for j in range(layer.n_factors_):
        members = np.flatnonzero((layer.clusters_ == j) & (sectors != None))  # noqa: E711 - by element
        if members.size > 9:
            counts = pd.Series(sectors[members]).value_counts()
            leading = ", ".join(names[members[np.argsort(-weights[members, j])][:3]])
            n_named += counts.iloc[0] > 0.75 * members.size
            texts.append(f"{counts.index[0]} {counts.iloc[0]} of {members.size} ({leading})")
    return texts, n_named


def draw(model: HierarchicalCorex, groups: pd.Series, out: Path) -> None:
    """The graph above two thresholds, and the convergence."""
    for suffix, threshold in (("", THRESHOLD), ("_large", LOWER)):
        ax = plot.graph(model, groups=groups, threshold=threshold)
        ax.get_figure().savefig(out / f"sp500_structure{suffix}.png", dpi=110)
    plot.convergence(model).get_figure().savefig(out / "sp500_structure_convergence.png", dpi=110)
    plt.close("all")


def sector_claims(found: dict[str, dict[str, float]], factors: list[str], n_named: int) -> list[dict[str, Any]]:
    """Do groups agree with sectors?"""
    best = found["unique"]
    return [
        {
            "id": "sp500_structure:sectors",
            "claim": "The groups that are found are sectors of the economy",
            "paper": "significant sector-wide relationships",
            "measured": "; ".join(
                f"{rule}: {measured['purity']:.0%} of the companies are of the main sector of their group (at most "
                f"{measured['chance']:.0%} in 200 shuffles), NMI {measured['nmi']:.2f}"
                for rule, measured in found.items()
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
    ]


def overlap_claims(
    weights: dict[str, np.ndarray], names: np.ndarray, places: dict[str, list[int]]
) -> list[dict[str, Any]]:
    """Which companies belong to several groups?"""
    several = {
        rule: (np.mean((links >= THRESHOLD).sum(axis=1) > 1), np.mean((links > 0).sum(axis=1) > 1))
        for rule, links in weights.items()
    }
    order = {rule: names[np.argsort(-overlaps(links))] for rule, links in weights.items()}
    return [
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
            + ", ".join(f"{name} is number {' or '.join(map(str, ranks))}" for name, ranks in places.items())
            + " from different starts",
            "reproduced": bool(places) and all(np.median(ranks) <= 10 for ranks in places.values()),
        },
    ]


def convergence_claim(histories: list[np.ndarray]) -> dict[str, Any]:
    """Do the starts agree?"""
    ends, longest = [history[-1] for history in histories], max(map(len, histories))
    return {
        "id": "sp500_structure:convergence",
        "claim": "From ten random starts the bound converges in a few dozen iterations, to nearly the same value",
        "paper": "shown as a figure",
        "measured": f"objective of the starts when they end: {min(ends):.1f} to {max(ends):.1f} nats (those "
        f"that cannot become the best are given up), in at most {longest} iterations",
        "reproduced": bool(min(ends) > 0.9 * max(ends)) and longest <= 100,
    }


def run(out: Path, quick: bool, source: Path | None) -> list[dict[str, Any]]:
    """Fit by the rule of the paper and by ours; draw the graphs and the convergence."""
    returns = load_quantquote(source)
    if returns.sectors is None:
        raise HicorexError(
            "the sectors are not known; put sectors.csv, a ticker and a sector a line, beside the returns"
        )
    names, sectors = np.array(returns.feature_names), np.array(returns.sectors, dtype=object)
    X = pd.DataFrame(returns.data, index=returns.months, columns=names)
    settings = {"n_states": 3, "marginals": "rank", "n_init": 1 if quick else 10, "random_state": 0}
    models = {rule: HierarchicalCorex((20, 3, 1), structure=rule, **settings).fit(X) for rule in ("unique", "overlap")}
    rng = np.random.default_rng(0)
    found = {rule: agreement(model.layers_[0].clusters_, sectors, rng) for rule, model in models.items()}
    weights = {rule: m.layers_[0].alpha_ * m.layers_[0].mutual_information_ for rule, m in models.items()}
    # Which companies overlap most may depend on the start.
    places = places_of(names, X, settings | {"n_init": 1 if quick else 3}, range(1 if quick else 3))
    first = models["unique"].layers_[0]
    draw(models["unique"], pd.Series(returns.sectors, index=names, name="sector"), out)
    return [
        *sector_claims(found, *large_groups(first, names, sectors, weights["unique"])),
        *overlap_claims(weights, names, places),
        convergence_claim(first.histories_),
    ]
