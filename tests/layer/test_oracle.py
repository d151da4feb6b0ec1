"""The fast path equals the oracle: every marginal, every rule, missing values, weights."""

from itertools import product

import numpy as np
import oracle
import pytest
from conftest import mixed_table
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import rel_entr

from hicorex.bounds.evaluation import LayerEvaluator, links_of
from hicorex.bounds.evidence import StackedLayer, gather
from hicorex.engine import LocalEngine
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of
from hicorex.layer.labels import harden
from hicorex.layer.one_pass import run_pass
from hicorex.layer.starts import primed_starts
from hicorex.layer.step import update
from hicorex.layer.structure import FURTHER_LEVEL, RULES
from hicorex.marginals import Gaussian, Ordered, joint_marginals
from hicorex.marginals.base import join

N_FACTORS = 3


class Case:
    """A table, its columns as the oracle takes them, and a state of the fast path after some steps."""

    def __init__(
        self,
        structure,
        n_states=2,
        missing=0.0,
        weighted=False,
        dtype=np.float64,
        steps=3,
        seed=0,
        sparse=False,
        ordered=False,
    ):
        rng = np.random.default_rng(seed)
        table, kinds = mixed_table(rng, missing=missing)
        if ordered:
            kinds = ["ordered" if kind == "categorical" and i != 2 else kind for i, kind in enumerate(kinds)]
        self.weight = rng.integers(1, 4, len(table)).astype(float) if weighted else np.ones(len(table))
        read = source_of(csr_array(table) if sparse else table)
        with LocalEngine(1) as engine:
            encoder = Encoder.learn(read, kinds, self.weight, engine)
            self.data, _ = encoder.encode(read, self.weight, engine, dtype=dtype)
        self.rule = RULES[structure]
        self.columns = [None] * table.shape[1]
        for b, (block, columns) in enumerate(zip(self.data.blocks, self.data.columns, strict=True)):
            samples = join([part.samples[b] for part in self.data.parts])
            for at, i in enumerate(columns):
                self.columns[i] = self.plain_column(block, samples, at)
        with LocalEngine(1) as engine:
            self.state = primed_starts(self.data, N_FACTORS, n_states, 1, engine)
            for _ in range(steps):
                self.state, _ = update(
                    self.state, run_pass(self.state, self.data, engine), self.data.blocks, self.rule, engine
                )
            self.found = run_pass(self.state, self.data, engine)
            self.next, _ = update(self.state, self.found, self.data.blocks, self.rule, engine)

    @staticmethod
    def plain_column(block, samples, at):
        if isinstance(block, Gaussian):
            column = samples.values[at].astype(float)
            for gap, present in zip(block.gaps, samples.present, strict=True):
                if gap == at:
                    column = np.where(present, column, np.nan)
            return column
        codes = list(block.codes_of(samples))[at].astype(int)
        column = np.where(codes == block.sizes[at], -1, codes)
        return column.view(oracle.Ordered) if isinstance(block, Ordered) else column

    def plain(self, state):
        """prior, marginals and alpha as the oracle takes them."""
        marginals = [None] * len(self.columns)
        n_states, n_factors = state.prior.shape
        for block, parameters, columns in zip(self.data.blocks, state.parameters, self.data.columns, strict=True):
            for at, i in enumerate(columns):
                if isinstance(block, Gaussian):
                    own = [
                        [(parameters.mean[s, j, at], parameters.variance[s, j, at]) for s in range(n_states)]
                        for j in range(n_factors)
                    ]
                else:
                    first = block.offsets[at]
                    place = slice(first, first + block.sizes[at])
                    own = [[parameters.p[s, j, place] for s in range(n_states)] for j in range(n_factors)]
                marginals[i] = own
        return state.prior.T, marginals, self.data.to_table(state.alpha).T

    def labels(self):
        return oracle.all_labels(self.columns, *self.plain(self.state))


CASES = {
    "plain": {},
    "three states": {"n_states": 3},
    "missing": {"missing": 0.2},
    "weighted": {"weighted": True},
    "missing, weighted, three states": {"missing": 0.2, "weighted": True, "n_states": 3},
    "single precision": {"dtype": np.float32, "missing": 0.1},
    "ordered": {"ordered": True},
    "ordered, missing, weighted, three states": {"ordered": True, "missing": 0.2, "weighted": True, "n_states": 3},
    "ordered, single precision": {"ordered": True, "dtype": np.float32, "missing": 0.1},
    "sparse": {"sparse": True},
    "sparse, missing, weighted, three states": {"sparse": True, "missing": 0.2, "weighted": True, "n_states": 3},
    "sparse, single precision": {"sparse": True, "dtype": np.float32, "missing": 0.1},
}


