"""How far samples are from what was usual in a fit."""

from typing import Any, NamedTuple

import numpy as np

from hicorex.bounds.evidence import Evidence

# A spread below this part of the mean is rounding.
ROUNDING = 1e-6


class Surprise(NamedTuple):
    """How far samples are from what was usual in the fit, in standard deviations.

    samples : (n_samples,), of the point-wise total correlation. A sample far below zero breaks the dependence that
        the model has learned; one far above zero follows it unusually strongly
    factors : (n_samples, n_factors of all layers), of each factor's log Z_j
    """

    samples: np.ndarray
    factors: np.ndarray


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

    def surprise(self, log_z: np.ndarray) -> Surprise:
        """How unusual samples of these log Z_j (n_samples, n_factors) are."""
        return Surprise(self.of_samples(log_z.sum(axis=1)), self.of_factors(log_z, slice(None)))

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
