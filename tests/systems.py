"""Small systems whose p(x) is known, and hierarchies fitted to all of their values."""

from itertools import product

import numpy as np

from hicorex import HierarchicalCorex

SHAPES = [(1,), (2, 1), (3, 1), (3, 2, 1)]


def random_system(rng):
    """An exact p(x) of three to six variables: without structure, or with one or two hidden coins."""
    sizes = rng.integers(2, 4, size=rng.integers(3, 7))
    if rng.random() < 0.25:
        return rng.dirichlet(np.full(np.prod(sizes), rng.choice([0.05, 0.3, 1.0]))).reshape(sizes)
    n_coins = rng.integers(1, 3)
    tables = [rng.dirichlet(np.full(size, 0.3), size=2) for size in sizes]
    p = np.zeros(sizes)
    for coins, chance in zip(product((0, 1), repeat=n_coins), rng.dirichlet(np.ones(2**n_coins)), strict=True):
        branch = np.array(chance)
        for i, table in enumerate(tables):
            branch = np.multiply.outer(branch, table[coins[i % n_coins]])
        p += branch
    return p


def fit_system(p, structure, rng, scale):
    """A hierarchy fitted to every value of X, weighted by its probability, or as often as it is among many samples."""
    X = np.array(list(np.ndindex(p.shape)))
    weight = p.ravel() if scale is None else np.rint(scale * p.ravel())
    shape = SHAPES[rng.integers(len(SHAPES))]
    model = HierarchicalCorex(shape, n_states=int(rng.integers(2, 4)), structure=structure, n_init=1, max_iter=30)
    # A row for each value is too few for three categories to be told from amounts.
    return model.set_params(marginals="categorical", n_jobs=1, random_state=0).fit(X, sample_weight=weight)
