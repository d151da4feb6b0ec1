"""How far samples are from what was usual in a fit."""

from typing import Any, NamedTuple

import numpy as np

from hicorex.bounds.evidence import Evidence
from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.layer.state import State
from hicorex.marginals import Categorical, Gaussian

# A spread below this part of the mean is rounding.
ROUNDING = 1e-6
# Standard deviations from which on a sample is called unusual.
UNUSUAL = 3
# Twice the constant of -log p of a normal distribution, and the largest square of a standardised value that counts.
LOG_2_PI, LARGEST_SQUARE = float(np.log(2 * np.pi)), 1e12


class Surprise(NamedTuple):
    """How far samples are from what was usual in the fit: the dependence in standard deviations, surprisal in nats.

    samples : (n_samples,), of the point-wise total correlation. A sample far below zero breaks the dependence that
        the model has learned; one far above zero follows it unusually strongly
    factors : (n_samples, n_factors of all layers), of each factor's log Z_j
    surprisal : (n_samples,), that of the whole sample: sum_i -log p(x_i) less its point-wise total correlation. Of a
        number p is the normal density of its standardised value
    odd_values : (n_samples,), how much of it is more than usual because single values are rare
    odd_combination : (n_samples,), how much of it is more than usual because the values go together badly
    unusual : (n_samples,), "values" or "combination", whichever is more, where their sum is three standard deviations
        or more; "" elsewhere
    """

    samples: np.ndarray
    factors: np.ndarray
    surprisal: np.ndarray
    odd_values: np.ndarray
    odd_combination: np.ndarray
    unusual: np.ndarray


class OfValues(NamedTuple):
    """What the values of samples say one by one, each (n_samples,), over those that are there.

    surprisal : sum_i -log p(x_i)
    mean, variance : of it by the marginals, where p is right; the variance of -log p(x) of a normal vector is the same
        however its elements depend on each other
    """

    surprisal: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def of_values(surprisals: list[np.ndarray], state: State, data: Data, engine: Engine) -> OfValues:
    """What the values of samples say, by the -log p(x_i) of categories in the fit, by block."""
    blocks = data.blocks
    moments = [
        surprisal_moments(block, table) if isinstance(block, Categorical) else ()
        for block, table in zip(blocks, surprisals, strict=True)
    ]

    def of_tile(part: Part, rows: slice) -> np.ndarray:
        total = np.zeros((3, len(part.sample_weight[rows])))
        for block, tables, tile in zip(blocks, moments, part.tile(blocks, rows), strict=True):
            if isinstance(block, Categorical):
                total += [block.look_up(tile, table) for table in tables]
            elif isinstance(block, Gaussian):
                seen = tile.observed(block.gaps) & block.informative[:, None]
                count = np.count_nonzero(seen, axis=0)
                # Of standardised values of any size the sum stays finite.
                square = np.minimum(tile.square, LARGEST_SQUARE) * seen
                total += [(square.sum(axis=0) + LOG_2_PI * count) / 2, (1 + LOG_2_PI) * count / 2, count / 2]
        return total

    return OfValues(*np.concatenate(list(engine.tiles(of_tile, data.parts)), axis=1))


def surprisal_moments(block: Categorical, surprisal: np.ndarray) -> tuple[np.ndarray, ...]:
    """The surprisal of each category, its mean and its variance in the column, (F,); 0 for missing values."""
    p = np.exp(-surprisal) * block.is_category
    p /= np.maximum(np.add.reduceat(p, block.offsets[:-1]), 1e-300)[block.column_of]
    mean = np.add.reduceat(p * surprisal, block.offsets[:-1])[block.column_of]
    variance = np.add.reduceat(p * (surprisal - mean) ** 2, block.offsets[:-1])[block.column_of]
    return tuple(table * block.is_category for table in (surprisal, mean, variance))


class Usual(NamedTuple):
    """What was usual in a fit, each a mean and a standard deviation over its samples.

    score : of the point-wise total correlation
    log_z : of each factor's log Z_j, both (n_factors of all layers,)
    """

    score: tuple[float, float]
    log_z: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, evidence: Evidence) -> "Usual":
        """What is usual for the samples of this evidence."""
        means = np.concatenate([layer.log_z for layer in evidence.soft])
        return cls(evidence.usual_score(), (means, np.concatenate([layer.log_z_spread for layer in evidence.soft])))

    def surprise(self, log_z: np.ndarray, values: OfValues) -> Surprise:
        """How unusual samples of these log Z_j (n_samples, n_factors) and of these values are."""
        total = log_z.sum(axis=1)
        return Surprise(self.of_samples(total), self.of_factors(log_z, slice(None)), *self.of_whole(total, values))

    def of_whole(self, total: np.ndarray, values: OfValues) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The last four of ``Surprise``, by the samples' point-wise total correlation (n_samples,)."""
        odd_values, odd_combination = values.surprisal - values.mean, self.score[0] - total
        far = odd_values + odd_combination >= UNUSUAL * np.sqrt(values.variance) + ROUNDING
        which = np.where(odd_values >= odd_combination, "values", "combination")
        return values.surprisal - total, odd_values, odd_combination, np.where(far, which, "")

    def of_samples(self, total: np.ndarray) -> np.ndarray:
        """How unusual samples of this point-wise total correlation are, (n_samples,)."""
        return _standardised(total, *self.score)

    def of_factors(self, log_z: np.ndarray, factors: int | slice) -> np.ndarray:
        """How unusual the log Z of some factors are. One factor at a time takes little memory."""
        means, spreads = self.log_z
        return _standardised(log_z, means[factors], spreads[factors])


def _standardised(values: np.ndarray, mean: Any, spread: Any) -> np.ndarray:
    """Deviations from the mean in standard deviations, 0 where those are mere rounding."""
    varies = spread > ROUNDING * np.maximum(1, np.abs(mean))
    deviation = values - mean
    deviation /= np.where(varies, spread, 1)
    np.copyto(deviation, 0, where=~varies)
    return deviation
