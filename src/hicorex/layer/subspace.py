"""Leading directions: the few along which samples differ most, and a rotation of them that columns agree with."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

# Directions found beyond those asked for; passes over the table that look for them, more where they are few, so that
# together they span a space of some dimensions. It finds weak directions that repeated products would not.
OVERSAMPLING, FEWEST_PASSES, DIMENSIONS = 10, 4, 100
# Tables of which the cross products take more operations than this do without them.
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
    if is_small(table.shape, q):
        by_columns = table.shape[1] <= table.shape[0]
        weighted = root * table
        vectors = _leading(weighted.T @ weighted if by_columns else weighted @ weighted.T, q)
        directions = vectors if by_columns else _normalised(weighted.T @ vectors)
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


def is_small(shape: tuple[int, ...], n_directions: int) -> bool:
    """Whether cross products of a table of this shape are the cheaper way to its leading directions."""
    width, n_passes = _krylov(shape, n_directions)
    return shape[0] * shape[1] * min(shape) <= MOST_OPERATIONS or min(shape) <= 2 * width * n_passes


def iterated(times: Product, transposed_times: Product, shape: tuple[int, ...], n_directions: int) -> np.ndarray:
    """The leading right singular vectors (n, q) of a matrix of this shape that products alone tell of.

    They are sought in the space of a random start and its images under the cross products (block Lanczos).
    """
    width, n_passes = _krylov(shape, n_directions)
    # The start lives among the samples, so that the order of columns does not matter.
    image = np.random.default_rng(0).standard_normal((shape[0], width))
    of_samples = shape[0] <= shape[1]
    if not of_samples:
        image = transposed_times(image)
    basis, images = np.empty((min(shape), 0)), np.empty((min(shape), 0))
    for _ in range(n_passes):
        for _ in range(2):  # once more against rounding
            image = image - basis @ (basis.T @ image)
        block = np.linalg.qr(image)[0]
        image = times(transposed_times(block)) if of_samples else transposed_times(times(block))
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
    vectors = basis @ _leading(basis.T @ images, n_directions)
    return _normalised(transposed_times(vectors)) if of_samples else vectors


def _krylov(shape: tuple[int, ...], n_directions: int) -> tuple[int, int]:
    """The number of vectors of a pass, and that of passes."""
    width = min(n_directions + OVERSAMPLING, *shape)
    return width, max(1, min(max(FEWEST_PASSES, -(-DIMENSIONS // width)), min(shape) // width))


def _leading(products: np.ndarray, n_vectors: int) -> np.ndarray:
    """The eigenvectors (n, q) of the largest eigenvalues of a symmetric matrix, the largest first."""
    n = len(products)
    _, vectors = eigh(products.astype(float), subset_by_index=(max(0, n - n_vectors), n - 1))
    return vectors[:, ::-1]


def _normalised(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-30)


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
