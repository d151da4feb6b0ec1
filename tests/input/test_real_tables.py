"""Tables as people have them: rows that hold no sample, boxes, counters, copies, tables on their side, real ones."""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from written import cells, decision, lines, notes, read, read_for

import hicorex
import real_data
from hicorex import Corex, HicorexError
from hicorex.input.column_kinds import ColumnKind


def test_boxes_of_one_text_or_nothing_are_ticked_or_not():
    rows = [(i + 0.5, "Yes" if i % 3 else "", 1 if i % 2 else "") for i in range(30)]
    table = read(lines("x,box,one", rows))
    assert decision(table, "box") == ("categorical", "one value or nothing: ticked or not")
    assert cells(table)["box"][:3] == ["not ticked", "Yes", "Yes"]
    assert cells(table)["one"][:3] == [0, 1, 0]
    assert [d.missing for d in table.decisions] == [0, 0, 0]
    types = {"box": "text", "one": "whole number"}
    new = read_for(lines("box,one", [("", ""), ("Yes", 1), ("", "")]), types, forms=table.forms)
    assert cells(new) == {"box": ["not ticked", "Yes", "not ticked"], "one": [0, 1, 0]}
    empty = read_for(lines("box,one,z", [("", "", 1), ("", "", 2)]), types, forms=table.forms)
    assert cells(empty) == {"box": ["not ticked"] * 2, "one": [0, 0]}


def test_a_row_of_units_below_the_header_is_no_sample():
    rows = [("", "(cm)", "kg"), *[("abc"[i % 3], 150 + i / 2, 50 + i) for i in range(40)]]
    table = read(lines("who,height,mass", rows))
    assert table.frame.num_rows == 40
    assert [d.unit for d in table.decisions] == ["", "cm", "kg"]
    assert decision(table, "mass")[1] == "whole numbers, 40 different: read as amounts; in kg"
    assert any("--no-second-header" in note for note in notes(table))
    kept = read(lines("who,height,mass", rows), second_header=False)
    assert kept.frame.num_rows == 41
    assert kept.decisions[1].words == ("(cm)",)


def test_a_second_header_names_columns_without_a_name():
    rows = [("Response", "", "first", "second"), *[("yn"[i % 2], "uvw"[i % 3], i % 4, i % 5) for i in range(60)]]
    table = read(lines("Asked,Which,,", rows))
    assert table.names == ["Asked", "Which", "first", "second"]
    assert table.frame.num_rows == 60


def test_a_second_header_that_boxes_repeat_is_no_sample():
    rows = [
        ("", "Car", "Bike", "Answer"),
        *[(7 + 3 * i, "Car" if i % 2 else "", "Bike" if i % 3 else "", "yn"[i % 2]) for i in range(60)],
    ]
    table = read(lines("id,Own,,", rows))
    assert table.names == ["Own", "Bike", "Answer"]
    assert table.frame.num_rows == 60
    assert decision(table, "Bike") == ("categorical", "one value or nothing: ticked or not")
    assert read(lines("id,Own,,", [(1, *rows[0][1:]), *rows[1:]])).frame.num_rows == 61


def test_first_rows_with_words_in_them_stay_samples():
    rows = [("u", "unknown", 1.5), *[("uv"[i % 2], i * 7 % 90, i + 0.5) for i in range(60)]]
    table = read(lines("a,b,c", rows))
    assert table.frame.num_rows == 61
    assert table.decisions[1].words == ("unknown",)


def test_a_row_of_totals_is_no_sample():
    numbers = np.random.default_rng(0).integers(100, size=(30, 2))
    rows = [(f"r{i % 9}", *own) for i, own in enumerate(numbers.tolist())]
    total = ("Total", *numbers.sum(axis=0).tolist())
    table = read(lines("group,a,b", [*rows, total]))
    assert table.frame.num_rows == 30
    assert "the last row, 'Total', holds sums or means of the others, no sample" in notes(table)
    assert read(lines("group,a,b", [*rows, ("Total", 5, 7)])).frame.num_rows == 31
    both = read(lines("group,a,b", [("", "kg", "cm"), *rows, total]))
    assert both.frame.num_rows == 30
    assert [d.unit for d in both.decisions] == ["", "kg", "cm"]
    paid = [(f"r{i % 9}", f"${1000 + a}", b) for i, (a, b) in enumerate(numbers.tolist())]
    total = ("Total", f"${1000 * 30 + numbers[:, 0].sum()}", numbers[:, 1].sum())
    assert read(lines("group,a,b", [*paid, total])).frame.num_rows == 30


