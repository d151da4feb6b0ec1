"""Beside the peers.

Seconds, the shortest of three, and the adjusted Rand index of the variables' clusters with the truth for three seeds;
in example 2 of the groups that do not overlap. hicorex searches and tests every link, on the data as they are;
corextopic and the restricted Boltzmann machine see them cut at the mean. The methods take turns, seed by seed.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, real_data, timed
from scipy.sparse import csr_matrix
from sklearn.decomposition import FactorAnalysis, FastICA
from sklearn.metrics import adjusted_rand_score
from sklearn.neural_network import BernoulliRBM
from tables import Case, big5_sample, examples, latent_tree

from hicorex import Corex
from hicorex.datasets import make_overlapping_clusters


def of_hicorex(case, seed):
    return Corex(case.n_factors, n_states=case.n_states, random_state=seed).fit(case.X).clusters_


def of_corextopic(case, seed):
    from corextopic.corextopic import Corex as Peer

    binary = csr_matrix((standardised(case) > 0).astype(int))
    return np.asarray(Peer(n_hidden=case.n_factors, seed=seed).fit(binary).clusters)


def of_linearcorex(case, seed):
    from linearcorex import Corex as Peer

    return np.asarray(Peer(n_hidden=case.n_factors, seed=seed).fit(standardised(case)).clusters())


def of_factor_analysis(case, seed):
    model = FactorAnalysis(case.n_factors, rotation="varimax", random_state=seed)
    return by_loading(model.fit(standardised(case)).components_)


def of_ica(case, seed):
    return by_loading(
        FastICA(case.n_factors, whiten="unit-variance", random_state=seed).fit(standardised(case)).mixing_.T
    )


def of_rbm(case, seed):
    binary = (standardised(case) > 0).astype(float)
    return by_loading(BernoulliRBM(case.n_factors, random_state=seed).fit(binary).components_)


def standardised(case):
    """Columns of mean 0 and variance 1, missing values at the mean."""
    X = np.asarray(case.X.astype(float))
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def by_loading(loadings):
    return np.abs(loadings).argmax(axis=0)


METHODS = {
    "hicorex": of_hicorex,
    "corextopic": of_corextopic,
    "linearcorex": of_linearcorex,
    "FactorAnalysis": of_factor_analysis,
    "FastICA": of_ica,
    "BernoulliRBM": of_rbm,
}


def cases(quick: bool) -> Iterator[Case]:
    yield from examples(20 if quick else 100)
    if not quick:
        X, truth = make_overlapping_clusters(cluster_size=5000, random_state=0)
        yield Case("example 2, 20,000 variables", X, 3, 2, truth.clusters, truth.total_correlation)
        yield latent_tree(2000, 2000, 20)
        if sample := big5_sample():
            yield sample


def measure(quick: bool) -> Iterator[Block]:
    for case in examples():  # compiles
        for X in (case.X, (case.X > 0).astype(int)):
            Corex(2, n_states=2, n_init=2, random_state=0).fit(X)
    rows = []
    for case in cases(quick):
        alone_in_one = np.flatnonzero(case.clusters < 3) if case.name.startswith("example 2") else slice(None)
        seconds, indices = {name: [] for name in METHODS}, {name: [] for name in METHODS}
        for seed in range(1 if quick else 3):
            for name, method in METHODS.items():
                taken, clusters = timed(method, case, seed)
                seconds[name].append(taken)
                indices[name].append(adjusted_rand_score(case.clusters[alone_in_one], clusters[alone_in_one]))
        cells = [f"{min(seconds[name]):.2f} s; " + ", ".join(f"{x:.2f}" for x in indices[name]) for name in METHODS]
        rows.append([case.name, *cells])
    yield Table(dict.fromkeys(["data", *METHODS], ""), rows)
    if big5_sample() is None:
        yield f"Left out: {real_data.absent('big5')}."


if __name__ == "__main__":
    alone(measure)
