"""Sparse tables: the same answers as their dense forms, from the cells that are not 0 alone."""

import re
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import hicorex
from hicorex import Corex, HierarchicalCorex, representation_bounds
from hicorex.bounds.result import NoUpperReason
from hicorex.engine import LocalEngine
from hicorex.exceptions import HicorexError
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of
from hicorex.layer.correlation import feature_correlation
from hicorex.layer.data import Data
from hicorex.marginals import Categorical, SparseCategorical
from hicorex.marginals.base import join
from hicorex.selection.significance import held_out_probabilities

RULES = ("unique", "overlap", "tree")


def counts_table(n_samples=150, seed=0):
    """Counts that depend on three hidden coins, some columns on two of them; a noise column; few cells are not 0."""
    rng = np.random.default_rng(seed)
    coins = rng.integers(2, size=(n_samples, 3))
    rate = 0.1 + 1.5 * coins[:, np.arange(12) % 3]
    rate[:, :4] += 3.0 * coins[:, 1:2] * coins[:, 2:3]
    return np.column_stack([rng.poisson(rate), rng.poisson(0.4, n_samples)]).astype(int)


def odd_table():
    """A column without zeros, one of negative numbers, one of two values without 0, an empty one, a constant one, an
    empty row and a large count."""
    table = counts_table()
    table[:, 0] += 1
    table[:, 1] = 0 - (table[:, 1] > 0)
    table[:, 2] = 1 + (table[:, 2] > 0)
    table[:, 3] = 0
    table[:, 4] = 7
    table[5, 5:] = 0
    table[6, 6] = 70_000
    return table


TABLES = {
    "binary": lambda: (counts_table() > 0).astype(int),
    "boolean": lambda: counts_table() > 0,
    "counts": counts_table,
    "unsigned": lambda: counts_table().astype(np.uint8),
    "odd": odd_table,
}


def assert_same_models(dense, other, table, form):
    tight = {"rtol": 1e-9, "atol": 1e-9}
    assert_allclose(other.tc_, dense.tc_, **tight)
    assert_allclose(other.alpha_, dense.alpha_, **tight)
    assert_allclose(other.mutual_information_, dense.mutual_information_, **tight)
    assert_allclose(other.history_, dense.history_, **tight)
    assert_array_equal(other.clusters_, dense.clusters_)
    assert_same_answers(dense, other, table, form)


def assert_same_answers(dense, other, table, form):
    assert_array_equal(other.transform(form), dense.transform(table))
    for method in ("posteriors", "log_odds", "log_z", "score_samples", "score"):
        assert_allclose(getattr(other, method)(form), getattr(dense, method)(table), rtol=1e-7, atol=1e-8)
    assert_allclose(other.surprise(form).factors, dense.surprise(table).factors, rtol=1e-6, atol=1e-6)
    assert_same_bounds(other.bounds_, dense.bounds_)
    assert_same_bounds(other.bounds(form), dense.bounds(table))


