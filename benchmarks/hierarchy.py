"""What a hierarchy costs beside its first layer alone, and what its layers find in monthly returns.

The returns are read from the path given as the first argument, if any: a CSV of months x companies; the
second is a CSV of companies with a column gics_sector.
"""

import sys
import warnings
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import normalized_mutual_info_score

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_independent_clusters, make_latent_tree

REPEATS = 3
SETTINGS = [("gaussian", "unique", 3, 20), ("rank", "unique", 3, 20), ("rank", "tree", 3, 20), ("rank", "tree", 4, 40)]


def seconds(model, X):
    started = perf_counter()
    model.fit(X)
    return perf_counter() - started


def cost():
    tree, _ = make_latent_tree(2000, 2000, (20, 3), root_flip=0.2, random_state=0)
    wide, _ = make_latent_tree(500, 20_000, (20, 3), root_flip=0.2, random_state=0)
    groups, _ = make_independent_clusters(2000, 20, 200, noise=0.5, random_state=0)
    print("| data | layers | first layer, s | hierarchy, s | ratio |")
    print("|---|---|---|---|---|")
    for name, X in (("binary, 2000 x 2000", tree), ("binary, 500 x 20,000", wide), ("Gaussian, 2000 x 4000", groups)):
        times = []
        for seed in range(REPEATS):
            stack = HierarchicalCorex((20, 3, 1), random_state=seed)
            whole = seconds(stack, X)
            times.append((seconds(Corex(20, random_state=stack.layers_[0].random_state), X), whole))
        alone, whole = np.median(times, axis=0)
        ratio = np.median([b / a for a, b in times])
        print(f"| {name} | 20, 3, 1 | {alone:.2f} | {whole:.2f} | {ratio:.2f} |", flush=True)


def finance(returns, sectors):
    print("\n| marginals | bound | layer 1 | layer 2 | layer 3 | all | strangest month |")
    print("|---|---|---|---|---|---|---|")
    for marginals in ("gaussian", "rank"):
        model = HierarchicalCorex((20, 3, 1), n_states=3, marginals=marginals, random_state=0).fit(returns)
        surprise = model.surprise(returns).samples
        month = f"{returns.index[np.abs(surprise).argmax()]}, {surprise[np.abs(surprise).argmax()]:+.1f}"
        for name, found in (("in-sample", model.bounds_), ("cross-fitted", model.bounds(cv=5))):
            rows = [f"{row.contribution:.2f} ± {row.contribution_stderr:.2f}" for row in found.layers]
            rows.append(f"{found.lower:.1f} ± {found.lower_stderr:.1f}")
            print(f"| {marginals} | {name} | {' | '.join(rows)} | {month} |")
    ward = AgglomerativeClustering(20).fit_predict(((returns - returns.mean()) / returns.std()).T)
    print("\n| setting | agreement with the sectors (NMI), six seeds | mean |")
    print("|---|---|---|")
    print(f"| Ward clustering of the returns, 20 clusters | | {normalized_mutual_info_score(sectors, ward):.3f} |")
    settings = [
        ("gaussian", "unique", 3, 20),
        ("rank", "unique", 3, 20),
        ("rank", "tree", 3, 20),
        ("rank", "tree", 4, 40),
    ]
    for marginals, structure, k, m in settings:
        found = []
        for seed in range(6):
            corex = Corex(m, n_states=k, marginals=marginals, structure=structure, random_state=seed).fit(returns)
            found.append(normalized_mutual_info_score(sectors, corex.clusters_))
        texts = ", ".join(f"{value:.3f}" for value in found)
        print(f"| {marginals}, {structure}, {m} factors of {k} states | {texts} | {np.mean(found):.3f} |", flush=True)


def main():
    warnings.simplefilter("ignore")
    cost()
    if len(sys.argv) > 2:
        returns = pd.read_csv(sys.argv[1], index_col=0)
        sectors = pd.read_csv(sys.argv[2], index_col=0, keep_default_na=False)
        finance(returns, sectors.loc[returns.columns, "gics_sector"])


if __name__ == "__main__":
    main()
