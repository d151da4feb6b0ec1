"""Batches of a table, and sums over those seen so far, of which older ones count less and less."""

from typing import NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.exceptions import UnsoundError
from hicorex.layer.data import Data, Part
from hicorex.marginals.base import Block, Sums, join

# Parts of the table from which the rows of a batch are drawn; one of them is another in every batch.
POOL = 4
# A batch counts for (1 + t / SLOWNESS)^-DECAY of the sums after t batches: at first for nearly all, so that factors
# form as fast as if every batch were the whole table.
SLOWNESS, DECAY = 5, 0.6


def step_size(n_seen: int) -> float:
    """The share of the sums that the next batch has after ``n_seen`` others.

    It falls slowly enough for its sum to have no limit, fast enough for that of its square to have one, so that the
    noise of the batches dies away.
    """
    return (1 + n_seen / SLOWNESS) ** -DECAY


class Batches:
    """Random rows of a table, ``size`` at a time; the same ones whenever a batch is asked for again.

    Of a table that is not in memory only a few parts are read for each batch.
    """

    def __init__(self, data: Data, size: int, engine: Engine, seed: np.random.SeedSequence):
        self._data, self._size, self._engine = data, size, engine
        self._entropy = seed.generate_state(4).tolist()
        self._pool: dict[int, Part] = {}

    def take(self, number: int) -> Data:
        """The batch of this number, 0, 1, ..., in memory."""
        n_parts = len(self._data.parts)
        chosen = list(dict.fromkeys(self._in_turn(number + at) for at in range(min(POOL, n_parts))))
        new = [at for at in chosen if at not in self._pool]
        fetched = self._engine.each(_itself, [self._data.parts[at] for at in new]) if new else ()
        self._pool = {at: part for at, part in self._pool.items() if at in chosen} | dict(
            zip(new, fetched, strict=True)
        )
        rng = np.random.default_rng([*self._entropy, number, 0])
        chosen_rows = []
        left = self._size
        for place, at in enumerate(sorted(chosen)):
            part = self._pool[at]
            count = min(part.sample_weight.size, left // (len(chosen) - place))
            rows = part.first + np.sort(rng.choice(part.sample_weight.size, count, replace=False))
            left -= count
            chosen_rows.append((part, rows))
        blocks = self._data.blocks
        taken = self._engine.map(lambda chosen: chosen[0].take(chosen[1]), chosen_rows)
        parts, weights = zip(*taken, strict=True)
        samples = [join(some) for some in zip(*parts, strict=True)]
        return Data.of(blocks, self._data.columns, samples, np.concatenate(weights))

    def _in_turn(self, number: int) -> int:
        """The part that joins the pool at this number: all in turn, each time in another order."""
        turn, place = divmod(number, len(self._data.parts))
        return int(np.random.default_rng([*self._entropy, turn, 1]).permutation(len(self._data.parts))[place])


def _itself(part: Part) -> Part:
    return part


class FadingSums(NamedTuple):
    """Sums over batches, in which each counts for less the older it is.

    n_seen : the number of batches
    total : the weight of all
    totals : by block, those of the columns
    label_sum, sums : of labels (k, J), and by block those under labels
    """

    n_seen: int
    total: float
    totals: list[Sums]
    label_sum: np.ndarray
    sums: list[Sums]

    @classmethod
    def after(cls, before: "FadingSums | None", batch: Data, label_sum: np.ndarray, sums: list[Sums]) -> "FadingSums":
        """The sums with those of one more batch."""
        totals = [block.totals for block in batch.blocks]
        if before is None:
            return cls(1, batch.total, totals, label_sum, sums)
        # The batch itself is not made smaller, so that sums are of as many samples as they are worth.
        fade = batch.total * (1 / step_size(before.n_seen) - 1) / before.total
        for old, new in ((before.totals, totals), (before.sums, sums)):
            shapes = [[[array.shape for array in arrays] for arrays in by_block] for by_block in (old, new)]
            if shapes[0] != shapes[1]:
                raise UnsoundError("the sums over earlier batches and this one do not agree")

        def faded(old: list[Sums], new: list[Sums]) -> list[Sums]:
            return [tuple(fade * a + b for a, b in zip(*both, strict=True)) for both in zip(old, new, strict=True)]

        return cls(
            before.n_seen + 1,
            fade * before.total + batch.total,
            faded(before.totals, totals),
            fade * before.label_sum + label_sum,
            faded(before.sums, sums),
        )

    def blocks(self, batch: Data) -> list[Block]:
        """The blocks of the batch, over all samples seen."""
        return [block.over(totals, self.total) for block, totals in zip(batch.blocks, self.totals, strict=True)]

    def take(self, factors: np.ndarray) -> "FadingSums":
        """The sums of some of the factors."""
        sums = [tuple(array[:, factors] for array in arrays) for arrays in self.sums]
        return self._replace(label_sum=self.label_sum[:, factors], sums=sums)
