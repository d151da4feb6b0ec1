"""How loops are compiled, and the few functions that all of them need to be fast."""

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning, also after a division by zero.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract", "arcp", "nsz"}, "error_model": "numpy"}


def jit(function, options=_OPTIONS):
    """Compile without the interpreter lock, cached on disk where a place for the cache exists."""
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # a read-only package folder and no home folder
        return njit(**options)(function)


def jit_as_written(function):
    """Compile loops over numbers of any size: (a * b) * c must not become a * (b * c), which may be infinite."""
    return jit(function, _OPTIONS | {"fastmath": False})


def inlined(function, options=_OPTIONS):
    """Compile into each loop that calls it.

    A function that is called may else be one of several machine codes for it, which round differently: that of the
    process that compiled it, or that of the loop in the cache.
    """
    return njit(forceinline=True, **options)(function)


def inlined_as_written(function):
    """The same for sums whose order must not follow where arrays happen to lie in memory."""
    return inlined(function, _OPTIONS | {"fastmath": False})


def _polynomial(function, degree, end, dtype):
    """Coefficients, lowest first, of a near-minimax polynomial for a function on [0, end], exact at 0."""
    fit = np.polynomial.Chebyshev.interpolate(function, degree, domain=[0, end])
    return tuple(dtype(c) for c in (function(0.0), *fit.convert(kind=np.polynomial.Polynomial).coef[1:]))


def _log1p_by_argument(u):
    return np.where(u > 0, np.log1p(u) / np.where(u > 0, u, 1), 1.0)


def _log1p_by_root(t):
    """log(1 + u) / s at t = s^2, where s = u / (2 + u)."""
    s = np.sqrt(t)
    return np.where(t > 0, 2 * np.arctanh(s) / np.where(t > 0, s, 1), 2.0)


_LOG_2, _LOG2_E = math.log(2), 1 / math.log(2)
_EXP2_SINGLE = _polynomial(np.exp2, 5, 1, np.float32)
_EXP2_DOUBLE = _polynomial(np.exp2, 12, 1, np.float64)
_LOG1P_SINGLE = _polynomial(_log1p_by_argument, 8, 1, np.float32)
_LOG1P_DOUBLE = _polynomial(_log1p_by_root, 10, 1 / 9, np.float64)

# The functions below are polynomials, since calls into the C library would keep loops from vectorising.


def exp(x):  # pragma: no cover - replaced by the overload below
    """exp(x) for x <= 80; less than 1e-37 is not told from that."""
    return math.exp(x)


@overload(exp, inline="always")
def _exp(x):
    if x == types.float32:
        scale, lowest = np.float32(_LOG2_E), np.float32(-124)
        s0, s1, s2, s3, s4, s5 = _EXP2_SINGLE

        def single(x):
            power = max(x * scale, lowest)
            whole = np.floor(power)
            f = power - whole
            f2 = f * f
            two_to_whole = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
            return two_to_whole * ((s0 + f * s1) + f2 * ((s2 + f * s3) + f2 * (s4 + f * s5)))

        return single
    d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12 = _EXP2_DOUBLE

    def double(x):
        power = max(x * _LOG2_E, -124.0)
        whole = np.floor(power)
        f = power - whole
        f2 = f * f
        f4 = f2 * f2
        low = (d0 + f * d1) + f2 * (d2 + f * d3) + f4 * ((d4 + f * d5) + f2 * (d6 + f * d7))
        high = (d8 + f * d9) + f2 * (d10 + f * d11) + f4 * d12
        # Vectors have conversions to 32 bits alone.
        two_to_whole = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
        return np.float64(two_to_whole) * (low + f4 * f4 * high)

    return double


def log1p(u):  # pragma: no cover - replaced by the overload below
    """log(1 + u) for u from 0 to 1; less than can be told from 0 beside 1 is not."""
    return math.log1p(u)


@overload(log1p, inline="always")
def _log1p(u):
    # Powers of less would be slow subnormal numbers.
    if u == types.float32:
        least = np.float32(2**-24)
        s0, s1, s2, s3, s4, s5, s6, s7, s8 = _LOG1P_SINGLE

        def single(u):
            u = max(u, least)
            u2 = u * u
            u4 = u2 * u2
            low = (s0 + u * s1) + u2 * (s2 + u * s3)
            high = (s4 + u * s5) + u2 * (s6 + u * s7) + u4 * s8
            return u * (low + u4 * high)

        return single
    d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10 = _LOG1P_DOUBLE

    def double(u):
        u = max(u, 2**-60)
        s = u / (2.0 + u)
        t = s * s
        t2 = t * t
        t4 = t2 * t2
        low = (d0 + t * d1) + t2 * (d2 + t * d3) + t4 * ((d4 + t * d5) + t2 * (d6 + t * d7))
        return s * (low + t4 * t4 * ((d8 + t * d9) + t2 * d10))

    return double


def log(x):  # pragma: no cover - replaced by the overload below
    """log(x) for x from 1e-300 to 1e300 in double precision, from 1e-37 to 1e37 in single precision."""
    return math.log(x)


@overload(log, inline="always")
def _log(x):
    if x == types.float32:
        log_2, one = np.float32(_LOG_2), np.float32(1)

        def single(x):
            bits = np.float32(x).view(np.int32)
            power = np.int32(bits >> np.int32(23)) - np.int32(127)
            fraction = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F800000)).view(np.float32)
            return np.float32(np.int32(power)) * log_2 + log1p(fraction - one)

        return single

    def double(x):
        bits = np.float64(x).view(np.int64)
        power = np.int32(bits >> np.int64(52)) - np.int32(1023)
        fraction = np.int64((bits & np.int64(0xFFFFFFFFFFFFF)) | np.int64(0x3FF0000000000000)).view(np.float64)
        return power * _LOG_2 + (fraction > 1.0) * log1p(fraction - 1.0)

    return double


@inlined
def add_log(total, z):
    """log(exp(total) + exp(z))."""
    return max(total, z) + log1p(exp(-abs(total - z)))
