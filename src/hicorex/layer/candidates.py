"""What a candidate factor promises in the place of a factor that is there, before anything is fitted.

The bound of a layer is sum_i I(Y_{S_i}:X_i) - sum_j I(Y_j:X). On some samples, with columns cut into few values, joint
counts of labels and values tell what each variable's best factor and a second one know of it together, for every
candidate as the second one. The sum over variables, less what the labels cost, is the promise.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.layer.data import Data
from hicorex.layer.labels import labels_of_samples
from hicorex.layer.numbers import few_codes, some_of, some_rows, weighted_quantiles
from hicorex.layer.state import State
from hicorex.marginals import Categorical
from hicorex.marginals.base import FamilyBlock, FamilySamples

# Samples, values of a column, and cells of samples and columns that a promise goes by.
MOST_ROWS, N_VALUES, MOST_CELLS = 3000, 5, 2**20
# Odds that a second factor without any information about a variable is credited with some.
LEVEL = 0.01


class Promises(NamedTuple):
    """What candidates promise.

    gain : (F, m) how much more the layer would explain with a candidate in the place of a factor, in nats
    likeness : (F, m + F) how alike the labels of candidates are to those of factors and candidates, 0 to 1
    """

    gain: np.ndarray
    likeness: np.ndarray


class Screen:
    """Some samples of a table, on which candidates are compared."""

    def __init__(self, data: Data, engine: Engine):
        self._sample, self._engine = some_rows(data, MOST_ROWS, engine), engine
        weight = self._sample.sample_weight.astype(np.float32)
        self._share = weight / weight.sum()
        # The number of samples that the weights are worth: information of so many is that much too large by chance.
        self._n_samples = float(weight.sum())
        columns = [np.flatnonzero(block.informative) for block in data.blocks]
        n_columns, most = sum(of_block.size for of_block in columns), max(1, MOST_CELLS // self._sample.n_samples)
        self._scale = max(1.0, n_columns / most)
        if n_columns > most:
            columns = some_of(columns, np.random.default_rng(0).permutation(n_columns)[:most])
        values = _values(self._sample, columns, self._share)
        self._freedom = np.maximum(values.max(axis=1), 1)
        # One-hot, (v, n, R).
        self._cells = np.stack([values == v for v in range(values.max(initial=0) + 1)]).astype(np.float32)

    def promises(self, state: State, candidates: State) -> Promises:
        """What each candidate promises in the place of each factor of the state."""
        present, new = (labels_of_samples(of, self._sample, self._engine) for of in (state, candidates))
        known, alone = self._information(present), self._information(new)
        n_factors = len(known)
        order = np.argsort(-known, axis=0, kind="stable")
        best, next_best = order[0], order[min(1, n_factors - 1)]
        columns = np.arange(known.shape[1])
        both = np.concatenate([present, new], axis=1)
        beside_best, beside_next = (self._beyond(owner, present, both) for owner in (best, next_best))
        for beside, owner in ((beside_best, best), (beside_next, next_best)):
            beside[owner, columns] = 0
        now = known[best, columns] + beside_best[:n_factors].max(axis=0)
        cost = self._cost(both)
        gain = np.empty((new.shape[1], n_factors))
        for j in range(n_factors):
            leaves = best == j
            first = np.where(leaves, known[next_best, columns] if n_factors > 1 else 0, known[best, columns])
            second = np.where(leaves, beside_next, beside_best)
            second[j] = 0
            with_new = first + np.maximum(second[:n_factors].max(axis=0), second[n_factors:])
            explained = np.maximum(with_new, alone) if n_factors > 1 else alone
            gain[:, j] = self._scale * (explained - now).sum(axis=1) - cost[n_factors:] + cost[j]
        return Promises(gain, self._likeness(new, both))

    def _information(self, labels: np.ndarray) -> np.ndarray:
        """I(Y_j:X_i) (J, n), less its bias."""
        whole = np.ones((1, 1, labels.shape[2]), np.float32)
        everyone = np.zeros(self._cells.shape[1], int)
        return np.maximum(self._counted(everyone, whole, labels) - self._bias(len(labels) - 1), 0)

    def _beyond(self, owner: np.ndarray, present: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """I(Y_j:X_i | Y_owner(i)) (J, n), less its bias, 0 where chance may have it."""
        n_contrasts = len(labels) * (len(labels) - 1)
        information = self._counted(owner, present, labels)
        critical = chdtri(n_contrasts * self._freedom, LEVEL) / (2 * self._n_samples)
        return np.where(information > critical, information - self._bias(n_contrasts), 0)

    def _counted(self, owner: np.ndarray, given: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The information (J, n) of labels (k, J, R) about each column beyond its owner among the given (k', m, R)."""
        n_states, n_labels, n_rows = labels.shape
        n_values = len(self._cells)
        right = np.ascontiguousarray(labels.reshape(-1, n_rows).T)
        information = np.zeros((n_labels, owner.size))

        def of_owner(j: int) -> None:
            mine = np.flatnonzero(owner == j)
            cells = self._cells[:, mine]
            counts = np.empty((len(given), mine.size, n_values, n_states, n_labels), np.float32)
            for a, label in enumerate(given[:, j] * self._share):
                product = (cells * label).reshape(-1, n_rows) @ right
                counts[a] = product.reshape(n_values, mine.size, n_states, n_labels).transpose(1, 0, 2, 3)
            out = np.empty((n_labels, mine.size))
            kernels.candidates.conditional_information(counts, out)
            information[:, mine] = out

        list(self._engine.map(of_owner, np.unique(owner).tolist()))
        return information

    def _bias(self, n_contrasts: int) -> np.ndarray:
        """How much information is too large by chance, (n,)."""
        return n_contrasts * self._freedom / (2 * self._n_samples)

    def _cost(self, labels: np.ndarray) -> np.ndarray:
        """I(Y_j:X), (J,)."""
        prior = (labels @ self._share)[:, :, None]
        log_ratio = np.log(np.maximum(labels, 1e-12) / np.maximum(prior, 1e-12))
        return ((labels * log_ratio).sum(axis=0) @ self._share).astype(float)

    def _likeness(self, labels: np.ndarray, others: np.ndarray) -> np.ndarray:
        """How alike labels (k, F, R) are to others (k, G, R): the correlation of the samples' likenesses, (F, G)."""
        root = np.sqrt(self._share)

        def centred(of: np.ndarray) -> np.ndarray:
            return (of - (of @ self._share)[:, :, None]) * root

        one, other = centred(labels), centred(others)
        squares = sum((a @ b.T) ** 2 for a in one for b in other)
        norms = [np.sqrt(sum((a * b).sum(axis=1) ** 2 for a in of for b in of)) for of in (one, other)]
        return squares / np.maximum(np.outer(*norms), 1e-12)


def _values(sample: Data, columns: list[np.ndarray], share: np.ndarray) -> np.ndarray:
    """Some columns of each block, each cut into N_VALUES at most, (n, R), -1 where missing."""
    tables = []
    for block, samples, some in zip(sample.blocks, sample.samples, columns, strict=True):
        cut = _cut_categories if isinstance(block, Categorical) else _cut_numbers
        if some.size:
            tables.append(cut(block, samples, some, share))
    return np.concatenate(tables)


def _cut_categories(block: FamilyBlock, samples: FamilySamples, columns: np.ndarray, share: np.ndarray) -> np.ndarray:
    return few_codes(block, samples, columns, N_VALUES)


def _cut_numbers(block: FamilyBlock, samples: FamilySamples, columns: np.ndarray, share: np.ndarray) -> np.ndarray:
    tile = block.tile(samples, slice(None))
    observed = tile.observed(block.gaps)
    values = np.full((columns.size, share.size), -1, np.int8)
    places = np.arange(1, N_VALUES) / N_VALUES
    for x, seen, value in zip(tile.x[columns], observed[columns], values, strict=True):
        cuts = weighted_quantiles(x[seen], share[seen], places)
        value[seen] = np.searchsorted(cuts, x[seen])
    return values
