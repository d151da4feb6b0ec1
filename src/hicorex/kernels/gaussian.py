"""Loops over Gaussian columns."""

import math

import numpy as np

from hicorex.kernels.compiled import add_log, exp, inlined, jit, jit_as_written, log
from hicorex.kernels.structure import LARGEST_RATIO, joint_labels, rows_at_a_time

# Pairs worked on at a time, so that they stay in the fastest cache.
CHUNK = 1024
# Of smaller numbers the reciprocal is infinite.
SMALLEST = 2.0**-1022


@jit
def estimates(x, square, total_x, total_square, count, prior_samples, floor, mean, variance):
    """Mean and variance in each state from sums, as if ``prior_samples`` more had mean 0 and variance 1.

    x, square (k - 1, J, n) sums in states 1 to k - 1; total_x, total_square (n,) in all states;
    count (k, J, n) or (k, J, 1); mean and variance (k, J, n) are filled in.
    """
    n_states, n_factors, n = mean.shape
    size, rest_x, rest_square = np.empty(n), np.empty(n), np.empty(n)
    for j in range(n_factors):
        rest_x[:], rest_square[:] = total_x, total_square
        for s in range(n_states - 1, -1, -1):
            size[:] = count[s, j]
            if s > 0:
                _subtract(x[s - 1, j], rest_x)
                _subtract(square[s - 1, j], rest_square)
                _estimate(x[s - 1, j], square[s - 1, j], size, prior_samples, floor, mean[s, j], variance[s, j])
            else:
                _estimate(rest_x, rest_square, size, prior_samples, floor, mean[s, j], variance[s, j])


@inlined
def _subtract(values, out):
    for i in range(out.size):
        out[i] -= values[i]


@inlined
def _estimate(x, square, size, prior_samples, floor, mean, variance):
    for i in range(mean.size):
        scale = 1 / (max(size[i], 0.0) + prior_samples)
        centre = x[i] * scale
        mean[i] = centre
        variance[i] = max((square[i] + prior_samples) * scale - centre * centre, floor)


@jit
def dependences(mean, variance, log_variance, prior, out):
    """Half the log of the variance that each factor explains of each column, at most H(Y_j): out (J, n)."""
    n_states, n_factors, n = mean.shape
    centre, square, inside = np.empty(n), np.empty(n), np.empty(n)
    for j in range(n_factors):
        entropy = 0.0
        centre[:], square[:], inside[:] = 0, 0, 0
        for s in range(n_states):
            entropy -= prior[s, j] * math.log(prior[s, j])
            _add_spread(prior[s, j], mean[s, j], variance[s, j], log_variance[s, j], centre, square, inside)
        for i in range(n):
            out[j, i] = min(0.5 * (log(square[i] - centre[i] * centre[i]) - inside[i]), entropy)


@inlined
def _add_spread(weight, mean, variance, log_variance, centre, square, inside):
    for i in range(mean.size):
        centre[i] += weight * mean[i]
        square[i] += weight * (variance[i] + mean[i] * mean[i])
        inside[i] += weight * log_variance[i]


@jit
def log_odds(mean, variance, log_variance, factors, columns, constant, linear, quadratic):
    """log p(x | s) - log p(x | 0) = constant + linear x + quadratic x^2 for s > 0, (k - 1, P), of pairs (P,).

    mean, variance, log_variance (k, J, n).
    """
    for p in range(factors.size):
        j, i = factors[p], columns[p]
        slope, bend = mean[0, j, i] / variance[0, j, i], 0.5 / variance[0, j, i]
        level = 0.5 * (log_variance[0, j, i] + mean[0, j, i] * slope)
        for s in range(1, mean.shape[0]):
            rise = mean[s, j, i] / variance[s, j, i]
            constant[s - 1, p] = level - 0.5 * (log_variance[s, j, i] + mean[s, j, i] * rise)
            linear[s - 1, p] = rise - slope
            quadratic[s - 1, p] = bend - 0.5 / variance[s, j, i]


