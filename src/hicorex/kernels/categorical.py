"""Loops over categorical columns."""

import math

import numpy as np

from hicorex.kernels.compiled import inlined, jit, log
from hicorex.kernels.structure import joint_labels, rows_at_a_time


@jit
def estimates(count, total, marginal, offsets, prior_samples, p):
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
                    counted = total[f]
                    if s > 0:
                        counted = count[s - 1, j, f]
                    else:
                        for t in range(n_states - 1):
                            counted -= count[t, j, f]
                    p[s, j, f] = max(counted, 0.0)
                    if marginal[f] > 0:
                        seen += p[s, j, f]
                scale = 1 / seen
                for f in range(offsets[i], offsets[i + 1]):
                    p[s, j, f] = (p[s, j, f] + prior_samples * marginal[f]) * scale if marginal[f] > 0 else 1.0


@jit
def draw_to_neighbours(seen, marginal, offsets, neighbour_samples, p):
    """Draw probabilities, as those of estimates, towards q(v) ~ marginal(v) sum_w p(w) / sum_w marginal(w), in place.

    The sums are over v and its neighbours in order. Then p (k, J, F) is (seen p + neighbour_samples q) divided by
    seen + neighbour_samples, where seen (k, J, n) is the weight behind p. Columns of two categories stay as they are.
    """
    n_states, n_factors, _ = p.shape
    near = np.empty(np.max(np.diff(offsets)))
    for i in range(offsets.size - 1):
        first, last = offsets[i], offsets[i + 1] - 1
        if last - first > 2:
            for s in range(n_states):
                for j in range(n_factors):
                    total = 0.0
                    for f in range(first, last):
                        of_state, of_all = 0.0, 0.0
                        for w in range(max(f - 1, first), min(f + 2, last)):
                            if marginal[w] > 0:
                                of_state += p[s, j, w]
                                of_all += marginal[w]
                        near[f - first] = marginal[f] * of_state / of_all if marginal[f] > 0 else 0.0
                        total += near[f - first]
                    scale = neighbour_samples / max(total, 1e-300)
                    for f in range(first, last):
                        if marginal[f] > 0:
                            drawn = seen[s, j, i] * p[s, j, f] + scale * near[f - first]
                            p[s, j, f] = drawn / (seen[s, j, i] + neighbour_samples)


@jit
def binary_estimates(ones, label_sum, total, marginal, prior_samples, p):
    """As estimates, where all columns have two categories and none is missing.

    ones (k - 1, J, n) of category 1 in states 1 to k - 1; label_sum (k, J); total, marginal (3 n,); p (k, J, 3 n).
    """
    n_states, n_factors, _ = p.shape
    for s in range(n_states):
        for j in range(n_factors):
            for i in range(ones.shape[2]):
                zero, one = total[3 * i], total[3 * i + 1]
                if s > 0:
                    one = ones[s - 1, j, i]
                    zero = label_sum[s, j] - one
                else:
                    for t in range(n_states - 1):
                        one -= ones[t, j, i]
                        zero -= label_sum[t + 1, j] - ones[t, j, i]
                zero, one = max(zero, 0.0), max(one, 0.0)
                share_zero, share_one = marginal[3 * i], marginal[3 * i + 1]
                seen = prior_samples + (zero if share_zero > 0 else 0.0) + (one if share_one > 0 else 0.0)
                p[s, j, 3 * i] = (zero + prior_samples * share_zero) / seen if share_zero > 0 else 1.0
                p[s, j, 3 * i + 1] = (one + prior_samples * share_one) / seen if share_one > 0 else 1.0
                p[s, j, 3 * i + 2] = 1.0


@jit
def binary_information(weight, p, log_p, out):
    """As information, where all columns have two categories and none is missing.

    weight (k, G); p, log_p (k, G, 3 n); out (G, n).
    """
    n_states, n_groups, _ = p.shape
    for g in range(n_groups):
        for i in range(out.shape[1]):
            zero = 0.0
            one = 0.0
            total = 0.0
            for s in range(n_states):
                part_zero = weight[s, g] * p[s, g, 3 * i]
                part_one = weight[s, g] * p[s, g, 3 * i + 1]
                zero += part_zero
                one += part_one
                total += part_zero * log_p[s, g, 3 * i] + part_one * log_p[s, g, 3 * i + 1]
            # Nothing of a category that never occurs: neither term is then more than rounding.
            total -= zero * log(max(zero, 1e-300)) + one * log(max(one, 1e-300))
            out[g, i] = max(total, 0.0)


@jit
def information(weight, p, log_p, is_category, offsets, out):
    """sum_s w_s sum_v p_s(v) log(p_s(v) / sum_t w_t p_t(v)) of each column: out (G, n).

    weight (k, G); p, log_p (k, G, F); is_category (F,); offsets (n + 1,).
    """
    n_states, n_groups, _ = p.shape
    for g in range(n_groups):
        for i in range(offsets.size - 1):
            total = 0.0
            for f in range(offsets[i], offsets[i + 1]):
                mixture = 0.0
                for s in range(n_states):
                    mixture += weight[s, g] * p[s, g, f]
                if is_category[f] and mixture > 0:
                    for s in range(n_states):
                        total += weight[s, g] * p[s, g, f] * log_p[s, g, f]
                    total -= mixture * math.log(mixture)
            out[g, i] = max(total, 0.0)


