"""Models read from files."""

from pathlib import Path
from typing import Any

from hicorex.estimators.base import LayeredEstimator
from hicorex.estimators.corex import Corex
from hicorex.estimators.hierarchy import HierarchicalCorex, layers_of
from hicorex.exceptions import UnsoundError
from hicorex.input.sources.choice import MODEL
from hicorex.storage.archive import read_archive
from hicorex.storage.model_checks import check_output
from hicorex.storage.records import (
    COREX_PARAMETERS,
    HIERARCHY_PARAMETERS,
    CorexRecord,
    HierarchyRecord,
    ModelRecord,
    fitted_of,
)
from hicorex.storage.soundness import checking


def load(path: Any) -> LayeredEstimator:
    """The model that ``save`` has written, to the last bit; no code of the file is run.

    Parameters
    ----------
    path : str or path
        The file, or a folder of results that holds it.

    Returns
    -------
    Corex or HierarchicalCorex
        It labels new samples and has all attributes of the fit, but not the samples of the fit.

    Examples
    --------
    >>> import tempfile
    >>> import hicorex
    >>> X, truth = hicorex.datasets.make_independent_clusters(random_state=0)
    >>> model = hicorex.Corex(4, n_states=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/coins.hicorex")
    ...     again = hicorex.load(f"{folder}/coins.hicorex")
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    path = Path(path)
    return read_archive(path / MODEL if path.is_dir() else path, "model", model_of)


def model_of(record: Any) -> LayeredEstimator:
    """The fitted model of a record; refuses what is no record, and a model that does not hold together."""
    if not isinstance(record, CorexRecord | HierarchyRecord):
        raise UnsoundError("it holds no fitted model")
    with checking():
        fitted, model = fitted_of(record), _unfitted(record)
        if isinstance(model, HierarchicalCorex):
            layers = layers_of(fitted, [_unfitted(layer) for layer in record.layers_])
            model.publish(fitted, layers_=layers)
        else:
            model.publish(fitted)
    model.check()
    return model


def _unfitted(record: ModelRecord) -> LayeredEstimator:
    """The unfitted estimator of a record; a parameter that the file does not know yet has its default."""
    held = vars(record)
    model: LayeredEstimator
    if isinstance(record, CorexRecord):
        model = Corex(**{name: held[name] for name in COREX_PARAMETERS if name in held})
    else:
        model = HierarchicalCorex(**{name: held[name] for name in HIERARCHY_PARAMETERS if name in held})
    output = held.get("_sklearn_output_config", {})
    check_output(output)
    return model.set_output(**output)
