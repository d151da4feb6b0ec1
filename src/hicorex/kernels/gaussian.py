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


@jit
def dependences(mean, variance, log_variance, prior, out):
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


@jit
def log_odds(mean, variance, log_variance, constant, linear, quadratic):
    """log p(x | s) - log p(x | 0) = constant + linear x + quadratic x^2 for s > 0, (k - 1, J, n)."""
    n_states, n_factors, n = mean.shape
    for j in range(n_factors):
        for i in range(n):
            slope, bend = mean[0, j, i] / variance[0, j, i], 0.5 / variance[0, j, i]
            level = 0.5 * (log_variance[0, j, i] + mean[0, j, i] * slope)
            for s in range(1, n_states):
                rise = mean[s, j, i] / variance[s, j, i]
                constant[s - 1, j, i] = level - 0.5 * (log_variance[s, j, i] + mean[s, j, i] * rise)
                linear[s - 1, j, i] = rise - slope
                quadratic[s - 1, j, i] = bend - 0.5 / variance[s, j, i]


@jit
def quadratic_scores(x, linear, quadratic, out):
    """Add linear @ x + quadratic @ x^2 to out (C, T): x (n, T), coefficients (C, n). For few rows C."""
    for i in range(x.shape[0]):
        for c in range(out.shape[0]):
            _add_parabola(x[i], linear[c, i], quadratic[c, i], out[c])


@inlined
def _add_parabola(x, linear, quadratic, out):
    for row in range(x.shape[0]):
        out[row] += x[row] * (linear + quadratic * x[row])


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
def log_mixture_sums(x, sample_weight, alpha, log_prior, constant, linear, quadratic, out):
    """Sums over samples of log(p_j(x_i) / p(x_i | y_j=0)) where alpha > 0, added to out (J, n).

    x (n, T) values; sample_weight (T,); log_prior (k, J); constant, linear, quadratic (k - 1, J, n).
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
                out[j, i] += _sum_with_last(x[i], level, linear[-1, j, i], quadratic[-1, j, i], total, sample_weight)


@jit
def log_mixtures(x, present, gap_of, alpha, log_prior, constant, linear, quadratic, out):
    """Add sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample to out (J, T).

    As in log_mixture_sums; gap_of (n,) is the row of present (n_gaps, T) for columns with missing values, or -1.
    """
    total, always = np.empty(x.shape[1], x.dtype), np.ones(x.shape[1], np.bool_)
    for j in range(alpha.shape[0]):
        for i in range(alpha.shape[1]):
            if alpha[j, i] > 0:
                total[:] = log_prior[0, j]
                for s in range(constant.shape[0]):
                    level = log_prior[s + 1, j] + constant[s, j, i]
                    _add_quadratic(x[i], level, linear[s, j, i], quadratic[s, j, i], total)
                there = present[gap_of[i]] if gap_of[i] >= 0 else always
                _add_where(total, alpha[j, i], there, out[j])


@inlined
def _add_quadratic(x, constant, linear, quadratic, total):
    for row in range(x.shape[0]):
        total[row] = add_log(total[row], constant + x[row] * (linear + x[row] * quadratic))


@inlined
def _add_where(values, scale, there, out):
    for row in range(out.size):
        out[row] += scale * values[row] if there[row] else 0.0


@inlined
def _sum_with_last(x, constant, linear, quadratic, total, sample_weight):
    """The weighted sum after the last state is added, which need not be stored."""
    result = x.dtype.type(0)
    for row in range(x.shape[0]):
        result += sample_weight[row] * add_log(total[row], constant + x[row] * (linear + x[row] * quadratic))
    return result


@jit
def equivocation(weight, height, mean, precision, deviation, nodes, node_weight, out):
    """Add H(Y | X) of P Gaussian mixtures to out (P,), by Gauss-Hermite quadrature.

    weight, mean, precision (k, P); height (k, P) the log of weight times the root of precision; deviation (k, P) 1 by
    that root; nodes and node_weight (Q,), of the standard normal.
    """
    n_states, n_pairs = mean.shape
    total = np.empty(CHUNK, mean.dtype)
    for first in range(0, n_pairs, CHUNK):
        last = min(first + CHUNK, n_pairs)
        for s in range(n_states):
            this_state = mean[s, first:last], deviation[s, first:last], height[s, first:last]
            for q in range(nodes.shape[0]):
                for p in range(last - first):
                    total[p] = 0
                for t in range(n_states):
                    if t != s:
                        other = mean[t, first:last], precision[t, first:last], height[t, first:last]
                        _add_density(nodes[q], *this_state, *other, total)
                _add_product(weight[s, first:last], node_weight[q], total, out[first:last])


@inlined
def _add_density(node, this_mean, this_deviation, this_height, mean, precision, height, total):
    """Add the density of another state at a node of this one, relative to the density of this one there."""
    half = total.dtype.type(0.5)
    for p in range(this_mean.shape[0]):
        away = this_mean[p] + node * this_deviation[p] - mean[p]
        z = height[p] - this_height[p] - half * (away * away * precision[p] - node * node)
        total[p] = add_log(total[p], z)


@inlined
def _add_product(a, scale, b, out):
    for p in range(out.shape[0]):
        out[p] += scale * a[p] * b[p]


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
        _add_where(known, 1.0, there, explained[rows])
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
            _add_where(lost, 1.0, there, unique[factors[place, q], rows])


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
