"""What a stack of layers says about samples, as sums over the samples, all that bounds need."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hicorex.bounds.evaluation import Explained, View
from hicorex.engine import Engine
from hicorex.information import entropy
from hicorex.layer.data import Data, Part
from hicorex.marginals import Categorical
from hicorex.marginals.base import PRIOR_SAMPLES

# Joint labels beyond so many are counted several as one, which only lowers the entropy that is made of them.
MOST_JOINT_LABELS = 2**20
# What is less of a mean square than this share is rounding.
ROUNDING = 1e-13


class Rung(NamedTuple):
    """A layer of a stack.

    soft : how it looks at samples by its soft labels
    feeding : the same by the most likely labels, that feed the layer above; None for the top layer
    read : makes samples, by block, of the labels (m, T) of the layer below; None for the first layer
    """

    soft: View
    feeding: View | None = None
    read: Callable[[np.ndarray], list[Any]] | None = None


class Facts(NamedTuple):
    """What the labels of one layer say about samples.

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

    Of each sample there are: what the labels that feed a layer above explain, what the soft labels of each layer
    explain, -sum_i log p(x_i), and the sum of log Z_j.

    total, n_samples : their weight and number
    sums, products : the sums of these, (c,), and of their products, (c, c)
    soft, feeding : facts about the soft labels of all layers, and the most likely ones of all but the last
    entropies : for each layer sum_i H of its input, None where that is not discrete
    joint_labels : for each joint label of the first layer its weight, and the sums of -sum_i log p(x_i) and its
        square, (u, 3)
    no_upper : why there is no upper bound, if so
    depth : how many layers the lower bound counts; None for as many as make it largest
    """

    total: float
    n_samples: int
    sums: np.ndarray
    products: np.ndarray
    soft: list[Facts]
    feeding: list[Facts]
    entropies: list[float | None]
    joint_labels: np.ndarray
    no_upper: str
    depth: int | None

    @property
    def layers(self) -> list[Facts]:
        """The facts about the labels that count: most likely ones where they feed a layer, soft ones on top."""
        return [*self.feeding, self.soft[-1]]

    def explained_by(self, layer: int) -> np.ndarray:
        """Which sums make up what the labels that count of a layer, 0, 1, ..., explain, (c,)."""
        return self._pick(layer if layer < len(self.feeding) else len(self.feeding) + layer)

    def explained(self, depth: int) -> np.ndarray:
        """Which sums make up what the first layers explain if there are so many, (c,)."""
        return self._pick([*range(depth - 1), len(self.feeding) + depth - 1])

    @property
    def surprisal(self) -> np.ndarray:
        """Which sum is that of -sum_i log p(x_i), (c,)."""
        return self._pick(-2)

    def usual_score(self) -> tuple[float, float]:
        """Mean and standard deviation of the point-wise total correlation."""
        mean, spread = mean_and_spread(self.total, self.sums[-1], self.products[-1, -1])
        return float(mean), float(spread)

    def _pick(self, at: Any) -> np.ndarray:
        chosen = np.zeros(self.sums.size)
        chosen[at] = 1
        return chosen


class Tally:
    """Sums by key, which add up; few keys take little room."""

    def __init__(self, keys: np.ndarray, sums: np.ndarray):
        self._keys, self._sums = [keys], [sums]
        self._compress()

    def add(self, other: "Tally") -> None:
        """Add the sums of others."""
        self._keys += other._keys
        self._sums += other._sums
        if sum(keys.size for keys in self._keys) > 2 * self._size + 2**14:
            self._compress()

    def doubled(self) -> "Tally":
        """A copy, to add to."""
        return Tally(np.concatenate(self._keys), np.concatenate(self._sums))

    def sums(self) -> np.ndarray:
        """The sums of all keys, in the order of these."""
        self._compress()
        return self._sums[0]

    def _compress(self) -> None:
        keys, place = np.unique(np.concatenate(self._keys), return_inverse=True)
        if keys.size > MOST_JOINT_LABELS:  # the same keys fall together whatever they were added to before
            keys, again = np.unique(keys % MOST_JOINT_LABELS, return_inverse=True)
            place = again[place]
        sums = np.concatenate(self._sums)
        columns = [np.bincount(place, column, keys.size) for column in sums.T]
        self._keys, self._sums, self._size = [keys], [np.column_stack(columns)], keys.size


def gather(
    data: Data,
    rungs: list[Rung],
    engine: Engine,
    surprisals: list[np.ndarray] | None = None,
    depth: int | None = None,
    name: Callable[[int], str] = str,
) -> Evidence:
    """The evidence of a stack of layers about samples, in one pass over them.

    ``surprisals`` by block, as of a fit, keep the entropies of new samples from coming out low; without
    them the samples' own frequencies count. ``name`` says how a column is called.
    """
    reason = _why_no_entropy(data, name)
    own = surprisals or marginal_surprisals(data, prior_samples=0)
    blocks = data.blocks

    def of_tile(part: Part, rows: slice) -> tuple:
        weight = part.sample_weight[rows].astype(float)
        tiles = part.tile(blocks, rows)
        surprisal = np.zeros(weight.size)
        if not reason:
            for block, tile, table in zip(blocks, tiles, own, strict=True):
                if isinstance(block, Categorical):
                    surprisal += block.look_up(tile, table)
        soft: list[Explained] = []
        feeding: list[Explained] = []
        counts = []
        for rung in rungs:
            if rung.read is not None:
                samples = rung.read(feeding[-1].labels)
                tiles = [b.tile(s, slice(None)) for b, s in zip(rung.soft.blocks, samples, strict=True)]
            soft.append(rung.soft.explain(tiles, part.first + rows.start))
            if rung.feeding is not None:
                feeding.append(rung.feeding.explain(tiles, part.first + rows.start))
                n_states = len(rung.feeding.prior)
                counts.append(np.stack([(feeding[-1].labels == s) @ weight for s in range(n_states)]))
        score = sum(own.log_z.sum(axis=0) for own in soft)
        values = np.stack([*(own.explained for own in (*feeding, *soft)), surprisal, score])
        weighted = values * weight
        tally = Tally(_keys(soft[0].labels), np.column_stack([weight, weight * surprisal, weight * surprisal**2]))
        facts = [[_sum_facts(own, weight) for own in labels] for labels in (soft, feeding)]
        return weighted.sum(axis=1), weighted @ values.T, *facts, counts, tally

    sums, products, soft, feeding, counts, tally = engine.sum(of_tile, data.parts)
    entropies: list[float | None] = [None if reason else float(sums[-2] / data.total)]
    entropies += [sum(entropy(column / data.total) for column in count.T) for count in counts]
    return Evidence(
        data.total,
        data.n_samples,
        sums,
        products,
        [_facts(own, data.total) for own in soft],
        [_facts(own, data.total) for own in feeding],
        entropies,
        tally.sums(),
        reason,
        depth,
    )


def mean_and_spread(total: float, value: Any, square: Any) -> tuple[Any, Any]:
    """Mean and standard deviation from the sums of values and their squares over samples of this weight."""
    mean, mean_square = value / total, square / total
    variance = mean_square - mean**2
    return mean, np.sqrt(np.where(variance > ROUNDING * mean_square, variance, 0))


def marginal_surprisals(data: Data, prior_samples: float = PRIOR_SAMPLES) -> list[np.ndarray]:
    """-log p(v) of every category by block, empty where columns are not discrete."""
    return [block.surprisals(prior_samples) if isinstance(block, Categorical) else np.empty(0) for block in data.blocks]


def _sum_facts(own: Explained, weight: np.ndarray) -> np.ndarray:
    return np.stack([own.log_z, own.log_z**2, own.cost, own.unique, own.unique**2]) @ weight


def _facts(sums: np.ndarray, total: float) -> Facts:
    log_z, log_z_square, cost, unique, unique_square = sums
    mean, spread = mean_and_spread(total, unique, unique_square)
    errors = spread / np.sqrt(max(total - 1, 1))
    return Facts(*mean_and_spread(total, log_z, log_z_square), cost / total, mean, errors)


def _keys(labels: np.ndarray) -> np.ndarray:
    """A number for each joint label (m, T), (T,): another for another, but for 64 bits."""
    keys = np.zeros(labels.shape[1], np.uint64)
    for own in labels.astype(np.uint64):
        keys = (keys + own + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


def _why_no_entropy(data: Data, name: Callable[[int], str]) -> str:
    for block, columns in zip(data.blocks, data.columns, strict=True):
        if not isinstance(block, Categorical):
            if block.informative.any():  # a column that does not vary has no entropy of any kind
                return f"column {name(columns[block.informative.argmax()])} is not discrete"
            continue
        gap = (block.missing_weight() > 0) & block.informative
        if gap.any():
            return f"column {name(columns[gap.argmax()])} has missing values or categories that the fit has not seen"
    return ""
