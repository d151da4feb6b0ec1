"""What a candidate factor would tell about a variable beyond a factor that is there, by counts of joint states."""

import math

from hicorex.kernels.compiled import inlined, jit


@inlined
def _entropy_term(count):
    return count * math.log(count) if count > 1e-9 else 0.0


@jit
def conditional_information(counts, out):
    """I(B : x | A) of each candidate B and column into out (F, n), in nats.

    counts (k, n, v, k', F): the weight of the samples in state a of A, with value v of the column, in state b of B. A
    has one state for the information that B has by itself.
    """
    n_given, n_columns, n_values, n_states, n_candidates = counts.shape
    for column in range(n_columns):
        for f in range(n_candidates):
            total, information = 0.0, 0.0
            for a in range(n_given):
                of_a = 0.0
                for b in range(n_states):
                    of_b = 0.0
                    for v in range(n_values):
                        count = float(counts[a, column, v, b, f])
                        of_b += count
                        information += _entropy_term(count)
                    information -= _entropy_term(of_b)
                    of_a += of_b
                for v in range(n_values):
                    of_v = 0.0
                    for b in range(n_states):
                        of_v += counts[a, column, v, b, f]
                    information -= _entropy_term(of_v)
                information += _entropy_term(of_a)
                total += of_a
            out[f, column] = information / total if total > 0 else 0.0
