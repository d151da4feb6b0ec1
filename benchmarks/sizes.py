"""Sizes that `"auto"` takes.

The number of factors of each layer that `HierarchicalCorex("auto")` decides on, for tables whose structure is known. On
noise it takes one factor and says that this explains no more than chance.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone, real_data
from tables import big5_full, big5_sample

from hicorex import HierarchicalCorex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters


def sizes_of(X, **settings) -> str:
    model = HierarchicalCorex("auto", **settings).fit(X)
    return ", ".join(str(layer.n_factors_) for layer in model.layers_)


def counted(texts: list[str]) -> str:
    """Each of some texts, with how often it occurs."""
    return "; ".join(f"{text} ({texts.count(text)} of {len(texts)})" for text in dict.fromkeys(texts))


def examples(seeds, cluster_size) -> Iterator[list]:
    for name, make, truth in (
        ("example 1", make_independent_clusters, "4"),
        ("example 2", make_overlapping_clusters, "3"),
    ):
        tables = [make(cluster_size=cluster_size, random_state=seed)[0] for seed in seeds]
        yield [name, truth, counted([sizes_of(X, random_state=seed) for seed, X in zip(seeds, tables, strict=True)])]


def latent_trees(quick: bool) -> Iterator[list]:
    cases = [((3,), 0.25)] if quick else [((7,), 0.25), ((10,), 0.25), ((12,), 0.25), ((20,), 0.25)]
    cases += [] if quick else [((12, 3), 0.1), ((12, 3), 0.2), ((20, 4), 0.15)]
    for seed, (n_factors, root_flip) in enumerate(cases):
        n_samples, n_columns = (2000, 20 * n_factors[0]) if len(n_factors) == 1 else (2500, 240)
        X, _ = make_latent_tree(n_samples, n_columns, n_factors, root_flip=root_flip, random_state=seed)
        name = f"latent tree, {n_samples} x {n_columns}, flips of factors {root_flip}"
        yield [name, ", ".join(map(str, [*n_factors, 1])), counted([sizes_of(X, n_init=4, random_state=0)])]


def surveys(seeds) -> Iterator[list]:
    sample, full = big5_sample(), big5_full()
    if sample is not None and full is not None:
        for name, X in (("Big-5 sample", sample.X), ("Big-5, all rows", full[0])):
            yield [f"{name}, three states", "5, 1", counted([sizes_of(X, n_states=3, random_state=s) for s in seeds])]


def measure(quick: bool) -> Iterator[Block]:
    seeds = range(1 if quick else 5)
    noise = [np.random.default_rng(seed).normal(size=(200, 30)) for seed in seeds]
    rows = [*examples(seeds, 20 if quick else 100), *latent_trees(quick)]
    rows += [] if quick else surveys(range(4))
    rows.append(["noise, 200 x 30", "1", counted([sizes_of(X, random_state=seed) for seed, X in enumerate(noise)])])
    yield Table({"data": "", "truth": "", "layers, bottom up": ""}, rows)
    if real_data.find("big5") is None:
        yield f"Left out: {real_data.absent('big5')}."


if __name__ == "__main__":
    alone(measure)