def test_lines_of_a_title_are_skipped():
    text = "Sales of 2020\nby region, all of them\n" + lines("a,b", [(i + 0.5, i % 3) for i in range(20)])
    table = read(text, skip_lines=2)
    assert table.names == ["a", "b"]
    assert table.frame.num_rows == 20
    with pytest.raises(HicorexError, match="line 31: 3 fields where the header has 2"):
        read(text + "\n" * 7 + "1,2,3\n", skip_lines=2)
    for title in ("Sales of 2020\nby region,\n\n", "Sales of 2020,,\nby region,,\n\n"):
        with pytest.raises(HicorexError, match="line 1: it looks like a title above the names; say --skip-lines 3"):
            read(title + lines("a,b,c", [(i + 0.5, i % 3, i % 4) for i in range(20)]))
    with pytest.raises(HicorexError, match="no more than the lines that --skip-lines 99 leaves out"):
        read(text, skip_lines=99)


def test_identifiers_are_left_out_though_a_row_spoils_them():
    rows = [("" if i == 5 else 9000 + 7 * i if i != 9 else 9000, i % 3, i % 50 + 1) for i in range(300)]
    table = read(lines("RespondentID,a,Sample Number", rows))
    assert decision(table, "RespondentID") == ("ignored", "an identifier: nearly every row has another value")
    assert decision(table, "Sample Number") == ("ignored", "counts rows, several times from 0 or 1")
    back = read(lines("RespondentID,a,Sample Number", rows), kinds={"RespondentID": "rank"})
    assert decision(back, "RespondentID")[0] == "rank"


def test_columns_that_say_the_same_are_named_and_kept():
    rows = [(i % 3, "abc"[i % 3], i * 1.5, i * 1.5, i % 2) for i in range(60)]
    table = read(lines("code,letter,x,y,other", rows))
    assert table.names == ["code", "letter", "x", "y", "other"]
    said = [note for note in notes(table) if "say the same" in note]
    assert said == [
        "columns that say the same: 'code' = 'letter'; 'x' = 'y'. They are kept, and what they share is counted: "
        "leave all but one out by --exclude"
    ]


def test_texts_of_very_many_values_and_weights_are_named():
    rows = [(f"name {i % 150}", 0.5 + i % 7 / 3, i % 2) for i in range(600)]
    said = " ".join(notes(read(lines("maker,survey_weight,a", rows))))
    assert "column 'maker': 150 different texts, which can make a factor of their own" in said
    assert "column 'survey_weight' is called as weights of samples are: if it holds them, say --weights" in said
    assert "weights" not in " ".join(notes(read(lines("maker,weight,a", rows))))


def genes():
    """Levels of 200 genes in 12 samples, the genes in rows."""
    rng = np.random.default_rng(0)
    levels = rng.gamma(2, 3, size=(200, 1)) + rng.normal(scale=0.5, size=(200, 12))
    return pd.DataFrame(levels, index=[f"g{i}" for i in range(200)], columns=[f"s{i}" for i in range(12)])


def test_a_table_on_its_side_is_noticed_and_turned():
    text = genes().to_csv()
    assert any("say --transpose" in note for note in notes(read(text)))
    table = read(text, transpose=True)
    assert table.names == [f"g{i}" for i in range(200)]
    assert table.row_names.to_pylist() == [f"s{i}" for i in range(12)]
    assert not any("--transpose" in note for note in notes(table))
    upright = read(genes().T.to_csv())
    assert not any("--transpose" in note for note in notes(upright))
    assert cells(table) == cells(upright)
    with pytest.raises(HicorexError, match="cannot be turned by --transpose: column 's0' holds other things"):
        read(genes().assign(s0="u").to_csv(), transpose=True)


