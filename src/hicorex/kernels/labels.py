"""Loops over the labels of samples."""

import numpy as np

from hicorex.kernels.compiled import add_log, exp, inlined, jit, log, log1p

# Smaller labels are lost in any sum in single precision; products of three that are not smaller are normal numbers.
TINY = np.float32(2**-40)


@jit
def probabilities(scores, log_prior, labels, log_normaliser):
    """Labels p(y_j | x) (k, J, T) and their log normaliser (J, T) from scores (k - 1, J, T) and log p(y_j) (k, J).

    This is eq:label_m but for the mixture in Z_j(x), which is the same in every state.
    """
    n_states, n_factors, n_rows = labels.shape
    total = np.empty(n_rows, labels.dtype)
    for j in range(n_factors):
        if n_states == 2:
            _of_two(scores[0, j], log_prior[0, j], log_prior[1, j], labels[0, j], labels[1, j], log_normaliser[j])
            continue
        labels[0, j] = log_prior[0, j]
        log_normaliser[j] = log_prior[0, j]
        for s in range(1, n_states):
            _add_state(scores[s - 1, j], log_prior[s, j], labels[s, j], log_normaliser[j])
        total[:] = 0
        for s in range(n_states):
            _exponentiate(labels[s, j], log_normaliser[j], total)
        for s in range(n_states):
            _divide(labels[s, j], total)


@inlined
def _of_two(score, log_first, log_second, first, second, log_normaliser):
    one = np.float32(1)
    for row in range(score.size):
        odds = score[row] + (log_second - log_first)
        ratio = exp(-abs(odds))
        more = one / (one + ratio)
        less = ratio * more
        first[row] = less if odds > 0 else more
        second[row] = more if odds > 0 else less
        log_normaliser[row] = log_first + max(odds, np.float32(0)) + log1p(ratio)


@inlined
def _add_state(score, log_prior, logit, log_normaliser):
    for row in range(score.size):
        logit[row] = score[row] + log_prior
        log_normaliser[row] = add_log(log_normaliser[row], logit[row])


@inlined
def _exponentiate(logit, log_normaliser, total):
    for row in range(logit.size):
        logit[row] = exp(logit[row] - log_normaliser[row])
        total[row] += logit[row]


@inlined
def _divide(values, total):
    for row in range(values.size):
        values[row] /= total[row]


@jit
def drop_tiny(labels, out):
    """Labels (C,) with 0 for those below TINY, into out (C,)."""
    for c in range(labels.size):
        out[c] = labels[c] if labels[c] >= TINY else 0


@jit
def most_likely(labels, out):
    """The most likely state of each factor, the first of equals, into out (J, T): labels (k, J, T)."""
    n_states, n_factors, n_rows = labels.shape
    best = np.empty(n_rows, labels.dtype)
    for j in range(n_factors):
        _take_first(labels[0, j], best, out[j])
        for s in range(1, n_states):
            _take_larger(labels[s, j], s, best, out[j])


@inlined
def _take_first(values, best, out):
    for row in range(values.size):
        best[row] = values[row]
        out[row] = 0


@inlined
def _take_larger(values, state, best, out):
    for row in range(values.size):
        out[row] = state if values[row] > best[row] else out[row]
        best[row] = max(values[row], best[row])


@jit
def costs(labels, prior, out):
    """sum_s p(s) log p(s) / p_j(s) of labels (k, J, T) in double precision and prior (k, J), into out (J, T)."""
    for j in range(labels.shape[1]):
        out[j] = 0
        for s in range(labels.shape[0]):
            _add_cost(labels[s, j], log(prior[s, j]), out[j])


@inlined
def _add_cost(label, log_prior, out):
    for row in range(label.size):
        out[row] += label[row] * (log(max(label[row], 1e-300)) - log_prior)


@jit
def weighted_sums(values, sample_weight, out):
    """The sums of values (C, T) with sample weights (T,), in double precision, into out (C,)."""
    for c in range(values.shape[0]):
        value = values[c]
        total = 0.0
        for row in range(sample_weight.size):
            total += np.float64(value[row]) * np.float64(sample_weight[row])
        out[c] = total
