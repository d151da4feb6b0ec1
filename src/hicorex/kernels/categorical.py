"""Loops over categorical columns."""

import math

import numpy as np

from hicorex.kernels.compiled import inlined, jit
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
            if zero > 0:
                total -= zero * math.log(zero)
            if one > 0:
                total -= one * math.log(one)
            out[g, i] = max(total, 0.0)


@jit
def information(weight, p, log_p, is_category, offsets, out):
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
def add_linked(codes, offsets, alpha, table, out):
    """Add to out (J, T) the entries of table (J, F) that codes (n, T) point to, where alpha (J, n) > 0."""
    for j in range(alpha.shape[0]):
        for i in range(alpha.shape[1]):
            if alpha[j, i] > 0:
                of_column = table[j, offsets[i] : offsets[i + 1]]
                for row in range(codes.shape[1]):
                    out[j, row] += of_column[codes[i, row]]


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
                        _add_entries(
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
def _add_entries(codes, table, probability, out):
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
