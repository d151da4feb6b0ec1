"""How a layer is fitted, whatever the data."""

from dataclasses import dataclass
from typing import Literal

# Starts that run side by side where the number is not given, and the most factors of all of them.
N_STARTS, MOST_SIDE_BY_SIDE = 6, 120


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
    def side_by_side(self) -> int:
        """How many starts run side by side where nobody says: fewer if they have many factors each."""
        return max(1, min(N_STARTS, MOST_SIDE_BY_SIDE // self.n_factors))

    @property
    def starts(self) -> int:
        """The number of starts."""
        return self.side_by_side if self.n_starts == "auto" else int(self.n_starts)
