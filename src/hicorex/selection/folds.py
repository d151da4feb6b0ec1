"""Folds of samples for cross-fitting."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from hicorex.exceptions import HicorexError, TooFewSamplesError

# Samples that a fold has at least, and those of the smallest table that has two such folds.
FEWEST_OF_FOLD = 2
FEWEST_SAMPLES = 2 * FEWEST_OF_FOLD


def splits(cv: Any, n_samples: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of training and held-out samples: ``cv`` shuffled folds, or those of a scikit-learn splitter.

    >>> [held_out.size for _, held_out in splits(3, 10)]
    [4, 3, 3]
    """
    from sklearn.model_selection import KFold, check_cv  # which a fit does without, and 7 MB of memory

    if isinstance(cv, Integral):
        check_folds(cv, n_samples)
    splitter = KFold(cv, shuffle=True, random_state=0) if isinstance(cv, Integral) else check_cv(cv)
    for training, held_out in splitter.split(np.empty((n_samples, 0))):
        yield _enough(training), held_out


def check_folds(cv: Any, n_samples: int) -> None:
    """Refuse a number of folds that the samples do not have."""
    if isinstance(cv, bool) or not 2 <= int(cv) <= n_samples:
        raise HicorexError(f"cv is {cv}; give from 2 to {n_samples} folds, as many as there are samples at most.")


def most_folds(n_folds: int, n_samples: int) -> int:
    """As many folds as are asked for, or fewer, so that each has two samples or more.

    >>> most_folds(5, 100), most_folds(5, 6)
    (5, 3)
    """
    if n_samples < FEWEST_SAMPLES:
        raise TooFewSamplesError(
            f"{n_samples} samples are too few to hold some of them out; give {FEWEST_SAMPLES} or more."
        )
    return min(n_folds, n_samples // FEWEST_OF_FOLD)


def random_folds(place: np.ndarray, n_folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of training and held-out samples, the same for every seed; samples of one place (N,) share a fold."""
    n_places = int(place.max()) + 1
    fold = np.random.default_rng(0).permutation(n_places)[place] % min(n_folds, n_places)
    for at in range(int(fold.max()) + 1):
        yield _enough(np.flatnonzero(fold != at)), np.flatnonzero(fold == at)


def _enough(training: np.ndarray) -> np.ndarray:
    """Training samples, refused if they are fewer than two."""
    if len(training) < 2:
        raise TooFewSamplesError(f"cv leaves {len(training)} sample to fit to; give more samples or other folds.")
    return training
