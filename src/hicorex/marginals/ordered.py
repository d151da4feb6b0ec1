"""Ordered marginals p(x_i | y_j): tables of probabilities that are smoothed along the order of the categories."""

import numpy as np
from numpy.typing import DTypeLike

from hicorex import kernels
from hicorex.marginals.base import Sums, all_states
from hicorex.marginals.categorical import Categorical, Parameters

# For each sample of p(x_i) by which marginals are smoothed, this number of samples of what neighbours say.
NEIGHBOUR_SAMPLES = 25.0


class Ordered(Categorical):
    """A block of coded columns whose categories have an order, such as answers from 1 to 5.

    All is as for categories, but that p(x_i | y_j) is drawn towards p(x_i) times what a category and its neighbours
    say on average of p(x_i | y_j) / p(x_i). Few samples make smooth marginals, many those of categories.
    """

    def __init__(self, sizes: np.ndarray, dtype: DTypeLike):
        super().__init__(sizes, False, dtype)

    def estimate(self, sums: Sums, label_sum: np.ndarray, prior_samples: float) -> Parameters:
        """p(x_i | y_j) under the labels, drawn towards p(x_i) (eq:marg) and along the order."""
        p = super().estimate(sums, label_sum, prior_samples).p
        count = np.add.reduceat(sums[0] * self.is_category, self.offsets[:-1], axis=2)
        seen = np.maximum(all_states(count, self.observed), 0) + prior_samples
        neighbours = NEIGHBOUR_SAMPLES * prior_samples
        kernels.categorical.draw_to_neighbours(seen, self.marginal, self.offsets, neighbours, p)
        return Parameters(p, np.log(p))