@jit
def conditional_information(count, marginal, offsets, prior_samples, n_states, out):
    """I(Y_last:X | the factors before) of columns (Q,), into out, from counts in the joint states, the last fastest.

    count (F_Q, k^d); marginal (F_Q,), 0 for places of missing values; offsets (Q + 1,). Probabilities are smoothed as
    by estimates.
    """
    n_joint = count.shape[1]
    seen = np.empty(n_joint)
    for i in range(out.size):
        seen[:] = 0
        for f in range(offsets[i], offsets[i + 1]):
            for s in range(n_joint):
                seen[s] += max(count[f, s], 0.0) if marginal[f] > 0 else 0.0
        information = 0.0
        for before in range(0, n_joint, n_states):
            weight = seen[before : before + n_states].sum()
            for f in range(offsets[i], offsets[i + 1] if weight > 0 else 0):
                mixture = 0.0
                for s in range(before, before + n_states if marginal[f] > 0 else 0):
                    p = (max(count[f, s], 0.0) + prior_samples * marginal[f]) / (seen[s] + prior_samples)
                    mixture += seen[s] * p
                    information += seen[s] * p * math.log(p)
                if mixture > 0:
                    information -= mixture * math.log(mixture / weight)
        out[i] = information / max(seen.sum(), 1e-300)


@jit
def log_mixtures(alpha, prior, p, log_p, offsets, out):
    """alpha_ij log(p_j(v) / p(v | y_j=0)) where alpha (J, n) > 0, into out (J, F), but for places of missing values."""
    for j in range(alpha.shape[0]):
        for i in range(alpha.shape[1]):
            if alpha[j, i] > 0:
                for f in range(offsets[i], offsets[i + 1] - 1):
                    mixture = 0.0
                    for s in range(prior.shape[0]):
                        mixture += prior[s, j] * p[s, j, f]
                    out[j, f] = alpha[j, i] * (math.log(mixture) - log_p[0, j, f])


@jit
def add_table_rows(codes, offsets, table, out):
    """Add to each row of out (T, C) the rows of table (F, C) that its codes (n, T) point to."""
    for i in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            f = offsets[i] + codes[i, row]
            for c in range(out.shape[1]):
                out[row, c] += table[f, c]


@jit
def linked_tables(prior, p, log_p, pairs, offsets, starts, table, log_mixture):
    """The entries E of all pairs, those of each from starts (P + 1,) on: its column's categories, and 0 if missing.

    alpha log(p(v | y_j=s) / p(v | y_j=0)) goes into table (k - 1, E), alpha log(p_j(v) / p(v | y_j=0)) into log_mixture
    (E,). p, log_p (k, J, F); pairs as marginals.base.Pairs.
    """
    factors, columns, alpha = pairs
    for q in range(factors.size):
        j, first = factors[q], offsets[columns[q]] - starts[q]
        for e in range(starts[q], starts[q + 1] - 1):
            mixture = prior[0, j] * p[0, j, first + e]
            for s in range(1, prior.shape[0]):
                mixture += prior[s, j] * p[s, j, first + e]
                table[s - 1, e] = alpha[q] * (log_p[s, j, first + e] - log_p[0, j, first + e])
            log_mixture[e] = alpha[q] * (math.log(mixture) - log_p[0, j, first + e])
        table[:, starts[q + 1] - 1] = 0
        log_mixture[starts[q + 1] - 1] = 0


@jit
def add_linked(codes, pairs, starts, table, out):
    """Add to out (C, J, T) the entries of each pair in table (C, E) that codes (n, T) point to, as in linked_tables."""
    factors, columns, _ = pairs
    for q in range(factors.size):
        for c in range(out.shape[0]):
            _add_entries(codes[columns[q]], table[c, starts[q] : starts[q + 1]], out[c, factors[q]])


@inlined
def _add_entries(codes, entries, out):
    for row in range(codes.size):
        out[row] += entries[codes[row]]


@jit
def add_lines(x, pairs, table, out):
    """As add_linked, where all columns have two categories and none is missing: x (n, T) are the codes as numbers."""
    factors, columns, _ = pairs
    for q in range(factors.size):
        for c in range(out.shape[0]):
            zero, one = table[c, 3 * q], table[c, 3 * q + 1]
            _add_line(x[columns[q]], zero, one - zero, out[c, factors[q]])


@inlined
def _add_line(x, constant, linear, out):
    for row in range(x.size):
        out[row] += constant + linear * x[row]


@jit
def add_explained(codes, columns, offsets, factors, table, labels, explained, unique):
    """Add to explained (T,), and to unique (J, T) of each factor of a column, the mean over labels (k, J, T) of tables.

    codes (n, T) of all columns; columns (Q,) with factors (d, Q); table (1 + d, k^d, F_Q), the first for explained,
    of which that of each column begins at offsets (Q,).
    """
    height = rows_at_a_time(table.shape[1])
    for first in range(0, codes.shape[1], height):
        rows = slice(first, min(first + height, codes.shape[1]))
        probability = np.empty((table.shape[1], rows.stop - first))
        mean = np.empty(rows.stop - first)
        for q in range(columns.size):
            joint_labels(labels, rows, factors[:, q], probability)
            for which in range(table.shape[0]):
                if which != 1 or factors.shape[0] > 1:  # without its one factor nothing is explained
                    mean[:] = 0
                    for s in range(table.shape[1]):
                        _add_likely_entries(
                            codes[columns[q], rows], table[which, s, offsets[q] : offsets[q + 1]], probability[s], mean
                        )
                if which == 0:
                    _add(mean, explained[rows])
                else:
                    _add(mean, unique[factors[which - 1, q], rows])


@inlined
def _add(values, out):
    for row in range(out.size):
        out[row] += values[row]


@inlined
def _add_likely_entries(codes, table, probability, out):
    for row in range(codes.size):
        out[row] += probability[row] * table[codes[row]]


@jit
def count_labels(codes, offsets, labels, out):
    """Add each row of labels (T, C) to the rows of out (F, C) that its codes (n, T) point to."""
    for i in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            f = offsets[i] + codes[i, row]
            for c in range(labels.shape[1]):
                out[f, c] += labels[row, c]
