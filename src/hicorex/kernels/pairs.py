"""Loops over pairs of a column and its parent: joint levels by joint state, tables of log-ratios, gains.

In all of them P pairs; columns (2, P) the child and the parent of each, as rows of cells (c, T), which hold numbers or
levels, NaN where missing; factors (D, P) those of the child, -1 after the last; states (P + 1,) where the joint states
of each pair begin and end; n_levels (2, P). The level of a cell x in a joint state is floor((x - centre) scale), with
centre and scale (2, states) of child and parent, and no less than the first nor more than the last. Tables lie one
after the other: by state, parent and child from joint (P + 1,) on, with one state for all where a pair is pooled; by
state and parent from parents (P + 1,), by state and child from children (P + 1,) on.
"""

import math

import numpy as np

from hicorex.kernels.compiled import inlined, inlined_as_written, jit, jit_as_written

# Labels of less probability are not looked at.
TINY = 1e-12
# Rounds of fitting a table to its margins, and the change of a margin, relatively, at which they end.
ROUNDS, CLOSE = 30, 1e-4
# No ratio is larger: one that few samples show would make the mean of others unsure.
LARGEST_LOG_RATIO = 7.0
# Of numbers none is smaller: what has not been seen may happen.
SMALLEST_LOG_RATIO = -10.0
# Beyond this correlation the levels of numbers are too coarse.
LARGEST_CORRELATION = 0.995


@inlined
def _joint_weights(labels, factors, row, weight, out):
    """The weight of a sample in each joint state of some factors, the last fastest, into out; returns their number."""
    n_states = labels.shape[0]
    out[0] = weight
    size = 1
    for place in range(factors.size):
        if factors[place] < 0:
            break
        for joint in range(size - 1, -1, -1):
            before = out[joint]
            for s in range(n_states):
                out[joint * n_states + s] = before * labels[s, factors[place], row]
        size *= n_states
    return size


@inlined
def _level(x, centre, scale, n_levels):
    return int(min(max(math.floor((x - centre) * scale), 0.0), n_levels - 1.0))


@jit
def child_ratios(x, places, states, centre, scale, log_weight, mean, precision, sample_weight, n_levels, out):
    """Add p(x | y) / p(x) of numbers at their levels in each joint state to out (2, states, n_levels), and the weights.

    x (c, T) is NaN where missing; places (Q,) the columns of x; states (Q + 1,) where the joint states of each begin;
    centre, scale, log_weight, mean and precision (states,) of the levels, of p(y) and of normal p(x | y).
    """
    density = np.empty((states[1:] - states[:-1]).max() if places.size else 0)
    for q in range(places.size):
        first, size = states[q], states[q + 1] - states[q]
        for row in range(x.shape[1]):
            value = x[places[q], row]
            if math.isnan(value):
                continue
            largest = -1e300
            for s in range(size):
                at = first + s
                deviation = value - mean[at]
                density[s] = 0.5 * math.log(precision[at]) - 0.5 * precision[at] * deviation * deviation
                largest = max(largest, density[s] + log_weight[at])
            mixture = 0.0
            for s in range(size):
                mixture += math.exp(density[s] + log_weight[first + s] - largest)
            mixture = math.log(mixture) + largest
            for s in range(size):
                level = _level(value, centre[first + s], scale[first + s], n_levels)
                # A state that never occurs may have any ratio; it has no weight.
                ratio = math.exp(min(density[s] - mixture, 80.0))
                out[0, first + s, level] += sample_weight[row] * ratio
                out[1, first + s, level] += sample_weight[row]


@jit
def moments(cells, columns, factors, states, labels, sample_weight, out):
    """Add the weight, the sum and the sum of squares of the parent in each joint state to out (states, 3)."""
    buffer = np.empty(labels.shape[0] ** factors.shape[0])
    for p in range(columns.shape[1]):
        for row in range(cells.shape[1]):
            x, z = cells[columns[0, p], row], cells[columns[1, p], row]
            if math.isnan(x) or math.isnan(z):
                continue
            size = _joint_weights(labels, factors[:, p], row, sample_weight[row], buffer)
            for s in range(size):
                w = buffer[s]
                if w > TINY:
                    out[states[p] + s, 0] += w
                    out[states[p] + s, 1] += w * z
                    out[states[p] + s, 2] += w * z * z


