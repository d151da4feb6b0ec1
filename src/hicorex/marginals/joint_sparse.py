"""Categorical marginals of sparse columns given the joint states of several factors."""

from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.marginals.joint import Joint
from hicorex.marginals.joint_categorical import JointCategorical
from hicorex.marginals.sparse import SparseCategorical, SparseTile, distinct


class SparseRatios(NamedTuple):
    """As Ratios of dense columns, the tables by what a cell changes in them.

    constants (1 + d, k^d, p) are those of zeros, summed over the columns of each distinct tuple (d, p) of factors.
    """

    columns: np.ndarray
    places: np.ndarray
    factors: np.ndarray
    differences: np.ndarray
    tuples: np.ndarray
    constants: np.ndarray

    def add_explained(self, tile: SparseTile, labels: np.ndarray, explained: np.ndarray, unique: np.ndarray) -> None:
        """Add the mean of the log-ratios over labels (k, J, T) to explained (T,), nothing where missing."""
        *of_cells, tuples, constants = self
        kernels.sparse.add_constants(tuples, constants, labels, explained, unique)
        kernels.sparse.add_cells(*tile.cells, *of_cells, labels, explained, unique)


class JointSparseCategorical(JointCategorical):
    """What a block of sparse columns makes of joint counts; its log-ratios are for the cells that are stored."""

    _block: SparseCategorical

    def ratios(self, joint: Joint, n_states: int, bias_correction: float) -> SparseRatios:
        """log p(x_i | y_S) / p(x_i) of the columns of a joint."""
        columns, offsets, factors, tables = self._tables(joint, n_states, bias_correction)
        zeros = tables[:, :, offsets[:-1] + self._block.zero[columns]]
        column_of = np.repeat(np.arange(columns.size), np.diff(offsets))
        tuples, tuple_of = distinct(factors)
        constants = np.zeros((tuples.shape[1], *tables.shape[:2]))
        np.add.at(constants, tuple_of, zeros.transpose(2, 0, 1))
        constants = np.ascontiguousarray(constants.transpose(1, 2, 0))
        return SparseRatios(columns, offsets[:-1], factors, tables - zeros[:, :, column_of], tuples, constants)
