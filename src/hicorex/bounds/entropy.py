"""The entropies that upper bounds need: of single variables, and of joint labels."""

from collections.abc import Callable, Sequence

import numpy as np

from hicorex.bounds.result import NoUpper, NoUpperReason
from hicorex.layer.data import Data
from hicorex.marginals import Categorical
from hicorex.marginals.base import PRIOR_SAMPLES, Block, Tile

# Beyond this number several joint labels are counted as one, which only lowers their entropy.
MOST_JOINT_LABELS = 2**20


def marginal_surprisals(data: Data, prior_samples: float = PRIOR_SAMPLES) -> list[np.ndarray]:
    """-log p(v) of every category by block, empty where columns are not discrete."""
    return [block.surprisals(prior_samples) if isinstance(block, Categorical) else np.empty(0) for block in data.blocks]


def sample_surprisals(
    blocks: Sequence[Block], tiles: Sequence[Tile], surprisals: Sequence[np.ndarray], n_samples: int
) -> np.ndarray:
    """-sum_i log p(x_i) over the discrete columns, for each sample of a tile, (T,); its mean is sum_i H(X_i)."""
    total = np.zeros(n_samples)
    for block, tile, table in zip(blocks, tiles, surprisals, strict=True):
        if isinstance(block, Categorical):
            total += block.look_up(tile, table)
    return total


def why_no_entropy(data: Data, name: Callable[[int], str]) -> NoUpper | None:
    """Why the entropies of the columns cannot be counted, None if they can; ``name`` says how a column is called."""
    for block, columns in zip(data.blocks, data.columns, strict=True):
        if not isinstance(block, Categorical):
            if block.informative.any():  # a column that does not vary has no entropy of any kind
                return NoUpper(NoUpperReason.NOT_DISCRETE, name(columns[block.informative.argmax()]))
            continue
        gap = (block.missing_weight() > 0) & block.informative
        if gap.any():
            return NoUpper(NoUpperReason.GAPS, name(columns[gap.argmax()]))
    return None


class JointLabels:
    """Sums over the samples of each joint label; they add up, and few joint labels take little room.

    keys : a key for each sample or joint label
    values : by key, what is summed, (u, c)
    """

    def __init__(self, keys: list[np.ndarray], values: list[np.ndarray]):
        self.keys, self.values = keys, values
        self._compress()

    @classmethod
    def of(cls, labels: np.ndarray, values: np.ndarray) -> "JointLabels":
        """The sums of values (T, c) over samples with labels (m, T)."""
        return cls([_keys(labels)], [values])

    def add(self, other: "JointLabels") -> None:
        """Add the sums of other samples."""
        self.keys += other.keys
        self.values += other.values
        if sum(keys.size for keys in self.keys) > 2 * self._size + 2**14:
            self._compress()

    def doubled(self) -> "JointLabels":
        """A copy, to add to."""
        return JointLabels(list(self.keys), list(self.values))

    def sums(self) -> np.ndarray:
        """The sums of each joint label, (u, c), in the order of their keys."""
        self._compress()
        return self.values[0]

    def _compress(self) -> None:
        keys, place = np.unique(np.concatenate(self.keys), return_inverse=True)
        if keys.size > MOST_JOINT_LABELS:  # the same keys fall together whatever they were added to before
            keys, again = np.unique(keys % MOST_JOINT_LABELS, return_inverse=True)
            place = again[place]
        values = np.concatenate(self.values)
        sums = [np.bincount(place, column, keys.size) for column in values.T]
        self.keys, self.values, self._size = [keys], [np.column_stack(sums)], keys.size


def _keys(labels: np.ndarray) -> np.ndarray:
    """A hash of 64 bits of each joint label (m, T), (T,)."""
    keys = np.zeros(labels.shape[1], np.uint64)
    for of_factor in labels.astype(np.uint64):
        keys = (keys + of_factor + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys
