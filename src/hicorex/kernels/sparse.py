"""Loops over the stored cells of sparse categorical columns.

The cells of a tile lie column after column: those of column i from ``starts[i]`` on, each with its row and its code.
"""

import numpy as np

from hicorex.kernels.compiled import inlined, jit
from hicorex.kernels.structure import add_joint_label, joint_labels


@jit
def by_column(indptr, columns, codes, n_columns):
    """Cells that lie row after row, those of the first from ``indptr[0]`` on, sorted by column: starts, rows, codes."""
    first, last = indptr[0], indptr[-1]
    starts = np.zeros(n_columns + 1, np.int64)
    for cell in range(first, last):
        starts[columns[cell] + 1] += 1
    for i in range(n_columns):
        starts[i + 1] += starts[i]
    free = starts[:-1].copy()
    own_rows = np.empty(last - first, np.int32)
    own_codes = np.empty(last - first, np.int32)
    for row in range(indptr.size - 1):
        for cell in range(indptr[row], indptr[row + 1]):
            at = free[columns[cell]]
            free[columns[cell]] += 1
            own_rows[at] = row
            own_codes[at] = codes[cell]
    return starts, own_rows, own_codes


@jit
def add_table(starts, rows, codes, places, table, firsts, used, out):
    """Add to out (C, T) the columns of table (C, P) of the cells of each sample, those of column i from places (n,) on.

    Only the rows of the table that ``used`` lists for column i, from ``firsts[i]`` on, are other than zero there.
    """
    for i in range(starts.size - 1):
        for at in range(firsts[i], firsts[i + 1]):
            to = out[used[at]]
            values = table[used[at]]
            for cell in range(starts[i], starts[i + 1]):
                to[rows[cell]] += values[places[i] + codes[cell]]


@jit
def count_labels(starts, rows, codes, places, labels, out):
    """Add each row of labels (T, C) to the rows of out (P, C) of its cells."""
    for i in range(starts.size - 1):
        for cell in range(starts[i], starts[i + 1]):
            f = places[i] + codes[cell]
            row = rows[cell]
            for c in range(labels.shape[1]):
                out[f, c] += labels[row, c]


@jit
def joint_counts(starts, rows, codes, columns, places, sample_weight, labels, links, out):
    """Add the counts of each linked variable's cells in each joint state of its factors.

    columns (Q,) and links (D, Q) as in structure.joint_moments; places (Q,) where a variable's cells belong in
    out (P, k^D); sample_weight (T,); labels (k, J, T).
    """
    for q in range(columns.size):
        deep = links.shape[0] > 2 and links[-1, q] >= 0
        for cell in range(starts[columns[q]], starts[columns[q] + 1]):
            row = rows[cell]
            add_joint_label(out[places[q] + codes[cell]], sample_weight[row], labels, links[:, q], row, deep)


@jit
def joint_ones(starts, rows, columns, sample_weight, ones, links, out):
    """As joint_counts, where factors have two states, ones (J, T) the probability of state 1, and a column one place:
    out (Q, 2^D)."""
    for q in range(columns.size):
        deep = links.shape[0] > 2 and links[-1, q] >= 0
        first, second, third = ones[links[0, q]], ones[links[1, q]], ones[max(links[-1, q], 0)]
        n = n_a = n_b = n_ab = n_c = n_ac = n_bc = n_abc = 0.0
        for cell in range(starts[columns[q]], starts[columns[q] + 1]):
            row = rows[cell]
            w = sample_weight[row]
            a, b = w * first[row], w * second[row]
            ab = a * second[row]
            n += w
            n_a += a
            n_b += b
            n_ab += ab
            if deep:
                c = third[row]
                n_c += w * c
                n_ac += a * c
                n_bc += b * c
                n_abc += ab * c
        _joint_states(n, n_a, n_b, n_ab, n_c, n_ac, n_bc, n_abc, out[q])


@jit
def joint_totals(sample_weight, ones, links, out):
    """As joint_ones, of all samples."""
    total = 0.0
    alone = np.zeros(ones.shape[0])
    for row in range(sample_weight.size):
        total += sample_weight[row]
    for j in range(ones.shape[0]):
        probability = ones[j]
        of_factor = 0.0
        for row in range(sample_weight.size):
            of_factor += sample_weight[row] * probability[row]
        alone[j] = of_factor
    for q in range(links.shape[1]):
        first, second = ones[links[0, q]], ones[links[1, q]]
        n_ab = n_c = n_ac = n_bc = n_abc = 0.0
        if links.shape[0] > 2 and links[-1, q] >= 0:
            third = ones[links[-1, q]]
            n_c = alone[links[-1, q]]
            for row in range(sample_weight.size):
                c = sample_weight[row] * third[row]
                ab = first[row] * second[row]
                n_ab += sample_weight[row] * ab
                n_ac += first[row] * c
                n_bc += second[row] * c
                n_abc += ab * c
        else:
            for row in range(sample_weight.size):
                n_ab += sample_weight[row] * first[row] * second[row]
        _joint_states(total, alone[links[0, q]], alone[links[1, q]], n_ab, n_c, n_ac, n_bc, n_abc, out[q])