def assert_same_bounds(found, expected):
    assert (found.no_upper is None) == (expected.no_upper is None)
    for name in ("lower", "lower_stderr", "objective", "upper", "upper_stderr", "upper_theorem", "entropy_upper"):
        own, other = getattr(found, name), getattr(expected, name)
        assert (own is None and other is None) or own == pytest.approx(other, rel=1e-8, abs=1e-9, nan_ok=True)
    for own, other in zip(found.factors, expected.factors, strict=True):
        assert_allclose(own[1:], other[1:], rtol=1e-7, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Whole numbers")
@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("structure", RULES)
@pytest.mark.parametrize("name", TABLES)
def test_a_sparse_table_gives_the_answers_of_the_dense_one(name, structure, n_states):
    table = TABLES[name]()
    settings = {"n_states": n_states, "structure": structure, "n_init": 2, "random_state": 0}
    dense = Corex(3, **settings).fit(table)
    form = sparse.csr_array(table)
    assert_same_models(dense, Corex(3, **settings).fit(form), table, form)
    if structure == "unique" and name == "counts" and n_states == 2:
        assert ((dense.alpha_ > 0).sum(axis=1) > 1).any(), "no column has two factors, so that joint states go untested"


@pytest.mark.parametrize("three", [False, True])
def test_columns_of_three_factors_are_measured_as_dense_ones(three):
    """Parities of coins, with the coins themselves: three factors know of one variable."""
    rng = np.random.default_rng(1)
    coins = rng.integers(2, size=(400, 3))
    noisy = np.repeat(coins, 5, axis=1) ^ (rng.random((400, 15)) < 0.03)
    table = np.column_stack([noisy, coins.sum(axis=1) > 1, coins.sum(axis=1) * 1, coins.any(axis=1)]).astype(int)
    table = table[:, [15, 17, *range(15)]] if not three else table
    dense = Corex(3, n_states=2, random_state=0).fit(table)
    assert (dense.alpha_ > 0).sum(axis=1).max() == 3
    assert_same_models(
        dense, Corex(3, n_states=2, random_state=0).fit(sparse.csr_array(table)), table, sparse.csr_array(table)
    )


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_matrix", "csc_array", "coo_array", "lil_array"])
def test_any_format_is_read(kind):
    table = counts_table()
    form = getattr(sparse, kind)(table)
    expected = Corex(2, n_states=2, n_init=1, random_state=0).fit(sparse.csr_array(table))
    found = Corex(2, n_states=2, n_init=1, random_state=0).fit(form)
    assert_array_equal(found.alpha_, expected.alpha_)
    assert_array_equal(found.log_z(form), expected.log_z(sparse.csr_array(table)))
    weight = np.arange(len(table)) % 3
    assert Corex(2, n_states=2, n_init=1, random_state=0).fit(form, sample_weight=weight).bounds_.n_samples == 100


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.int64, np.uint16, np.uint64])
@pytest.mark.parametrize("wide", [False, True])
def test_any_whole_numbers_are_read(dtype, wide):
    table = counts_table().astype(dtype)
    form = sparse.csr_array(table)
    if wide:
        form.indptr, form.indices = form.indptr.astype(np.int64), form.indices.astype(np.int64)
    found = Corex(2, n_states=2, n_init=1, random_state=0).fit(form)
    assert_allclose(found.tc_, Corex(2, n_states=2, n_init=1, random_state=0).fit(table).tc_, rtol=1e-9)
    assert found.fitted_.layers[0].encoder.categories[0].dtype == dtype


def test_stored_zeros_are_zeros_and_duplicates_are_summed():
    table = counts_table()
    plain = sparse.coo_array(table)
    some = np.flatnonzero(table == 0)[:200]
    row, column = np.unravel_index(some, table.shape)
    given = plain.data - (plain.data > 1), plain.row, plain.col
    twice = plain.data > 1
    zeros = np.zeros(some.size, int), row, column
    again = np.ones(twice.sum(), int), plain.row[twice], plain.col[twice]
    data, rows, columns = map(np.concatenate, zip(given, zeros, again, strict=True))
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(len(table) + 1))
    odd = sparse.csr_array((data[order], columns[order], indptr), table.shape)
    assert odd.nnz == plain.nnz + some.size + twice.sum()
    before = odd.copy()
    for form in (odd, odd.tocsc()):
        found = Corex(2, n_states=2, n_init=1, random_state=0).fit(form)
        assert_array_equal(found.alpha_, Corex(2, n_states=2, n_init=1, random_state=0).fit(plain).alpha_)
        assert_array_equal(found.transform(form), found.transform(table))
    assert_array_equal(odd.data, before.data)
    assert_array_equal(odd.indices, before.indices)


def test_stored_nan_is_missing():
    rng = np.random.default_rng(0)
    table = counts_table().astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    table[:, 2] = np.where(np.isnan(table[:, 2]), np.nan, table[:, 2] > 0)
    form = sparse.csr_array(table)
    for n_states in (2, 3):
        settings = {"n_states": n_states, "marginals": "categorical", "n_init": 2, "random_state": 0}
        dense = Corex(3, **settings).fit(table)
        assert dense.bounds_.no_upper.reason is NoUpperReason.GAPS
        assert_same_models(dense, Corex(3, **settings).fit(form), table, form)


def test_floats_and_amounts_are_made_dense_by_column():
    table = counts_table().astype(float)
    mixed = ["gaussian", "rank", *["categorical"] * 11]
    for marginals in ("auto", "gaussian", "rank", mixed):
        settings = {"n_states": 2, "marginals": marginals, "n_init": 1, "random_state": 0}
        dense = Corex(2, **settings).fit(table)
        found = Corex(2, **settings).fit(sparse.csr_array(table))
        assert_allclose(found.alpha_, dense.alpha_, atol=1e-9)
        assert_allclose(found.log_z(sparse.csc_array(table)), dense.log_z(table), atol=1e-7)


def test_weights_count_as_repeated_samples():
    table, rng = counts_table(), np.random.default_rng(0)
    for weight in (rng.integers(3, size=len(table)), rng.random(len(table))):
        dense = Corex(3, n_states=2, n_init=2, random_state=0).fit(table, sample_weight=weight)
        form = sparse.csr_array(table)
        assert_same_models(
            dense, Corex(3, n_states=2, n_init=2, random_state=0).fit(form, sample_weight=weight), table, form
        )


