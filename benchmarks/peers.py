"""Time and agreement of variable clusters with the truth, beside the peers, in one run.

The Big-5 sample is read from the path given as the first argument, if any: a CSV of 50 answers.
"""

import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.decomposition import FactorAnalysis, FastICA
from sklearn.metrics import adjusted_rand_score
from sklearn.neural_network import BernoulliRBM

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters

SEEDS = 3


def standardised(X):
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def of_hicorex(X, m, k, seed):
    return Corex(m, n_states=k, random_state=seed).fit(X).clusters_


def of_corextopic(X, m, k, seed):
    from corextopic.corextopic import Corex as Peer
    from scipy.sparse import csr_matrix

    binary = csr_matrix((standardised(X.astype(float)) > 0).astype(int))
    return np.asarray(Peer(n_hidden=m, seed=seed).fit(binary).clusters)


def of_linearcorex(X, m, k, seed):
    from linearcorex import Corex as Peer

    return np.asarray(Peer(n_hidden=m, seed=seed).fit(standardised(X.astype(float))).clusters())


def by_loading(loadings):
    return np.abs(loadings).argmax(axis=0)


def of_factor_analysis(X, m, k, seed):
    return by_loading(
        FactorAnalysis(m, rotation="varimax", random_state=seed).fit(standardised(X.astype(float))).components_
    )


def of_ica(X, m, k, seed):
    ica = FastICA(m, whiten="unit-variance", random_state=seed).fit(standardised(X.astype(float)))
    return by_loading(ica.mixing_.T)


def of_rbm(X, m, k, seed):
    scaled = (standardised(X.astype(float)) > 0).astype(float)
    return by_loading(BernoulliRBM(m, random_state=seed).fit(scaled).components_)


METHODS = {
    "hicorex": of_hicorex,
    "corextopic": of_corextopic,
    "linearcorex": of_linearcorex,
    "FactorAnalysis": of_factor_analysis,
    "FastICA": of_ica,
    "BernoulliRBM": of_rbm,
}


def cases(argv):
    X, truth = make_independent_clusters(random_state=0)
    yield "example 1", X, 4, 2, truth.clusters, np.arange(400)
    for size, name in ((100, "example 2"), (5000, "example 2, 20,000 variables")):
        X, truth = make_overlapping_clusters(cluster_size=size, random_state=0)
        yield name, X, 3, 2, truth.clusters, np.flatnonzero(truth.clusters < 3)
    X, truth = make_latent_tree(random_state=0)
    yield "latent tree, 2000 x 2000, m=20", X, 20, 2, truth.clusters, np.arange(2000)
    if argv and Path(argv[0]).exists():
        import pandas as pd

        answers = pd.read_csv(argv[0]).iloc[:, -50:].astype(float)
        yield "Big-5 sample", answers.where(answers >= 0), 5, 3, np.arange(50) % 5, np.arange(50)


def main() -> None:
    warnings.simplefilter("ignore")
    X, _ = make_independent_clusters(cluster_size=300, random_state=1)
    Corex(2, random_state=0).fit(X)
    Corex(2, random_state=0).fit((X > 0).astype(int))
    print("Median seconds, adjusted Rand index of three seeds; in example 2 of the groups that do not overlap.\n")
    print("| data | " + " | ".join(METHODS) + " |")
    print("|---|" + "---|" * len(METHODS))
    for name, X, m, k, truth, compared in cases(sys.argv[1:]):
        cells = []
        for method, fit in METHODS.items():
            times, scores = [], []
            for seed in range(SEEDS):
                table = X if method == "hicorex" else np.asarray(X)
                if name == "Big-5 sample" and method == "hicorex":
                    table = X.astype("Int64")
                begin = perf_counter()
                clusters = fit(table, m, k, seed)
                times.append(perf_counter() - begin)
                scores.append(adjusted_rand_score(truth[compared], clusters[compared]))
            cells.append(f"{np.median(times):.2f} s; " + ", ".join(f"{score:.2f}" for score in scores))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
