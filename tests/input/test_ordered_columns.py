"""Which columns are read in their order: those that the user says, and no other."""

import numpy as np
import pandas as pd
import pytest
from models import answers
from scipy.sparse import csr_array

import hicorex
from hicorex import Corex, HicorexError
from hicorex.exceptions import ColumnTypeError


def frame():
    """Answers, amounts, words and truth values."""
    rng = np.random.default_rng(0)
    table = answers(120, 3)
    table["q1"] = table["q1"].fillna(3).astype(int)
    table["age"] = rng.integers(18, 90, 120)
    table["income"] = rng.lognormal(size=120)
    table["town"] = rng.choice(["a", "b"], 120)
    table["member"] = rng.random(120) < 0.5
    return table


def kinds(table, marginals):
    return (
        Corex(2, n_states=2, n_init=1, marginals=marginals, random_state=0).fit(table).fitted_.layers[0].encoder.kinds
    )


def test_nobody_is_given_an_order_unasked():
    assert "ordered" not in kinds(frame(), "auto")
    assert "ordered" not in hicorex.read_table(frame()).kinds


def test_a_pattern_means_the_columns_of_few_whole_numbers():
    expected = ["ordered"] * 3 + ["gaussian", "rank", "categorical", "categorical"]
    found = kinds(frame(), {"*": "ordered", "age": "gaussian", "income": "rank"})
    assert found == expected
    assert hicorex.read_table(frame(), kinds={"*": "ordered", "age": "gaussian", "income": "rank"}).kinds == expected
    open_ones = kinds(frame(), {"*": "ordered"})
    assert open_ones[:3] == expected[:3]
    assert open_ones[5:] == expected[5:]
    assert open_ones[3:5] == kinds(frame(), "auto")[3:5]


def test_one_word_or_names_say_it():
    assert kinds(frame()[["q0", "q1", "q2"]], "ordered") == ["ordered"] * 3
    assert kinds(frame()[["q0", "q1", "age"]], {"q1": "ordered"})[:2] == ["categorical", "ordered"]
    halves = pd.DataFrame({"a": [1, 1.5, 2, 2.5] * 10, "b": [1, 2, 1, 2] * 10})
    assert kinds(halves, ["ordered", "categorical"]) == ["ordered", "categorical"]


def test_categories_are_kept_in_the_order_of_their_numbers():
    table = pd.DataFrame({"a": pd.Categorical([10, 9, 2, 9] * 10, categories=[9, 10, 2]), "b": [1, 2, 1, 1] * 10})
    model = Corex(1, n_states=2, marginals="ordered", random_state=0).fit(table)
    assert model.fitted_.layers[0].encoder.categories[0].tolist() == [2, 9, 10]


@pytest.mark.parametrize("ordered", [False, True])
def test_words_are_refused_with_a_remedy(ordered):
    words = pd.Categorical(["low", "high", "middle", "high"] * 10, ["low", "middle", "high"], ordered=ordered)
    table = pd.DataFrame({"a": [1, 2, 3, 3] * 10, "size": words})
    with pytest.raises(ColumnTypeError, match=r"Column 'size' holds text.*write its answers as numbers"):
        kinds(table, "ordered")
    with pytest.raises(HicorexError, match="'size' holds text and cannot be ordered; write its answers as numbers"):
        hicorex.read_table(table, kinds={"size": "ordered"})


def test_many_values_are_refused_with_a_remedy():
    with pytest.raises(HicorexError, match=r"Column 'age' has .* values, more than 20: .* give it \"rank\""):
        kinds(frame(), {"age": "ordered"})


def test_sparse_tables_are_refused_with_a_remedy():
    table = csr_array(np.random.default_rng(0).integers(3, size=(50, 4)))
    with pytest.raises(HicorexError, match=r'Column .*0.* is "ordered", which needs a dense table: give X.toarray'):
        Corex(1, n_states=2, marginals="ordered").fit(table)
    model = Corex(1, n_states=2, marginals="ordered", random_state=0).fit(table.toarray())
    with pytest.raises(HicorexError, match="dense table"):
        model.transform(table)


def test_the_command_reads_them_by_pattern(run, tmp_path):
    frame().to_csv(tmp_path / "survey.csv", index=False)
    done = run("fit", "survey.csv", "--layers", "2", "--states", "2", "--kinds", "*=ordered", "--out", "results")
    assert done.code == 0, done.err
    columns = pd.read_csv(tmp_path / "results" / "columns.csv").set_index("column")["kind"]
    assert columns["q0"] == columns["q2"] == "ordered"
    assert columns["town"] == "categorical"
    assert columns["income"] in ("gaussian", "rank")
    refused = run("fit", "survey.csv", "--kinds", "q0=orderly")
    assert "use one of gaussian, rank, categorical, ordered" in refused.err