@pytest.mark.filterwarnings("ignore:Categories that the fit has not seen")
def test_values_that_the_fit_has_not_seen_are_missing():
    table, new = odd_table(), odd_table()
    new[:3, 0] = 0  # a column that had no zeros
    new[3:6, 2] = 0
    new[7, 7], new[8, 8], new[9, 9] = 99, -5, 70_001
    form = sparse.csr_array(table)
    dense, found = (Corex(3, n_states=2, n_init=1, random_state=0).fit(X) for X in (table, form))
    with pytest.warns(match="column 0, 2, 7, 8, 9"):
        found.transform(sparse.csr_array(new))
    assert_same_answers(dense, found, new, sparse.csr_array(new))
    assert_same_answers(dense, found, new[:1], sparse.csr_array(new[:1]))
    binary = Corex(2, n_states=2, n_init=1, random_state=0).fit(sparse.csr_array(table > 0))
    assert_allclose(binary.log_z(sparse.csr_array(new > 0)), binary.log_z(new > 0), atol=1e-9)


def test_a_model_of_one_form_takes_samples_of_the_other():
    table = counts_table()
    form = sparse.csr_array(table)
    dense, found = (Corex(2, n_states=2, n_init=1, random_state=0).fit(X) for X in (table, form))
    assert_allclose(found.log_z(table), dense.log_z(form), atol=1e-9)
    as_floats = Corex(2, n_states=2, n_init=1, marginals="categorical", random_state=0).fit(table.astype(float))
    assert_allclose(as_floats.log_z(form), as_floats.log_z(table), atol=1e-12)


def test_layers_of_a_sparse_table_are_those_of_the_dense_one():
    table = counts_table(300)
    form = sparse.csr_array(table)
    dense, found = (HierarchicalCorex((3, 1), n_states=2, n_init=2, random_state=0).fit(X) for X in (table, form))
    assert_allclose(found.tc_, dense.tc_, rtol=1e-9)
    assert_same_answers(dense, found, table, form)
    for auto in (Corex("auto", n_states=2, random_state=0), HierarchicalCorex("auto", n_states=2, random_state=0)):
        assert_allclose(auto.fit(form).tc_, auto.fit(table).tc_, rtol=1e-9)


@pytest.fixture(scope="module")
def binary():
    """A table of zeros and ones, and the models of its dense and of its sparse form."""
    table = (counts_table() > 0).astype(int)
    form = sparse.csc_matrix(table)
    return table, form, *(Corex(2, n_states=2, n_init=2, random_state=0).fit(X) for X in (table, form))


def test_cross_fitted_bounds_are_those_of_the_dense_table(binary):
    _, _, dense, found = binary
    assert_allclose(found.bounds(cv=3).lower, dense.bounds(cv=3).lower, rtol=1e-9)


def test_permutations_find_the_dependence_of_cells(binary):
    _, _, dense, found = binary
    tested = found.significance(n_permutations=19)
    assert tested[0].p_value == dense.significance(n_permutations=19)[0].p_value == 1 / 20


def test_bounds_of_a_representation_are_those_of_the_dense_table(binary):
    table, form, _, found = binary
    labels = found.posteriors(form)
    assert_same_bounds(representation_bounds(form, labels), representation_bounds(table, labels))
    assert_same_bounds(representation_bounds(form, labels, cv=3), representation_bounds(table, labels, cv=3))


def test_a_checkpoint_knows_the_cells_it_is_of(binary, tmp_path):
    _, form, _, found = binary
    path = tmp_path / "fit.checkpoint"
    first, again = (Corex(2, n_states=2, n_init=2, random_state=0).fit(form, checkpoint=path) for _ in range(2))
    assert first.bounds_ == again.bounds_ == found.bounds_
    other = form.copy()
    other[0, 0] = 1 - other[0, 0]
    with pytest.raises(HicorexError, match="other data"):
        Corex(2, n_states=2, n_init=2, random_state=0).fit(other, checkpoint=path)


def test_a_model_of_cells_is_saved_and_loaded(binary, tmp_path):
    _, form, _, found = binary
    found.save(tmp_path / "model")
    assert_array_equal(hicorex.load(tmp_path / "model").log_z(form), found.log_z(form))


