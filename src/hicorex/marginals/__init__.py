"""Families of marginals: how a variable depends on a factor's state."""

from hicorex.marginals.base import Block
from hicorex.marginals.categorical import Categorical
from hicorex.marginals.gaussian import Gaussian
from hicorex.marginals.joint import JointMarginals
from hicorex.marginals.joint_categorical import JointCategorical
from hicorex.marginals.joint_gaussian import JointGaussian
from hicorex.marginals.joint_sparse import JointSparseCategorical
from hicorex.marginals.ordered import Ordered
from hicorex.marginals.sparse import SparseCategorical

__all__ = ["Block", "Categorical", "Gaussian", "Ordered", "SparseCategorical", "joint_marginals"]

_JOINTS = {
    Categorical: JointCategorical,
    Gaussian: JointGaussian,
    Ordered: JointCategorical,
    SparseCategorical: JointSparseCategorical,
}


def joint_marginals(block: Block) -> JointMarginals:
    """What a block makes of the joint sums of a pass."""
    return _JOINTS[type(block)](block)
