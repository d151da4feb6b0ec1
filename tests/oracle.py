"""The paper's equations, slow and plain, one sample, variable, factor and state at a time.

A table is a list of columns: floats with NaN for a Gaussian variable, codes with -1 for missing for a
categorical one. A marginal is (mean, variance) or an array of probabilities. prior[j][s] is p(y_j = s),
marginals[i][j][s] the marginal of variable i in state s of factor j, labels[l][j][s] is p(y_j = s | x^l).
"""

import math
from itertools import product

import numpy as np
from scipy.stats import chi2, norm

GRID = np.linspace(-12, 12, 4001)


def is_gaussian(column):
    return column.dtype.kind == "f"


class Ordered(np.ndarray):
    """Codes of a column whose categories have an order."""


def is_missing(x):
    return x != x or (x == -1 and not isinstance(x, float))


def log_p(x, marginal):
    """log p(x_i | y_j = s)."""
    if isinstance(marginal, tuple):
        mean, variance = marginal
        return -((x - mean) ** 2 / variance + math.log(2 * math.pi * variance)) / 2
    return np.log(marginal[x])


def log_mixture(x, weights, marginals):
    """log p_j(x_i), the mixture over states."""
    return np.log(sum(w * np.exp(log_p(x, m)) for w, m in zip(weights, marginals, strict=True)))


def label(x, prior, marginals, alpha, j):
    """p(y_j | x) and log Z_j(x) of one sample (eq:label_m)."""
    logits = np.log(prior[j])
    for i, value in enumerate(x):
        if alpha[i][j] > 0 and not is_missing(value):
            mixture = log_mixture(value, prior[j], marginals[i][j])
            ratio = [log_p(value, m) - mixture for m in marginals[i][j]]
            logits = logits + alpha[i][j] * np.array(ratio)
    log_z = np.logaddexp.reduce(logits)
    return np.exp(logits - log_z), log_z


def all_labels(columns, prior, marginals, alpha):
    """Labels (N, m, k) and log Z (N, m)."""
    samples = list(zip(*columns, strict=True))
    found = [[label(x, prior, marginals, alpha, j) for j in range(len(prior))] for x in samples]
    return np.array([[f[0] for f in row] for row in found]), np.array([[f[1] for f in row] for row in found])


def estimate_prior(labels, weight):
    """p(y_j), with one more sample spread over the states."""
    k = labels.shape[2]
    return (np.einsum("l,ljs->js", weight, labels) + 1 / k) / (weight.sum() + 1)


def marginal(column, share, weight, prior_samples=1.0, floor=1e-4):
    """The marginal of a column in a state to which each sample belongs by a share (eq:marg), smoothed."""
    seen = np.array([not is_missing(x) for x in column])
    share = share * seen
    if is_gaussian(column):
        x = np.where(seen, column, 0)
        size = share.sum() + prior_samples
        mean = (share * x).sum() / size
        return mean, max(((share * x**2).sum() + prior_samples) / size - mean**2, floor)
    n_categories = column.max() + 1
    count = np.array([share[column == v].sum() for v in range(n_categories)])
    overall = np.array([weight[column == v].sum() for v in range(n_categories)])
    overall = overall / overall.sum()
    p = (count + prior_samples * overall) / (count.sum() + prior_samples)
    return along_order(p, overall, count.sum(), prior_samples) if isinstance(column, Ordered) else p


def along_order(p, overall, seen, prior_samples):
    """Probabilities drawn towards p(x) times the mean of p(x|y) / p(x) over a category and its neighbours."""
    n_categories = len(p)
    if n_categories < 3:
        return p
    q = np.zeros(n_categories)
    for v in range(n_categories):
        near = [w for w in (v - 1, v, v + 1) if 0 <= w < n_categories]
        q[v] = overall[v] * np.average([p[w] / overall[w] for w in near], weights=[overall[w] for w in near])
    size, drawn = seen + prior_samples, 25 * prior_samples
    return (size * p + drawn * q / q.sum()) / (size + drawn)


def plain(column):
    """A column of categories without their order, as given the joint states of several factors."""
    return column.view(np.ndarray)


def estimate(columns, weight, labels, **smoothing):
    """marginals[i][j][s] from labels (N, m, k)."""
    _, m, k = labels.shape
    return [
        [[marginal(c, weight * labels[:, j, s], weight, **smoothing) for s in range(k)] for j in range(m)]
        for c in columns
    ]


def information(weights, marginals):
    """I(Y:X) of a mixture: a sum over categories, or an integral on a fine grid."""
    if isinstance(marginals[0], tuple):
        density = np.array([norm.pdf(GRID, mean, np.sqrt(variance)) for mean, variance in marginals])
        mixture = weights @ density
        terms = sum(
            w * np.where(d > 0, d * np.log(np.maximum(d, 1e-300) / np.maximum(mixture, 1e-300)), 0)
            for w, d in zip(weights, density, strict=True)
        )
        return terms.sum() * (GRID[1] - GRID[0])
    mixture = sum(w * p for w, p in zip(weights, marginals, strict=True))
    return sum(w * (p * np.log(p / mixture)).sum() for w, p in zip(weights, marginals, strict=True))


def rank(weights, marginals):
    """What ranks factors: the information, or for Gaussians half the log of the variance explained, at most H(Y)."""
    if not isinstance(marginals[0], tuple):
        return information(weights, marginals)
    mean, variance = np.array(marginals).T
    whole = weights @ (variance + mean**2) - (weights @ mean) ** 2
    return min(0.5 * (np.log(whole) - weights @ np.log(variance)), -(weights * np.log(weights)).sum())


