"""What a candidate factor would tell about a variable beyond a factor that is there, by counts of joint states."""

import numpy as np

from hicorex.kernels.compiled import inlined, jit, log

# Smaller counts are rounding.
LEAST_COUNT = np.float32(1e-9)


@jit
def conditional_information(given, whole, n_states, out):
    """I(B : x | A) of each candidate B and column into out (F, n), in nats; I(B : x) where ``given`` is empty.

    whole (n, v, 1 + (k - 1) F) : of each column and value the weight of the samples with this value, then that of those
        among them in state s of B, for s = 1, ..., k - 1; value 0 stands for any value
    given (k' - 1, n, v, 1 + (k - 1) F) : the same of the samples in state s of A, for s = 1, ..., k' - 1
    """
    n_columns, n_values, width = whole.shape
    n_candidates = (width - 1) // (n_states - 1)
    counts = np.empty((n_states + 1, n_values + 1, n_candidates), np.float32)
    products = np.empty((n_values, width), np.float32)
    information = np.empty(n_candidates)
    for column in range(n_columns):
        information[:] = 0
        for a in range(given.shape[0] + 1):
            if a == 0:
                products[:] = whole[column]
                for other in range(given.shape[0]):
                    products -= given[other, column]
            else:
                products[:] = given[a - 1, column]
            _fill(products, n_states, counts)
            _add_terms(counts, information)
        out[:, column] = information / max(whole[column, 0, 0], LEAST_COUNT)


@inlined
def _fill(products, n_states, counts):
    """Every count (1 + k, 1 + v, F) that the products tell: of all states, then of each; of any value, then of each."""
    n_values, n_candidates = products.shape[0], counts.shape[2]
    for v in range(n_values):
        counts[0, v] = products[v, 0]
        counts[1, v] = products[v, 0]
        for s in range(1, n_states):
            begin = 1 + (s - 1) * n_candidates
            counts[s + 1, v] = products[v, begin : begin + n_candidates]
            counts[1, v] -= counts[s + 1, v]
    # What is left of any value has the last one.
    for b in range(n_states + 1):
        counts[b, n_values] = counts[b, 0]
        for v in range(1, n_values):
            counts[b, n_values] -= counts[b, v]


@inlined
def _add_terms(counts, information):
    """Add sum c log c over states and values, less those of states and of values, and that of all."""
    for b in range(counts.shape[0]):
        for v in range(counts.shape[1]):
            sign = 1.0 if (b == 0) == (v == 0) else -1.0
            for f in range(information.size):
                count = max(counts[b, v, f], LEAST_COUNT)
                information[f] += sign * count * log(count)
