"""How a layer is fitted, whatever the data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FitOptions:
    """What decides on a fit beside its data, its rule and its seed.

    n_factors, n_states : m and k
    n_starts : number of starts that run side by side
    max_iter : the largest number of iterations
    tol : a start is finished when its objective has grown by less than this share
    batch_size : number of samples of a batch; None for passes over all samples
    """

    n_factors: int
    n_states: int
    n_starts: int
    max_iter: int
    tol: float
    batch_size: int | None = None