def tree(prior, marginals):
    """alpha of eq:tree."""
    alpha = np.zeros((len(marginals), len(prior)))
    for i, own in enumerate(marginals):
        alpha[i, np.argmax([information(prior[j], own[j]) for j in range(len(prior))])] = 1
    return alpha


def overlap(columns, weight, labels, marginals, order):
    """Shares of all samples in which a factor is the first, in the order (n, m), that its variable guesses right."""
    alpha = np.zeros(order.shape)
    for i, column in enumerate(columns):
        for x, w, own in zip(column, weight, labels, strict=True):
            for j in order[i]:
                if not is_missing(x) and np.argmax([log_p(x, m) for m in marginals[i][j]]) == own[j].argmax():
                    alpha[i, j] += w / weight.sum()
                    break
    return alpha


def conditional_information(column, weight, labels, factors):
    """I(Y_last : X | those before), on joint states weighted by products of labels."""
    k = labels.shape[2]
    total = 0.0
    column = plain(column)
    seen = np.array([not is_missing(x) for x in column])
    for before in product(range(k), repeat=len(factors) - 1):
        share = weight * np.prod([labels[:, j, s] for j, s in zip(factors[:-1], before, strict=True)], axis=0)
        shares = [share * labels[:, factors[-1], s] for s in range(k)]
        sizes = np.array([(s * seen).sum() for s in shares])
        marginals = [marginal(column, s, weight) for s in shares]
        total += sizes.sum() / (weight * seen).sum() * information(sizes / sizes.sum(), marginals)
    return total


def communality(column, weight, labels, factors):
    """I(Y_S:X_i) / H(X_i) on joint states, for a number the share of its variance between them (eta squared)."""
    k = labels.shape[2]
    # What is missing says something of how often a single factor is in each state, and nothing of joint states.
    seen = np.array([len(factors) == 1 or not is_missing(x) for x in column])
    joint = list(product(range(k), repeat=len(factors)))
    shares = [weight * np.prod([labels[:, j, s] for j, s in zip(factors, at, strict=True)], axis=0) for at in joint]
    sizes = np.array([(share * seen).sum() for share in shares])
    column = column if len(factors) == 1 else plain(column)
    p, marginals = sizes / sizes.sum(), [marginal(column, share, weight) for share in shares]
    if is_gaussian(column):
        mean, variance = np.array(marginals).T
        between = p @ mean**2 - (p @ mean) ** 2
        return between / (between + p @ variance)
    mixture = sum(w * of_state for w, of_state in zip(p, marginals, strict=True))
    return information(p, marginals) / -(mixture * np.log(mixture)).sum() if len(mixture) > 1 else 0.0


def unique(columns, weight, labels, prior, marginals, links, further_level):
    """alpha of eq:alpha: the unique share of each factor's information, less its bias; 0 where that may be chance."""
    k = labels.shape[2]
    alpha = np.zeros((len(columns), labels.shape[1]))
    for i, column in enumerate(columns):
        freedom = (2 if is_gaussian(column) else column.max()) * (k - 1)
        twice = 2 * sum(w for x, w in zip(column, weight, strict=True) if not is_missing(x))
        alpha[i, links[i][0]] = column.max() > column.min() if not is_gaussian(column) else 1
        for depth in range(2, len(links[i]) + 1):
            j = links[i][depth - 1]
            more = conditional_information(column, weight, labels, links[i][:depth])
            joint_freedom = freedom * k ** (depth - 1)
            if twice * more <= chi2.isf(further_level, joint_freedom):
                continue
            known = information(prior[j], marginals[i][j])
            alpha[i, j] = np.clip((more - joint_freedom / twice) / max(known - freedom / twice, 1e-12), 0, 1)
    return alpha


def objective(columns, weight, labels, prior, marginals, alpha):
    """sum_j (sum_i alpha_ij I(Y_j:X_i) - I(Y_j:X)) as means over samples (eq:fullopt)."""
    total = 0.0
    for j, (own, p) in enumerate(zip(labels.swapaxes(0, 1), prior, strict=True)):
        total -= weight @ (own * np.log(own / p)).sum(axis=1)
        for i, column in enumerate(columns):
            for x, w, q in zip(column, weight, own, strict=True):
                if not is_missing(x):
                    mixture = log_mixture(x, p, marginals[i][j])
                    total += (
                        w * alpha[i][j] * sum(q[s] * (log_p(x, m) - mixture) for s, m in enumerate(marginals[i][j]))
                    )
    return total / weight.sum()


def told_of_states(values, labels, weight):
    """E log q(y|x) / p(y) of one column, where q has a Gaussian for each state, smoothed by one sample of (0, 1)."""
    states = range(max(labels) + 1)
    share = [sum(weight[labels == y]) / sum(weight) for y in states]

    def log_q(x, y):
        own = labels == y
        mean = sum(weight[own] * values[own]) / (sum(weight[own]) + 1)
        variance = max((sum(weight[own] * values[own] ** 2) + 1) / (sum(weight[own]) + 1) - mean**2, 1e-4)
        return -np.log(variance) / 2 - (x - mean) ** 2 / variance / 2

    total = 0.0
    for x, label, w in zip(values, labels, weight, strict=True):
        evidence = sum(share[y] * np.exp(log_q(x, y)) for y in states)
        total += w * (log_q(x, label) - np.log(evidence))
    return max(total / sum(weight), 0)
