"""Wrong entries.

Each of 300 rows of a table gets one wrong value: ten times what it was, three standard deviations off, or another
category. How often the wrong value is the first that `explain` tells: by `odd`, what its surprisal would lose without
the value; by the terms that add up to the surprisal; and by how rare the value is by itself. A leaf of a tree that is
flipped now and then by nature cannot be told from one that is flipped by hand.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Block, Table, alone
from sklearn.datasets import load_breast_cancer, load_wine

from hicorex import Corex
from hicorex.datasets import make_latent_tree


def times_ten(X: np.ndarray, row: int, column: int, rng: np.random.Generator) -> float:
    """A decimal point that slipped."""
    return 10 * X[row, column]


def shifted(X: np.ndarray, row: int, column: int, rng: np.random.Generator) -> float:
    """Three standard deviations off."""
    return X[row, column] + rng.choice([-3, 3]) * X[:, column].std()


def other(X: np.ndarray, row: int, column: int, rng: np.random.Generator) -> float:
    """Another category."""
    return rng.choice(np.setdiff1d(X[:, column], X[row, column]))


def cases(quick: bool) -> Iterator[tuple[str, np.ndarray, dict[str, Any], tuple]]:
    """Tables by name, settings, and what spoils them."""
    numbers = (times_ten, shifted)
    yield "breast cancer, 569 x 30", load_breast_cancer().data, {"n_factors": 7, "n_states": 6}, numbers
    yield "wine, 178 x 13", load_wine().data, {"n_factors": 3, "n_states": 6}, numbers
    rng = np.random.default_rng(0)
    groups = np.repeat(rng.normal(size=(500 if quick else 2000, 5)), 8, axis=1)
    X = groups + 0.2 * rng.normal(size=groups.shape)
    yield "five groups of eight numbers", X, {"n_factors": 5, "n_states": 8}, (shifted,)
    for flip in (0.002, 0.02):
        X, _ = make_latent_tree(500 if quick else 2000, 40, 5, flip=(flip / 2, flip), random_state=0)
        yield f"latent tree, leaves flipped up to {flip:.1%}", X, {"n_factors": 5, "n_states": 2}, (other,)


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for name, X, size, spoilers in cases(quick):
        model = Corex(**size, random_state=0).fit(X)
        for spoil in spoilers:
            rng = np.random.default_rng(1)
            places = rng.integers(len(X), size=300), rng.integers(X.shape[1], size=300)
            spoilt = X[places[0]].copy()
            for at, (row, column) in enumerate(zip(*places, strict=True)):
                spoilt[at, column] = spoil(X, row, column, rng)
            wrong = spoilt[np.arange(300), places[1]] != X[places]
            found = model.explain(spoilt)
            first = [
                float(np.mean((nats.argmax(axis=1) == places[1])[wrong]))
                for nats in (found.odd, found.surprisal_of_variables, found.values)
            ]
            rows.append([name, (spoil.__doc__ or "").rstrip(".").lower(), *first])
    columns = {"table": "", "wrong value": "", "odd": ".0%", "terms": ".0%", "rarity": ".0%"}
    yield Table(columns, rows)


if __name__ == "__main__":
    alone(measure)
