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
def gaussian_estimates(x, square, total_x, total_square, count, prior_samples, floor, mean, variance):
    """Mean and variance in each state from sums, as if ``prior_samples`` more had mean 0 and variance 1.

    x, square (k - 1, J, n) sums in states 1 to k - 1; total_x, total_square (n,) in all states;
    count (k, J, n) or (k, J, 1); mean and variance (k, J, n) are filled in.
    """
    n_states, n_factors, n = mean.shape
    for j in range(n_factors):
        for i in range(n):
            rest_x, rest_square = total_x[i], total_square[i]
            for s in range(n_states - 1, -1, -1):
                own_x, own_square = rest_x, rest_square
                if s > 0:
                    own_x, own_square = x[s - 1, j, i], square[s - 1, j, i]
                    rest_x -= own_x
                    rest_square -= own_square
                size = max(count[s, j, i if count.shape[2] > 1 else 0], 0.0) + prior_samples
                centre = own_x / size
                spread = max((own_square + prior_samples) / size - centre * centre, floor)
                mean[s, j, i] = centre
                variance[s, j, i] = spread


@_jit
def gaussian_ranks(mean, variance, log_variance, prior, out):
    """Half the log of the variance that each factor explains of each column, at most H(Y_j): out (J, n)."""
    n_states, n_factors, n = mean.shape
    for j in range(n_factors):
        entropy = 0.0
        for s in range(n_states):
            entropy -= prior[s, j] * math.log(prior[s, j])
        for i in range(n):
            centre = square = inside = 0.0
            for s in range(n_states):
                centre += prior[s, j] * mean[s, j, i]
                square += prior[s, j] * (variance[s, j, i] + mean[s, j, i] * mean[s, j, i])
                inside += prior[s, j] * log_variance[s, j, i]
            out[j, i] = min(0.5 * (math.log(square - centre * centre) - inside), entropy)


@_jit
def gaussian_coefficients(mean, variance, log_variance, constant, linear, quadratic):
    """log p(x | s) - log p(x | 0) = constant + linear x + quadratic x^2 for s > 0, (k - 1, J, n)."""
    n_states, n_factors, n = mean.shape
    for j in range(n_factors):
        for i in range(n):
            slope, bend = mean[0, j, i] / variance[0, j, i], 0.5 / variance[0, j, i]
            level = 0.5 * (log_variance[0, j, i] + mean[0, j, i] * slope)
            for s in range(1, n_states):
                own = mean[s, j, i] / variance[s, j, i]
                constant[s - 1, j, i] = level - 0.5 * (log_variance[s, j, i] + mean[s, j, i] * own)
                linear[s - 1, j, i] = own - slope
                quadratic[s - 1, j, i] = bend - 0.5 / variance[s, j, i]


@_jit
def quadratic_scores(x, linear, quadratic, out):
    """Add linear @ x + quadratic @ x^2 to out (C, T): x (n, T), coefficients (C, n). For few rows C."""
    for i in range(x.shape[0]):
        for c in range(out.shape[0]):
            _add_parabola(x[i], linear[c, i], quadratic[c, i], out[c])


@_jit
def _add_parabola(x, linear, quadratic, out):
    for row in range(x.shape[0]):
        out[row] += x[row] * (linear + quadratic * x[row])


@_jit
def moment_sums(x, labels, linear, square):
    """Sums of x and x^2 under labels (C, T), into linear and square (C, n): x (n, T). For few rows C."""
    for i in range(x.shape[0]):
        for c in range(labels.shape[0]):
            linear[c, i], square[c, i] = _two_moments(x[i], labels[c])


@_jit
def _two_moments(x, weight):
    linear = square = x.dtype.type(0)
    for row in range(x.shape[0]):
        product = weight[row] * x[row]
        linear += product
        square += product * x[row]
    return linear, square


@_jit
def log_mixture_sums(x, weight, alpha, log_prior, constant, linear, quadratic, out):
    """Sums over samples of log(p_j(x_i) / p(x_i | y_j=0)) where alpha > 0, added to out (J, n).

    x (n, T) values; weight (T,); log_prior (k, J); constant, linear, quadratic (k - 1, J, n).
    """
    total = np.empty(x.shape[1], x.dtype)
    for j in range(alpha.shape[0]):
        for i in range(alpha.shape[1]):
            if alpha[j, i] > 0:
                total[:] = log_prior[0, j]
                for s in range(constant.shape[0] - 1):
                    level = log_prior[s + 1, j] + constant[s, j, i]
                    _add_quadratic(x[i], level, linear[s, j, i], quadratic[s, j, i], total)
                level = log_prior[-1, j] + constant[-1, j, i]
                out[j, i] += _sum_with_last(x[i], level, linear[-1, j, i], quadratic[-1, j, i], total, weight)


