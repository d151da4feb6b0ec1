"""Models read from files."""

from pathlib import Path
from typing import Any

import hicorex.hierarchy  # noqa: F401 - declares what a file may hold
from hicorex.base import LayeredEstimator
from hicorex.exceptions import UnsoundError
from hicorex.input.sources.choice import MODEL
from hicorex.storage.archive import read_archive


def load(path: Any) -> LayeredEstimator:
    """The model that ``save`` has written, to the last bit; no code of the file is run.

    Parameters
    ----------
    path : str or path
        The file, or a folder of results that holds it.

    Returns
    -------
    Corex or HierarchicalCorex
        It labels new samples and has everything that the fit has found, but not the samples of the fit.

    Examples
    --------
    >>> import tempfile
    >>> import hicorex
    >>> X, truth = hicorex.datasets.make_independent_clusters(random_state=0)
    >>> model = hicorex.Corex(4, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/coins.hicorex")
    ...     again = hicorex.load(f"{folder}/coins.hicorex")
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    path = Path(path)
    return read_archive(path / MODEL if path.is_dir() else path, "model", check_model)


def check_model(model: Any) -> None:
    """Refuse what is no fitted model, or one that does not hold together."""
    if not isinstance(model, LayeredEstimator):
        raise UnsoundError("it holds no fitted model")
    model._check()