@pytest.fixture(params=[(s, c) for s in RULES for c in CASES], ids=lambda p: f"{p[0]}, {p[1]}", scope="module")
def case(request):
    structure, name = request.param
    return Case(structure, **CASES[name])


def test_labels_and_log_z_equal_the_oracle(case):
    labels, log_z = case.labels()
    tolerance = 1e-9 if case.data.parts[0].sample_weight.dtype == float else 1e-4
    assert_allclose(case.found.log_z, case.weight @ log_z / case.weight.sum(), atol=tolerance)
    assert_allclose(case.found.label_sum.T, np.einsum("l,ljs->js", case.weight, labels), rtol=tolerance, atol=tolerance)


def test_communality_equals_the_oracle(case):
    labels, _ = case.labels()
    all_links = links_of(case.state, case.data)
    with LocalEngine(1) as engine:
        evaluator = LayerEvaluator.of(case.state, all_links, case.data, engine)
    tolerance = 1e-8 if case.data.parts[0].sample_weight.dtype == float else 1e-3
    for block, columns, links, joints in zip(
        case.data.blocks, case.data.columns, all_links, evaluator.smoothed, strict=True
    ):
        for joint in joints:
            shares = joint_marginals(block).explained_share(joint)
            assert ((shares >= 0) & (shares <= 1)).all()
            for at, share in zip(joint.columns.tolist(), shares.tolist(), strict=True):
                factors = [j for j in links[0, :, at].tolist() if j >= 0]
                expected = oracle.communality(case.columns[columns[at]], case.weight, labels, factors)
                assert_allclose(share, expected, atol=tolerance)


def test_next_parameters_equal_the_oracle(case):
    labels, _ = case.labels()
    prior, marginals, _ = case.plain(case.next)
    tolerance = 1e-8 if case.data.parts[0].sample_weight.dtype == float else 1e-3
    assert_allclose(prior, oracle.estimate_prior(labels, case.weight), atol=tolerance)
    for found, expected in zip(marginals, oracle.estimate(case.columns, case.weight, labels), strict=True):
        assert_allclose(np.array(found), np.array(expected), rtol=tolerance, atol=tolerance)


def test_next_structure_equals_the_oracle(case):
    labels, _ = case.labels()
    prior, marginals, alpha = case.plain(case.next)
    tolerance = 1e-6 if case.data.parts[0].sample_weight.dtype == float else 1e-3
    if case.rule is RULES["tree"]:
        expected = oracle.tree(prior, marginals)
        clear = [
            i
            for i, own in enumerate(marginals)
            if _is_clear([oracle.information(p, m) for p, m in zip(prior, own, strict=True)])
        ]
        assert len(clear) > len(alpha) // 2
        assert_allclose(alpha[clear], expected[clear])
    elif case.rule is RULES["overlap"]:
        order = case.data.to_table([q.order[0] for q in case.state.questions]).T
        now = case.plain(case.state)
        expected = oracle.overlap(case.columns, case.weight, labels, now[1], order)
        assert_allclose(alpha, expected, atol=tolerance)
        assert np.all(alpha.sum(axis=1) <= 1 + 1e-9)
    else:
        links = case.data.to_table(
            [np.pad(q.links[0], ((0, 3 - len(q.links[0])), (0, 0)), constant_values=-1) for q in case.state.questions]
        ).T
        expected = oracle.unique(
            case.columns,
            case.weight,
            labels,
            prior,
            marginals,
            [[j for j in row if j >= 0] for row in links],
            FURTHER_LEVEL,
        )
        # The information of Gaussian mixtures is a quadrature here and an integral there.
        assert_allclose(alpha, expected, atol=0.02)


def _is_clear(values):
    best, second = sorted(values)[-1:-3:-1]
    return best > 1.05 * second + 1e-3


def test_mean_log_z_equals_the_objective(case):
    labels, log_z = case.labels()
    plain = case.plain(case.state)
    expected = oracle.objective(case.columns, case.weight, np.maximum(labels, 1e-300), *plain)
    assert_allclose(case.weight @ log_z.sum(axis=1) / case.weight.sum(), expected, atol=1e-9)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("own_marginals", [False, True])