@_jit
def _add_quadratic(x, constant, linear, quadratic, total):
    for row in range(x.shape[0]):
        total[row] = _add_log(total[row], constant + x[row] * (linear + x[row] * quadratic))


@_jit
def _sum_with_last(x, constant, linear, quadratic, total, weight):
    """The weighted sum after the last state is added, which need not be stored."""
    result = x.dtype.type(0)
    for row in range(x.shape[0]):
        result += weight[row] * _add_log(total[row], constant + x[row] * (linear + x[row] * quadratic))
    return result


@_jit
def mixture_information(log_weight, mean, precision, nodes, node_weight, out):
    """I(Y:X) of P Gaussian mixtures by Gauss-Hermite quadrature.

    log_weight, mean, precision (k, P); nodes and node_weight (Q,), of the standard normal; out (P,).
    """
    n_states, n_pairs = mean.shape
    half = mean.dtype.type(0.5)
    deviation = 1 / np.sqrt(precision)
    height = log_weight + half * np.log(precision)
    total = np.empty(CHUNK, mean.dtype)
    out[:] = 0
    for first in range(0, n_pairs, CHUNK):
        last = min(first + CHUNK, n_pairs)
        for s in range(n_states):
            own_mean, own_deviation = mean[s, first:last], deviation[s, first:last]
            own_height, weight = height[s, first:last], np.exp(log_weight[s, first:last])
            for q in range(nodes.shape[0]):
                for p in range(last - first):
                    total[p] = 0
                for t in range(n_states):
                    if t != s:
                        other = mean[t, first:last], precision[t, first:last], height[t, first:last]
                        _add_density(nodes[q], own_mean, own_deviation, own_height, *other, total)
                _add_product(weight, node_weight[q], total, out[first:last])
    entropy = -(np.exp(log_weight) * log_weight).sum(axis=0)
    for p in range(n_pairs):
        out[p] = max(entropy[p] - out[p], mean.dtype.type(0))


@_jit
def _add_density(node, own_mean, own_deviation, own_height, mean, precision, height, total):
    """Add the density of another state at a node of the own one, relative to the own density there."""
    half = total.dtype.type(0.5)
    for p in range(own_mean.shape[0]):
        away = own_mean[p] + node * own_deviation[p] - mean[p]
        z = height[p] - own_height[p] - half * (away * away * precision[p] - node * node)
        total[p] = _add_log(total[p], z)


@_jit
def _add_product(a, scale, b, out):
    for p in range(out.shape[0]):
        out[p] += scale * a[p] * b[p]


@_jit
def categorical_estimates(count, total, marginal, offsets, prior_samples, p):
    """Probabilities (count + prior_samples marginal) / (seen + prior_samples) in each state, 1 if never seen.

    count (k - 1, J, F) in states 1 to k - 1; total (F,) in all states; marginal (F,), 0 for places of
    missing values; offsets (n + 1,); p (k, J, F) is filled in.
    """
    n_states, n_factors, _ = p.shape
    for j in range(n_factors):
        for i in range(offsets.size - 1):
            for s in range(n_states):
                seen = prior_samples
                for f in range(offsets[i], offsets[i + 1]):
                    own = total[f]
                    if s > 0:
                        own = count[s - 1, j, f]
                    else:
                        for t in range(n_states - 1):
                            own -= count[t, j, f]
                    p[s, j, f] = max(own, 0.0)
                    if marginal[f] > 0:
                        seen += p[s, j, f]
                scale = 1 / seen
                for f in range(offsets[i], offsets[i + 1]):
                    p[s, j, f] = (p[s, j, f] + prior_samples * marginal[f]) * scale if marginal[f] > 0 else 1.0


