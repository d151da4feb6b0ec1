"""What the representations of other models explain of the total correlation, by the same bound, five-fold.

The Big-5 sample is read from the path given as the first argument, if any: a CSV of 50 answers.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.neural_network import BernoulliRBM, MLPRegressor

from hicorex import Corex, representation_bounds
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters


def scaled(X):
    """0 to 1, column by column."""
    X = X.astype(float)
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def of_corex(X, m, seed):
    return Corex(m, random_state=seed).fit(X).posteriors(X)


def of_rbm(X, m, seed):
    machine = BernoulliRBM(m, learning_rate=0.05, n_iter=50, random_state=seed)
    return machine.fit(scaled(X)).transform(scaled(X))


def of_auto_encoder(X, m, seed):
    network = MLPRegressor(
        hidden_layer_sizes=(m,), activation="logistic", learning_rate_init=0.01, max_iter=500, random_state=seed
    )
    network.fit(scaled(X), scaled(X))
    code = scaled(X) @ network.coefs_[0] + network.intercepts_[0]
    return code > np.median(code, axis=0)


def of_pca_signs(X, m, seed):
    return PCA(m, random_state=seed).fit_transform(scaled(X)) > 0


METHODS = {
    "Corex": of_corex,
    "BernoulliRBM": of_rbm,
    "auto-encoder": of_auto_encoder,
    "PCA signs": of_pca_signs,
}


def cases(argv):
    X, truth = make_independent_clusters(random_state=0)
    yield "example 1, m=4", X, 4, truth.total_correlation
    X, truth = make_overlapping_clusters(random_state=0)
    yield "example 2, m=3", X, 3, truth.total_correlation
    X, truth = make_latent_tree(2000, 200, 10, random_state=0)
    yield "latent tree, 2000 x 200, m=10", X, 10, truth.total_correlation
    if argv:
        answers = pd.read_csv(argv[0]).iloc[:, -50:]
        yield "Big-5 sample, complete rows, m=5", answers[(answers >= 0).all(axis=1)].to_numpy(), 5, np.nan


def main():
    warnings.simplefilter("ignore")
    print("| data | TC(X) | " + " | ".join(METHODS) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    for name, X, m, truth in cases(sys.argv[1:]):
        found = []
        for method in METHODS.values():
            bounds = [representation_bounds(X, method(X, m, seed), cv=5) for seed in range(3)]
            best = max(bounds, key=lambda b: b.lower)
            found.append(f"{best.lower:.2f} ± {best.lower_stderr:.2f}")
        known = "unknown" if np.isnan(truth) else f"{truth:.1f}"
        print(f"| {name} | {known} | " + " | ".join(found) + " |", flush=True)


if __name__ == "__main__":
    main()
