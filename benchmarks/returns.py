"""Returns of 388 companies, 186 months.

Layers of 20, 3 and 1 factors of three states on monthly returns of the S&P 500, which have heavy tails: contributions
in nats with standard errors, and the month that is surprising most, in standard deviations. Below, the agreement
(normalised mutual information) of the first layer's clusters with the ten GICS sectors, for six seeds. Ward clustering
of the returns is the yardstick. Heavy tails ask for `"rank"`; more factors and states, with the tree rule, agree best.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from harness import Block, Table, alone, real_data
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import normalized_mutual_info_score

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import load_quantquote, make_independent_clusters

# Marginals, structure rule, factors, states.
SETTINGS = [("gaussian", "unique", 20, 3), ("rank", "unique", 20, 3), ("rank", "tree", 20, 3), ("rank", "tree", 40, 4)]


def companies(quick: bool) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Returns and sectors; in small, made ones."""
    if quick:
        X, truth = make_independent_clusters(40, 10, 5, random_state=0)
        return pd.DataFrame(X), truth.clusters
    folder = real_data.find("sp500")
    if folder is None:
        return None
    found = load_quantquote(folder)
    return pd.DataFrame(found.data, index=found.months, columns=found.feature_names), np.array(found.sectors)


def contributions(returns, n_init) -> Iterator[list]:
    for marginals in ("gaussian", "rank"):
        model = HierarchicalCorex((20, 3, 1), n_states=3, marginals=marginals, n_init=n_init, random_state=0).fit(
            returns
        )
        surprise = model.surprise(returns).samples
        strangest = np.abs(surprise).argmax()
        for name, bounds in (("in-sample", model.bounds_), ("cross-fitted", model.bounds(cv=5))):
            cells = [f"{row.contribution:.2f} ± {row.contribution_stderr:.2f}" for row in bounds.layers]
            month = f"{returns.index[strangest]}, {surprise[strangest]:+.1f}"
            yield [marginals, name, *cells, f"{bounds.lower:.1f} ± {bounds.lower_stderr:.1f}", month]


def agreements(returns, sectors, seeds) -> Iterator[list]:
    ward = AgglomerativeClustering(20).fit_predict(((returns - returns.mean()) / returns.std()).T)
    yield ["Ward clustering of the returns, 20 clusters", None, normalized_mutual_info_score(sectors, ward)]
    for marginals, structure, n_factors, n_states in SETTINGS:
        values = []
        for seed in seeds:
            corex = Corex(n_factors, n_states=n_states, marginals=marginals, structure=structure, random_state=seed)
            values.append(normalized_mutual_info_score(sectors, corex.fit(returns).clusters_))
        name = f"{marginals}, {structure}, {n_factors} factors of {n_states} states"
        yield [name, values, float(np.mean(values))]


def measure(quick: bool) -> Iterator[Block]:
    found = companies(quick)
    if found is None:
        yield f"Left out: {real_data.absent('sp500')}."
        return
    names = ("marginals", "bound", "layer 1", "layer 2", "layer 3", "all", "strangest month")
    yield Table(dict.fromkeys(names, ""), list(contributions(found[0], 1 if quick else 10)))
    columns = {"setting": "", "agreement with the sectors": ".3f", "mean": ".3f"}
    yield Table(columns, list(agreements(*found, range(1 if quick else 6))))


if __name__ == "__main__":
    alone(measure)
