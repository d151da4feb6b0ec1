"""How a layer is fitted, whatever the data."""

from dataclasses import dataclass
from typing import Literal

# Starts where the number is not given, children of the best one in a round, and the most factors of all side by side.
N_STARTS, N_CHILDREN, MOST_SIDE_BY_SIDE = 12, 6, 120


@dataclass(frozen=True)
class FitOptions:
    """What decides on a fit beside its data, its rule and its seed.

    n_factors, n_states : m and k
    n_starts : number of starts that run side by side, or "auto"
    max_iter : the largest number of iterations of a start
    tol : a start is finished when its objective has grown by less than this share
    batch_size : number of samples of a batch; None for passes over all samples
    improve : whether the best start is improved by factors of others
    """

    n_factors: int
    n_states: int
    n_starts: int | Literal["auto"]
    max_iter: int
    tol: float
    batch_size: int | None = None
    improve: bool = True

    @property
    def starts(self) -> int:
        """The number of starts: where nobody says, fewer if they have many factors each."""
        return self._side_by_side(N_STARTS) if self.n_starts == "auto" else int(self.n_starts)

    @property
    def children(self) -> int:
        """The number of starts of a round."""
        return self._side_by_side(N_CHILDREN)

    def _side_by_side(self, most: int) -> int:
        return max(1, min(most, MOST_SIDE_BY_SIDE // self.n_factors))
