"""Significant links.

Three factors of two or three states are planted, each with eight variables that follow it weakly or strongly, among as
many columns of noise and two identifiers. The power is the share of planted variables that are linked to a factor, at a
false discovery rate of 0.01 over the table. Beside it stands that of an F test or a chi-square test of each variable
against the true factors, at the same rate, and against the best guess of them that the other variables allow, by the
true model. The size is the share of columns of noise that are linked. Means over tables.
"""

from collections.abc import Iterator

import numpy as np
from harness import Block, Table, alone
from internals import LEVEL, q_values
from scipy.stats import chi2_contingency, f_oneway

from hicorex import Corex

N_FACTORS, N_EACH = 3, 8
# How far a variable follows its factor: Gaussian means in standard deviations, and the odds of another category.
STRENGTHS = {"weak": (0.7, 0.35), "medium": (1.0, 0.45), "strong": (2.0, 0.8)}
KINDS = {"Gaussian": 0, "binary": 2, "three categories": 3}
SHAPES = {
    "Gaussian": lambda rng, shape: rng.normal(size=shape),
    "binary": lambda rng, shape: rng.integers(2, size=shape),
    "rare binary": lambda rng, shape: (rng.random(shape) < 0.03).astype(int),
    "five categories": lambda rng, shape: rng.integers(5, size=shape),
    "heavy tails": lambda rng, shape: rng.standard_t(1, size=shape),
    "skewed": lambda rng, shape: rng.lognormal(sigma=2, size=shape),
    "mixed": lambda rng, shape: np.where(
        np.arange(shape[1]) % 2, rng.normal(size=shape), rng.integers(3, size=shape).astype(float)
    ),
}


def noise(rng: np.random.Generator, n_samples: int, n_columns: int, n_categories: int) -> np.ndarray:
    shape = (n_samples, n_columns)
    return rng.integers(n_categories, size=shape) if n_categories else rng.normal(size=shape)


def planted(
    rng: np.random.Generator, n_samples: int, n_categories: int, strength: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """The states (N, m) of the factors, and the table: planted columns, columns of noise, identifiers."""
    n_states = max(2, n_categories)
    states = rng.integers(n_states, size=(n_samples, N_FACTORS))
    followed = np.repeat(states, N_EACH, axis=1)
    columns = noise(rng, n_samples, 2 * followed.shape[1], n_categories)
    shift, share = strength
    if n_categories:
        told = rng.random(followed.shape) < share
        columns[:, : followed.shape[1]] = np.where(told, followed, columns[:, : followed.shape[1]])
    else:
        columns[:, : followed.shape[1]] += shift * (followed - (n_states - 1) / 2)
    return states, np.column_stack([columns, rng.permutation(n_samples), 1e6 + 7 * rng.permutation(n_samples)])


def best_guesses(X: np.ndarray, states: np.ndarray, n_categories: int, strength: tuple[float, float]) -> np.ndarray:
    """The most likely state of each planted variable's factor given the others of that factor, (N, n)."""
    n_states, (shift, share) = max(2, n_categories), strength
    columns = X[:, : N_FACTORS * N_EACH, None]
    if n_categories:
        odds = np.log(share * (columns == np.arange(n_states)) + (1 - share) / n_categories)
    else:
        odds = -((columns - shift * (np.arange(n_states) - (n_states - 1) / 2)) ** 2) / 2
    of_factor = odds.reshape(len(X), N_FACTORS, N_EACH, n_states)
    return (of_factor.sum(axis=2, keepdims=True) - of_factor).reshape(odds.shape).argmax(axis=2)


def p_value(column: np.ndarray, label: np.ndarray, n_categories: int) -> float:
    """That of an F test, or of a chi-square test."""
    if n_categories and len(np.unique(column)) <= n_categories:
        table = np.histogram2d(column, label, bins=(np.unique(column).size, np.unique(label).size))[0]
        return float(chi2_contingency(table, correction=False).pvalue)
    return float(f_oneway(*(column[label == s] for s in np.unique(label))).pvalue)


def power(kind: str, n_samples: int, strength: str, seeds: range) -> list[float]:
    """The power, that of the true factors and of the best guesses of them, and the size, over planted tables."""
    n_categories, n_planted = KINDS[kind], N_FACTORS * N_EACH
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        states, X = planted(rng, n_samples, n_categories, STRENGTHS[strength])
        marginals = ["categorical" if n_categories else "gaussian"] * (X.shape[1] - 2) + ["gaussian"] * 2
        settings = {"n_states": max(2, n_categories), "marginals": marginals, "random_state": seed}
        linked = Corex(N_FACTORS, **settings).fit(X).clusters_ >= 0
        of_truth = np.array([[p_value(x, y, n_categories) for y in states.T] for x in X.T])
        of_guess = of_truth.copy()
        guesses = best_guesses(X, states, n_categories, STRENGTHS[strength]).T
        for i, guess in enumerate(guesses):
            of_guess[i, i // N_EACH] = p_value(X[:, i], guess, n_categories)
        all_linked = [linked, *((q_values(p) <= LEVEL).any(axis=1) for p in (of_truth, of_guess))]
        found.append([*(of[:n_planted].mean() for of in all_linked), linked[n_planted:].mean()])
    return np.mean(found, axis=0).tolist()


def size(shape: str, n_samples: int, n_columns: int, n_factors: int, n_states: int, seeds: range) -> float:
    """The share of columns of noise that are linked to a factor."""
    shares = []
    for seed in seeds:
        X = SHAPES[shape](np.random.default_rng(seed), (n_samples, n_columns))
        shares.append((Corex(n_factors, n_states=n_states, random_state=seed).fit(X).clusters_ >= 0).mean())
    return float(np.mean(shares))


def measure(quick: bool) -> Iterator[Block]:
    seeds = range(1 if quick else 6)
    rows = []
    for kind in KINDS:
        for n_samples in (200,) if quick else (100, 200, 500, 1000):
            for strength in ("strong",) if quick else STRENGTHS:
                rows.append([kind, str(n_samples), strength, *power(kind, n_samples, strength, seeds)])
    columns = {"variables": "", "samples": "", "links": "", "power": ".3f"}
    columns |= {"true factors": ".3f", "best guesses": ".3f", "size": ".3f"}
    yield Table(columns, rows)
    settings = ((50, 6, 2, 2), (100, 50, 4, 2), (200, 200, 4, 2), (1000, 20, 5, 3), (100, 10, 3, 4))
    rows = [
        [f"{n_samples} x {n_columns}, {n_factors}, {n_states}"]
        + [size(shape, n_samples, n_columns, n_factors, n_states, seeds) for shape in SHAPES]
        for n_samples, n_columns, n_factors, n_states in settings[: 1 if quick else None]
    ]
    yield Table({"noise: N x n, factors, states": ""} | dict.fromkeys(SHAPES, ".3f"), rows)


if __name__ == "__main__":
    alone(measure)
