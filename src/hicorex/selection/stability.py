"""The result: how stable the factors of a model and its links are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex.support.compatibility import check_pandas_support
from hicorex.support.names import layer_factor_names

# Factors of this reproducibility are called stable: measured, they are found again in fresh samples.
STABLE = 0.5
# A variable that is with its factor in a smaller share of the fits is not sure to belong to it.
SURE = 0.5


class LayerStability(NamedTuple):
    """How stable one layer is.

    factors : (m,), how much each factor is like the one that stands for it in fits to halves, from 0 to 1
    links : (n, m), the share of these fits in which the variable was with that factor more than with any other
    """

    factors: np.ndarray
    links: np.ndarray

    @property
    def consensus(self) -> np.ndarray:
        """The factor that each variable was with most often, -1 where it was with none, (n,)."""
        return np.where(self.links.any(axis=1), self.links.argmax(axis=1), -1)


class FactorStability(NamedTuple):
    """How stable one factor is.

    name : layer1_factor0, ...
    reproducibility : how much it is like the factor that stands for it in fits to halves, from 0 to 1
    stable : whether that is 0.5 or more
    n_variables : the number of variables, or factors of the layer below, that were with it most often
    """

    name: str
    reproducibility: float
    stable: bool
    n_variables: int


@dataclass(frozen=True, repr=False)
class Stability:
    """How stable the factors of a model and its links are, by fits of the same sizes to random halves of the samples.

    The factors of a fit stand for those of the model one to one, so that their labels of all samples are as alike as
    can be; likeness is the mutual information of the labels over the larger entropy.

    Attributes
    ----------
    factors : ndarray of shape (n_factors of all layers,)
        The reproducibility of each factor, in the order of ``transform``: its mean likeness, from 0 to 1.
    links : ndarray of shape (n_features, n_factors of the first layer)
        The share of fits in which the variable was with that factor more than with any other.
    consensus : ndarray of shape (n_features,)
        The factor of the first layer that each variable was with most often, -1 for none.
    layers : tuple of LayerStability
        ``factors``, ``links`` and ``consensus`` of each layer; the variables of a further one are the factors below.
    n_resamples : int
        The number of fits.
    """

    layers: tuple[LayerStability, ...]
    n_resamples: int

    @property
    def factors(self) -> np.ndarray:
        """The reproducibility of each factor of all layers, in the order of ``transform``."""
        return np.concatenate([layer.factors for layer in self.layers])

    @property
    def links(self) -> np.ndarray:
        """The share of fits in which a variable was with a factor of the first layer, (n_features, n_factors)."""
        return self.layers[0].links

    @property
    def consensus(self) -> np.ndarray:
        """The factor of the first layer that each variable was with most often, -1 for none, (n_features,)."""
        return self.layers[0].consensus

    def rows(self) -> Iterator[FactorStability]:
        """How stable each factor is, from the bottom up."""
        for k, layer in enumerate(self.layers, start=1):
            sizes = np.bincount(layer.consensus + 1, minlength=layer.factors.size + 1)[1:]
            names = layer_factor_names(k, layer.factors.size)
            for name, value, size in zip(names, layer.factors.tolist(), sizes.tolist(), strict=True):
                yield FactorStability(name, value, value >= STABLE, size)

    def __repr__(self) -> str:
        lines = [f"{'':<18}{'reproducibility':>16}{'variables':>11}"]
        lines += [f"{row.name:<18}{row.reproducibility:>16.2f}{row.n_variables:>11}" for row in self.rows()]
        n_stable = int((self.factors >= STABLE).sum())
        lines.append(f"factors that come back in {self.n_resamples} fits to halves: {n_stable}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """A row for each factor (needs pandas)."""
        pd = check_pandas_support("to_frame")
        return pd.DataFrame(list(self.rows())).set_index("name")
