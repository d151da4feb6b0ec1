"""What workers of tests begin with: imported once by the process that they are forked from.

Importing and loading compiled code would else take each of them seconds, in which it may answer nobody.
"""

import warnings

import clusters  # noqa: F401
import dask.array
import dask.dataframe  # noqa: F401
import distributed  # noqa: F401
import numpy as np

from hicorex import Corex

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # three rounds settle nothing
    Corex(2, n_states=2, n_init=2, max_iter=3, random_state=0).fit(np.arange(9000 * 4).reshape(9000, 4) // 7 % 2)
