"""What a model has learned, frozen: its layers, its bounds, and how its samples were read."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import zip_longest
from typing import Self, TypedDict

import numpy as np
from numpy.typing import DTypeLike

from hicorex.bounds.evidence import Evidence, StackedLayer, gather
from hicorex.bounds.pairs.decoder import PairDecoder, PairEvaluator
from hicorex.bounds.result import Bounds
from hicorex.engine import Engine
from hicorex.fitted.layer import FittedLayer
from hicorex.fitted.surprise import Usual
from hicorex.input.sources import Source
from hicorex.layer.data import Data
from hicorex.selection.sizing import Sizing
from hicorex.selection.stability import Stability
from hicorex.support.names import column_name


class StopReason(StrEnum):
    """Why a hierarchy has no further layer."""

    AS_ASKED = "as many layers as asked for"
    ONE_FACTOR = "there is one factor on top"
    NOTHING = "the first layer explains no more than chance"
    NOTHING_MORE = "a further layer explains no more than chance"
    ADDS_NOTHING = "a further layer adds nothing"


class FileReading(TypedDict, total=False):
    """How the file of the samples was read, for files of new samples.

    missing : the texts that stand for missing values
    row_names : the title of the column of row names
    words : the words in columns of numbers, by column
    forms : how the cells of columns were written, and their unit, where a model takes them another way
    names : the names of the columns, where the table that was fitted has none
    """

    missing: list[str]
    row_names: str | None
    words: dict[str, list[str]]
    forms: dict[str, list[str]]
    names: list[str] | None


@dataclass(frozen=True)
class FittedModel:
    """What a model of one layer or of several has learned.

    layers : from the bottom up
    bounds, usual : of the samples of the fit, over all layers
    names : the names of the columns, (n_columns,), None if the table has none
    reading : how the file of the samples was read
    cross_fitted : the bounds of models of these sizes on samples that they were not fitted to; None until they are made
    stability : whether the factors come back in fits to halves; None until it is asked for
    pairs : the residual pairs of the samples of the fit; None until they are asked for
    stop_reason : why a hierarchy has no further layer
    next_sizing : the sizes tried for a further layer, if it would add nothing
    """

    layers: tuple[FittedLayer, ...]
    bounds: Bounds
    usual: Usual
    names: np.ndarray | None = None
    reading: FileReading = field(default_factory=FileReading)
    stop_reason: StopReason | None = None
    next_sizing: Sizing | None = None
    cross_fitted: Bounds | None = None
    stability: Stability | None = None
    pairs: PairDecoder | None = None

    @classmethod
    def of_layer(cls, layer: FittedLayer, names: np.ndarray | None) -> Self:
        """A model of one layer."""
        return cls((layer,), layer.bounds, layer.usual, names)

    def with_pairs(self, pairs: PairDecoder, bounds: Bounds) -> Self:
        """The same with residual pairs, and with the bounds of the samples of the fit by them."""
        layers = self.layers if len(self.layers) > 1 else (replace(self.layers[0], bounds=bounds),)
        return replace(self, layers=layers, bounds=bounds, pairs=pairs)

    @property
    def n_columns(self) -> int:
        """The number of columns of the table."""
        return self.layers[0].encoder.n_columns

    @property
    def tc(self) -> float:
        """What the fits maximised, summed over the layers."""
        return float(sum(layer.tc for layer in self.layers))

    @property
    def n_iter(self) -> int:
        """The largest number of iterations of a layer."""
        return max(len(layer.history) for layer in self.layers)

    def variable_names(self) -> list[str]:
        """The names of the columns: from the table, else from the file of the array, else x0, x1, ..."""
        if self.names is not None:
            return [str(name) for name in self.names]
        return list(self.reading.get("names") or [column_name(i) for i in range(self.n_columns)])

    def expected(self) -> dict[str, str]:
        """The type of the values of each column that the model knows, by the name of the column."""
        return dict(zip(self.variable_names(), self.layers[0].encoder.types(), strict=True))

    def column_name(self, i: int) -> str:
        """The name of a column in messages."""
        return str(i) if self.names is None else repr(str(self.names[i]))

    def saw(self, evidence: Evidence) -> bool:
        """Whether these are the samples of the fit: log Z varies, and it and their number are the same to the bit."""
        of_fit, given = (np.concatenate([*usual.log_z, usual.score]) for usual in (self.usual, Usual.of(evidence)))
        varies = bool((self.usual.log_z[1] > 0).any())
        return varies and evidence.n_samples == self.bounds.n_samples and np.array_equal(of_fit, given)

    def evidence(
        self,
        table: Source,
        n_jobs: int | None,
        depth: int | None = None,
        sample_weight: np.ndarray | None = None,
        dtype: DTypeLike | None = np.float64,
    ) -> Evidence:
        """What the layers say about new samples; ``depth`` is the number of layers that the lower bound counts.

        ``dtype`` None stands for the precision of a fit, in which the samples of the fit give the same bits.
        """
        with table.engine(n_jobs) as engine:
            first = data = self.layers[0].encode(table, engine, sample_weight, dtype)
            stacked: list[StackedLayer] = []
            for layer, above in zip_longest(self.layers, self.layers[1:]):
                feeding = None if above is None else layer.feeding_evaluator(data, engine)
                read = layer.encoder.encode_labels if stacked else None
                stacked.append(StackedLayer(layer.evaluator(data, engine), feeding, read))
                if above is not None:
                    data = above.encode(layer.label_table(data, engine), engine, sample_weight, dtype)
            pairs = self._pairs_of(stacked, first, engine, depth or self.bounds.depth)
            return gather(first, stacked, engine, self.layers[0].surprisals, depth, self.column_name, pairs)

    def _pairs_of(self, stack: list[StackedLayer], data: Data, engine: Engine, depth: int) -> PairEvaluator | None:
        """What evaluates new samples by layers and pairs, if pairs were learned."""
        if self.pairs is None:
            return None
        counted = stack[0].counted(depth)
        return PairEvaluator.of(self.pairs, counted, self.layers[0].links, depth, data, engine, new=True)
