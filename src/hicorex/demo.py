"""The paper's two synthetic examples and a tree of three layers, beside the truth: ``python -m hicorex.demo``."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from hicorex.corex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters
from hicorex.hierarchy import HierarchicalCorex


def independent_clusters() -> None:
    """Example 1: four groups of a hundred variables, each group copies of one coin with noise."""
    X, truth = make_independent_clusters(random_state=0)
    print(f"Example 1: {X.shape[1]} variables, {X.shape[0]} samples, four independent groups")
    print(f"total correlation of the sample's coins: {truth.total_correlation:.1f} nats\n")
    corex = Corex(n_factors=4, random_state=0).fit(X)
    print("iteration   objective   share of the truth")
    for iteration, objective in enumerate(corex.history_, start=1):
        print(f"{iteration:9d}   {objective:9.2f}   {objective / truth.total_correlation:18.1%}")
    print(f"\n{corex.bounds()}")
    print(f"groups found, adjusted Rand index: {adjusted_rand_score(truth.clusters, corex.clusters_):.2f}")
    right = max_agreement(corex.transform(X), truth.factors)
    print(f"coins told right from the factors: {', '.join(f'{share:.0%}' for share in right)}\n")


def overlapping_clusters() -> None:
    """Example 2: the last group copies the sum of the first two coins."""
    X, truth = make_overlapping_clusters(random_state=0)
    print(f"Example 2: {X.shape[1]} variables, {X.shape[0]} samples, the last group belongs to two coins")
    print(f"total correlation of the sample's coins: {truth.total_correlation:.1f} nats\n")
    for structure in ("unique", "overlap"):
        corex = Corex(n_factors=3, structure=structure, random_state=0).fit(X)
        print(f'structure="{structure}": {corex.bounds()}')
        print("mean alpha        " + "".join(f"factor {j}  " for j in range(3)))
        for group, name in enumerate(("coin 0", "coin 1", "coin 2", "coins 0 + 1")):
            alpha = corex.alpha_[truth.clusters == group].mean(axis=0)
            print(f"{name:>11}       " + "".join(f"{share:8.2f}  " for share in alpha))
        print()


def latent_tree() -> None:
    """A tree of three layers, whose sizes are found, with bounds from both sides."""
    X, truth = make_latent_tree(2000, 240, (12, 3), root_flip=0.1, random_state=0)
    print(f"A tree: {X.shape[1]} variables, {X.shape[0]} samples, 12 factors below 3 below 1")
    print(f"total correlation: {truth.total_correlation:.1f} nats\n")
    model = HierarchicalCorex("auto", random_state=0).fit(X)
    print(f"layers found: {', '.join(str(layer.n_factors_) for layer in model.layers_)}; {model.stop_reason_}")
    clusters = model.layers_[0].clusters_
    print(f"groups found, adjusted Rand index: {adjusted_rand_score(truth.clusters, clusters):.2f}\n")
    print(f"in-sample:\n{model.bounds()}\n\ncross-fitted:\n{model.bounds(cv=5)}")


def max_agreement(labels: np.ndarray, factors: np.ndarray) -> list[float]:
    """For each true factor, the share of samples in which the best label, or its opposite, agrees."""
    same = (labels[:, :, None] == factors[:, None, :]).mean(axis=0)
    return np.maximum(same, 1 - same).max(axis=0).tolist()


def main() -> None:
    """Run all examples."""
    independent_clusters()
    overlapping_clusters()
    latent_tree()


if __name__ == "__main__":
    main()
