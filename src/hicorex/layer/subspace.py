"""Leading directions: the few along which samples differ most, and a rotation of them that columns agree with."""

from collections.abc import Callable

import numpy as np

# Directions found beyond those asked for, and passes over the table, where they are found by iteration.
OVERSAMPLING, N_PASSES = 10, 4
# Tables of which the cross products take more operations than this do without exact directions.
MOST_OPERATIONS = 5e8
# Columns that a rotation goes by, and the most steps to it.
ROTATION_COLUMNS, ROTATION_STEPS, ROTATION_TOL = 2000, 40, 1e-5

Product = Callable[[np.ndarray], np.ndarray]


def leading_directions(table: np.ndarray, share: np.ndarray, n_directions: int) -> tuple[np.ndarray, np.ndarray]:
    """Loadings (n, q) and scores (R, q) of variance 1 of a table (R, n) of centred columns, at most ``n_directions``.

    share : (R,) the share of each sample in the weight of all
    """
    root = np.sqrt(share).astype(table.dtype)[:, None]
    q = min(n_directions, *table.shape)
    if is_small(table.shape):
        by_columns = table.shape[1] <= table.shape[0]
        weighted = (root * table).astype(float)
        _, vectors = np.linalg.eigh(weighted.T @ weighted if by_columns else weighted @ weighted.T)
        vectors = vectors[:, ::-1][:, :q]
        if not by_columns:
            vectors = weighted.T @ vectors
        directions = vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-30)
    else:
        exact = table.dtype.type
        directions = iterated(
            lambda v: root * (table @ v.astype(exact)), lambda u: table.T @ (root * u.astype(exact)), table.shape, q
        )
    scores = (table @ directions.astype(table.dtype)).astype(float)
    scale = np.sqrt(share @ scores**2)
    real = scale > 1e-4 * scale.max(initial=1e-30)
    return (directions * scale)[:, real], (scores / np.maximum(scale, 1e-30))[:, real]


def upright(loadings: np.ndarray) -> np.ndarray:
    """The sign (q,) of each direction of loadings (n, q) that does not depend on how it was found."""
    return np.where((loadings**3).sum(axis=0) < 0, -1.0, 1.0)


def is_small(shape: tuple[int, ...]) -> bool:
    """Whether the directions of a table of this shape are worth exact ones."""
    return shape[0] * shape[1] * min(shape) <= MOST_OPERATIONS


def iterated(times: Product, transposed_times: Product, shape: tuple[int, ...], n_directions: int) -> np.ndarray:
    """The leading right singular vectors (n, q) of a matrix of this shape that products alone tell of."""
    # The start lives among the samples, so that the order of columns does not matter.
    start = np.random.default_rng(0).standard_normal((shape[0], min(n_directions + OVERSAMPLING, *shape)))
    basis = np.linalg.qr(transposed_times(start))[0]
    for _ in range(N_PASSES):
        basis = np.linalg.qr(transposed_times(times(basis)))[0]
    image = times(basis).astype(float)
    _, vectors = np.linalg.eigh(image.T @ image)
    return (basis @ vectors[:, ::-1])[:, :n_directions]


def varimax(loadings: np.ndarray) -> np.ndarray:
    """The rotation (q, q) after which columns load on few of the directions of loadings (n, q) (Kaiser)."""
    heard = np.argsort(-(loadings**2).sum(axis=1), kind="stable")[:ROTATION_COLUMNS]
    loadings = loadings[heard]
    rotation, before = np.eye(loadings.shape[1]), 0.0
    for _ in range(ROTATION_STEPS):
        rotated = loadings @ rotation
        gradient = loadings.T @ (rotated**3 - rotated * (rotated**2).mean(axis=0))
        # The nearest rotation, by the polar decomposition.
        squares, vectors = np.linalg.eigh(gradient.T @ gradient)
        if squares[0] <= 1e-18 * squares[-1] or squares[-1] <= 1e-30:  # there is nothing to turn towards
            break
        root = np.sqrt(squares)
        rotation = gradient @ (vectors / root) @ vectors.T
        if root.sum() <= before * (1 + ROTATION_TOL):
            break
        before = root.sum()
    return rotation
