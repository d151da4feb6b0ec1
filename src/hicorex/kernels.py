"""Compiled loops over one tile. Nothing here knows of tables, layers or threads."""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


def _jit(function):
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
# Pairs worked on at a time, so that they stay in the fastest cache.
CHUNK = 1024


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


@_jit
def _add_log(total, z):
    """log(exp(total) + exp(z))."""
    return max(total, z) + log1p_exp(-abs(total - z))


@_jit
def log_mixture_sums(x, weight, columns, reference, constant, linear, quadratic, out):
    """Add sum_l weight_l log(exp(reference_p) + sum_s exp(c_sp + a_sp x + b_sp x^2)) to out (P,).

    x (n, T) values; columns (P,) the column of each pair; reference (P,) stands for state 0;
    constant, linear, quadratic (k - 1, P) for the others.
    """
    total = np.empty(x.shape[1], x.dtype)
    for p in range(columns.shape[0]):
        total[:] = reference[p]
        for s in range(constant.shape[0]):
            _add_quadratic(x[columns[p]], constant[s, p], linear[s, p], quadratic[s, p], total)
        out[p] += _dot(weight, total)


@_jit
def _add_quadratic(x, constant, linear, quadratic, total):
    for row in range(x.shape[0]):
        total[row] = _add_log(total[row], constant + x[row] * (linear + x[row] * quadratic))


@_jit
def _dot(a, b):
    total = a.dtype.type(0)
    for row in range(a.shape[0]):
        total += a[row] * b[row]
    return total


@_jit
def mixture_information(log_weight, mean, precision, nodes, node_weight, out):
    """I(Y:X) of P Gaussian mixtures by Gauss-Hermite quadrature.

    log_weight, mean, precision (k, P); nodes and node_weight (Q,), of the standard normal; out (P,).
    """
    n_states, n_pairs = mean.shape
    half = mean.dtype.type(0.5)
    log_density = log_weight + half * np.log(precision)
    total = np.empty(CHUNK, mean.dtype)
    out[:] = 0
    for first in range(0, n_pairs, CHUNK):
        own = slice(first, min(first + CHUNK, n_pairs))
        for s in range(n_states):
            weight = np.exp(log_weight[s, own])
            deviation = 1 / np.sqrt(precision[s, own])
            for q in range(nodes.shape[0]):
                x = mean[s, own] + nodes[q] * deviation
                height = log_density[s, own] - half * nodes[q] * nodes[q]
                total[: x.size] = log_weight[s, own]
                for t in range(n_states):
                    if t != s:
                        _add_density(
                            x, height, mean[t, own], precision[t, own], log_density[t, own], log_weight[s, own], total
                        )
                _add_product(weight, -node_weight[q], total, out[own])
    for p in range(n_pairs):
        out[p] = max(out[p], mean.dtype.type(0))


@_jit
def _add_density(x, height, mean, precision, log_density, log_weight, total):
    """Add the density of another state, relative to the height of the own one."""
    half = x.dtype.type(0.5)
    for p in range(x.shape[0]):
        away = x[p] - mean[p]
        z = log_density[p] - half * away * away * precision[p] - height[p] + log_weight[p]
        total[p] = _add_log(total[p], z)


@_jit
def _add_product(a, scale, b, out):
    for p in range(out.shape[0]):
        out[p] += scale * a[p] * b[p]


@_jit
def add_table_rows(codes, offsets, table, out):
    """Add to each row of out (T, C) the rows of table (F, C) that its codes (n, T) point to."""
    for i in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            f = offsets[i] + codes[i, row]
            for c in range(out.shape[1]):
                out[row, c] += table[f, c]


@_jit
def count_labels(codes, offsets, labels, out):
    """Add each row of labels (T, C) to the rows of out (F, C) that its codes (n, T) point to."""
    for i in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            f = offsets[i] + codes[i, row]
            for c in range(labels.shape[1]):
                out[f, c] += labels[row, c]


@_jit
def joint_moments(x, columns, weight, labels, links, out):
    """Add the moments 1, x, x^2 of each linked variable in each joint state of its factors.

    x (n, T) values; columns (Q,) the linked variables; weight (Q, T) or (1, T); labels (k, J, T);
    links (D, Q) the factors of each, two or three, -1 for no third, as if that had but state 0;
    out (Q, k^D, n_moments), the last factor's state running fastest.
    """
    n_states, _, n_rows = labels.shape
    last = out.shape[1] // n_states**2
    one, two, three = np.empty((3, n_rows), x.dtype)
    for q in range(columns.shape[0]):
        value = x[columns[q]]
        own = weight[min(q, weight.shape[0] - 1)]
        deep = links.shape[0] > 2 and links[-1, q] >= 0
        for s in range(n_states):
            _multiply(own, labels[s, links[0, q]], one)
            for t in range(n_states):
                _multiply(one, labels[t, links[1, q]], two)
                cell = (s * n_states + t) * last
                if not deep:
                    _add_moments(value, two, out[q, cell])
                    continue
                for u in range(n_states):
                    _multiply(two, labels[u, links[-1, q]], three)
                    _add_moments(value, three, out[q, cell + u])


