"""Other representations.

The same bound, five-fold, for the hidden units of other models with as many units; the best of three seeds, in nats
with its standard error. The auto-encoder's code is cut at its median. Of the Big-5 sample complete rows are taken.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, real_data
from sklearn.decomposition import PCA
from sklearn.neural_network import BernoulliRBM, MLPRegressor
from tables import Case, big5_sample, examples, latent_tree

from hicorex import Corex, representation_bounds


def scaled(X):
    """0 to 1, column by column."""
    X = X.astype(float)
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def of_corex(X, m, seed):
    return Corex(m, n_states=2, random_state=seed).fit(X).posteriors(X)


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


def cases(quick: bool) -> Iterator[Case]:
    yield from list(examples(10 if quick else 100))[: 1 if quick else None]
    if not quick:
        yield latent_tree(2000, 200, 10)
        if sample := big5_sample():
            yield sample._replace(X=sample.X.dropna().to_numpy(int))


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for case in cases(quick):
        cells = []
        for method in METHODS.values():
            representations = [method(case.X, case.n_factors, seed) for seed in range(1 if quick else 3)]
            bounds = [representation_bounds(case.X, posteriors, cv=5) for posteriors in representations]
            best = max(bounds, key=lambda found: found.lower)
            cells.append(f"{best.lower:.2f} ± {best.lower_stderr:.2f}")
        rows.append([case.name, case.total_correlation or "unknown", *cells])
    yield Table({"data": "", "TC(X)": ".1f"} | dict.fromkeys(METHODS, ""), rows)
    if big5_sample() is None:
        yield f"Left out: {real_data.absent('big5')}."


if __name__ == "__main__":
    alone(measure)
