"""How far traits depend on the states of factors: a share from 0 to 1, and how likely chance shows as much."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import xlogy

from hicorex.engine import Engine, LocalEngine
from hicorex.input.encoder import Encoder
from hicorex.input.sources import MemorySource
from hicorex.layer.data import Data
from hicorex.marginals import Categorical
from hicorex.relations.survival import Survival, log_rank, residuals
from hicorex.relations.traits import Traits
from hicorex.selection.independence import independence_test, normal_scores, variance_test

# Labels are tabulated this many cells at a time.
CELLS = 2**23


class Dependence(NamedTuple):
    """How far one trait depends on each of m factors.

    name, kind : of the trait; "category", "number" or "survival"
    n_samples : the number of samples of which it is known
    share : (m,), what the states explain of it, from 0 to 1, less what chance would
    p_value : (m,), NaN where the trait or the states do not vary
    """

    name: str
    kind: str
    n_samples: int
    share: np.ndarray
    p_value: np.ndarray


def dependences_of(
    traits: Traits, states: np.ndarray, kinds: object, sample_weight: np.ndarray | None, n_jobs: int | None
) -> list[Dependence]:
    """How far each trait depends on the states (N, m) of all samples; times with events come last."""
    weight = np.ones(len(states)) if sample_weight is None else np.asarray(sample_weight, float)
    labels, weight = states[traits.rows], weight[traits.rows]
    found = []
    if traits.frame is not None:
        with LocalEngine(n_jobs) as engine:
            found = _of_columns(traits.frame, kinds, labels, weight, engine)
    return found + [_of_survival(name, times, labels, weight) for name, times in traits.survival.items()]


def _of_columns(
    frame: nw.DataFrame, kinds: object, labels: np.ndarray, sample_weight: np.ndarray, engine: Engine
) -> list[Dependence]:
    """How far each column of a frame depends on labels (N, m)."""
    source = MemorySource(frame.to_native(), least_samples=2)
    encoder = Encoder.learn(source, kinds, sample_weight, engine)
    data, _ = encoder.encode(source, sample_weight, engine, dtype=np.float64)
    found: dict[int, Dependence] = {}
    for block, columns, samples in zip(data.blocks, data.columns, data.samples, strict=True):
        of_block, kind = (_of_categories, "category") if isinstance(block, Categorical) else (_of_numbers, "number")
        observed, share, p_value = of_block(block, samples, list(_in_states(labels, data)))
        for at, column in enumerate(columns.tolist()):
            name, n_samples = str(frame.columns[column]), int(observed[at].sum())
            found[column] = Dependence(name, kind, n_samples, share[:, at], p_value[:, at])
    return [found[column] for column in range(len(found))]


def _of_survival(name: str, survival: Survival, labels: np.ndarray, sample_weight: np.ndarray) -> Dependence:
    """How far times until an event depend on labels (N, m): by the log-rank test, and the martingale residuals."""
    scores = residuals(survival, sample_weight)[None]
    share, p_value = [], []
    for weighted in _by_state(labels, sample_weight):
        weighted = weighted * survival.observed
        of_part, testable = _explained_variance(scores, survival.observed[None], weighted)
        share.append(of_part[:, 0])
        p_value.append(np.where(testable[:, 0] & survival.event.any(), log_rank(survival, weighted), np.nan))
    return Dependence(name, "survival", int(survival.observed.sum()), np.concatenate(share), np.concatenate(p_value))


def _in_states(labels: np.ndarray, data: Data) -> Iterator[np.ndarray]:
    return _by_state(labels, data.sample_weight.astype(float))


def _by_state(labels: np.ndarray, sample_weight: np.ndarray) -> Iterator[np.ndarray]:
    """The weight of each sample in its state, 0 in others, (k, J, N), of some factors at a time."""
    states = np.arange(labels.max(initial=0) + 1)
    step = max(1, CELLS // max(1, states.size * len(labels)))
    for first in range(0, labels.shape[1], step):
        yield (states[:, None, None] == labels[:, first : first + step].T) * sample_weight


def _of_categories(block: Any, samples: Any, parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which values are known, (n, N); I(Y:T) / H(T), less what chance would give, and p-values, (m, n)."""
    test = independence_test(block, samples, parts[0][:, 0].sum(axis=0))
    tile = block.tile(samples, slice(None))
    tables = [test.tabulate(tile, slice(None), weighted) for weighted in parts]
    p_value = np.concatenate([test.probabilities(table) for table in tables])
    share, freedom = _explained_entropy(np.concatenate(tables, axis=1) * block.is_category, block.offsets[:-1])
    observed = np.stack(list(block.codes_of(samples))) < block.sizes[:, None]
    return observed, share, np.where(freedom > 0, p_value, np.nan)


def _explained_entropy(table: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of the entropy of columns that states tell, and the freedom of the tests, (J, n); from (k, J, F)."""
    of_state, of_category = np.add.reduceat(table, starts, axis=2), table.sum(axis=0)
    total = of_state.sum(axis=0)
    cells = np.add.reduceat(xlogy(table, table), starts, axis=2).sum(axis=0)
    categories = np.add.reduceat(xlogy(of_category, of_category), starts, axis=1)
    information = cells - categories - xlogy(of_state, of_state).sum(axis=0) + xlogy(total, total)
    entropy = xlogy(total, total) - categories
    n_categories = np.add.reduceat((of_category > 0).astype(int), starts, axis=1)
    freedom = (n_categories - 1) * ((of_state > 0).sum(axis=0) - 1)
    share = np.clip((information - freedom / 2) / np.where(freedom > 0, entropy, 1), 0, 1)
    return np.where(freedom > 0, share, 0), freedom


def _of_numbers(block: Any, samples: Any, parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which values are known, (n, N); the share of variance between states, and p-values, (m, n)."""
    tile = block.tile(samples, slice(None))
    observed = tile.observed(block.gaps)
    scores = normal_scores(np.where(observed, tile.x, np.nan)).astype(float)
    share, p_value = [], []
    for weighted in parts:
        of_part, testable = _explained_variance(scores, observed, weighted)
        share.append(of_part)
        p_value.append(np.where(testable, variance_test(*_moments(scores, observed, weighted)), np.nan))
    return observed, np.concatenate(share), np.concatenate(p_value)


def _moments(
    scores: np.ndarray, observed: np.ndarray, weighted: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sums of 1 and of scores in each state, (k, J, n), and of their squares over all states, (J, n)."""
    known = np.where(observed, scores, 0)
    count = np.einsum("sjt,it->sji", weighted, observed.astype(float), optimize=True)
    x = np.einsum("sjt,it->sji", weighted, known, optimize=True)
    square = np.einsum("jt,it->ji", weighted.sum(axis=0), known**2, optimize=True)
    return count, x, square


def _explained_variance(
    scores: np.ndarray, observed: np.ndarray, weighted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The share of the variance of scores (n, N) between states, less chance, (J, n); whether it can be tested."""
    count, x, square = _moments(scores, observed, weighted)
    total, filled = count.sum(axis=0), (count > 0).sum(axis=0)
    centre = x.sum(axis=0) ** 2 / np.maximum(total, 1e-300)
    variation = square - centre
    within = square - (x**2 / np.where(count > 0, count, 1)).sum(axis=0)
    testable = (filled > 1) & (total > filled) & (variation > 1e-12 * np.maximum(square, 1e-300))
    left = within * (total - 1) / np.where(testable, variation * (total - filled), 1)
    return np.where(testable, np.clip(1 - left, 0, 1), 0), testable
