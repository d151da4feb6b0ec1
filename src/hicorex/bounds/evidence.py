"""What a stack of layers says about samples, as sums over the samples: all that bounds need."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hicorex.bounds.entropy import JointLabels, marginal_surprisals, sample_surprisals, why_no_entropy
from hicorex.bounds.evaluation import Evaluation, LayerEvaluator
from hicorex.bounds.pairs.decoder import PairEvaluator
from hicorex.bounds.result import NoUpper
from hicorex.engine import Engine
from hicorex.information import entropy
from hicorex.layer.data import Data, Part
from hicorex.marginals.base import Block, Samples, Tile

# What is less than this share of a mean square is rounding.
ROUNDING = 1e-13


class StackedLayer(NamedTuple):
    """A layer of a stack.

    soft : evaluates its soft labels
    feeding : evaluates its most likely labels, which feed the layer above; None for the top layer
    read : makes samples, by block, of the labels (m, T) of the layer below; None for the first layer
    """

    soft: LayerEvaluator
    feeding: LayerEvaluator | None = None
    read: Callable[[np.ndarray], Sequence[Samples]] | None = None

    def counted(self, depth: int) -> LayerEvaluator:
        """What evaluates the labels that count in a bound of this depth, of the first layer."""
        return self.soft if depth == 1 or self.feeding is None else self.feeding


class FactorMeans(NamedTuple):
    """Means over the samples of what the labels of one layer say.

    log_z, log_z_spread : (m,), mean and standard deviation of log Z_j
    information : (m,), I(Y_j:X)
    unique, unique_stderr : (m,), what the layer explains less without factor j, and its standard error
    """

    log_z: np.ndarray
    log_z_spread: np.ndarray
    information: np.ndarray
    unique: np.ndarray
    unique_stderr: np.ndarray


class Evidence(NamedTuple):
    """What a stack of layers says about some samples, from the bottom up.

    For each sample there are c values: what the labels explain that feed a layer above, by layer; what the soft labels
    of each layer explain; what layers and pairs do, if pairs were learned; -sum_i log p(x_i); and the sum of log Z_j.

    total, n_samples : weight and number of the samples
    sums, products : the sums of these values, (c,), and of their products, (c, c)
    soft, feeding : of the soft labels of all layers, and of the most likely ones of all but the last
    entropies : for each layer sum_i H of its input, None where that is not discrete
    joint_labels : for each joint label of the first layer its weight, and the sums of -sum_i log p(x_i) and of its
        square, (u, 3)
    no_upper : why there is no upper bound, if so
    depth : how many layers the lower bound counts; None for as many as make it largest
    paired : whether pairs were learned
    excess : by layer, what its log Z_j count twice in sum
    """

    total: float
    n_samples: int
    sums: np.ndarray
    products: np.ndarray
    soft: list[FactorMeans]
    feeding: list[FactorMeans]
    entropies: list[float | None]
    joint_labels: np.ndarray
    no_upper: NoUpper | None
    depth: int | None
    paired: bool = False
    excess: tuple[float, ...] = ()

    @property
    def layers(self) -> list[FactorMeans]:
        """Of the labels that count: the most likely ones where they feed a layer, the soft ones on top."""
        return [*self.feeding, self.soft[-1]]

    def explained_by(self, layer: int) -> np.ndarray:
        """Which values make up what the labels that count of a layer, 0, 1, ..., explain, (c,)."""
        return self._pick(layer if layer < len(self.feeding) else len(self.feeding) + layer)

    def explained(self, depth: int) -> np.ndarray:
        """Which values make up what the first ``depth`` layers explain, (c,) (Thm hierarchy)."""
        return self._pick([*range(depth - 1), len(self.feeding) + depth - 1])

    @property
    def surprisal(self) -> np.ndarray:
        """Which value is -sum_i log p(x_i), (c,)."""
        return self._pick(-2)

    @property
    def explained_with_pairs(self) -> np.ndarray:
        """Which value is what layers and pairs explain, (c,)."""
        return self._pick(-3)

    def usual_score(self) -> tuple[float, float]:
        """Mean and standard deviation of the point-wise total correlation."""
        mean, spread = mean_and_spread(self.total, self.sums[-1], self.products[-1, -1])
        return float(mean), float(spread)

    def _pick(self, at: int | list[int]) -> np.ndarray:
        chosen = np.zeros(self.sums.size)
        chosen[at] = 1
        return chosen


class StackSums(NamedTuple):
    """Sums over some samples, which add up to evidence.

    values, products : as ``sums`` and ``products`` of Evidence
    soft, feeding : by layer, the sums of log Z_j, its square, the cost, what is unique and its square, (5, m)
    label_counts : by layer that feeds another, how many samples have each label, (k, m)
    joint_labels : as in Evidence
    """

    values: np.ndarray
    products: np.ndarray
    soft: list[np.ndarray]
    feeding: list[np.ndarray]
    label_counts: list[np.ndarray]
    joint_labels: JointLabels


def gather(
    data: Data,
    stack: Sequence[StackedLayer],
    engine: Engine,
    surprisals: list[np.ndarray] | None = None,
    depth: int | None = None,
    name: Callable[[int], str] = str,
    pairs: PairEvaluator | None = None,
) -> Evidence:
    """The evidence of a stack of layers about samples, and of pairs if they were learned, in one pass over them.

    ``surprisals`` by block, as of a fit, keep the entropies of new samples from coming out low; without
    them the frequencies of these samples count. ``name`` says how a column is called.
    """
    no_upper = why_no_entropy(data, name)
    known = None if no_upper is not None else surprisals or marginal_surprisals(data, prior_samples=0)
    # A function that is sent away takes along what it names: not the samples.
    sums: StackSums = engine.sum(partial(_sum_tile, stack, data.blocks, known, pairs), data.parts)
    input_entropy = None if no_upper is not None else float(sums.values[-2] / data.total)
    label_entropies = [sum(entropy(column / data.total) for column in counts.T) for counts in sums.label_counts]
    return Evidence(
        total=data.total,
        n_samples=data.n_samples,
        sums=sums.values,
        products=sums.products,
        soft=[_means(of_layer, data.total) for of_layer in sums.soft],
        feeding=[_means(of_layer, data.total) for of_layer in sums.feeding],
        entropies=[input_entropy, *label_entropies],
        joint_labels=sums.joint_labels.sums(),
        no_upper=no_upper,
        depth=depth,
        paired=pairs is not None,
        excess=tuple(layer.soft.excess for layer in stack),
    )


def _sum_tile(
    stack: Sequence[StackedLayer],
    blocks: Sequence[Block],
    surprisals: Sequence[np.ndarray] | None,
    pairs: PairEvaluator | None,
    part: Part,
    rows: slice,
) -> StackSums:
    """The sums over the samples of a tile; without surprisals those of the samples are 0."""
    weight = part.sample_weight[rows].astype(float)
    tiles = part.tile(blocks, rows)
    no_surprisal = np.zeros(weight.size)
    surprisal = no_surprisal if surprisals is None else sample_surprisals(blocks, tiles, surprisals, weight.size)
    first = part.first + rows.start
    soft, feeding = _evaluate(stack, tiles, first)
    both = [] if pairs is None else [pairs.explained(blocks, tiles, first, feeding, soft, weight.size)]
    score = sum(of_layer.log_z.sum(axis=0) for of_layer in soft)
    values = np.stack([*(of_layer.explained for of_layer in (*feeding, *soft)), *both, surprisal, score])
    weighted = values * weight
    return StackSums(
        values=weighted.sum(axis=1),
        products=weighted @ values.T,
        soft=[_sum_factors(of_layer, weight) for of_layer in soft],
        feeding=[_sum_factors(of_layer, weight) for of_layer in feeding],
        label_counts=[
            np.stack([(of_layer.labels == state) @ weight for state in range(len(layer.soft.prior))])
            for of_layer, layer in zip(feeding, stack, strict=False)
        ],
        joint_labels=JointLabels.of(
            soft[0].labels, np.column_stack([weight, weight * surprisal, weight * surprisal**2])
        ),
    )


def _evaluate(
    stack: Sequence[StackedLayer], tiles: list[Tile], first: int
) -> tuple[list[Evaluation], list[Evaluation]]:
    """What the soft labels of each layer say about the samples of a tile, and those that feed a layer above."""
    soft: list[Evaluation] = []
    feeding: list[Evaluation] = []
    for layer in stack:
        if layer.read is not None:
            samples = layer.read(feeding[-1].labels)
            tiles = [block.tile(labels, slice(None)) for block, labels in zip(layer.soft.blocks, samples, strict=True)]
        soft.append(layer.soft.evaluate_tile(tiles, first))
        if layer.feeding is not None:
            feeding.append(layer.feeding.evaluate_tile(tiles, first))
    return soft, feeding


def _sum_factors(of_layer: Evaluation, weight: np.ndarray) -> np.ndarray:
    log_z, cost, unique = of_layer.log_z, of_layer.cost, of_layer.unique
    return np.stack([log_z, log_z**2, cost, unique, unique**2]) @ weight


def _means(sums: np.ndarray, total: float) -> FactorMeans:
    log_z, log_z_square, cost, unique, unique_square = sums
    mean, spread = mean_and_spread(total, unique, unique_square)
    errors = spread / np.sqrt(max(total - 1, 1))
    return FactorMeans(*mean_and_spread(total, log_z, log_z_square), cost / total, mean, errors)


def mean_and_spread(total: float, value: Any, square: Any) -> tuple[Any, Any]:
    """Mean and standard deviation from the sums of values and their squares over samples of this total weight."""
    mean, mean_square = value / total, square / total
    variance = mean_square - mean**2
    return mean, np.sqrt(np.where(variance > ROUNDING * mean_square, variance, 0))


def pooled_mean(parts: Sequence[Evidence], chosen: Sequence[np.ndarray]) -> tuple[float, float]:
    """The mean over the samples of all parts of the values chosen in each, (c,), and its standard error."""
    value = sum(picked @ part.sums for part, picked in zip(parts, chosen, strict=True))
    square = sum(picked @ part.products @ picked for part, picked in zip(parts, chosen, strict=True))
    return with_error(parts, value, square)


def with_error(parts: Sequence[Evidence], value: float, square: float) -> tuple[float, float]:
    """Mean and its standard error, NaN for one sample or less, from the sums of values and of their squares."""
    total = sum(part.total for part in parts)
    mean, spread = mean_and_spread(total, value, square)
    return float(mean), float(spread / np.sqrt(total - 1)) if total > 1 else float("nan")