def test_a_table_is_fitted_like_a_frame_and_new_samples_are_read_like_it(tmp_path):
    rng = np.random.default_rng(0)
    cause = rng.integers(2, size=200)
    frame = pd.DataFrame(
        {
            "id": np.arange(200) + 1,
            "price": [f"${1000 * own + 100 + i % 90:,}" for i, own in enumerate(cause)],
            "seen": np.where(cause, "Yes", None),
            "day": [f"2020-0{own + 1}-{i % 28 + 1:02}" for i, own in enumerate(cause)],
            "colour": np.where(cause, "red", "blue"),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    table, other = hicorex.read_table(tmp_path / "t.csv"), hicorex.read_table(frame)
    settings = {"n_factors": 1, "n_states": 2, "random_state": 0}
    model, same = Corex(**settings).fit(table), Corex(**settings).fit(other)
    assert table.kinds == other.kinds == ["gaussian", "categorical", "gaussian", "categorical"]
    assert_array_equal(model.alpha_, same.alpha_)
    assert_array_equal(model.tcs_, same.tcs_)
    assert_array_equal(model.transform(table)[:, 0], model.transform(other)[:, 0])
    assert model.bounds(cv=2).n_samples == 200
    columns = table.columns.to_pandas().set_index("column")
    assert columns.loc["price", ["kind", "unit", "decision"]].tolist() == ["gaussian", "$", "used"]
    assert columns.loc["id", "decision"] == "used as row names"
    assert f"price: gaussian (whole numbers, {frame.price.nunique()} different: read as amounts; in $)" in str(table)
    asked = hicorex.read_table(frame, kinds={"*": "rank", "id": "gaussian"})
    assert asked.kinds == ["gaussian", "rank", "categorical", "rank", "categorical"]
    assert Corex(**settings).fit(asked).fitted_.layers[0].encoder.kinds == asked.kinds
    with pytest.raises(HicorexError, match="read_table has no option 'sep'"):
        hicorex.read_table(frame, sep=";")
    assert hicorex.describe_columns(np.zeros((5, 2)))["reason"].to_pylist() == ["constant", "constant"]


def test_dates_of_a_frame_are_days_in_a_fit_too():
    days = pd.date_range("2020-01-01", periods=90)
    frame = pd.DataFrame({"when": days, "x": np.arange(90) + 0.5})
    model = Corex(n_factors=1, n_states=2, random_state=0).fit(frame)
    plain = frame.assign(when=(days - pd.Timestamp("1970-01-01")).days.astype(float))
    assert_array_equal(model.alpha_, Corex(n_factors=1, n_states=2, random_state=0).fit(plain).alpha_)


# What a knowledgeable reader expects of the columns that are easily misread.
EXPECTED = {
    "titanic": {"age": "gaussian", "fare": "gaussian", "pclass": "categorical", "adult_male": "categorical"},
    "penguins_raw": {
        "rownames": "row names",
        "Sample Number": "ignored",
        "Individual ID": "ignored",
        "Date Egg": "gaussian",
        "Region": "ignored",
        "Body Mass (g)": "gaussian",
        "Species": "categorical",
    },
    "starwars": {
        "RespondentID": "row names",
        "Star Wars: Episode II  Attack of the Clones": "categorical",
        "Yoda": "categorical",
        "Age": "categorical",
    },
    "grads": {"Rank": "row names", "Major_code": "ignored", "Major": "ignored", "Total": "gaussian"},
    "chocolate": {
        "cocoa_percent": "gaussian",
        "specific_bean_origin_or_bar_name": "ignored",
        "most_memorable_characteristics": "ignored",
        "rating": "gaussian",
    },
    "onehot": {"pclass_1": "categorical"},
    "diamonds": {"carat": "gaussian", "price": "gaussian", "cut": "categorical"},
}


@pytest.mark.skipif(not real_data.find("messy"), reason=real_data.absent("messy"))
@pytest.mark.parametrize("name", EXPECTED)
def test_real_tables_are_read_as_a_knowledgeable_reader_does(name):
    path = real_data.find(f"messy/{name}.csv.gz")
    table = hicorex.read_table(path)
    kinds = {own.name: own.kind.value for own in table.decisions}
    kinds = {column: "gaussian" if kind == "rank" else kind for column, kind in kinds.items()}
    assert kinds.items() >= EXPECTED[name].items()
    frame = pd.read_csv(path, encoding="latin-1" if name == "starwars" else None)
    other = hicorex.read_table(frame)
    assert other.kinds == table.kinds
    assert [d.kind for d in other.decisions] == [d.kind for d in table.decisions]
    if name == "starwars":
        assert table.frame.num_rows == 1186
        assert sum(d.reason.name == "TICKED" for d in table.decisions) == 6
    if name == "titanic":
        assert sum("'class'" in note and "'alive'" in note and "'embark_town'" in note for note in notes(table)) == 1
    settings = {"n_factors": 2, "n_states": 2, "n_init": 1, "max_iter": 5, "random_state": 0}
    with pytest.warns(match="objective still grew"):
        models = [Corex(**settings).fit(own) for own in (table, other)]
    assert_array_equal(models[0].alpha_, models[1].alpha_)
    assert_array_equal(models[0].tcs_, models[1].tcs_)


def test_pipes_and_open_files_are_read():
    table = hicorex.read_table(io.BytesIO(lines("a,b", [(i % 2, i + 0.5) for i in range(20)]).encode()))
    assert [d.kind for d in table.decisions] == [ColumnKind.CATEGORICAL, ColumnKind.GAUSSIAN]
