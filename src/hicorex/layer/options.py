"""How a layer is fitted, whatever the data."""

from dataclasses import dataclass
from typing import Literal

from hicorex.layer.held import NOTHING_HELD, Held

# Starts where the number is not given, children of the best one in a round, and the most factors of all side by side.
N_STARTS, N_CHILDREN, MOST_SIDE_BY_SIDE = 12, 6, 120
# Pairs of a factor and a column side by side, and samples by state of a factor: of wide tables with few samples starts
# side by side would take more memory than the table.
MOST_PAIRS, SAMPLES_BY_STATE = 2**19, 40


@dataclass(frozen=True)
class FitOptions:
    """What decides on a fit beside its data, its rule and its seed.

    n_factors, n_states : m and k
    n_starts : number of starts that run side by side, or "auto"
    max_iter : the largest number of iterations of a start
    tol : a start is finished when its objective has grown by less than this share
    batch_size : number of samples of a batch; None for passes over all samples
    improve : whether the best start is improved by factors of others
    held : the factors that have a place of their own
    """

    n_factors: int
    n_states: int
    n_starts: int | Literal["auto"]
    max_iter: int
    tol: float
    batch_size: int | None = None
    improve: bool = True
    held: Held = NOTHING_HELD

    def starts(self, n_samples: int, n_columns: int) -> int:
        """The number of starts for a table: where nobody says, fewer if they have many factors each."""
        if self.n_starts != "auto":
            return int(self.n_starts)
        return self._side_by_side(N_STARTS, n_samples, n_columns)

    def children(self, n_samples: int, n_columns: int) -> int:
        """The number of starts of a round for a table."""
        return self._side_by_side(N_CHILDREN, n_samples, n_columns)

    def _side_by_side(self, most: int, n_samples: int, n_columns: int) -> int:
        of_table = max(MOST_PAIRS // n_columns, n_samples // (SAMPLES_BY_STATE * self.n_states))
        return max(1, min(most, min(MOST_SIDE_BY_SIDE, of_table) // self.n_factors))
