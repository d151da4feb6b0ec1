"""Planted structure.

How often the structure that was planted is found without error, by default settings unless said otherwise. The truth of
the examples is that of the frequencies of the coins in the sample. In the Big-5 surveys the adjusted Rand index
compares the clusters of the fifty questions with the five traits; 1 is without error.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, real_data
from sklearn.metrics import adjusted_rand_score
from tables import big5_full, big5_sample

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters


def example_1(n_seeds, cluster_size) -> list:
    perfect, iterations = 0, []
    for seed in range(n_seeds):
        X, truth = make_independent_clusters(cluster_size=cluster_size, random_state=seed)
        corex = Corex(4, n_states=2, random_state=0).fit(X)
        same = (corex.transform(X)[:, :, None] == truth.factors[:, None, :]).mean(axis=0)
        factors_right = np.all(np.maximum(same, 1 - same).max(axis=0) == 1)
        perfect += factors_right and adjusted_rand_score(truth.clusters, corex.clusters_) == 1
        iterations.append(int(np.argmax(np.abs(corex.history_ / truth.total_correlation - 1) < 0.01)) + 1)
    median = np.median(iterations)
    text = f"objective within 1% of the truth by iteration {median:.0f} (median), {max(iterations)} at the latest"
    return ["example 1: variables and factors", n_seeds, int(perfect), text]


def example_2(structure, n_seeds, cluster_size) -> list:
    right, fractions = 0, []
    for seed in range(n_seeds):
        X, truth = make_overlapping_clusters(cluster_size=cluster_size, random_state=seed)
        corex = Corex(3, n_states=2, structure=structure, random_state=0).fit(X)
        right += overlap_is_right(corex.alpha_, truth.clusters)
        fractions.append(corex.bounds_.lower / truth.total_correlation)
    text = f"lower bound {min(fractions):.4f} to {max(fractions):.4f} of the truth"
    return [f"example 2: overlap, by `{structure}`", n_seeds, int(right), text]


def overlap_is_right(alpha, clusters) -> bool:
    """Groups 0 to 2 belong to a factor each, group 3 to those of groups 0 and 1."""
    groups = [alpha[clusters == group] for group in range(4)]
    owner = [int(group.mean(axis=0).argmax()) for group in groups[:3]]
    if len(set(owner)) < 3:
        return False
    single = all(
        group[:, j].min() > 0.9 and np.delete(group, j, axis=1).max() < 0.1
        for group, j in zip(groups[:3], owner, strict=True)
    )
    both, other = groups[3][:, owner[:2]], groups[3][:, owner[2]]
    return bool(single and both.mean(axis=0).min() > 0.1 and other.max() < 0.1)


def latent_trees(quick: bool) -> Iterator[list]:
    cases = [(200, 100, 5)] if quick else [(2000, 2000, 20), (2000, 10_000, 20), (2000, 10_000, 100)]
    for n_samples, n_columns, n_factors in cases:
        X, truth = make_latent_tree(n_samples, n_columns, n_factors, random_state=0)
        index = adjusted_rand_score(
            truth.clusters, Corex(n_factors, n_states=2, n_init=3, random_state=0).fit(X).clusters_
        )
        name = f"latent tree, {n_samples} x {n_columns:,}, {n_factors} clusters, `n_init=3`"
        yield [name, 1, int(index == 1), f"adjusted Rand index {index:.3f}"]


def surveys() -> Iterator[list]:
    sample, full = big5_sample(), big5_full()
    if sample is None or full is None:
        return
    answers, traits = full
    blocks = [(answers[2000 * block : 2000 * (block + 1)], traits, 0) for block in range(9)]
    cases = {
        "Big-5 sample, 2000 x 50 with missing answers": [(sample.X, sample.clusters, 0)],
        "Big-5, disjoint blocks of 2000 rows": blocks,
        "Big-5, all rows, seeds 0 to 5": [(answers, traits, seed) for seed in range(6)],
    }
    for name, fits in cases.items():
        indices = []
        for X, truth, seed in fits:
            clusters = Corex(5, n_states=3, random_state=seed).fit(X).clusters_
            indices.append(adjusted_rand_score(truth, clusters))
        text = f"adjusted Rand index at least {min(indices):.3f}"
        yield [f"{name}, 5 factors of 3 states", len(indices), sum(index == 1 for index in indices), text]


def measure(quick: bool) -> Iterator[Block]:
    n_seeds, cluster_size = (2, 20) if quick else (100, 100)
    rows = [example_1(n_seeds, cluster_size)]
    rows += [example_2(structure, n_seeds, cluster_size) for structure in ("unique", "overlap")]
    rows += latent_trees(quick)
    rows += [] if quick else surveys()
    yield Table({"data": "", "tables or seeds": "", "without error": "", "more": ""}, rows)
    if real_data.find("big5") is None:
        yield f"Left out: {real_data.absent('big5')}."


if __name__ == "__main__":
    alone(measure)
