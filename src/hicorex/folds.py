"""Folds of samples for cross-fitting."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv


def splits(cv: Any, n_samples: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of training and held-out samples: ``cv`` shuffled folds, or those of a scikit-learn splitter.

    >>> [held_out.size for _, held_out in splits(3, 10)]
    [4, 3, 3]
    """
    splitter = KFold(cv, shuffle=True, random_state=0) if isinstance(cv, Integral) else check_cv(cv)
    return splitter.split(np.empty((n_samples, 0)))