@jit
def add_scores(x, present, gap_of, pairs, log_odds, out):
    """Add alpha (constant + linear x + quadratic x^2) of each pair, where x is observed, to out (k - 1, J, T).

    x (n, T) values, 0 where missing; gap_of (n,) the row of present (n_gaps, T) for columns with missing values, or -1;
    pairs (P,) and log_odds (k - 1, P) as marginals.base.Pairs and marginals.gaussian.LogOdds.
    """
    (factors, columns, alpha), (constant, linear, quadratic) = pairs, log_odds
    for p in range(factors.size):
        i, share = columns[p], x.dtype.type(alpha[p])
        for s in range(out.shape[0]):
            level = share * constant[s, p] if gap_of[i] < 0 else x.dtype.type(0)
            _add_parabola(x[i], level, share * linear[s, p], share * quadratic[s, p], out[s, factors[p]])
    # In a loop of their own, since one with both branches would count references to each row.
    for p in range(factors.size if present.shape[0] > 0 else 0):
        gap, share = gap_of[columns[p]], x.dtype.type(alpha[p])
        for s in range(out.shape[0] if gap >= 0 else 0):
            _add_where(present[gap], share * constant[s, p], out[s, factors[p]])


@inlined
def _add_parabola(x, constant, linear, quadratic, out):
    for row in range(x.shape[0]):
        out[row] += constant + x[row] * (linear + quadratic * x[row])


@inlined
def _add_where(there, value, out):
    for row in range(out.size):
        out[row] += value if there[row] else 0


@jit
def moment_sums(x, labels, linear, square):
    """Sums of x and x^2 under labels (C, T), into linear and square (C, n): x (n, T). For few rows C."""
    for i in range(x.shape[0]):
        for c in range(labels.shape[0]):
            linear[c, i], square[c, i] = _two_moments(x[i], labels[c])


@inlined
def _two_moments(x, weight):
    linear = square = x.dtype.type(0)
    for row in range(x.shape[0]):
        product = weight[row] * x[row]
        linear += product
        square += product * x[row]
    return linear, square


@jit
def log_mixture_sums(x, present, gap_of, sample_weight, pairs, log_prior, log_odds, out):
    """Add the sum over samples of alpha log(p_j(x_i) / p(x_i | y_j=0)) of each pair to out (J,); sample_weight (T,).

    log_prior (k, J); the others as in add_scores.
    """
    factors, columns, alpha = pairs
    total, weight = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    for p in range(factors.size):
        _log_mixture(x[columns[p]], factors[p], p, log_prior, log_odds, total)
        gap = gap_of[columns[p]]
        if gap >= 0:
            _take_where(present[gap], sample_weight, weight)
            out[factors[p]] += alpha[p] * _dot(weight, total)
        else:
            out[factors[p]] += alpha[p] * _dot(sample_weight, total)


@jit
def log_mixtures(x, present, gap_of, pairs, log_prior, log_odds, out):
    """Add alpha log(p_j(x_i) / p(x_i | y_j=0)) of each pair to out (J, T), sample by sample, as log_mixture_sums."""
    factors, columns, alpha = pairs
    total, always = np.empty(x.shape[1], x.dtype), np.ones(x.shape[1], np.bool_)
    for p in range(factors.size):
        i = columns[p]
        _log_mixture(x[i], factors[p], p, log_prior, log_odds, total)
        _add_values_where(present[gap_of[i]] if gap_of[i] >= 0 else always, alpha[p], total, out[factors[p]])


@inlined
def _log_mixture(x, factor, pair, log_prior, log_odds, out):
    """log(p_j(x_i) / p(x_i | y_j=0)) of one pair, (T,)."""
    constant, linear, quadratic = log_odds
    out[:] = log_prior[0, factor]
    for s in range(constant.shape[0]):
        level = log_prior[s + 1, factor] + constant[s, pair]
        _add_quadratic(x, level, linear[s, pair], quadratic[s, pair], out)


