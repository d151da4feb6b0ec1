"""New samples for a model: its columns in its order and its types, or an error that names the column."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from written import ARRAY, cells, lines, npy, parquet, read, read_for

from hicorex import Corex, HicorexError
from hicorex.input.files import Reading, read_table


def test_a_model_takes_the_frame_and_the_kinds():
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=(200, 2))
    rows = [(f"s{i}", "uv"[a], a + rng.normal() / 9, b, b + rng.normal() / 9) for i, (a, b) in enumerate(coin)]
    table = read(lines("name,a1,a2,b1,b2", rows))
    model = Corex(2, n_states=2, marginals=table.kinds, n_init=2, random_state=0).fit(table.frame)
    first, second, third, fourth = model.clusters_
    assert first == second != third == fourth
    new = read_for(
        lines("b2,b1,a2,a1", [(1, 1, 0, "u")]),
        dict(zip(table.names, ("text", "number", "whole number", "number"), strict=True)),
    )
    assert_array_equal(model.transform(new.frame), model.transform(table.frame)[[np.argmin(coin[:, 0] - coin[:, 1])]])


EXPECTED = {"x": "number", "n": "whole number", "t": "text", "b": "boolean"}


def new(text, reading=None, expected=EXPECTED):
    return read_for(text, expected, reading=reading)


def test_new_samples_come_in_the_order_of_the_model():
    table = new("b,t,other,n,x\ntrue,01,u,3,1\nfalse,02,v,,2\n")
    assert table.names == ["x", "n", "t", "b"]
    assert cells(table) == {"x": [1.0, 2.0], "n": [3, None], "t": ["01", "02"], "b": [True, False]}
    assert table.frame.schema.types == [
        pa.float64(),
        pa.int64(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.bool_(),
    ]
    assert_array_equal(table.row_names, [0, 1])


def test_new_samples_keep_names_of_rows():
    table = new("id,b,t,n,x\ns1,1,u,3.0,1.5\n")
    assert cells(table) == {"x": [1.5], "n": [3], "t": ["u"], "b": [True]}
    assert table.row_names.to_pylist() == ["s1"]
    assert table.row_title == "id"


def test_new_samples_of_other_types_are_converted():
    frame = pa.table({"x": [1, 2], "n": [3.0, np.nan], "t": [1, 2], "b": [0, 1]})
    table = new(parquet(frame))
    assert cells(table) == {"x": [1.0, 2.0], "n": [3, None], "t": ["1", "2"], "b": [False, True]}


def test_new_samples_may_have_missing_values():
    table = new("x,n,t,b\n?,-,?,\n-9,-9,-9,true\n", Reading(missing=("-9",)))
    assert cells(table) == {"x": [None, None], "n": [None, None], "t": ["?", None], "b": [None, True]}


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ("u,3,t,true", "the file, column 'x': 'u' is not a number, which the model expects"),
        ("1.5,3.5,t,true", "column 'n': 3.5 is not a whole number"),
        ("1.5,3,t,2", "column 'b': 2 is not true or false"),
        ("1.5,3,t,yes", "column 'b': 'yes' is not true or false"),
        ("true,3,t,true", "column 'x': True is not a number"),
        ("2020-01-01,3,t,true", r"column 'x' holds values of type date32.*, where the model expects a number"),
    ],
)
def test_new_samples_that_do_not_fit_are_refused_by_column(row, match):
    with pytest.raises(HicorexError, match=match):
        new(f"x,n,t,b\n{row}\n")


def test_new_samples_that_lack_a_column_are_refused_with_the_closest():
    with pytest.raises(
        HicorexError, match="the file lacks the column 'height' that the model knows: did you mean 'heigth'"
    ):
        new("heigth,x\n1,2\n", expected={"height": "number", "x": "number"})


def test_new_samples_may_come_from_arrays():
    table = read_for(npy(ARRAY), {"x2": "number", "x0": "number"})
    assert_array_equal(table.frame, ARRAY[:, [2, 0]])
    table = read_for(npy(ARRAY.round()), {"x2": "whole number", "x0": "number"})
    assert_array_equal(table.frame, ARRAY[:, [2, 0]].round())
    table = read_for(npy(np.eye(3, dtype=int)), {"x1": "number"}, reading=Reading(missing=("1",)))
    assert_array_equal(table.frame, [[0], [np.nan], [0]])


def test_usual_row_names_are_used_where_they_are():
    text = "x,who\n1,u\n2,v\n"
    assert read_for(text, {"x": "number"}, "who").row_names.to_pylist() == ["u", "v"]
    assert read_for(b"x\n1\n2\n", {"x": "number"}, "who").row_names.tolist() == [0, 1]


def test_words_among_numbers_are_missing_in_new_samples_too():
    text = lines("x,y", [("unknown" if i in (3, 9) else i / 7, i % 3) for i in range(60)])
    table = read(text)
    assert table.words == {"x": ["unknown"]}
    again = read_for(text, {"x": "number"}, words=table.words)
    assert again.frame.column(0).null_count == 2
    with pytest.raises(HicorexError, match="'unknown' is not a number"):
        read_for(text, {"x": "number"})


def test_blanks_around_names_do_not_part_a_model_from_its_table(tmp_path):
    """A data frame keeps them, a text file does not."""
    table = pa.table({" a": [0, 1] * 10, "b ": [0, 1] * 10, "\u2028": [1, 0] * 10})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", Reading()).names == [" a", "b ", "\u2028"]
    pacsv.write_csv(table.rename_columns([" a", "b ", "c "]), tmp_path / "t.csv")
    expected = {"c": "whole number", " a": "whole number"}
    assert read_for(tmp_path / "t.csv", expected).frame.column_names == ["c", " a"]
