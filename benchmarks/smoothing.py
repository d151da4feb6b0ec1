"""What smoothing does to the score of new samples: lambda samples of the column's own marginal in every state."""

import numpy as np

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree
from hicorex.layer import step
from hicorex.marginals import categorical, gaussian

STRENGTHS = (1e-6, 0.3, 1.0, 3.0, 10.0)
SEEDS = 5


def gaussian_factors(n_samples, seed):
    """Weak Gaussian dependence: five factors, ten variables each, signal and noise alike."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.normal(size=(n_samples, 5)), 10, axis=1) + rng.normal(size=(n_samples, 50))


DATA = {
    "example 1, 100 variables": (lambda n, s: make_independent_clusters(n, cluster_size=25, random_state=s)[0], 4),
    "Gaussian factors, 50 variables": (gaussian_factors, 5),
    "latent tree, 60 variables": (lambda n, s: make_latent_tree(n, 60, 4, random_state=s)[0], 4),
    "noise, 50 binary variables": (lambda n, s: np.random.default_rng(s).integers(2, size=(n, 50)), 4),
}


def main() -> None:
    print("| data | N | " + " | ".join(f"{strength:.1g}" for strength in STRENGTHS) + " |")
    print("|---|---|" + "---|" * len(STRENGTHS))
    for name, (make, n_factors) in DATA.items():
        for n_samples in (50, 100, 200, 1000):
            scores = []
            for strength in STRENGTHS:
                for module in (step, categorical, gaussian):
                    module.PRIOR_SAMPLES = strength
                of_seeds = []
                for seed in range(SEEDS):
                    X = make(n_samples + 2000, seed)
                    of_seeds.append(Corex(n_factors, random_state=0, n_init=3).fit(X[:n_samples]).score(X[n_samples:]))
                scores.append(np.mean(of_seeds))
            print(f"| {name} | {n_samples} | " + " | ".join(f"{score:.2f}" for score in scores) + " |", flush=True)


if __name__ == "__main__":
    main()
