"""Data with known truth: the paper's two examples and latent trees."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import Bunch, check_random_state

from hicorex.information import sample_entropy


def make_independent_clusters(
    n_samples: int = 100, n_clusters: int = 4, cluster_size: int = 100, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, Bunch]:
    """The paper's example 1: groups of noisy copies of independent fair coins, columns shuffled.

    Returns
    -------
    X : ndarray of shape (n_samples, n_clusters * cluster_size)
    truth : Bunch
        factors (n_samples, n_clusters), clusters (n_columns,), total_correlation: that of the
        sample's own frequencies, the noise being too small to matter.

    Examples
    --------
    >>> X, truth = make_independent_clusters(random_state=0)
    >>> X.shape
    (100, 400)
    """
    rng = check_random_state(random_state)
    coins = rng.randint(2, size=(n_samples, n_clusters))
    return _noisy_copies(coins, coins, cluster_size, noise, rng)


def make_overlapping_clusters(
    n_samples: int = 100, cluster_size: int = 100, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, Bunch]:
    """The paper's example 2: as example 1 with four groups, but the last one copies the sum of the first two coins.

    Returns
    -------
    X : ndarray of shape (n_samples, 4 * cluster_size)
    truth : Bunch
        factors (n_samples, 3), clusters (n_columns,), of which 3 belongs to factors 0 and 1, total_correlation.

    Examples
    --------
    >>> X, truth = make_overlapping_clusters(random_state=0)
    >>> truth.factors.shape
    (100, 3)
    """
    rng = check_random_state(random_state)
    coins = rng.randint(2, size=(n_samples, 3))
    return _noisy_copies(coins, np.column_stack([coins, coins[:, 0] + coins[:, 1]]), cluster_size, noise, rng)


def _noisy_copies(factors, groups, cluster_size, noise, rng):
    order = rng.permutation(groups.shape[1] * cluster_size)
    clusters = np.repeat(np.arange(groups.shape[1]), cluster_size)[order]
    X = groups[:, clusters] + noise * rng.standard_normal((len(groups), clusters.size))
    entropies = sum(sample_entropy(column) for column in groups.T)
    truth = cluster_size * entropies - sample_entropy(*groups.T)
    return X, Bunch(factors=factors, clusters=clusters, total_correlation=truth)


def make_latent_tree(
    n_samples: int = 2000,
    n_columns: int = 2000,
    n_clusters: int | tuple[int, ...] = 20,
    root_flip: float = 0.35,
    flip: tuple[float, float] = (0.1, 0.3),
    random_state: Any = None,
) -> tuple[np.ndarray, Bunch]:
    """Binary variables on a tree: a fair coin at the root, copies of it as factors, copies of these as columns.

    Parameters
    ----------
    n_clusters : int or tuple of int
        Number of factors; a tuple gives those of several layers below the root, from the bottom up.
    root_flip : float
        Probability that a factor differs from the one above it.
    flip : tuple of float
        Range from which each column's probability to differ from its factor is drawn.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns), of 0 and 1, columns shuffled
    truth : Bunch
        root (n_samples,); factors (n_samples, n_clusters) of the lowest layer; clusters (n_columns,), the
        factor of each column; parents, for each layer but the last the node above each of its factors;
        total_correlation: the mean over the samples of the exact log p(x) / prod_i p(x_i).

    Examples
    --------
    >>> X, truth = make_latent_tree(200, 30, (6, 2), random_state=0)
    >>> X.shape, truth.factors.shape, truth.parents[0].shape
    ((200, 30), (200, 6), (6,))
    """
    rng = check_random_state(random_state)
    sizes = [n_clusters] if isinstance(n_clusters, int) else list(n_clusters)
    root = rng.randint(2, size=n_samples)
    factors = root[:, None]
    parents: list[np.ndarray] = []
    for n_above, size in pairwise([1, *reversed(sizes)]):
        parents.insert(0, np.arange(size) % n_above)
        factors = factors[:, parents[0]] ^ (rng.uniform(size=(n_samples, size)) < root_flip)
    clusters = rng.permutation(np.arange(n_columns) % sizes[0])
    rates = rng.uniform(*flip, size=n_columns)
    X = factors[:, clusters] ^ (rng.uniform(size=(n_samples, n_columns)) < rates)
    # Messages from the leaves to the root; every p(x_i) is one half.
    with np.errstate(divide="ignore"):  # never to differ is allowed
        message = np.stack([np.where(y == X, np.log(1 - rates), np.log(rates)) for y in (0, 1)])
        turn = np.log([[1 - root_flip, root_flip], [root_flip, 1 - root_flip]])[:, :, None, None]
    for parent, size in zip((clusters, *parents), (*sizes, 1), strict=True):
        upward = np.stack([message[:, :, parent == above].sum(axis=2) for above in range(size)], axis=2)
        message = logsumexp(turn + upward, axis=1)
    log_p = logsumexp(upward, axis=0)[:, 0] - np.log(2)
    truth = float(log_p.mean() + n_columns * np.log(2))
    return X.astype(np.int8), Bunch(
        root=root, factors=factors, clusters=clusters, parents=parents[:-1], total_correlation=truth
    )
