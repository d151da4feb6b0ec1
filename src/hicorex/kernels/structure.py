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


def joint_moments(x, columns, sample_weight, labels, links, out):
    """Add the moments 1, x, x^2 of each linked variable in each joint state of its factors.

    x (n, T) values; columns (Q,) the linked variables; sample_weight (Q, T) or (1, T); labels (k, J, T);
    links (D, Q) the factors of each, two or three, -1 for no third, as if that had but state 0;
    out (Q, k^D, n_moments), the last factor's state running fastest.
    """
    of_two = np.full(columns.size, len(labels) == 2)
    of_two &= len(links) < 3 or links[-1] < 0
    moments_of_two(x, columns, sample_weight, labels[1], links, of_two, out)
    if not of_two.all():
        moments_of_several(x, columns, sample_weight, labels, links, of_two, out)


@jit
def moments_of_several(x, columns, sample_weight, labels, links, of_two, out):
    """joint_moments of those variables that are not of_two (Q,)."""
    n_states, _, n_rows = labels.shape
    last = out.shape[1] // n_states**2
    ones = np.ones(n_rows, x.dtype)
    for q in np.flatnonzero(~of_two):
        value = x[columns[q]]
        of_column = sample_weight[min(q, sample_weight.shape[0] - 1)]
        deep = links.shape[0] > 2 and links[-1, q] >= 0
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


@jit
def moments_of_two(x, columns, sample_weight, second_state, links, of_two, out):
    """joint_moments of those variables that are of_two (Q,): two factors of two states, the commonest case.

    second_state (J, T) their probabilities of state 1.
    """
    last = out.shape[1] // 4
    for q in range(columns.size):
        if of_two[q]:
            at = min(q, sample_weight.shape[0] - 1)
            first, second = links[0, q], links[1, q]
            of_one, of_x = _moments_of_two(x[columns[q]], sample_weight[at], second_state[first], second_state[second])
            _add_differences(of_one, out[q, ::last, 0])
            _add_differences(of_x, out[q, ::last, 1])
    # Squares have a loop of their own, so that all sums are in registers.
    for q in range(columns.size if out.shape[2] > 2 else 0):
        if of_two[q]:
            at = min(q, sample_weight.shape[0] - 1)
            first, second = links[0, q], links[1, q]
            squares = _squares_of_two(x[columns[q]], sample_weight[at], second_state[first], second_state[second])
            _add_differences(squares, out[q, ::last, 2])


@inlined
def _moments_of_two(x, sample_weight, first, second):
    """Sums of 1 and of x: in all, in state 1 of the first factor, of the second and of both."""
    n = n_a = n_b = n_ab = x_n = x_a = x_b = x_ab = x.dtype.type(0)
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
    return (n, n_a, n_b, n_ab), (x_n, x_a, x_b, x_ab)


@inlined
def _squares_of_two(x, sample_weight, first, second):
    """The same of x^2."""
    n = n_a = n_b = n_ab = x.dtype.type(0)
    for row in range(x.shape[0]):
        square = sample_weight[row] * x[row] * x[row]
        a = square * first[row]
        n += square
        n_a += a
        n_b += square * second[row]
        n_ab += a * second[row]
    return n, n_a, n_b, n_ab


@inlined
def _add_differences(sums, out):
    """Add to one moment of each joint state, out (4,), what sums say of it."""
    whole, only_a, only_b, both = sums
    out[0] += whole - only_a - only_b + both
    out[1] += only_b - both
    out[2] += only_a - both
    out[3] += both


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
            _add_labels_of_two(code, counts, sample_weight, labels, links[:, q], deep)
        elif n_states == 3:
            _add_labels_of_three(code, counts, sample_weight, labels, links[:, q], deep)
        elif n_states == 4:
            _add_labels_of_four(code, counts, sample_weight, labels, links[:, q], deep)
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


def _adder_of(n_states):
    """As add_joint_label for each sample, for a number of states that the compiler knows: several times as fast."""

    @inlined
    def add(codes, counts, sample_weight, labels, factors, deep):
        last = counts.shape[1] // n_states**2
        a, b, c = factors[0], factors[1], factors[-1]
        for row in range(codes.size):
            cell = counts[codes[row]]
            for s in range(n_states):
                first = sample_weight[row] * labels[s, a, row]
                for t in range(n_states):
                    both = first * labels[t, b, row]
                    if deep:
                        for u in range(n_states):
                            cell[(s * n_states + t) * n_states + u] += both * labels[u, c, row]
                    else:
                        cell[(s * n_states + t) * last] += both

    return add


_add_labels_of_two, _add_labels_of_three, _add_labels_of_four = _adder_of(2), _adder_of(3), _adder_of(4)


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
    high = np.empty((depth, n))
    for start in range(n_starts):
        high[:] = -np.inf
        for j in range(n_factors):
            for d in range(depth - 1, 0, -1):
                _push_down(score[start, j], j, high[d - 1], best[start, d - 1], high[d], best[start, d])
            _take_higher(score[start, j], j, high[0], best[start, 0])
        for d in range(1, depth):
            _drop_low(high[d], least, best[start, d])
    return best


@inlined
def _push_down(score, factor, high_above, best_above, high, best):
    """What a place gets if a factor is let in: what stood above, or the factor, or what it has."""
    for i in range(score.size):
        if score[i] > high_above[i]:
            high[i], best[i] = high_above[i], best_above[i]
        elif score[i] > high[i]:
            high[i], best[i] = score[i], factor


@inlined
def _take_higher(score, factor, high, best):
    for i in range(score.size):
        if score[i] > high[i]:
            high[i], best[i] = score[i], factor


@inlined
def _drop_low(high, least, best):
    for i in range(high.size):
        if high[i] <= least[i]:
            best[i] = -1


@jit
def linked_pairs(alpha):
    """The factors and columns (P,) of which alpha (J, n) is positive, column after column, and their alpha (P,)."""
    n_factors, n = alpha.shape
    firsts = np.zeros(n + 1, np.intp)
    for j in range(n_factors):
        for i in range(n):
            firsts[i + 1] += alpha[j, i] > 0
    for i in range(n):
        firsts[i + 1] += firsts[i]
    n_pairs = firsts[n]
    factors, columns, share = np.empty(n_pairs, np.intp), np.empty(n_pairs, np.intp), np.empty(n_pairs)
    for j in range(n_factors):
        for i in range(n):
            if alpha[j, i] > 0:
                factors[firsts[i]], columns[firsts[i]], share[firsts[i]] = j, i, alpha[j, i]
                firsts[i] += 1
    return factors, columns, share


@jit
def spread(links, share, out):
    """Set out (S, m, n) to the shares (S, D, n) of the linked factors (S, D, n), where they have any."""
    for start in range(links.shape[0]):
        for d in range(links.shape[1]):
            for i in range(links.shape[2]):
                if share[start, d, i] > 0:
                    out[start, links[start, d, i], i] = share[start, d, i]


@jit
def linked_factors(links, start, column, n_factors, out):
    """The links (S, D, n) of some starts and columns (Q,) into out (D, Q), counted over all starts of n_factors."""
    for d in range(links.shape[1]):
        for q in range(start.size):
            factor = links[start[q], d, column[q]]
            out[d, q] = factor + n_factors * start[q] if factor >= 0 else -1