def test_reports_of_cells_are_those_of_the_dense_table(binary, tmp_path):
    table, form, _, found = binary
    pages = []
    for X in (table, form, form.tocoo()):
        found.report(tmp_path / "page", X)
        # Clip paths are called by chance, and the last digits are rounding.
        page = re.sub("p[0-9a-f]{10}", "", (tmp_path / "page").read_text())
        pages.append(re.sub(r"(\d\.\d{6})\d+", r"\1", page))
    assert pages[0] == pages[1] == pages[2]


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    cells = rng.choice(3000 * 1500, 90_000, replace=False)
    form = sparse.coo_array((rng.integers(1, 4, cells.size), np.divmod(cells, 1500)), (3000, 1500))
    one, two = (
        Corex(4, n_states=2, n_init=2, max_iter=8, n_jobs=n, random_state=0).fit(form.astype(int)) for n in (1, 2)
    )
    assert_array_equal(one.alpha_, two.alpha_)
    assert_array_equal(one.mutual_information_, two.mutual_information_)
    assert one.bounds_ == two.bounds_


def read_both(table, weight=None):
    """The blocks of a table as its sparse and its dense form give them, in double precision."""
    weight = np.ones(len(table)) if weight is None else weight
    for X in (sparse.csr_array(table), table):
        read = source_of(X)
        with LocalEngine(1) as engine:
            yield Encoder.learn(read, "auto", weight, engine).encode(read, weight, engine, dtype=np.float64)[0]


def test_blocks_keep_cells_alone():
    cells, dense = read_both((counts_table() > 0).astype(int))
    assert type(cells.blocks[0]) is SparseCategorical
    assert cells.blocks[0].binary
    assert type(dense.blocks[0]) is Categorical
    assert cells.parts[0].samples[0].codes.size == (counts_table() > 0).sum()


def test_samples_are_cut_taken_joined_and_shuffled():
    table = odd_table()
    cells, dense = read_both(table)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(table))[:70]
    with LocalEngine(1) as engine:
        taken = [data.take(rows, engine) for data in (cells, dense)]
    for pair in ((cells, dense), taken):
        codes = [codes_of(data) for data in pair]
        assert_array_equal(codes[0], codes[1])
    samples = cells.parts[0].samples[-1]
    halves = [samples.cut(slice(0, 60)), samples.cut(slice(60, None))]
    assert all(np.array_equal(a, b) for a, b in zip(join(halves), samples, strict=True))
    shuffled = cells.shuffled(rng)
    assert_array_equal(np.sort(codes_of(shuffled)), np.sort(codes_of(cells)))
    assert (codes_of(shuffled) != codes_of(cells)).any()


def codes_of(data: Data) -> np.ndarray:
    """The codes of all columns in the table's order, (n_columns, n_samples)."""
    found = [None] * data.n_columns
    for b, (block, columns) in enumerate(zip(data.blocks, data.columns, strict=True)):
        own = block.codes_of(join([part.samples[b] for part in data.parts]))
        for i, codes in zip(columns, own, strict=True):
            found[i] = codes
    return np.array(found)


def test_starts_and_tests_of_links_are_those_of_the_dense_table():
    table = odd_table()
    for n_states in (2, 3):
        chances, correlations = [], []
        model = Corex(3, n_states=n_states, n_init=1, random_state=0)
        for X, data in zip((sparse.csr_array(table), table), read_both(table), strict=True):
            order = np.argsort(np.concatenate(data.columns))
            places = np.concatenate(
                [np.column_stack([np.full(len(own), b), np.arange(len(own))]) for b, own in enumerate(data.columns)]
            )[order]
            with LocalEngine(1) as engine:
                correlations.append(feature_correlation(data, places, engine)[0])
                chances.append(
                    data.to_table(held_out_probabilities(model.fit(X).fitted_.layers[0].state, data, engine))
                )
        assert_allclose(*correlations, atol=1e-9)
        assert_allclose(*chances, rtol=1e-6, atol=1e-12)


MEMORY = """
import resource, sys
import numpy as np
from scipy import sparse
from hicorex import Corex
rng = np.random.default_rng(0)
Corex(2, n_init=1, max_iter=3, random_state=0).fit(sparse.csr_array(rng.integers(2, size=(500, 400))))
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n, columns, cells = 20_000, 50_000, 1_000_000
place = rng.integers(n, size=cells), rng.integers(columns, size=cells)
X = sparse.csr_array((np.ones(cells, bool), place), (n, columns))
Corex(5, n_init=1, max_iter=3, random_state=0).fit(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory in units of Linux")
def test_memory_grows_with_the_cells_and_not_with_the_table():
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 500  # a dense table has 1000 MB at one byte a cell