@_jit
def categorical_information(weight, p, log_p, is_category, offsets, out):
    """sum_s w_s sum_v p_s(v) log(p_s(v) / sum_t w_t p_t(v)) of each column: out (G, n).

    weight (k, G, n) or (k, G, 1); p, log_p (k, G, F); is_category (F,); offsets (n + 1,).
    """
    n_states, n_groups, _ = p.shape
    for g in range(n_groups):
        for i in range(offsets.size - 1):
            at = i if weight.shape[2] > 1 else 0
            total = 0.0
            for f in range(offsets[i], offsets[i + 1]):
                mixture = 0.0
                for s in range(n_states):
                    mixture += weight[s, g, at] * p[s, g, f]
                if is_category[f] and mixture > 0:
                    for s in range(n_states):
                        total += weight[s, g, at] * p[s, g, f] * log_p[s, g, f]
                    total -= mixture * math.log(mixture)
            out[g, i] = max(total, 0.0)


@_jit
def categorical_log_mixtures(alpha, prior, p, log_p, offsets, out):
    """alpha_ij log(p_j(v) / p(v | y_j=0)) where alpha (J, n) > 0, into out (J, F), but for places of missing values."""
    for j in range(alpha.shape[0]):
        for i in range(alpha.shape[1]):
            if alpha[j, i] > 0:
                for f in range(offsets[i], offsets[i + 1] - 1):
                    mixture = 0.0
                    for s in range(prior.shape[0]):
                        mixture += prior[s, j] * p[s, j, f]
                    out[j, f] = alpha[j, i] * (math.log(mixture) - log_p[0, j, f])


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
    ones = np.ones(n_rows, x.dtype)
    for q in range(columns.shape[0]):
        value = x[columns[q]]
        own = weight[min(q, weight.shape[0] - 1)]
        deep = links.shape[0] > 2 and links[-1, q] >= 0
        if n_states == 2 and not deep:
            _add_moments_of_two(value, own, labels[1, links[0, q]], labels[1, links[1, q]], out[q, ::last])
            continue
        for s in range(n_states):
            for t in range(n_states):
                for u in range(n_states if deep else 1):
                    third = labels[u, links[-1, q]] if deep else ones
                    cell = out[q, (s * n_states + t) * last + u]
                    _add_moments(value, own, labels[s, links[0, q]], labels[t, links[1, q]], third, cell)


@_jit
def _add_moments(x, weight, first, second, third, out):
    total = x.dtype.type(0)
    linear = x.dtype.type(0)
    square = x.dtype.type(0)
    for row in range(x.shape[0]):
        w = weight[row] * first[row] * second[row] * third[row]
        total += w
        linear += w * x[row]
        square += w * x[row] * x[row]
    out[0] += total
    out[1] += linear
    if out.shape[0] > 2:
        out[2] += square


@_jit
def _add_moments_of_two(x, weight, first, second, out):
    """The commonest case in one loop: two factors of two states, from their probabilities of state 1."""
    zero = x.dtype.type(0)
    n = n_a = n_b = n_ab = x_n = x_a = x_b = x_ab = xx_n = xx_a = xx_b = xx_ab = zero
    for row in range(x.shape[0]):
        w, v = weight[row], x[row]
        a, b = w * first[row], w * second[row]
        ab = a * second[row]
        n += w
        n_a += a
        n_b += b
        n_ab += ab
        x_n += w * v
        x_a += a * v
        x_b += b * v
        x_ab += ab * v
        if out.shape[1] > 2:
            xx_n += w * v * v
            xx_a += a * v * v
            xx_b += b * v * v
            xx_ab += ab * v * v
    sums = ((n, n_a, n_b, n_ab), (x_n, x_a, x_b, x_ab), (xx_n, xx_a, xx_b, xx_ab))
    for moment in range(out.shape[1]):
        whole, only_a, only_b, both = sums[moment]
        out[0, moment] += whole - only_a - only_b + both
        out[1, moment] += only_b - both
        out[2, moment] += only_a - both
        out[3, moment] += both


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
def best_factors(score, depth, least):
    """The factors of highest score (S, m, n) for each start and variable, best first: (S, depth, n).

    After the first, those whose score is not above least (n,) are -1.
    """
    n_starts, n_factors, n = score.shape
    best = np.full((n_starts, depth, n), -1, np.int32)
    for start in range(n_starts):
        for i in range(n):
            for j in range(n_factors):
                at = depth
                while at > 0 and (
                    best[start, at - 1, i] < 0 or score[start, j, i] > score[start, best[start, at - 1, i], i]
                ):
                    if at < depth:
                        best[start, at, i] = best[start, at - 1, i]
                    at -= 1
                if at < depth:
                    best[start, at, i] = j
            for d in range(1, depth):
                if best[start, d, i] >= 0 and score[start, best[start, d, i], i] <= least[i]:
                    best[start, d, i] = -1
    return best