@jit
def count(cells, layout, ratio, labels, sample_weight, half, joint, own, parents, children):
    """Add the weights of joint levels, the same times the ratio of the child's level, those of parents, of children.

    Those of each sample go to the row half (T,) says: joint and own (H, .), parents (H, .), children (H, .). ratio has
    p(x | y) / p(x) by state and level of the child, as children.
    """
    columns, factors, states, n_levels, centre, scale, pooled, of_joint, of_parents, of_children = layout
    buffer = np.empty(labels.shape[0] ** factors.shape[0])
    for p in range(columns.shape[1]):
        n_child, n_parent = n_levels[0, p], n_levels[1, p]
        for row in range(cells.shape[1]):
            x, z = cells[columns[0, p], row], cells[columns[1, p], row]
            if math.isnan(x) or math.isnan(z):
                continue
            h = half[row]
            size = _joint_weights(labels, factors[:, p], row, sample_weight[row], buffer)
            for s in range(size):
                w = buffer[s]
                if w > TINY:
                    at = states[p] + s
                    v = _level(x, centre[0, at], scale[0, at], n_child)
                    a = _level(z, centre[1, at], scale[1, at], n_parent)
                    table = 0 if pooled[p] else s
                    cell = of_joint[p] + (table * n_parent + a) * n_child + v
                    child = of_children[p] + s * n_child + v
                    joint[h, cell] += w
                    own[h, cell] += w * ratio[child]
                    parents[h, of_parents[p] + s * n_parent + a] += w
                    children[h, child] += w


@jit_as_written
def log_ratios(layout, is_number, joint, parents, children, prior_samples, out):
    """log q(v | y, a) / q(v | y), q being smoothed estimates from counts, into out as joint."""
    columns, _, states, n_levels, _, _, pooled, of_joint, of_parents, of_children = layout
    for p in range(columns.shape[1]):
        n_child, n_parent, n_joint = n_levels[0, p], n_levels[1, p], states[p + 1] - states[p]
        n_tables = 1 if pooled[p] else n_joint
        table = joint[of_joint[p] : of_joint[p + 1]].reshape(n_tables, n_parent, n_child)
        parent = parents[of_parents[p] : of_parents[p + 1]].reshape(n_joint, n_parent)
        child = children[of_children[p] : of_children[p + 1]].reshape(n_joint, n_child)
        result = out[of_joint[p] : of_joint[p + 1]].reshape(n_tables, n_parent, n_child)
        if is_number[0, p] and is_number[1, p]:
            _of_numbers(table[0], result[0])
        elif is_number[0, p]:
            _of_number_and_categories(table[0], result[0])
        elif is_number[1, p]:
            _of_number_and_categories(table[0].T, result[0].T)
        elif pooled[p]:
            _of_pooled_categories(table[0], parent, child, result[0])
        else:
            _of_categories(table, parent, child, prior_samples, result)
        if pooled[p]:
            _normalise(parent, child, result[0])


@inlined_as_written
def _total(values):
    total = 0.0
    for at in range(values.size):
        total += values[at]
    return total


@inlined_as_written
def _middle(level, n_levels):
    """The middle of a level of a number, in standard deviations: levels are a quarter wide."""
    return (level + 0.5 - 0.5 * n_levels) * 0.25


@inlined_as_written
def _of_numbers(table, out):
    """Of two numbers: a normal distribution of their correlation in counts (A, V) of their levels."""
    n_parent, n_child = table.shape
    product = square_parent = square_child = 0.0
    for a in range(n_parent):
        t = _middle(a, n_parent)
        for v in range(n_child):
            u = _middle(v, n_child)
            product += table[a, v] * t * u
            square_parent += table[a, v] * t * t
            square_child += table[a, v] * u * u
    r = product / (math.sqrt(square_parent * square_child) + 1)
    r = min(max(r, -LARGEST_CORRELATION), LARGEST_CORRELATION)
    level, half_precision = -0.5 * math.log(1 - r * r), 0.5 / (1 - r * r)
    for a in range(n_parent):
        t = _middle(a, n_parent)
        for v in range(n_child):
            u = _middle(v, n_child)
            log_ratio = level - half_precision * r * (r * (t * t + u * u) - 2 * t * u)
            out[a, v] = max(log_ratio, SMALLEST_LOG_RATIO)