@inlined
def _add_quadratic(x, constant, linear, quadratic, total):
    for row in range(x.shape[0]):
        total[row] = add_log(total[row], constant + x[row] * (linear + x[row] * quadratic))


@inlined
def _dot(a, b):
    total = b.dtype.type(0)
    for row in range(b.size):
        total += a[row] * b[row]
    return total


@inlined
def _take_where(there, values, out):
    for row in range(out.size):
        out[row] = values[row] if there[row] else 0


@inlined
def _add_values_where(there, scale, values, out):
    for row in range(out.size):
        out[row] += scale * values[row] if there[row] else 0.0


@jit
def information(weight, mean, variance, nodes, node_weight, out):
    """I(Y:X) of P Gaussian mixtures with weight, mean and variance (k, P) into out (P,), by Gauss-Hermite quadrature.

    nodes and node_weight (Q,), of the standard normal.
    """
    n_states, n_pairs = mean.shape
    shape = (n_states, CHUNK)
    height, precision, deviation = np.empty(shape, out.dtype), np.empty(shape, out.dtype), np.empty(shape, out.dtype)
    total = np.empty(CHUNK, out.dtype)
    for first in range(0, n_pairs, CHUNK):
        some = slice(first, min(first + CHUNK, n_pairs))
        rows = slice(0, some.stop - first)
        out[some] = 0
        for s in range(n_states):
            _shape(weight[s, some], variance[s, some], height[s], precision[s], deviation[s], out[some])
        for s in range(n_states):
            for q in range(nodes.shape[0]):
                total[:] = 0
                for t in range(n_states):
                    if t != s:
                        this_state = mean[s, some], deviation[s], height[s]
                        _add_density(nodes[q], *this_state, mean[t, some], precision[t], height[t], total[rows])
                _subtract_product(weight[s, some], node_weight[q], total, out[some])
        for p in range(first, some.stop):
            out[p] = max(out[p], 0)


@inlined
def _shape(weight, variance, height, precision, deviation, entropy):
    """The log of weight times density at the mean, 1 / variance, and its root; add -weight log(weight) to entropy."""
    half, one, least = entropy.dtype.type(0.5), entropy.dtype.type(1), entropy.dtype.type(1e-30)
    for p in range(weight.size):
        log_weight = log(max(weight[p], least))
        entropy[p] -= weight[p] * log_weight
        height[p] = log_weight - half * log(variance[p])
        precision[p] = one / variance[p]
        deviation[p] = np.sqrt(variance[p])


@inlined
def _add_density(node, this_mean, this_deviation, this_height, mean, precision, height, total):
    """Add the density of another state at a node of this one, relative to the density of this one there."""
    half = total.dtype.type(0.5)
    for p in range(total.size):
        away = this_mean[p] + node * this_deviation[p] - mean[p]
        z = height[p] - this_height[p] - half * (away * away * precision[p] - node * node)
        total[p] = add_log(total[p], z)


@inlined
def _subtract_product(a, scale, b, out):
    for p in range(out.shape[0]):
        out[p] -= scale * a[p] * b[p]


@jit
def mixtures_of_pairs(prior, mean, variance, factors, columns, out):
    """Weight, mean and variance of pairs (P,) of factor and column into out (3, k, P).

    prior (k, J); mean, variance (k, J, n).
    """
    for s in range(prior.shape[0]):
        for p in range(factors.size):
            j, i = factors[p], columns[p]
            out[0, s, p], out[1, s, p], out[2, s, p] = prior[s, j], mean[s, j, i], variance[s, j, i]


