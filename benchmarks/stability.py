"""Factors that come back.

One layer is fitted to samples of a table, and another to as many fresh ones, three draws of each table. What it
explains is in nats, on the samples of the fit and cross-fitted. Stable are factors whose reproducibility, by twenty
fits to halves, is 0.5 or more. A factor is found again if one of the other fit is like it by 0.3 or more: likeness is
the mutual information of the labels of all samples over the larger entropy. Seconds are of the processor, of a fit,
its cross-fitting and its twenty fits to halves.
"""

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
from harness import Block, Table, alone, real_data
from internals import STABLE, likeness
from search import bfi, big5, debd, genes, returns, words
from tables import latent_tree

from hicorex import Corex

FOUND_AGAIN, N_FITS = 0.3, 20
# Name, table, samples of a draw, factors, states, marginals.
REAL = (
    ("bfi", lambda: bfi().dropna().to_numpy(int), 1000, 5, 3, "categorical"),
    ("big5", big5, 1000, 5, 3, "categorical"),
    ("nltcs", lambda: debd("nltcs"), 2000, 3, 3, "categorical"),
    ("plants", lambda: debd("plants"), 2000, 8, 3, "categorical"),
    ("news20, 100 words", words, 2000, 10, 2, "categorical"),
    ("S&P 500, ranks", returns, 130, 15, 3, "rank"),
    ("genes, ranks", genes, 200, 15, 3, "rank"),
)


def timed_on_processor(function: Callable[[], Any]) -> tuple[float, Any]:
    begun = process_time()
    result = function()
    return process_time() - begun, result


def of_draw(X: np.ndarray, n_samples: int, m: int, k: int, marginals: str, seed: int) -> list[Any]:
    """Seconds of three kinds, two bounds, and for the factors in use reproducibility and likeness to fresh ones."""
    rows = np.random.default_rng(seed).permutation(len(X))
    table, fresh = X[rows[:n_samples]], X[rows[n_samples : 2 * n_samples]]
    settings = {"n_states": k, "marginals": marginals, "n_jobs": 1, "random_state": 0}
    of_fit, model = timed_on_processor(lambda: Corex(m, **settings).fit(table))
    of_folds, crossed = timed_on_processor(lambda: model.cross_fitted_)
    of_halves, stability = timed_on_processor(lambda: model.stability(n_resamples=N_FITS))
    both = np.vstack([table, fresh])
    labels = [one.transform(both).T for one in (model, Corex(m, **settings).fit(fresh))]
    alike = likeness(*labels, k, np.full(len(both), 1 / len(both))).max(axis=1)
    used = model.tcs_ > 0
    return [(of_fit, of_folds, of_halves), (model.bounds_.lower, crossed.lower), stability.factors[used], alike[used]]


def row_of(name: str, X: np.ndarray, n_samples: int, m: int, k: int, marginals: str, seeds: range) -> list[Any]:
    n_samples = min(n_samples, len(X) // 2)
    seconds, bounds, factors, alike = zip(
        *(of_draw(X, n_samples, m, k, marginals, seed) for seed in seeds), strict=True
    )
    stable = np.concatenate(factors) >= STABLE
    found = np.concatenate(alike) >= FOUND_AGAIN
    return [
        f"{name}, {n_samples} samples, {m} x {k}",
        *np.mean(bounds, axis=0).tolist(),
        f"{stable.sum()} of {stable.size}",
        f"{found[stable].sum()} of {stable.sum()}",
        f"{found[~stable].sum()} of {(~stable).sum()}",
        np.mean(seconds, axis=0).tolist(),
    ]


def measure(quick: bool) -> Iterator[Block]:
    seeds = range(1 if quick else 3)
    cases = [("latent tree", latent_tree(400, 30, 5, root_flip=0.2).X, 200, 7, 2, "categorical")]
    cases.append(("noise", np.random.default_rng(0).normal(size=(400, 30)), 200, 4, 2, "gaussian"))
    real = [] if quick or real_data.find() is None else [(name, load(), *rest) for name, load, *rest in REAL]
    columns = {
        "data": "",
        "in-sample": ".2f",
        "cross-fitted": ".2f",
        "stable": "",
        "stable ones found again": "",
        "others found again": "",
        "seconds": ".1f",
    }
    yield Table(columns, [row_of(*case, seeds) for case in (*cases, *real)])
    if not real and not quick:
        yield f"{real_data.absent().capitalize()}."


if __name__ == "__main__":
    alone(measure)