@_jit
def _multiply(a, b, out):
    for row in range(out.shape[0]):
        out[row] = a[row] * b[row]


@_jit
def _add_moments(x, weight, out):
    total = x.dtype.type(0)
    linear = x.dtype.type(0)
    square = x.dtype.type(0)
    if out.shape[0] == 2:
        for row in range(x.shape[0]):
            total += weight[row]
            linear += weight[row] * x[row]
    else:
        for row in range(x.shape[0]):
            total += weight[row]
            linear += weight[row] * x[row]
            square += weight[row] * x[row] * x[row]
        out[2] += square
    out[0] += total
    out[1] += linear


@_jit
def joint_counts(codes, columns, offsets, weight, labels, links, out):
    """Add the counts of each linked variable's categories in each joint state of its factors.

    codes (n, T); columns (Q,) and links (D, Q) as in joint_moments; offsets (Q,) where a variable's
    categories begin; weight (T,); labels (k, J, T); out (F, k^D).
    """
    n_states, _, n_rows = labels.shape
    last = out.shape[1] // n_states**2
    for q in range(columns.shape[0]):
        deep = links.shape[0] > 2 and links[-1, q] >= 0
        for row in range(n_rows):
            cell = out[offsets[q] + codes[columns[q], row]]
            for s in range(n_states):
                first = weight[row] * labels[s, links[0, q], row]
                for t in range(n_states):
                    both = first * labels[t, links[1, q], row]
                    if not deep:
                        cell[(s * n_states + t) * last] += both
                        continue
                    for u in range(n_states):
                        cell[(s * n_states + t) * n_states + u] += both * labels[u, links[2, q], row]


@_jit
def first_right_guesses(guess, label, weight, order, right, first):
    """Count for one variable how often each factor is guessed right, and first in the order.

    guess (J, T) the state that the variable alone suggests, -1 for none; label (J, T); weight (T,);
    order (S, m) the factors of each start, counted within it, best first; right and first (J,) are added to.
    """
    n_rows = guess.shape[1]
    seen = np.empty(n_rows, np.bool_)
    for start in range(order.shape[0]):
        seen[:] = False
        for rank in range(order.shape[1]):
            j = start * order.shape[1] + order[start, rank]
            n_right = 0.0
            n_first = 0.0
            for row in range(n_rows):
                hit = guess[j, row] == label[j, row]
                n_right += weight[row] * hit
                n_first += weight[row] * (hit and not seen[row])
                seen[row] |= hit
            right[j] += n_right
            first[j] += n_first


@_jit
def gaussian_guesses(x, constant, linear, quadratic, label, weight, order, right, first):
    """first_right_guesses for n Gaussian variables: x (n, T), NaN where missing; coefficients (k - 1, J, n);
    order (S, m, n); right and first (J, n)."""
    n_states, n_factors, n = linear.shape
    n_rows = x.shape[1]
    guess = np.empty((n_factors, n_rows), np.int8)
    best = np.empty(n_rows, x.dtype)
    for i in range(n):
        for j in range(n_factors):
            for row in range(n_rows):
                best[row] = 0
                guess[j, row] = -1 if math.isnan(x[i, row]) else 0
            for s in range(n_states):
                for row in range(n_rows):
                    z = constant[s, j, i] + x[i, row] * (linear[s, j, i] + x[i, row] * quadratic[s, j, i])
                    if z > best[row]:
                        best[row] = z
                        guess[j, row] = s + 1
        first_right_guesses(guess, label, weight, order[:, :, i], right[:, i], first[:, i])


@_jit
def categorical_guesses(codes, offsets, table, label, weight, order, right, first):
    """first_right_guesses for n categorical variables: codes (n, T); table (J, F) the state that each
    category suggests, -1 for none; order (S, m, n); right and first (J, n)."""
    n, n_rows = codes.shape
    guess = np.empty((table.shape[0], n_rows), np.int8)
    for i in range(n):
        for j in range(table.shape[0]):
            for row in range(n_rows):
                guess[j, row] = table[j, offsets[i] + codes[i, row]]
        first_right_guesses(guess, label, weight, order[:, :, i], right[:, i], first[:, i])


@_jit
def best_factors(score, depth):
    """The depth factors of highest score (S, m, n) for each start and variable, best first: (S, depth, n)."""
    n_starts, n_factors, n = score.shape
    best = np.empty((n_starts, depth, n), np.int32)
    for start in range(n_starts):
        for i in range(n):
            for j in range(n_factors):
                at = min(j, depth)
                while at > 0 and score[start, j, i] > score[start, best[start, at - 1, i], i]:
                    if at < depth:
                        best[start, at, i] = best[start, at - 1, i]
                    at -= 1
                if at < depth:
                    best[start, at, i] = j
    return best
