"""Entropy, mutual information and total correlation of probability tables, in nats."""

import numpy as np
from scipy.special import xlogy


def entropy(p) -> float:
    """H = -sum p log p of a table of probabilities of any shape.

    >>> round(entropy([0.5, 0.5]), 4)
    0.6931
    """
    p = np.asarray(p, dtype=float)
    return float(-xlogy(p, p).sum())


def mutual_information(joint) -> float:
    """I(A:B) = H(A) + H(B) - H(A, B) of a joint table p(a, b).

    >>> round(mutual_information([[0.5, 0.0], [0.0, 0.5]]), 4)
    0.6931
    """
    joint = np.asarray(joint, dtype=float)
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint)


def total_correlation(joint) -> float:
    """TC(X) = sum_i H(X_i) - H(X) of a joint table p(x_1, ..., x_n), a dimension a variable (eq:tc).

    >>> round(total_correlation([[0.5, 0.0], [0.0, 0.5]]), 4)
    0.6931
    """
    joint = np.asarray(joint, dtype=float)
    axes = range(joint.ndim)
    return sum(entropy(joint.sum(axis=tuple(a for a in axes if a != i))) for i in axes) - entropy(joint)


def sample_entropy(*columns) -> float:
    """The entropy of the frequencies of the joint values of discrete columns, each (n_samples,).

    >>> round(sample_entropy([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    1.3863
    """
    _, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    return entropy(counts / counts.sum())