@inlined_as_written
def _of_number_and_categories(table, out):
    """Of categories and a number: a normal distribution in each category, from counts (C, L); out (C, L)."""
    n_categories, n_levels = table.shape
    count, mean, variance = np.zeros(n_categories), np.zeros(n_categories), np.ones(n_categories)
    total = total_mean = total_square = 0.0
    for c in range(n_categories):
        linear = square = 0.0
        for level in range(n_levels):
            u = _middle(level, n_levels)
            count[c] += table[c, level]
            linear += table[c, level] * u
            square += table[c, level] * u * u
        total += count[c]
        total_mean += linear
        total_square += square
        mean[c], variance[c] = linear, square
    overall = total_mean / max(total, 1e-300)
    spread = max(total_square / max(total, 1e-300) - overall * overall, 0.01)
    for c in range(n_categories):
        # One more sample, distributed as the column.
        size = count[c] + 1
        linear, square = mean[c] + overall, variance[c] + spread + overall * overall
        mean[c] = linear / size
        variance[c] = max(square / size - mean[c] * mean[c], 0.01)
    density = np.empty(n_categories)
    for level in range(n_levels):
        u = _middle(level, n_levels)
        mixture = 0.0
        for c in range(n_categories):
            density[c] = math.exp(-0.5 * (u - mean[c]) ** 2 / variance[c]) / math.sqrt(variance[c]) + 1e-30
            mixture += count[c] / max(total, 1e-300) * density[c]
        for c in range(n_categories):
            log_ratio = math.log(max(density[c] / max(mixture, 1e-300), 1e-300))
            out[c, level] = max(log_ratio, SMALLEST_LOG_RATIO)


@inlined_as_written
def _of_pooled_categories(table, parent, child, out):
    """Of categories, the same ratio in all states: counts over those expected if they were independent in each."""
    n_parent, n_child = table.shape
    out[:] = 0
    for s in range(len(parent)):
        size = max(_total(parent[s]), 1e-300)
        for a in range(n_parent):
            for v in range(n_child):
                out[a, v] += parent[s, a] * child[s, v] / size
    for a in range(n_parent):
        for v in range(n_child):
            out[a, v] = math.log((table[a, v] + 0.5) / (out[a, v] + 0.5))


@inlined_as_written
def _of_categories(table, parent, child, prior_samples, out):
    """Of categories, by state: counts (S, A, V) drawn towards the same odds ratios in all states.

    Those are the table of given margins by state and of given sums over the states, found by fitting in turns.
    """
    n_joint, n_parent, n_child = table.shape
    fitted = np.ones(table.shape)
    pooled, expected = np.zeros((n_parent, n_child)), np.zeros((n_parent, n_child))
    total = 0.0
    for s in range(n_joint):
        size = _total(parent[s])
        total += size
        for a in range(n_parent):
            for v in range(n_child):
                pooled[a, v] += table[s, a, v]
                expected[a, v] += parent[s, a] * child[s, v] / max(size, 1e-300)
    # Two more samples, independent in each state.
    for a in range(n_parent):
        for v in range(n_child):
            pooled[a, v] += (2.0 * expected[a, v] + 1e-3) / max(total, 1e-300)
    for _ in range(ROUNDS):
        change = _fit_pooled(fitted, pooled)
        _fit_margins(fitted, parent, child)
        if change < CLOSE:
            break
    of_all = 0.0
    for a in range(n_parent):
        of_all += _total(pooled[a])
    for s in range(n_joint):
        size = _total(parent[s])
        for v in range(n_child):
            # One more sample as in the state and over all states, and levels of the parent that may yet occur.
            alone = (child[s, v] + (_total(pooled[:, v]) + 1.0 / n_child) / (of_all + 1)) / (size + 1)
            average = 0.0
            for a in range(n_parent):
                given = _total(fitted[s, a])
                prior = fitted[s, a, v] / given if given > 0 else alone
                out[s, a, v] = (table[s, a, v] + prior_samples * prior + alone) / (parent[s, a] + prior_samples + 1)
                average += (parent[s, a] + 1.0 / n_parent) / (size + 1) * out[s, a, v]
            for a in range(n_parent):
                out[s, a, v] = min(math.log(out[s, a, v] / average), LARGEST_LOG_RATIO)


