"""Folds of samples for cross-fitting."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from hicorex.exceptions import HicorexError


def splits(cv: Any, n_samples: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of training and held-out samples: ``cv`` shuffled folds, or those of a scikit-learn splitter.

    >>> [held_out.size for _, held_out in splits(3, 10)]
    [4, 3, 3]
    """
    from sklearn.model_selection import KFold, check_cv  # which a fit does without, and 7 MB of memory

    if isinstance(cv, Integral) and not 2 <= int(cv) <= n_samples:
        raise HicorexError(f"cv is {cv}; give from 2 to {n_samples} folds, as many as there are samples at most.")
    splitter = KFold(cv, shuffle=True, random_state=0) if isinstance(cv, Integral) else check_cv(cv)
    for training, held_out in splitter.split(np.empty((n_samples, 0))):
        if len(training) < 2:
            raise HicorexError(f"cv leaves {len(training)} sample to fit to; give more samples or other folds.")
        yield training, held_out