def test_tight_bound_equals_the_oracle(case, hard, own_marginals):
    relabel = harden if hard else None
    links = links_of(case.state, case.data)
    with LocalEngine(1) as engine:
        seen = LayerEvaluator.of(case.state, links, case.data, engine, relabel=relabel)
        joints = seen.smoothed
        if not own_marginals:
            seen = LayerEvaluator.of(case.state, links, case.data, engine, joints, relabel)
        found = seen.evaluate(case.data, engine)
        facts = gather(case.data, [StackedLayer(seen)], engine).soft[0]
    labels, log_z = case.labels()
    if hard:
        labels = (labels == labels.max(axis=2, keepdims=True)).astype(float)
    share = case.weight / case.weight.sum()
    prior = np.einsum("l,ljs->js", share, labels)
    # On new samples, whose p(y) is their own, every log-ratio is short by (ratio - 1) / 2N.
    short = 0 if own_marginals else 1 / (2 * case.weight.sum())
    cost = rel_entr(labels, prior).sum(axis=2) + short * ((labels**2 / prior).sum(axis=2) - 1)
    samples, unique = -cost.sum(axis=1), -cost
    for block, own, columns in zip(case.data.blocks, joints, case.data.columns, strict=True):
        for joint in own:
            for q, at in enumerate(joint.columns):
                column, factors = case.columns[columns[at]], joint.factors[:, q].tolist()
                exact = own_marginals and not oracle.is_gaussian(column)
                explained = _explained(column, case.weight, labels, factors, 1e-9 if exact else 1.0, short)
                samples += explained[0]
                for place, j in enumerate(factors):
                    unique[:, j] += explained[0] - explained[1][place]
        assert len({c for joint in own for c in joint.columns}) == sum(len(joint.columns) for joint in own)
        assert block.n_columns >= max(joint.columns.max() for joint in own)
    assert_allclose(found.explained, samples, rtol=1e-3, atol=1e-3)
    assert_allclose(share @ found.explained, share @ samples, rtol=1e-4)
    assert_allclose(facts.information, share @ cost, rtol=1e-4)
    assert_allclose(facts.unique, share @ unique, rtol=1e-3, atol=1e-4)
    spread = np.sqrt(share @ (unique - share @ unique) ** 2 / (case.weight.sum() - 1))
    assert_allclose(facts.unique_stderr, spread, rtol=1e-2)
    assert_allclose(facts.log_z, share @ log_z, rtol=1e-3, atol=1e-4)
    assert_array_equal(found.labels.T, case.labels()[0].argmax(axis=2))


def _explained(column, weight, labels, factors, prior_samples, short):
    """E log p(x | y_S) / p(x) of each sample, and the same without each of the factors."""
    k = labels.shape[2]
    shares = np.ones((len(labels), 1))
    for j in factors:
        shares = (shares[:, :, None] * labels[:, j, None, :]).reshape(len(labels), -1)
    seen = np.array([not oracle.is_missing(x) for x in column])
    size = (weight * seen) @ shares if len(factors) > 1 else weight @ shares
    size = size / size.sum()
    column = column if len(factors) == 1 else oracle.plain(column)
    marginals = [oracle.marginal(column, weight * share, weight, prior_samples) for share in shares.T]
    states = list(product(range(k), repeat=len(factors)))
    explained, without = np.zeros(len(labels)), np.zeros((len(factors), len(labels)))
    for at in np.flatnonzero(seen):
        x = column[at]
        mixture = oracle.log_mixture(x, size, marginals)
        for p, m in zip(shares[at], marginals, strict=True):
            if p > 0:
                log_ratio = oracle.log_p(x, m) - mixture
                explained[at] += p * (log_ratio + short * np.expm1(log_ratio))
        for place in range(len(factors)):
            for rest in product(range(k), repeat=len(factors) - 1):
                own = [n for n, s in enumerate(states) if s[:place] + s[place + 1 :] == rest]
                if shares[at, own].sum() > 0:
                    log_p = oracle.log_mixture(x, size[own] / size[own].sum(), [marginals[n] for n in own])
                    log_ratio = log_p - mixture
                    without[place, at] += shares[at, own].sum() * (log_ratio + short * np.expm1(log_ratio))
    return explained, without
