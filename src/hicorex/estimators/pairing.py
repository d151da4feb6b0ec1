"""Residual pairs of a fitted model: learned from samples, and evaluated on the same ones."""

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.evaluation import LayerEvaluator
from hicorex.bounds.evidence import StackedLayer, gather
from hicorex.bounds.pairs.decoder import PairDecoder, PairEvaluator
from hicorex.bounds.pairs.learning import learn_pairs
from hicorex.bounds.result import Bounds
from hicorex.engine import Engine
from hicorex.estimators.crossfit import rows_for_refits
from hicorex.exceptions import quietly
from hicorex.fitted.model import FittedModel
from hicorex.input.sources import Source
from hicorex.layer.data import Data
from hicorex.layer.labels import harden
from hicorex.selection.trials import places_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator


class Paired(NamedTuple):
    """The residual pairs of samples, the bounds of layers and pairs, and whether the samples are those of the fit."""

    decoder: PairDecoder
    bounds: Bounds
    of_fit: bool


def pairs_of(model: "LayeredEstimator", table: Source, sample_weight: np.ndarray | None) -> Paired:
    """The residual pairs of samples, learned from the rows that cross-fitting uses, and evaluated on all rows."""
    fitted, depth = model.fitted_, model.bounds_.depth
    links = fitted.layers[0].links
    with quietly(), table.engine(model.n_jobs) as engine:  # the fit has warned already
        data = fitted.layers[0].encode(table, engine, sample_weight, None)
        rows = rows_for_refits(data, engine)
        stack = _stack_of(fitted, rows, rows.sample_weight, engine)
        lower = bounds_of([gather(rows, stack, engine, depth=depth)]).lower
        decoder = learn_pairs(rows, stack[0].counted(depth), links, lower, places_of(rows), engine)
        stack = stack if rows is data else _stack_of(fitted, data, sample_weight, engine)
        pairs = PairEvaluator.of(decoder, stack[0].counted(depth), links, depth, data, engine, new=False)
        evidence = gather(data, stack, engine, depth=depth, name=fitted.column_name, pairs=pairs)
        return Paired(decoder, bounds_of([evidence]), fitted.saw(evidence))


def _stack_of(fitted: FittedModel, data: Data, sample_weight: np.ndarray | None, engine: Engine) -> list[StackedLayer]:
    """What evaluates samples by the layers of a model and by their own marginals, as the samples of a fit are."""
    stack = list[StackedLayer]()
    for k, (layer, above) in enumerate(zip_longest(fitted.layers, fitted.layers[1:])):
        soft = LayerEvaluator.of(layer.state, layer.links, data, engine)
        read, feeding = layer.encoder.encode_labels if k else None, None
        if above is not None:
            feeding = LayerEvaluator.of(layer.state, layer.links, data, engine, relabel=harden)
            data = above.encode(layer.label_table(data, engine), engine, sample_weight, None)
        stack.append(StackedLayer(soft, feeding, read))
    return stack
