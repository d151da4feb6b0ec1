"""A Gaussian factor model of the numbers of a table: what it explains is a lower bound of its own, for comparison.

Every number is replaced by a normal score of its rank, equal numbers in random order and missing ones by chance. Each
score is then a function of its column and of chance alone, so that the scores share no more than the columns do, and
E log q(u) / prod_i phi(u_i) <= TC(u) <= TC(X) for any density q, here that of a factor model fitted to other samples.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtri

from hicorex.layer.data import Data
from hicorex.marginals.gaussian import Gaussian
from hicorex.marginals.gaussian import Samples as GaussianSamples

# Numbers of factors that are tried, fewest first; one of them is kept as long as it explains more than the last.
N_FACTORS = (1, 2, 4, 8, 16, 32, 64)
# Cells that the model is fitted to at most, but for these rows at least, and columns of tables that it is fitted to.
MOST_CELLS, FEWEST_ROWS, MOST_COLUMNS = 2**21, 256, 5000
# The variance that factors leave of a score at least.
LEAST_VARIANCE = 0.005
N_ITER, N_POWERS, MORE_DIRECTIONS = 30, 4, 8
SEED = 0


def gaussian_bound(data: Data, folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float] | None:
    """The cross-fitted lower bound and its standard error; None of tables of few or very many numbers.

    data : samples in memory
    folds : rows of training and held-out samples
    """
    rng = np.random.default_rng(SEED)
    scores = _normal_scores(data, rng)
    if not 2 <= len(scores) <= MOST_COLUMNS:
        return None
    sample_weight = data.sample_weight.astype(float)
    most = max(FEWEST_ROWS, MOST_CELLS // len(scores))
    n_factors, values, held_out = 0, list[np.ndarray](), list[np.ndarray]()
    for seen, new in folds:
        training = rng.permutation(seen)[:most]
        if not n_factors:  # chosen on training samples of the first fold
            n_factors = _chosen_factors(scores, sample_weight, training)
        values.append(_explained(scores, sample_weight, training, new, n_factors))
        held_out.append(sample_weight[new])
    value, weight = np.concatenate(values), np.concatenate(held_out)
    mean = float(weight @ value / weight.sum())
    return mean, float(np.sqrt(weight @ (value - mean) ** 2) / weight.sum())


def _normal_scores(data: Data, rng: np.random.Generator) -> np.ndarray:
    """The normal scores of all columns of numbers that vary, (n, N)."""
    weight, columns = data.sample_weight.astype(float), [np.empty((0, data.n_samples))]
    for block, samples in zip(data.blocks, data.samples, strict=True):
        if not (isinstance(block, Gaussian) and isinstance(samples, GaussianSamples)):
            continue
        tile = block.tile(samples, slice(None))
        observed = tile.observed(block.gaps)
        columns += [_scores(tile.x[i], observed[i], weight, rng)[None] for i in np.flatnonzero(block.informative)]
    return np.concatenate(columns)


def _scores(x: np.ndarray, observed: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The normal scores of a column, (N,), of variance 1."""
    chance = rng.random(x.size)
    order = np.lexsort((chance, x))
    order = order[observed[order]]
    reached = np.cumsum(weight[order]) - weight[order] / 2
    chance[order] = reached / max(weight[order].sum(), 1e-300)
    scores = ndtri(np.clip(chance, 1e-9, 1 - 1e-9))
    return scores / max(float(np.sqrt(weight @ scores**2 / weight.sum())), 1e-300)


def _chosen_factors(scores: np.ndarray, sample_weight: np.ndarray, rows: np.ndarray) -> int:
    """The number of factors that explains most of a fifth of some samples, of models of the others."""
    seen, new = rows[rows.size // 5 :], rows[: rows.size // 5]
    best, chosen = -np.inf, 1
    for n_factors in N_FACTORS:
        if n_factors >= min(len(scores), seen.size) / 2 and n_factors > 1:
            break
        explained = sample_weight[new] @ _explained(scores, sample_weight, seen, new, n_factors)
        if explained <= best:
            break
        best, chosen = explained, n_factors
    return chosen


def _explained(
    scores: np.ndarray, sample_weight: np.ndarray, seen: np.ndarray, new: np.ndarray, n_factors: int
) -> np.ndarray:
    """log q(u) / prod_i phi(u_i) of new samples, (M,), by a model of other samples."""
    loadings, variance = factor_model(scores[:, seen], sample_weight[seen], n_factors)
    u, scaled, inverse = scores[:, new], loadings / variance[:, None], _inverse(loadings, variance)
    projected = scaled.T @ u
    square = (1 / variance - 1) @ u**2 - np.einsum("qN,qN->N", projected, inverse @ projected)
    return -0.5 * (np.log(variance).sum() - np.linalg.slogdet(inverse)[1] + square)


def factor_model(u: np.ndarray, sample_weight: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray]:
    """Loadings (n, q) and what they leave of the variance (n,), 1 in sum, of columns (n, N) of variance 1: by EM."""
    share = sample_weight / sample_weight.sum()
    if len(u) <= u.shape[1]:
        covariance = (u * share) @ u.T
        own = covariance.diagonal()

        def times(vectors: np.ndarray) -> np.ndarray:
            return covariance @ vectors
    else:
        own = u**2 @ share

        def times(vectors: np.ndarray) -> np.ndarray:
            return u @ ((u.T @ vectors) * share[:, None])

    loadings = _leading(times, len(u), n_factors, float(own.sum()))
    variance = np.maximum(own - (loadings**2).sum(axis=1), LEAST_VARIANCE)
    for _ in range(N_ITER):
        inverse = _inverse(loadings, variance)
        of_factors = (loadings / variance[:, None]) @ inverse
        joint = times(of_factors)
        loadings = np.linalg.solve(inverse + of_factors.T @ joint, joint.T).T
        variance = np.maximum(own - (loadings * joint).sum(axis=1), LEAST_VARIANCE)
    total = (loadings**2).sum(axis=1) + variance
    return loadings / np.sqrt(total)[:, None], variance / total


def _inverse(loadings: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The covariance (q, q) of the factors when the columns are known."""
    return np.linalg.inv(np.eye(loadings.shape[1]) + loadings.T @ (loadings / variance[:, None]))


def _leading(times: Callable[[np.ndarray], np.ndarray], n: int, n_factors: int, trace: float) -> np.ndarray:
    """Loadings (n, q) of leading directions, less what noise of equal variance would have in each."""
    basis = np.random.default_rng(SEED).normal(size=(n, min(n, n_factors + MORE_DIRECTIONS)))
    for _ in range(N_POWERS):
        basis = np.linalg.qr(times(basis))[0]
    values, vectors = np.linalg.eigh(basis.T @ times(basis))
    values, vectors = values[::-1][:n_factors], vectors[:, ::-1][:, :n_factors]
    noise = max(trace - float(values.sum()), 0) / max(n - n_factors, 1)
    return basis @ vectors * np.sqrt(np.maximum(values - noise, 0.01 * values.clip(1e-6)))
