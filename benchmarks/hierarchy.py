"""Hierarchies.

A hierarchy of 20, 3 and 1 factors beside its first layer alone, with the same seed: the two take turns, the shortest of
three. Upper layers are small tables, whose cost is mostly overhead. Below, latent trees of 400 variables, 20 factors, 4
above them and a root: five-fold bounds as fractions of the truth.
"""

from collections.abc import Iterator
from functools import partial

from harness import Block, Table, alone, shortest
from sklearn.metrics import adjusted_rand_score

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_independent_clusters, make_latent_tree


def costs(quick: bool) -> Iterator[list]:
    part = 20 if quick else 1
    cases = {
        "binary, 2000 x 2000": make_latent_tree(2000, 2000 // part, (20, 3), root_flip=0.2, random_state=0),
        "binary, 500 x 20,000": make_latent_tree(500, 20_000 // part, (20, 3), root_flip=0.2, random_state=0),
        "Gaussian, 2000 x 4000": make_independent_clusters(2000, 20, 200 // part, noise=0.5, random_state=0),
    }
    for name, (X, _) in list(cases.items())[: 1 if quick else None]:
        stack = HierarchicalCorex((20, 3, 1), n_states=2, random_state=0).fit(X)
        first = Corex(20, n_states=2, random_state=stack.layers_[0].random_state)
        alone_seconds, seconds = shortest(partial(first.fit, X), partial(stack.fit, X), rounds=1 if quick else 3)
        yield [name, alone_seconds, seconds, seconds / alone_seconds]


def three_layers(quick: bool) -> Iterator[list]:
    n_samples, n_columns = (300, 40) if quick else (5000, 400)
    for seed in range(1 if quick else 3):
        X, truth = make_latent_tree(n_samples, n_columns, (20, 4), root_flip=0.2, random_state=seed)
        model = HierarchicalCorex((20, 4, 1), n_states=2, n_init=1 if quick else 5, random_state=seed).fit(X)
        crossed = model.bounds(cv=2 if quick else 5)
        index = adjusted_rand_score(truth.clusters, model.layers_[0].clusters_)
        least = min(row.contribution / max(row.contribution_stderr, 1e-12) for row in crossed.layers)
        known = truth.total_correlation
        yield [seed, index, crossed.lower / known, crossed.lower_stderr / known, least]


def measure(quick: bool) -> Iterator[Block]:
    columns = {"data": "", "first layer, s": ".2f", "hierarchy, s": ".2f", "ratio": ".2f"}
    yield Table(columns, list(costs(quick)))
    columns = {
        "seed": "",
        "adjusted Rand index of the variables": ".2f",
        "bound / truth": ".3f",
        "standard error": ".3f",
    }
    yield Table(columns | {"least contribution of a layer, in standard errors": ".1f"}, list(three_layers(quick)))


if __name__ == "__main__":
    alone(measure)
