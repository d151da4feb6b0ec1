"""What the missing values of samples would be: the mixture of a column's marginals over the states of its factors."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.fitted.layer import FittedLayer
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import block_coefficients, label_tile
from hicorex.layer.state import State
from hicorex.marginals import Categorical, Gaussian

# Nodes of the quadrature by which values of rank marginals are averaged.
N_NODES = 15


class Predictor(NamedTuple):
    """What is known of a missing value of a column by the joint states of its factors.

    factors : (d,), the last one fastest in what follows
    first, second : (k^d, c), for numbers the mean and the mean square in the units of the table, c = 1; for categories
        the probability of each, in both
    """

    factors: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def weights(self, labels: np.ndarray) -> np.ndarray:
        """The probability of each joint state by the labels (k, m, T), (T, k^d)."""
        weights = np.ones((labels.shape[2], 1))
        for j in self.factors.tolist():
            weights = (weights[:, :, None] * labels[:, j].T[:, None, :]).reshape(len(weights), -1)
        return weights


class Imputer:
    """Predicts the missing values of new samples by what a layer has learned.

    means : whether categories that are numbers are predicted by their mean; otherwise by the most likely one
    """

    def __init__(self, layer: FittedLayer, means: bool):
        self._layer, self._means = layer, means
        self._predictors = dict(self._all_predictors())

    def __call__(self, state: State, data: Data, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
        """The missing values and their uncertainty, both (N, n), NaN where a value is there.

        Of categories the number of the most likely one, and the probability that it is another; of numbers, and of
        categories by their mean, the mean and the standard deviation.
        """
        blocks, coefficients = data.blocks, block_coefficients(state, data, engine)

        def of_tile(part: Part, rows: slice) -> np.ndarray:
            tiles = part.tile(blocks, rows)
            labels, _ = label_tile(state, blocks, coefficients, tiles)
            told = np.full((2, labels.shape[2], data.n_columns), np.nan)
            for block, tile, columns in zip(blocks, tiles, data.columns, strict=True):
                if isinstance(block, Categorical):
                    missing = tile.codes == block.sizes[:, None]
                elif isinstance(block, Gaussian):
                    missing = ~tile.observed(block.gaps)
                for at in np.flatnonzero(missing.any(axis=1)).tolist():
                    column, lacking = int(columns[at]), np.flatnonzero(missing[at])
                    told[:, lacking, column] = self._predict(column, labels[:, :, lacking])
            return told

        values, uncertainty = np.concatenate(list(engine.tiles(of_tile, data.parts)), axis=1)
        return values, uncertainty

    def _predict(self, column: int, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values of a column that are missing in samples of these labels (k, m, T), and their uncertainty."""
        predictor = self._predictors[column]
        weights = predictor.weights(labels)
        first = weights @ predictor.first
        categories = self._layer.encoder.categories.get(column)
        if categories is None:
            mean, square = first[:, 0], (weights @ predictor.second)[:, 0]
        elif self._means and categories.dtype.kind in "iuf":
            numbers = categories.astype(float)
            mean, square = first @ numbers, first @ numbers**2
        else:
            value = first.argmax(axis=1)
            return value.astype(float), 1 - first[np.arange(len(first)), value]
        return mean, np.sqrt(np.maximum(square - mean**2, 0))

    def _all_predictors(self) -> Iterator[tuple[int, Predictor]]:
        """The predictor of each column: of those without factors by the frequencies of all samples."""
        layer = self._layer
        blocks = layer.encoder.blocks(np.ones(layer.encoder.n_columns, bool), np.float64, sparse=False)
        nothing = np.empty(0, int)
        for b, (block, columns) in enumerate(zip(blocks, layer.encoder.parts, strict=True)):
            for at, column in enumerate(columns.tolist()):
                if isinstance(block, Categorical):
                    p = np.exp(-layer.surprisals[b][block.offsets[at] : block.offsets[at + 1] - 1])[None]
                    yield column, Predictor(nothing, p / p.sum(), p / p.sum())
                else:
                    yield column, Predictor(nothing, *self._moments(column, np.zeros(1), np.ones(1)))
            for joint in layer.joints[b]:
                starts = np.zeros(joint.columns.size + 1, int)
                if isinstance(block, Categorical):
                    np.cumsum(block.sizes[joint.columns] + 1, out=starts[1:])
                for q, at in enumerate(joint.columns.tolist()):
                    factors, column = joint.factors[:, q], int(columns[at])
                    if isinstance(block, Categorical):
                        p = joint.parameters.p[:, starts[q] : starts[q + 1] - 1].astype(float)
                        yield column, Predictor(factors, p, p)
                    else:
                        mean, variance, _ = (array[:, q].astype(float) for array in joint.parameters)
                        yield column, Predictor(factors, *self._moments(column, mean, np.sqrt(variance)))

    def _moments(self, column: int, mean: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and mean square (k, 1), in the units of the table, of standardised normal values, (k,) each."""
        encoder = self._layer.encoder
        nodes, weight = np.polynomial.hermite_e.hermegauss(N_NODES)
        standardised = mean[:, None] + spread[:, None] * nodes
        numbers = (standardised * encoder.spread[column] + encoder.centre[column]) * encoder.size[column]
        if column in encoder.ranks:
            values, scores = encoder.ranks[column]
            numbers = np.interp(numbers, scores, values)
        weight = weight[:, None] / weight.sum()
        return numbers @ weight, numbers**2 @ weight