@jit
def joint_mixtures(moments, prior_samples, floor, before, out):
    """Weight, mean and variance of the last factor's states given those before, (3, k, P), and their share (P,).

    moments (Q, k^d, 3) of 1, x and x^2, the last factor fastest; the pairs P are columns times states before.
    """
    n_states, n_before = out.shape[1], before.size // moments.shape[0]
    for q in range(moments.shape[0]):
        whole = 0.0
        for b in range(n_before):
            p, total = q * n_before + b, 0.0
            for s in range(n_states):
                count, x, square = moments[q, b * n_states + s]
                count = max(count, 0.0)
                total += count
                size = count + prior_samples
                centre = x / size
                out[0, s, p], out[1, s, p] = count, centre
                out[2, s, p] = max((square + prior_samples) / size - centre * centre, floor)
            for s in range(n_states):
                out[0, s, p] /= total if total > 0 else 1.0
            before[p] = total
            whole += total
        for b in range(n_before):
            before[q * n_before + b] /= whole if whole > 0 else 1.0


@jit
def add_explained(x, present, ratios, labels, explained, unique):
    """Add E log p(x | y_S) / p(x) over labels (k, J, T) to explained (T,), and what that is less without each factor
    to unique (J, T).

    x (n, T) values; present (Q, T), or (Q, 0) if all are; ratios as marginals.gaussian.Ratios.
    """
    height = rows_at_a_time(ratios[2].shape[0])
    for first in range(0, x.shape[1], height):
        # Slices of the last axis alone are known to be contiguous, so that loops over them vectorise.
        _explain_rows(x, present, ratios, labels, slice(first, min(first + height, x.shape[1])), explained, unique)