@inlined
def _joint_states(n, n_a, n_b, n_ab, n_c, n_ac, n_bc, n_abc, out):
    """Add the counts of the joint states of two or three factors, from those in which some are in state 1."""
    last = out.size // 4
    if last > 1:
        out[1] += n_c - n_ac - n_bc + n_abc
        out[3] += n_bc - n_abc
        out[5] += n_ac - n_abc
        out[7] += n_abc
    out[0] += n - n_a - n_b - n_c + n_ab + n_ac + n_bc - n_abc
    out[last] += n_b - n_ab - n_bc + n_abc
    out[2 * last] += n_a - n_ab - n_ac + n_abc
    out[3 * last] += n_ab - n_abc


@inlined
def _label(scores, added, factor, row, f):
    """The most likely state without what a cell of category f adds to the scores."""
    best, state = 0.0, 0
    for s in range(scores.shape[0]):
        score = scores[s, factor, row] - added[s, f]
        if score > best:
            best, state = score, s + 1
    return state


@jit
def tabulate_without(starts, rows, codes, offsets, zeros, owner, scores, added, sample_weight, out):
    """Add the weight of each category in the states that the label of a column's owner (n,) has without the column.

    offsets (n + 1,) where a column's categories begin; zeros (n,) where that of no cell is; scores (k - 1, J, T);
    added (k - 1, F) what a category adds to the scores of the owner; sample_weight (T,); out (k, F).
    """
    n_rows = sample_weight.size
    for i in range(owner.size):
        zero = zeros[i]
        # As if there were no cells, and then what the cells change.
        if scores.shape[0] == 1:
            ones = 0.0
            total = 0.0
            score, least = scores[0, owner[i]], added[0, zero]
            for row in range(n_rows):
                total += sample_weight[row]
                ones += sample_weight[row] if score[row] - least > 0 else 0.0
            out[0, zero] += total - ones
            out[1, zero] += ones
        else:
            for row in range(n_rows):
                out[_label(scores, added, owner[i], row, zero), zero] += sample_weight[row]
        for cell in range(starts[i], starts[i + 1]):
            row, f = rows[cell], offsets[i] + codes[cell]
            out[_label(scores, added, owner[i], row, zero), zero] -= sample_weight[row]
            out[_label(scores, added, owner[i], row, f), f] += sample_weight[row]
        for state in range(out.shape[0]):
            out[state, zero] = max(out[state, zero], 0.0)


@jit
def add_constants(factors, table, labels, explained, unique):
    """Add the means over labels (k, J, T) of constants of the joint states of some tuples of factors (d, P).

    table (1 + d, k^d, P): what goes to explained (T,), and to unique (J, T) of each factor of the tuple.
    """
    every = slice(0, labels.shape[2])
    probability = np.empty((table.shape[1], labels.shape[2]))
    for p in range(factors.shape[1]):
        joint_labels(labels, every, factors[:, p], probability)
        for joint in range(table.shape[1]):
            explained += probability[joint] * table[0, joint, p]
            for place in range(factors.shape[0]):
                unique[factors[place, p]] += probability[joint] * table[place + 1, joint, p]


@jit
def add_cells(starts, rows, codes, columns, places, factors, table, labels, explained, unique):
    """As add_constants, of the cells of some columns (Q,) with factors (d, Q): table (1 + d, k^d, F_Q), from
    places (Q,) on."""
    n_states = labels.shape[0]
    for q in range(columns.size):
        for cell in range(starts[columns[q]], starts[columns[q] + 1]):
            row = rows[cell]
            f = places[q] + codes[cell]
            for joint in range(table.shape[1]):
                probability = 1.0
                rest = joint
                for place in range(factors.shape[0] - 1, -1, -1):
                    probability *= labels[rest % n_states, factors[place, q], row]
                    rest //= n_states
                explained[row] += probability * table[0, joint, f]
                for place in range(factors.shape[0]):
                    unique[factors[place, q], row] += probability * table[place + 1, joint, f]
