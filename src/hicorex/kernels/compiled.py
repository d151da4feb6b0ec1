"""How loops are compiled, and the one function that all of them need to be fast."""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


def jit(function):
    """Compile without the interpreter lock, cached on disk where a place for the cache exists."""
    try:
        return njit(nogil=True, cache=True, fastmath=_FASTMATH)(function)
    except RuntimeError:  # a read-only package folder and no home folder
        return njit(nogil=True, fastmath=_FASTMATH)(function)


def _chebyshev(function, degree):
    """Coefficients, lowest first, of a near-minimax polynomial for a function on [0, 1]."""
    fit = np.polynomial.Chebyshev.interpolate(function, degree, domain=[0, 1])
    return tuple(np.float32(c) for c in fit.convert(kind=np.polynomial.Polynomial).coef)


_EXP2 = _chebyshev(np.exp2, 5)
_LOG1P = _chebyshev(lambda u: np.where(u > 0, np.log1p(u) / np.where(u > 0, u, 1), 1.0), 8)
_LOG2_E = np.float32(1 / math.log(2))
# Powers of less would add less than 1e-7, and their squares would be slow subnormal numbers.
_LOWEST = np.float32(-24)


def log1p_exp(x):  # pragma: no cover - replaced by the overload below
    """log(1 + exp(x)) for x <= 0."""
    return math.log1p(math.exp(x))


@overload(log1p_exp, inline="always")
def _log1p_exp(x):
    if x != types.float32:
        return lambda x: math.log1p(math.exp(x))
    e0, e1, e2, e3, e4, e5 = _EXP2
    l0, l1, l2, l3, l4, l5, l6, l7, l8 = _LOG1P

    # Polynomials, since calls into the C library would keep the loop from vectorising.
    def fast(x):
        power = max(x * _LOG2_E, _LOWEST)
        whole = np.floor(power)
        f = power - whole
        f2 = f * f
        scale = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
        u = scale * ((e0 + f * e1) + f2 * ((e2 + f * e3) + f2 * (e4 + f * e5)))
        u2 = u * u
        u4 = u2 * u2
        low = (l0 + u * l1) + u2 * (l2 + u * l3)
        high = (l4 + u * l5) + u2 * (l6 + u * l7) + u4 * l8
        return u * (low + u4 * high)

    return fast


@jit
def add_log(total, z):
    """log(exp(total) + exp(z))."""
    return max(total, z) + log1p_exp(-abs(total - z))