@inlined_as_written
def _fit_pooled(fitted, pooled):
    """Scale a table (S, A, V) to these sums over states (A, V); returns the largest relative change."""
    largest = 0.0
    for a in range(pooled.shape[0]):
        for v in range(pooled.shape[1]):
            size = _total(fitted[:, a, v])
            ratio = pooled[a, v] / size if size > 0 else 0.0
            largest = max(largest, abs(ratio - 1))
            fitted[:, a, v] *= ratio
    return largest


@inlined_as_written
def _fit_margins(fitted, parent, child):
    """Scale a table (S, A, V) to its margins by state, those of one more sample of even levels (S, A) and (S, V)."""
    n_joint, n_parent, n_child = fitted.shape
    for s in range(n_joint):
        for v in range(n_child):
            size = _total(fitted[s, :, v])
            fitted[s, :, v] *= (child[s, v] + 1.0 / n_child) / size if size > 0 else 0.0
        for a in range(n_parent):
            size = _total(fitted[s, a])
            fitted[s, a] *= (parent[s, a] + 1.0 / n_parent) / size if size > 0 else 0.0


@inlined_as_written
def _normalise(parent, child, log_ratio):
    """Let the mean ratio of independent levels be one, by the margins (S, A) and (S, V)."""
    n_parent, n_child = log_ratio.shape
    mean = total = 0.0
    for s in range(len(parent)):
        size = _total(parent[s])
        if size > 0:
            total += size
            for a in range(n_parent):
                for v in range(n_child):
                    mean += parent[s, a] * child[s, v] / size * math.exp(log_ratio[a, v])
    if total > 0:
        log_ratio -= math.log(max(mean / total, 1e-300))


@jit_as_written
def excess_ratios(layout, log_ratio, parents, spread, out):
    """sum_v p(v | y) (q(v | y, a) / q(v | y) - 1), by state and level a of the parent, into out.

    spread has the p(v | y) by state and level of the child that the bound of the factors alone goes by.
    """
    columns, _, states, n_levels, _, _, pooled, of_joint, at_parents, at_children = layout
    for p in range(columns.shape[1]):
        n_child, n_parent = n_levels[0, p], n_levels[1, p]
        for s in range(states[p + 1] - states[p]):
            table = of_joint[p] + (0 if pooled[p] else s * n_parent * n_child)
            for a in range(n_parent):
                at = at_parents[p] + s * n_parent + a
                if parents[at] > 0:
                    for v in range(n_child):
                        ratio = math.exp(log_ratio[table + a * n_child + v])
                        out[at] += spread[at_children[p] + s * n_child + v] * (ratio - 1)


@jit_as_written
def mean_gains(layout, log_ratio, joint, own, parents, excess, out):
    """Sums over samples by counts, (3, P): of log-ratios, of their excess, and of the excess of a sample by itself."""
    of_joint, at_parents = layout[7], layout[8]
    for p in range(out.shape[1]):
        for at in range(of_joint[p], of_joint[p + 1]):
            if joint[at] > 0:
                out[0, p] += joint[at] * log_ratio[at]
                out[2, p] += own[at] * (math.exp(log_ratio[at]) - 1)
        for at in range(at_parents[p], at_parents[p + 1]):
            out[1, p] += parents[at] * excess[at]


@jit
def add_gains(cells, layout, labels, log_ratio, excess, constant, out):
    """Add what each pair gains, the mean over labels (k, J, T), to out (T,); nothing where either is missing.

    That is the log-ratio less the excess by state and level of the parent, and a constant (P,).
    """
    columns, factors, states, n_levels, centre, scale, pooled, of_joint, at_parents, _ = layout
    buffer = np.empty(labels.shape[0] ** factors.shape[0])
    for p in range(columns.shape[1]):
        n_child, n_parent = n_levels[0, p], n_levels[1, p]
        for row in range(cells.shape[1]):
            x, z = cells[columns[0, p], row], cells[columns[1, p], row]
            if math.isnan(x) or math.isnan(z):
                continue
            size = _joint_weights(labels, factors[:, p], row, 1.0, buffer)
            gain = constant[p]
            for s in range(size):
                w = buffer[s]
                if w > TINY:
                    at = states[p] + s
                    v = _level(x, centre[0, at], scale[0, at], n_child)
                    a = _level(z, centre[1, at], scale[1, at], n_parent)
                    table = 0 if pooled[p] else s
                    cell = of_joint[p] + (table * n_parent + a) * n_child + v
                    gain += w * (log_ratio[cell] - excess[at_parents[p] + s * n_parent + a])
            out[row] += gain
