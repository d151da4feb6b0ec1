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
from hicorex.layer.numbers import few_codes, some_of, some_rows
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
        # All values but one, one-hot, (v - 1, n, R); of columns with missing values also whether there is one.
        self._cells = np.stack([values == v for v in range(1, max(2, values.max(initial=0) + 1))]).astype(np.float32)
        self._with_gaps = np.flatnonzero((values < 0).any(axis=1))
        self._observed = (values[self._with_gaps] >= 0).astype(np.float32)

    def promises(self, state: State, candidates: State) -> Promises:
        """What each candidate promises in the place of each factor of the state."""
        present, new = (labels_of_samples(of, self._sample, self._engine) for of in (state, candidates))
        both = np.concatenate([present, new], axis=1)
        features, n_factors = _features(both), present.shape[1]
        whole = self._products(np.arange(self._cells.shape[1]), self._share, features)
        information = self._information(whole, both)
        known, alone = information[:n_factors], information[n_factors:]
        owners = np.argsort(-known, axis=0, kind="stable")[: min(2, n_factors)]
        beside = [self._beyond(owner, present, features, whole, len(information)) for owner in owners]
        cost = self._cost(both)
        gain = self._scale * _replaced(known, alone, owners, beside) - cost[n_factors:, None] + cost[:n_factors]
        return Promises(gain, self._likeness(new, both))

    def _information(self, whole: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """I(Y_j:X_i) (J, n), less its bias."""
        n_states, n_labels, _ = labels.shape
        information = np.empty((n_labels, len(whole)))
        kernels.candidates.conditional_information(
            np.empty((0, *whole.shape), np.float32), whole, n_states, information
        )
        return np.maximum(information - self._bias(n_states - 1), 0)

    def _beyond(
        self, owner: np.ndarray, present: np.ndarray, features: np.ndarray, whole: np.ndarray, n_labels: int
    ) -> np.ndarray:
        """I(Y_j:X_i | Y_owner(i)) (J, n) of labels with these features, less its bias, 0 where chance may have it."""
        n_states = len(present)
        information = np.zeros((n_labels, owner.size))

        def of_owner(j: int) -> None:
            mine = np.flatnonzero(owner == j)
            given = np.stack([self._products(mine, label * self._share, features) for label in present[1:, j]])
            out = np.empty((n_labels, mine.size))
            kernels.candidates.conditional_information(given, whole[mine], n_states, out)
            information[:, mine] = out

        list(self._engine.map(of_owner, np.unique(owner).tolist()))
        n_contrasts = n_states * (n_states - 1)
        critical = chdtri(n_contrasts * self._freedom, LEVEL) / (2 * self._n_samples)
        return np.where(information > critical, information - self._bias(n_contrasts), 0)

    def _products(self, columns: np.ndarray, weight: np.ndarray, features: np.ndarray) -> np.ndarray:
        """The sums of features (R, w) over samples with any value of some columns, then with each, (n, v, w)."""
        products = np.empty((columns.size, 1 + len(self._cells), features.shape[1]), np.float32)
        products[:, 0] = weight @ features
        gaps = np.flatnonzero(np.isin(columns, self._with_gaps))
        observed = self._observed[np.searchsorted(self._with_gaps, columns[gaps])]
        products[gaps, 0] = (observed * weight) @ features
        for v, cells in enumerate(self._cells):
            products[:, 1 + v] = (cells[columns] * weight) @ features
        return products

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


def _replaced(known: np.ndarray, alone: np.ndarray, owners: np.ndarray, beside: list[np.ndarray]) -> np.ndarray:
    """How much more two factors of each column know with a candidate in the place of a factor, over columns, (F, m).

    known (m, n), alone (F, n) what factors and candidates know of columns by themselves
    owners (2, n) the factors that know most of each column
    beside (m + F, n) for each of them, what others know beyond it
    """
    n_factors, n_columns = known.shape
    if n_factors == 1:
        return (alone - known).sum(axis=1)[:, None]
    columns = np.arange(n_columns)
    for owner, beyond in zip(owners, beside, strict=True):
        beyond[owner, columns] = 0
    most = known[owners[0], columns]
    second = beside[0][:n_factors].argmax(axis=0)
    added = beside[0][second, columns]
    second[added == 0] = -1
    now = most + added
    explained = np.maximum(np.maximum(now, most + beside[0][n_factors:]), alone)
    gain = np.empty((len(alone), n_factors))
    gain[:] = (explained - now).sum(axis=1)[:, None]
    for j in range(n_factors):
        # Columns that lose their best factor, and those that lose the second one.
        for lost, heir, beyond in ((owners[0], owners[-1], beside[-1]), (second, owners[0], beside[0])):
            mine = np.flatnonzero(lost == j)
            rest = beyond[:n_factors, mine]
            rest[j] = 0
            both = known[heir[mine], mine] + np.maximum(rest.max(axis=0), beyond[n_factors:, mine])
            left = np.maximum(both, alone[:, mine])
            gain[:, j] += (left - explained[:, mine]).sum(axis=1)
    return gain


def _features(labels: np.ndarray) -> np.ndarray:
    """1, then the labels (k, J, R) of all states but the first, as columns (R, 1 + (k - 1) J)."""
    return np.concatenate([np.ones((1, labels.shape[2]), labels.dtype), labels[1:].reshape(-1, labels.shape[2])]).T


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
    x, observed = tile.x[columns], tile.observed(block.gaps)[columns]
    order = np.argsort(x, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(share * observed, order, axis=1), axis=1)
    values = np.where(observed, np.int8(0), np.int8(-1))
    for place in np.arange(1, N_VALUES) / N_VALUES:
        # The least value that this share of the weight is not above.
        at = (reached < (place - 1e-6) * reached[:, -1:]).sum(axis=1, keepdims=True)
        cut = np.take_along_axis(x, np.take_along_axis(order, at, axis=1), axis=1)
        values += (x > cut) & observed
    return values
