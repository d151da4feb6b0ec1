"""What a layer has learned, frozen: it reads new samples, labels and evaluates them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import DTypeLike

from hicorex.bounds.evaluation import LayerEvaluator
from hicorex.bounds.result import Bounds
from hicorex.engine import Engine, LocalEngine
from hicorex.exceptions import warn_caller
from hicorex.fitted.surprise import Usual
from hicorex.input.encoder import Encoder
from hicorex.input.sources import Source, source_of
from hicorex.input.sources.dask_tables import ClusterSource
from hicorex.input.sources.labels import label_source
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import add_scores, block_coefficients, harden, label_tile, labels_of
from hicorex.layer.state import State
from hicorex.layer.stream import Stream
from hicorex.marginals import joint_marginals
from hicorex.marginals.base import most_likely
from hicorex.marginals.joint import Joint
from hicorex.selection.sizing import Sizing

# New samples are read and labelled this many cells at a time.
BATCH_CELLS = 2**23
# Columns with unseen categories that a warning names.
MOST_NAMED = 5

# What is said of a batch of samples: function(state, data, engine) -> arrays whose first axis is the samples.
OfBatch = Callable[[State, Data, Engine], tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class FittedLayer:
    """What a layer has learned. Nothing here is changed: a layer that learns more is another object.

    encoder : reads the columns
    state : prior, marginals and alpha, by block
    links : by block, the factors that each variable belongs to, best first, (1, D, n)
    joints : by block, the marginals given the joint states of these factors, by soft labels
    feeding_joints : the same by the most likely labels, which feed a layer above; None on top
    surprisals : by block, -log p(x_i) of each category
    usual, bounds : of the samples of the fit, or of the last batch
    reads_labels : whether the table is the labels of a layer below; its unseen states need no warning
    alpha, mutual_information : (n_columns, n_factors)
    tcs : (n_factors,), E[log Z_j]
    link_pvalues : (n_columns, n_factors), how likely chance alone shows the dependence; NaN of files of early versions
    clusters : (n_columns,), the factor of each variable, -1 for none
    history, histories : the objective at each iteration of the start that was kept, and of every start
    sizing : the sizes tried, if the number of factors was "auto"
    stream : what the next batch of a stream goes on from; None before the first one
    anchors : by the number of a factor, the columns that it was begun by and that stay with it
    factor_names : by the number of a factor, the name that it was given
    """

    encoder: Encoder
    state: State
    links: list[np.ndarray]
    joints: list[list[Joint]]
    surprisals: list[np.ndarray]
    usual: Usual
    bounds: Bounds
    alpha: np.ndarray
    mutual_information: np.ndarray
    tcs: np.ndarray
    link_pvalues: np.ndarray
    clusters: np.ndarray
    history: np.ndarray
    histories: list[np.ndarray]
    reads_labels: bool = False
    feeding_joints: list[list[Joint]] | None = None
    sizing: Sizing | None = None
    stream: Stream | None = None
    anchors: dict[int, tuple[int, ...]] = field(default_factory=dict)
    factor_names: dict[int, str] = field(default_factory=dict)

    @property
    def n_factors(self) -> int:
        """The number of factors."""
        return self.state.prior.shape[1]

    @property
    def n_states(self) -> int:
        """The number of states of each factor."""
        return self.state.prior.shape[0]

    @property
    def tc(self) -> float:
        """The total correlation that all factors explain."""
        return float(self.tcs.sum())

    @property
    def excess(self) -> float:
        """What the mean log Z_j count twice in sum, where a variable anchors several factors."""
        return max(0.0, float(self.usual.log_z[0].sum()) - self.tc) if self.anchors else 0.0

    @property
    def communality(self) -> np.ndarray:
        """The share of each column's uncertainty that its factors explain, from 0 to 1, (n_columns,).

        Of entropy for categories, of variance for numbers; by soft labels.
        """
        columns = np.ones(self.encoder.n_columns, bool)
        blocks = self.encoder.blocks(columns, np.float64, sparse=False)
        shares = np.zeros(columns.size)
        for block, part, joints in zip(blocks, self.encoder.parts, self.joints, strict=True):
            for joint in joints:
                shares[part[joint.columns]] = joint_marginals(block).explained_share(joint)
        return np.where(self.alpha.any(axis=1), shares, 0)

    def encode(
        self,
        table: Source,
        engine: Engine,
        sample_weight: np.ndarray | None = None,
        dtype: DTypeLike | None = np.float64,
    ) -> Data:
        """New samples, read as those of the fit were; ``dtype`` None stands for the precision of a fit."""
        data, unseen = self.encoder.encode(table, sample_weight, engine, dtype=dtype)
        self.warn_of(unseen)
        return data

    def warn_of(self, unseen: list[str]) -> None:
        """Warn of categories that the fit has not seen, in these columns."""
        if unseen and not self.reads_labels:
            warn_caller(
                "Categories that the fit has not seen count as missing, in column "
                f"{', '.join(unseen[:MOST_NAMED])}{' and others' if len(unseen) > MOST_NAMED else ''}."
            )

    def evaluator(self, data: Data, engine: Engine) -> LayerEvaluator:
        """What evaluates new samples by soft labels."""
        return replace(LayerEvaluator.of(self.state, self.links, data, engine, self.joints), excess=self.excess)

    def feeding_evaluator(self, data: Data, engine: Engine) -> LayerEvaluator:
        """What evaluates new samples by the most likely labels, which feed the layer above."""
        return LayerEvaluator.of(self.state, self.links, data, engine, self.feeding_joints, harden)

    def label_table(self, data: Data, engine: Engine) -> Source:
        """The most likely states of samples that were read: the table of the layer above, (n_samples, m)."""
        state, blocks, coefficients = self.state, data.blocks, block_coefficients(self.state, data, engine)

        def of_tile(part: Part, rows: slice) -> np.ndarray:
            labels, _ = label_tile(state, blocks, coefficients, part.tile(blocks, rows))
            return most_likely(labels, np.int8).T

        return label_source(of_tile, data, engine)

    def label(self, table: Source, n_jobs: int | None) -> np.ndarray:
        """The most likely state of each factor, (n_samples, m)."""
        return self.map(table, states_of, n_jobs)[0]

    def map(self, table: Source, function: OfBatch, n_jobs: int | None) -> tuple[np.ndarray, ...]:
        """What a function says of all samples, batch by batch; a table on a cluster gives Dask arrays."""
        if isinstance(table, ClusterSource):
            return table.lazily(self, lambda layer, rows: layer.map(source_of(rows), function, n_jobs))
        # A row of categories may be sparse, so that its labels are what takes memory.
        width = self.n_factors if set(self.encoder.kinds) == {"categorical"} else table.shape[1]
        with LocalEngine(n_jobs) as engine:
            parts = [
                function(self.state, self.encode(rows, engine), engine)
                for rows in table.read_batches(BATCH_CELLS, width)
            ]
        return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def states_of(state: State, data: Data, engine: Engine) -> tuple[np.ndarray]:
    """The most likely state of each factor, (N, m)."""
    return (most_likely(_labels(state, data, engine)).T,)


def posteriors_of(state: State, data: Data, engine: Engine) -> tuple[np.ndarray]:
    """p(y_j = s | x), (N, m, k)."""
    return (_labels(state, data, engine).transpose(2, 1, 0),)


def log_odds_of(state: State, data: Data, engine: Engine) -> tuple[np.ndarray]:
    """log p(y_j = s | x) / p(y_j = 0 | x), s > 0, (N, m, k - 1)."""
    prior = np.log(state.prior[1:] / state.prior[0])[:, :, None]
    return ((_scores(state, data, engine) + prior).transpose(2, 1, 0),)


def posterior_columns_of(state: State, data: Data, engine: Engine) -> tuple[np.ndarray]:
    """The posteriors of all factors side by side, (N, m k)."""
    return (_as_columns(*posteriors_of(state, data, engine)),)


def log_odds_columns_of(state: State, data: Data, engine: Engine) -> tuple[np.ndarray]:
    """The log-odds of all factors side by side, (N, m (k - 1))."""
    return (_as_columns(*log_odds_of(state, data, engine)),)


def _as_columns(of_states: np.ndarray) -> np.ndarray:
    return of_states.reshape(len(of_states), -1)


def states_and_log_z_of(state: State, data: Data, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """The most likely states and log Z, both (N, m)."""
    blocks, coefficients = data.blocks, block_coefficients(state, data, engine)

    def of_tile(part: Part, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        labels, log_z = label_tile(state, blocks, coefficients, part.tile(blocks, rows))
        return most_likely(labels), log_z

    states, log_z = zip(*engine.tiles(of_tile, data.parts), strict=True)
    return np.concatenate(states, axis=1).T, np.concatenate(log_z, axis=1).T


def _scores(state: State, data: Data, engine: Engine) -> np.ndarray:
    """Scores of all samples, (k - 1, m, N)."""
    blocks, coefficients = data.blocks, block_coefficients(state, data, engine)

    def of_tile(part: Part, rows: slice) -> np.ndarray:
        return add_scores(blocks, part.tile(blocks, rows), coefficients)

    n_states, n_factors = state.prior.shape
    return np.concatenate(list(engine.tiles(of_tile, data.parts)), axis=1).reshape(n_states - 1, n_factors, -1)


def _labels(state: State, data: Data, engine: Engine) -> np.ndarray:
    """p(y_j | x) of all samples, (k, m, N)."""
    return labels_of(_scores(state, data, engine).reshape(-1, data.n_samples), state.prior)[0]