@inlined
def _explain_rows(x, present, ratios, labels, rows, explained, unique):
    columns, factors, log_weight, log_rest, level, mean, half_precision, bias_correction = ratios
    n_states, n_rows, n_joint, depth = labels.shape[0], rows.stop - rows.start, mean.shape[0], factors.shape[0]
    # Of each joint state: the logarithm of its density times its weight, relative to the largest, that number itself,
    # and the label; then of all states of one factor together.
    several, one = (n_joint, n_rows), (n_rows,)
    log_p, p, weight = np.empty(several, x.dtype), np.empty(several, x.dtype), np.empty(several, x.dtype)
    sum_log_p, sum_p, sum_weight = np.empty(one, x.dtype), np.empty(one, x.dtype), np.empty(one, x.dtype)
    log_total, known, lost = np.empty(one, x.dtype), np.empty(one, x.dtype), np.empty(one, x.dtype)
    always = np.ones(n_rows, np.bool_)
    for q in range(columns.size):
        joint_labels(labels, rows, factors[:, q], weight)
        largest = log_total
        largest[:] = -np.inf
        for s in range(n_joint):
            height = level[s, q] + log_weight[s, q]
            _log_density(x[columns[q], rows], height, mean[s, q], half_precision[s, q], log_p[s])
            _larger(largest, log_p[s], largest)
        sum_p[:] = 0
        for s in range(n_joint):
            _exponentiate(largest, log_p[s], p[s], sum_p)
        _take_log(sum_p, log_total)
        known[:] = 0
        for s in range(n_joint):
            _add_mean(weight[s], log_p[s], log_weight[s, q], log_total, bias_correction, known)
        there = present[q, rows] if present.shape[1] else always
        _add_values_where(there, 1.0, known, explained[rows])
        for place in range(depth):
            lost[:] = 0
            stride = n_states ** (depth - 1 - place)
            for rest in range(n_joint // n_states if depth > 1 else 0):
                first = rest // stride * stride * n_states + rest % stride
                _add(p[first], p[first + stride], sum_p)
                _add(weight[first], weight[first + stride], sum_weight)
                _larger(log_p[first], log_p[first + stride], sum_log_p)
                for s in range(first + 2 * stride, first + n_states * stride, stride):
                    _add(sum_p, p[s], sum_p)
                    _add(sum_weight, weight[s], sum_weight)
                    _larger(sum_log_p, log_p[s], sum_log_p)
                _take_log_of_sum(sum_p, sum_log_p)
                _add_mean(sum_weight, sum_log_p, log_rest[place, rest, q], log_total, bias_correction, lost)
            for row in range(n_rows):
                lost[row] = known[row] - lost[row]
            _add_values_where(there, 1.0, lost, unique[factors[place, q], rows])


@inlined
def _log_density(x, height, mean, half_precision, out):
    for row in range(x.size):
        away = x[row] - mean
        out[row] = height - half_precision * away * away


@inlined
def _exponentiate(largest, log_p, p, total):
    for row in range(p.size):
        log_p[row] -= largest[row]
        p[row] = exp(log_p[row])
        total[row] += p[row]


@inlined
def _take_log(total, out):
    for row in range(out.size):
        out[row] = log(total[row])


# Loops over many arrays would not be vectorised: too many of them might overlap.
@inlined
def _add(one, other, out):
    for row in range(out.size):
        out[row] = one[row] + other[row]


@inlined
def _larger(one, other, out):
    for row in range(out.size):
        out[row] = max(one[row], other[row])


@inlined
def _take_log_of_sum(total, out):
    """The logarithm of sums; that of the largest number, as it is, where all are too small to be told from 0."""
    least = out.dtype.type(-80)
    for row in range(out.size):
        out[row] = log(total[row]) if out[row] > least else out[row]


@inlined
def _add_mean(weight, log_p, log_weight, total, bias_correction, out):
    """Add the weighted log-ratio of a density to the total one; log_p has it times a weight."""
    if bias_correction == 0:
        for row in range(weight.size):
            out[row] += weight[row] * (log_p[row] - log_weight - total[row])
    else:
        for row in range(weight.size):
            log_ratio = log_p[row] - log_weight - total[row]
            out[row] += weight[row] * (
                log_ratio + bias_correction * (exp(min(log_ratio, LARGEST_RATIO)) - np.float32(1))
            )


@jit_as_written
def scale(numbers, sample_weight, total, size, centre, square, least, most):
    """The scale of columns (T, c), NaN where missing, with sample weights (T,), into (c,) each, as survey.Scale."""
    n_rows, n = numbers.shape
    total[:], size[:], centre[:], square[:], least[:], most[:] = 0, 0, 0, 0, np.inf, -np.inf
    for row in range(n_rows):
        for i in range(n):
            x = numbers[row, i]
            there = x == x
            total[i] += sample_weight[row] if there else 0.0
            size[i] = max(size[i], abs(x) if there else 0.0)
            least[i] = min(least[i], x if there else np.inf)
            most[i] = max(most[i], x if there else -np.inf)
    unit = np.empty(n)
    for i in range(n):
        if size[i] > 0:
            size[i] = max(size[i], SMALLEST)
        unit[i] = 1 / size[i] if size[i] > 0 else 1.0
    for row in range(n_rows):
        for i in range(n):
            x = numbers[row, i]
            centre[i] += sample_weight[row] * (x * unit[i]) if x == x else 0.0
    for i in range(n):
        centre[i] /= max(total[i], 1e-300)
    for row in range(n_rows):
        for i in range(n):
            x = numbers[row, i]
            away = x * unit[i] - centre[i]
            square[i] += sample_weight[row] * away * away if x == x else 0.0


@jit_as_written
def standardise(numbers, size, centre, spread, informative, farthest, values, present):
    """(x / size - centre) / spread of columns (T, c) into values (c, T), 0 where missing, at most ``farthest`` from 0.

    present (c, T) gets which are there.
    """
    n_rows, n = numbers.shape
    step = 64  # rows whose lines of both arrays stay in the cache
    for first in range(0, n_rows, step):
        for i in range(n):
            for row in range(first, min(first + step, n_rows)):
                x = numbers[row, i]
                there = x == x
                z = min(max((x / size[i] - centre[i]) / spread[i], -farthest), farthest)
                values[i, row] = z if there and informative[i] else 0.0
                present[i, row] = there
