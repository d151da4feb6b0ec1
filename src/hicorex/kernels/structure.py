"""Loops over variables and their factors: joint states, right guesses, best factors."""

import math

import numpy as np

from hicorex.kernels.compiled import inlined, jit

# Values of joint states worked on at a time, so that they stay in a fast cache.
CHUNK = 2**13
# Logarithm of a ratio beyond any that samples can have.
LARGEST_RATIO = np.float32(30)


@inlined
def rows_at_a_time(n_joint):
    """The number of samples that are worked on at a time if each has ``n_joint`` joint states."""
    return max(16, min(1024, CHUNK // n_joint))


@inlined
def joint_labels(labels, rows, factors, out):
    """The probability of each joint state of some factors (d,), the last of them fastest, into out (k^d, T).

    labels (k, J, N), of which T rows count.
    """
    n_states = labels.shape[0]
    for joint in range(out.shape[0]):
        rest, probability = joint, out[joint]
        for place in range(factors.size - 1, -1, -1):
            _multiply(labels[rest % n_states, factors[place], rows], place == factors.size - 1, probability)
            rest //= n_states


@inlined
def _multiply(values, is_first, out):
    if is_first:
        for row in range(out.size):
            out[row] = values[row]
    else:
        for row in range(out.size):
            out[row] *= values[row]


@jit
def joint_moments(x, columns, sample_weight, labels, links, out):
    """Add the moments 1, x, x^2 of each linked variable in each joint state of its factors.

    x (n, T) values; columns (Q,) the linked variables; sample_weight (Q, T) or (1, T); labels (k, J, T);
    links (D, Q) the factors of each, two or three, -1 for no third, as if that had but state 0;
    out (Q, k^D, n_moments), the last factor's state running fastest.
    """
    n_states, _, n_rows = labels.shape
    last = out.shape[1] // n_states**2
    ones = np.ones(n_rows, x.dtype)
    for q in range(columns.shape[0]):
        value = x[columns[q]]
        of_column = sample_weight[min(q, sample_weight.shape[0] - 1)]
        deep = links.shape[0] > 2 and links[-1, q] >= 0
        if n_states == 2 and not deep:
            _add_moments_of_two(value, of_column, labels[1, links[0, q]], labels[1, links[1, q]], out[q, ::last])
            continue
        for s in range(n_states):
            for t in range(n_states):
                for u in range(n_states if deep else 1):
                    third = labels[u, links[-1, q]] if deep else ones
                    cell = out[q, (s * n_states + t) * last + u]
                    _add_moments(value, of_column, labels[s, links[0, q]], labels[t, links[1, q]], third, cell)


@inlined
def _add_moments(x, sample_weight, first, second, third, out):
    total = x.dtype.type(0)
    linear = x.dtype.type(0)
    square = x.dtype.type(0)
    for row in range(x.shape[0]):
        w = sample_weight[row] * first[row] * second[row] * third[row]
        total += w
        linear += w * x[row]
        square += w * x[row] * x[row]
    out[0] += total
    out[1] += linear
    if out.shape[0] > 2:
        out[2] += square


@inlined
def _add_moments_of_two(x, sample_weight, first, second, out):
    """The commonest case in one loop: two factors of two states, from their probabilities of state 1."""
    zero = x.dtype.type(0)
    n = n_a = n_b = n_ab = x_n = x_a = x_b = x_ab = xx_n = xx_a = xx_b = xx_ab = zero
    for row in range(x.shape[0]):
        w, v = sample_weight[row], x[row]
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


@jit
def joint_counts(codes, columns, offsets, sample_weight, labels, links, out):
    """Add the counts of each linked variable's categories in each joint state of its factors.

    codes (n, T); columns (Q,) and links (D, Q) as in joint_moments; offsets (Q,) where a variable's
    categories begin; sample_weight (T,); labels (k, J, T); out (F, k^D).
    """
    n_states, _, n_rows = labels.shape
    for q in range(columns.shape[0]):
        code, counts = codes[columns[q]], out[offsets[q] :]
        deep = links.shape[0] > 2 and links[-1, q] >= 0
        if n_states == 2:
            _add_two_states(code, counts, sample_weight, labels, links[:, q], deep)
        else:
            for row in range(n_rows):
                add_joint_label(counts[code[row]], sample_weight[row], labels, links[:, q], row, deep)


@inlined
def add_joint_label(counts, sample_weight, labels, factors, row, deep):
    """Add the label of a sample for two factors, or three if deep, to counts by joint state (k^D,)."""
    n_states = labels.shape[0]
    last = counts.size // n_states**2
    for s in range(n_states):
        first = sample_weight * labels[s, factors[0], row]
        for t in range(n_states):
            both = first * labels[t, factors[1], row]
            if not deep:
                counts[(s * n_states + t) * last] += both
                continue
            for u in range(n_states):
                counts[(s * n_states + t) * n_states + u] += both * labels[u, factors[2], row]


@inlined
def _add_two_states(codes, counts, sample_weight, labels, factors, deep):
    """As add_joint_label for each sample, where factors have two states, the commonest case."""
    a0, a1 = labels[0, factors[0]], labels[1, factors[0]]
    b0, b1 = labels[0, factors[1]], labels[1, factors[1]]
    c0, c1 = labels[0, factors[-1]], labels[1, factors[-1]]
    last = counts.shape[1] // 4
    for row in range(codes.size):
        cell = counts[codes[row]]
        first0, first1 = sample_weight[row] * a0[row], sample_weight[row] * a1[row]
        both00, both01 = first0 * b0[row], first0 * b1[row]
        both10, both11 = first1 * b0[row], first1 * b1[row]
        if deep:
            cell[0] += both00 * c0[row]
            cell[1] += both00 * c1[row]
            cell[2] += both01 * c0[row]
            cell[3] += both01 * c1[row]
            cell[4] += both10 * c0[row]
            cell[5] += both10 * c1[row]
            cell[6] += both11 * c0[row]
            cell[7] += both11 * c1[row]
        else:
            cell[0] += both00
            cell[last] += both01
            cell[2 * last] += both10
            cell[3 * last] += both11


@jit
def first_right_guesses(guess, label, sample_weight, order, right, first):
    """Count for one variable how often each factor is guessed right, and first in the order.

    guess (J, T) the state that the variable alone suggests, -1 for none; label (J, T); sample_weight (T,);
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
                n_right += sample_weight[row] * hit
                n_first += sample_weight[row] * (hit and not seen[row])
                seen[row] |= hit
            right[j] += n_right
            first[j] += n_first


@jit
def gaussian_guesses(x, constant, linear, quadratic, label, sample_weight, order, right, first):
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
        first_right_guesses(guess, label, sample_weight, order[:, :, i], right[:, i], first[:, i])


@jit
def categorical_guesses(codes, offsets, table, label, sample_weight, order, right, first):
    """first_right_guesses for n categorical variables: codes (n, T); table (J, F) the state that each
    category suggests, -1 for none; order (S, m, n); right and first (J, n)."""
    n, n_rows = codes.shape
    guess = np.empty((table.shape[0], n_rows), np.int8)
    for i in range(n):
        for j in range(table.shape[0]):
            for row in range(n_rows):
                guess[j, row] = table[j, offsets[i] + codes[i, row]]
        first_right_guesses(guess, label, sample_weight, order[:, :, i], right[:, i], first[:, i])


@jit
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
