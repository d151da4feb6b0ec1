"""Section 1 of the paper: entropy, mutual information and total correlation of probability tables, in nats."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy


def entropy(p: ArrayLike) -> float:
    """H(X) = -sum p log p of a table of probabilities of any shape.

    >>> round(entropy([0.5, 0.5]), 4)
    0.6931
    """
    p = np.asarray(p, dtype=float)
    return float(-xlogy(p, p).sum())


def mutual_information(joint: ArrayLike) -> float:
    """I(A:B) = H(A) + H(B) - H(A, B) of a joint table p(a, b).

    >>> round(mutual_information([[0.5, 0.0], [0.0, 0.5]]), 4)
    0.6931
    """
    joint = np.asarray(joint, dtype=float)
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint)


def total_correlation(joint: ArrayLike) -> float:
    """TC(X) = sum_i H(X_i) - H(X) of a joint table p(x_1, ..., x_n), a dimension a variable (eq:tc).

    >>> round(total_correlation([[0.5, 0.0], [0.0, 0.5]]), 4)
    0.6931
    """
    joint = np.asarray(joint, dtype=float)
    axes = range(joint.ndim)
    return sum(entropy(joint.sum(axis=tuple(a for a in axes if a != i))) for i in axes) - entropy(joint)


def dual_total_correlation(joint: ArrayLike) -> float:
    """H(X) - sum_i H(X_i | all others) of a joint table, a dimension a variable.

    >>> round(dual_total_correlation([[0.5, 0.0], [0.0, 0.5]]), 4)
    0.6931
    """
    joint = np.asarray(joint, dtype=float)
    return sum(entropy(joint.sum(axis=i)) for i in range(joint.ndim)) - (joint.ndim - 1) * entropy(joint)


def o_information(joint: ArrayLike) -> float:
    """The total correlation less its dual: above zero where variables repeat each other, below where they are synergic.

    >>> round(o_information(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]) / 4), 4)
    -0.6931
    """
    return total_correlation(joint) - dual_total_correlation(joint)


def sample_entropy(*columns: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """The entropy of the frequencies of the joint values of discrete columns, each (n_samples,).

    >>> round(sample_entropy([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    1.3863
    >>> round(sample_entropy([0, 1], sample_weight=[3, 1]), 4)
    0.5623
    """
    return entropy(frequencies(*columns, sample_weight=sample_weight)[0])


def frequencies(*columns: ArrayLike, sample_weight: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The share of each joint value of discrete columns, and which of them each sample has.

    >>> frequencies([0, 0, 1, 1], [5, 6, 5, 5])
    (array([0.25, 0.25, 0.5 ]), array([0, 1, 2, 2]))
    """
    code = np.zeros(np.shape(columns[0]), np.int64)
    for column in columns:
        distinct, place = np.unique(np.asarray(column), return_inverse=True)
        # Codes are made dense again at each step, so that they never overflow.
        _, code = np.unique(code * distinct.size + place, return_inverse=True)
    count = np.bincount(code, sample_weight)
    return count / count.sum(), code


def mean_and_error(values: np.ndarray, sample_weight: np.ndarray) -> tuple[float, float]:
    """The mean of values over samples of these weights, and its standard error, NaN for one sample or less.

    >>> mean_and_error(np.array([1.0, 3.0]), np.array([5, 5]))
    (2.0, 0.3333333333333333)
    """
    mean = np.average(values, weights=sample_weight)
    variance = np.average((values - mean) ** 2, weights=sample_weight)
    freedom = np.sum(sample_weight) - 1
    return float(mean), float(np.sqrt(variance / freedom)) if freedom > 0 else float("nan")
