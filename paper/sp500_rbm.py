"""The same graph from restricted Boltzmann machines.

Machines of 20, 3 and 1 hidden units, one trained on the hidden units of the other, on the ranks of the returns from 0
to 1. A company belongs to the unit of its largest weight; the graph has as many links as that of hicorex.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neural_network import BernoulliRBM

from hicorex import HicorexError, HierarchicalCorex, plot
from hicorex.datasets import load_quantquote
from hicorex.findings.graph import Edge, Graph, Node

SOURCE = "sp500"
LAYERS, N_LINKS = (20, 3, 1), 400


def agreement(clusters: np.ndarray, sectors: np.ndarray) -> tuple[float, float]:
    """Purity and normalised mutual information with the sectors, of the companies that are in a cluster."""
    known = (clusters >= 0) & (sectors != None)  # noqa: E711 - by element
    counts = pd.crosstab(clusters[known], sectors[known]).to_numpy()
    return counts.max(axis=1).sum() / counts.sum(), normalized_mutual_info_score(sectors[known], clusters[known])


def graph_of(names: list[str], weights: list[np.ndarray]) -> Graph:
    """The links of a stack of machines, (n_below, n_units) each, as a graph, the weight of a link its magnitude."""
    levels = [names, *([f"layer{k}_factor{j}" for j in range(w.shape[1])] for k, w in enumerate(weights, start=1))]
    nodes = [
        [
            Node(f"{k}.{i}", name, k, 1.0 if k == 0 else float(np.abs(weights[k - 1][:, i]).sum()))
            for i, name in enumerate(level)
        ]
        for k, level in enumerate(levels)
    ]
    edges = [
        Edge(below.id, above.id, 1.0, float(abs(w[i, j])), float(abs(w[i, j])))
        for w, (lower, upper) in zip(weights, pairwise(nodes), strict=True)
        for j, above in enumerate(upper)
        for i, below in enumerate(lower)
    ]
    return Graph(tuple(node for level in nodes for node in level), tuple(edges))


def run(out: Path, quick: bool, source: Path | None) -> list[dict[str, Any]]:
    """Train the machines, draw their graph, and compare the agreement with the sectors."""
    returns = load_quantquote(source)
    if returns.sectors is None:
        raise HicorexError(
            "the sectors are not known; put sectors.csv, a ticker and a sector a line, beside the returns"
        )
    sectors = np.array(returns.sectors, dtype=object)
    ranks = (rankdata(returns.data, axis=0) - 0.5) / len(returns.data)
    found = []
    for seed in range(1 if quick else 5):
        units, weights = ranks, []
        for size in LAYERS:
            machine = BernoulliRBM(size, learning_rate=0.05, n_iter=20 if quick else 200, random_state=seed).fit(units)
            weights.append(machine.components_.T)
            units = machine.transform(units)
        found.append(agreement(np.abs(weights[0]).argmax(axis=1), sectors))
    model = HierarchicalCorex(LAYERS, n_states=3, marginals="rank", n_init=1 if quick else 10, random_state=0)
    ours = agreement(model.fit(returns.data).layers_[0].clusters_, sectors)
    rng = np.random.default_rng(0)
    chance = max(agreement(rng.integers(20, size=sectors.size), sectors)[1] for _ in range(200))

    groups = pd.Series(returns.sectors, index=returns.feature_names, name="sector")
    graph = graph_of(returns.feature_names, weights).strongest(N_LINKS)
    ax = plot.graph(graph, groups=groups)
    ax.get_figure().savefig(out / "sp500_rbm.png", dpi=110)
    plt.close("all")

    purity, nmi = np.mean(found, axis=0)
    return [
        {
            "id": "sp500_rbm:no structure",
            "claim": "Restricted Boltzmann machines of the same sizes show no useful structure",
            "paper": "no useful structure is apparent",
            "measured": f"machines: purity {purity:.0%}, NMI {nmi:.2f} (mean of {len(found)} seeds; at most "
            f"{chance:.2f} by chance); hicorex: purity {ours[0]:.0%}, NMI {ours[1]:.2f}",
            "reproduced": bool(nmi < 0.6 * ours[1]),
        }
    ]
