"""Cross-fitting: what models of the same sizes explain of samples that they were not fitted to."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.gaussian_factors import gaussian_bound
from hicorex.bounds.result import Bounds
from hicorex.engine import Engine
from hicorex.estimators.refitting import Refitter
from hicorex.exceptions import quietly
from hicorex.input.encoder import Encoder
from hicorex.input.sources import Source
from hicorex.layer.data import Data
from hicorex.layer.numbers import some_rows
from hicorex.selection.folds import check_folds, random_folds, splits
from hicorex.selection.trials import places_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# The number of folds where it is not given.
N_FOLDS = 5
# Of tables of more cells some rows stand for all, as many as have these cells, but not more nor fewer than these.
MOST_CELLS, MOST_ROWS, FEWEST_ROWS = 2**25, 20_000, 2000


def cross_fit(model: "LayeredEstimator", table: Source, sample_weight: np.ndarray | None, cv: Any) -> Bounds:
    """Bounds from models of the sizes of this one; each is evaluated on the samples that its fit left out.

    ``cv`` is a number of folds, the same ones for every seed, or a scikit-learn splitter.
    """
    refitter, progress, parts, factors = Refitter.of(model), model.listener(), [], None
    with quietly(), table.engine(model.n_jobs) as engine:  # the fit of this model has warned already
        encoder = Encoder.learn(table, model.fitted_.layers[0].encoder.kinds, sample_weight, engine)
        data = encoder.encode(table, sample_weight, engine, gaps=encoder.gaps)[0]
        data, folds = _folds(data, cv, engine)
        for at, (training, held_out) in enumerate(folds, start=1):
            progress.fold(at, len(folds))
            seen, new = data.take(training, engine), data.take(held_out, engine)
            # Whether factors decode beside pairs is found out in the first fold.
            evidence, factors = refitter.evidence(seen, new, engine, table.column_name, factors)
            parts.append(evidence)
        gaussian = gaussian_bound(data, folds) if data.in_memory else None
    bounds = bounds_of(parts, cross_fitted=True)
    if gaussian is not None:
        bounds = replace(bounds, lower_gaussian=gaussian[0], lower_gaussian_stderr=gaussian[1])
    progress.cross_fitted(bounds)
    return bounds


def _folds(data: Data, cv: Any, engine: Engine) -> tuple[Data, list[tuple[np.ndarray, np.ndarray]]]:
    """The samples that folds are of, in memory for a number of folds, and the rows of each fold."""
    if not isinstance(cv, int | np.integer):
        return data, list(splits(cv, data.n_samples))
    check_folds(cv, data.n_samples)
    data = rows_for_refits(data, engine)
    return data, list(random_folds(places_of(data), int(cv)))


def rows_for_refits(data: Data, engine: Engine) -> Data:
    """The samples in memory, or where they are many, some of them, the same ones for every seed."""
    row_cells = max(1, int(sum(block.stored_cells for block in data.blocks)))
    return some_rows(data, int(np.clip(MOST_CELLS // row_cells, FEWEST_ROWS, MOST_ROWS)), engine)
