"""Factors and residual pairs.

Nats of held-out samples: what the factors explain, what factors and pairs do, and what a tree of pairs alone does, by
correlations of normal scores or by counts with half a sample added. Binary tables have a test part; of others the
figures are of five folds, by ranks. Factors, states and layers are chosen, with parsimony 0.01. Seconds are of the
processor.
"""

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
from harness import Block, Table, alone, real_data
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import norm, rankdata
from search import genes, returns

from hicorex import Corex, HierarchicalCorex

BINARY = ("nltcs", "plants", "accidents", "baudio")


def markov_chain(n_samples: int, n_columns: int, flip: float, seed: int) -> np.ndarray:
    """Each column a copy of the one before that differs now and then."""
    rng = np.random.default_rng(seed)
    steps = rng.random((n_samples, n_columns)) < flip
    steps[:, 0] = rng.random(n_samples) < 0.5
    return np.cumsum(steps, axis=1) % 2


def tree_of_bits(training: np.ndarray, test: np.ndarray) -> float:
    """What a Chow-Liu tree of binary columns explains of new samples."""
    counts = [[a.T @ b + 0.25 for b in (1.0 - training, 1.0 * training)] for a in (1.0 - training, 1.0 * training)]
    p = np.array(counts) / (len(training) + 1)
    ratio = np.log(p / p.sum(axis=1, keepdims=True) / p.sum(axis=0, keepdims=True))
    edges = minimum_spanning_tree(-np.triu((p * ratio).sum(axis=(0, 1)), 1) - 1e-12).tocoo()
    return float(sum(ratio[test[:, i], test[:, j], i, j].mean() for i, j in zip(edges.row, edges.col, strict=True)))


def tree_of_ranks(X: np.ndarray, n_folds: int = 5) -> float:
    """What a normal Chow-Liu tree of normal scores explains of held-out samples."""
    scores = norm.ppf((rankdata(X, axis=0) - 0.5) / len(X))
    scores /= scores.std(axis=0)
    fold, total = np.random.default_rng(0).permutation(len(X)) % n_folds, 0.0
    for at in range(n_folds):
        r = np.clip(np.corrcoef(scores[fold != at].T), -0.999, 0.999)
        edges = minimum_spanning_tree(np.triu(0.5 * np.log(1 - r**2), 1)).tocoo()
        r, x, y = r[edges.row, edges.col], scores[fold == at][:, edges.row], scores[fold == at][:, edges.col]
        total += (-0.5 * np.log(1 - r**2) - r * (r * (x**2 + y**2) - 2 * x * y) / (2 * (1 - r**2))).sum()
    return float(total / len(X))


def row_of(name: str, X: np.ndarray, test: np.ndarray | None, model: Any, tree: float) -> list[Any]:
    """Size, bounds and seconds of a model of a table, of its test part or else by five folds."""
    begun = process_time()
    model.fit(X)
    of_fit, begun = process_time() - begun, process_time()
    n_pairs = len(model.residual_pairs().pairs)
    seconds = [of_fit, process_time() - begun]
    bounds = model.cross_fitted_ if test is None else model.bounds(test)
    size = ", ".join(f"{layer.n_factors} x {layer.n_states}" for layer in model.fitted_.layers)
    return [f"{name}, {X.shape[0]} x {X.shape[1]}", size, n_pairs, bounds.lower, bounds.lower_with_pairs, tree, seconds]


def rows(quick: bool) -> Iterator[list[Any]]:
    settings: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    chain, new = (markov_chain(1000 if quick else 4000, 100, 0.2, seed) for seed in range(2))
    yield row_of("chain", chain, new, Corex(5, n_states=2, **settings), tree_of_bits(chain, new))
    if quick or real_data.find("debd") is None:
        return
    settings |= {"n_states": "auto", "parsimony": 0.01}
    for name in BINARY:
        with np.load(real_data.FOLDER / f"debd/{name}.npz") as z:
            X, test = (np.unpackbits(z[part], axis=1, count=int(z["n"])) for part in ("train", "test"))
        yield row_of(name, X, test, HierarchicalCorex("auto", **settings), tree_of_bits(X, test))
    for name, load in (("S&P 500, ranks", returns), ("genes, ranks", genes)):
        X = load()
        yield row_of(name, X, None, HierarchicalCorex("auto", marginals="rank", **settings), tree_of_ranks(X))


def measure(quick: bool) -> Iterator[Block]:
    columns = {
        "data": "",
        "factors x states": "",
        "pairs": "",
        "factors": ".2f",
        "with pairs": ".2f",
        "tree alone": ".2f",
        "seconds of fit, of pairs": ".1f",
    }
    yield Table(columns, list(rows(quick)))
    if not quick and real_data.find("debd") is None:
        yield f"{real_data.absent().capitalize()}."


if __name__ == "__main__":
    alone(measure)
