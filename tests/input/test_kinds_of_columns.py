"""What each column of a file is decided to be, and why."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from written import arrow_file, cells, decision, lines, npy, parquet, read, read_for, reasons

import hicorex
from hicorex import Corex, HicorexError
from hicorex.input.words import reason_in_words


def test_whole_numbers_of_few_values_are_categories_and_others_amounts():
    rows = [(i % 5, 7 * i % 31, float(i % 2), "" if i == 3 else i % 3) for i in range(100)]
    table = read(lines("few,many,bits,gaps", rows))
    assert table.kinds == ["categorical", "gaussian", "categorical", "categorical"]
    assert decision(table, "few") == ("categorical", "whole numbers, 5 different")
    assert decision(table, "many") == ("gaussian", "whole numbers, 31 different: read as amounts")
    assert decision(table, "bits") == ("categorical", "whole numbers, 2 different")
    assert table.decisions[3].missing == 0.01
    assert cells(table)["gaps"][:5] == [0, 1, 2, None, 1]
    assert table.frame.schema.types == [pa.int64(), pa.int64(), pa.float64(), pa.int64()]


def test_whole_numbers_of_long_tables_are_told_alike():
    i = np.arange(300_000)
    frame = {"few": 10 ** (i % 5), "many": i * 977 % 1_000_003, "some": i % 1000 - 500, "same": i * 0 + 7}
    frame["gaps"] = np.where(i % 2, np.nan, 1e6 * (i % 3))
    table = read(parquet(pa.table(frame)))
    assert [reason.split(";")[0] for reason in reasons(table)] == [
        "whole numbers, 5 different",
        "whole numbers, more than 20 different: read as amounts",
        "whole numbers, 1000 different: read as amounts",
        "constant",
        "whole numbers, 3 different",
    ]
    assert table.decisions[4].missing == 0.5


def test_identifiers_are_left_out_and_the_first_names_the_rows():
    rows = [(i, 100 + 3 * i, f"s{i}", i % 4, f"t{i % 30}") for i in range(1, 61)]
    table = read(lines("n,sampleId,code,g,pair", rows))
    assert decision(table, "n") == ("row names", "an identifier: the number of the row")
    assert decision(table, "sampleId") == ("ignored", "an identifier: every row has another value")
    assert decision(table, "code") == ("ignored", "an identifier: every row has another value")
    assert decision(table, "pair") == ("categorical", "text, 30 different")
    assert table.names == ["g", "pair"]
    assert table.row_title == "n"
    assert_array_equal(table.row_names, np.arange(1, 61))
    table = read(lines("code,g", [row[2:4] for row in rows]))
    assert_array_equal(table.row_names, [row[2] for row in rows])
    assert decision(table, "code") == ("row names", "an identifier: every row has another value")


def test_identifiers_of_long_tables_are_told_by_a_sample():
    table = read(parquet(pa.table({"x": np.arange(120_000) % 7, "s": [f"s{i}" for i in range(120_000)]})))
    assert decision(table, "s") == ("ignored", "an identifier: 20000 rows looked at, each with another value")
    table = read(parquet(pa.table({"x": np.arange(120_000) % 7, "s": [f"s{i % 60_001}" for i in range(120_000)]})))
    assert decision(table, "s") == ("ignored", "nearly every row has another text")


def test_texts_that_nearly_every_row_has_another_of_are_left_out():
    rows = [(i % 3, f"a story {i if i else 1} of some length") for i in range(50)]
    table = read(lines("g,story", rows))
    assert decision(table, "story") == ("ignored", "nearly every row has another text")
    assert table.names == ["g"]


@pytest.mark.parametrize(
    "dates",
    [
        ["31.12.2020", "1.1.2021"],
        ["12/31/2020", "01/01/21 10:30 PM"],
        ["2020-12-31", "2021-01-01"],
        ["2020-12-31 10:00", "2021/01/01 11:00:30.5"],
        ["2020-12-31T10:00:00Z", "2021-01-01T10:00:00Z"],
        ["Dec 31 2020", "January 1, 2021"],
        ["31-Dec-20", "1 Jan 2021"],
    ],
)
def test_dates_are_days_unless_they_name_rows_or_categories_are_asked_for(dates):
    table = read(lines("x,when", [(1.5, f'"{dates[0]}"'), (2.5, f'"{dates[1]}"'), (3.5, f'"{dates[0]}"')]))
    assert decision(table, "when")[1] == "dates: read as days since 1970-01-01"
    assert [int(day) for day in cells(table)["when"]] == [18627, 18628, 18627]
    table = read(lines("when,x", [(f'"{dates[0]}"', 1.5), (f'"{dates[1]}"', 2.5)]))
    assert decision(table, "when") == ("row names", "dates: read as days since 1970-01-01")
    assert [name[:4] for name in table.row_names.to_pylist()] == [date[:4] for date in dates]
    rows = [(1.5, f'"{dates[0]}"'), (2.5, f'"{dates[1]}"'), (3.5, f'"{dates[0]}"')]
    table = read(lines("x,when", rows), kinds={"when": "categorical"})
    assert decision(table, "when")[0] == "categorical"
    assert len(set(cells(table)["when"])) == 2
    assert isinstance(cells(table)["when"][0], str)


def test_days_and_months_of_dates_are_told_apart_by_all_of_them():
    day_first = read(lines("x,when", [(i + 0.5, f"{i + 1}/2/2020") for i in range(20)]))
    assert day_first.decisions[1].written == "date, day first"
    assert cells(day_first)["when"][:2] == [18293, 18294]  # the first and the second of February
    month_first = read(lines("x,when", [(i + 0.5, f"{i + 1}/2/2020") for i in range(12)]))
    assert cells(month_first)["when"][:2] == [18263, 18294]  # the second of January and of February


def test_truth_values_are_categories():
    table = read("a,b\ntrue,1.5\nFalse,2.5\n,3.5\n")
    assert cells(table)["a"] == [True, False, None]
    assert decision(table, "a") == ("categorical", "true or false")


def test_columns_without_information_are_left_out():
    table = read("empty,same,text,x\n,1,u,1.5\nNA,1,u,2.5\n,1,,3.5\n")
    assert reasons(table) == ["empty", "constant", "constant", "numbers"]
    assert [d.missing for d in table.decisions] == pytest.approx([1, 0, 1 / 3, 0])
    assert table.names == ["x"]


def test_missing_markers_count_as_text_and_as_number():
    rows = [("-999", -999.0, -999, "none"), (1.5, 2.5, 3, "u"), (2.5, 1.5, 4, " u "), ("none", 0.5, 3, "-999.0")]
    table = read(lines("a,b,c,d", rows), missing=("-999", "none"))
    assert cells(table) == {
        "a": [None, 1.5, 2.5, None],
        "b": [None, 2.5, 1.5, 0.5],
        "c": [None, 3, 4, 3],
        "d": ["not ticked", "u", "u", "not ticked"],
    }
    assert [d.missing for d in table.decisions] == [0.5, 0.25, 0.25, 0]
    assert [d.kind for d in table.decisions] == ["gaussian", "gaussian", "categorical", "categorical"]
    array = np.array([[1.0, -999], [2.5, 3], [-999, 4.5]])
    table = read(npy(array), missing=("-999",))
    assert_array_equal(table.frame, np.where(array == -999, np.nan, array))
    table = read(npy(array.astype(int)), missing=("-999",))
    assert_array_equal(table.frame, np.where(array == -999, np.nan, array.astype(int)))


def test_question_marks_among_numbers_are_missing():
    rows = [(f"{i}.5", i % 3) for i in range(30)] + [("?", "?"), ("-", 1)]
    table = read(lines("a,b", rows))
    assert decision(table, "a") == (
        "gaussian",
        "numbers; '?', '-' read as missing",
    )
    assert decision(table, "b") == ("categorical", "whole numbers, 3 different; '?' read as missing")
    assert cells(table)["a"][-3:] == [29.5, None, None]
    assert cells(table)["b"][-3:] == [2, None, 1]
    assert table.decisions[0].missing == 2 / 32
    many = [*rows, ("u", 1), ("v", 1), ("v", 1)]
    assert decision(read(lines("a,b", many)), "a")[1] == "nearly every row has another text"


def test_blanks_around_numbers_and_texts_are_cut():
    table = read("a , b, c\n 1.5, u ,+2\n 2.5 , v,3\n NA, u,  2 \n")
    assert cells(table) == {"a": [1.5, 2.5, None], "b": ["u", "v", "u"], "c": [2, 3, 2]}


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        (["1.234.567", "2.345.678"], "numbers with thousands separators; write them without"),
        (["12 m", "1.5 cm"], "numbers with a unit; take the unit away"),
        (["$12", "€1.50"], "amounts with a currency sign; take the sign away"),
        (['"1,5"', '"2,25"'], "numbers with a decimal comma; say --decimal ,"),
    ],
)
def test_numbers_written_otherwise_are_told_with_advice(values, advice):
    table = read(lines("x,a", [(i + 0.5, values[i % 2]) for i in range(10)]))
    assert decision(table, "a") == ("categorical", f"text, 2 different; looks like {advice}")


@pytest.mark.parametrize(
    ("values", "numbers", "unit"),
    [
        (["$1,200", "$35.5"], [1200, 35.5], "$"),
        (["1,234", "2,345,678"], [1234, 2345678], ""),
        (["12%", "1.5 %"], [12, 1.5], "%"),
        (["170 cm", "165.5cm"], [170, 165.5], "cm"),
        (["(1,200)", "35"], [-1200, 35], ""),
        (["1.2M", "300k"], [1.2e6, 3e5], ""),
        (["-$5", "$7"], [-5, 7], "$"),
        (["\u22125 m/s", "7 m/s"], [-5, 7], "m/s"),
    ],
)
def test_amounts_written_by_people_are_numbers_with_their_unit(values, numbers, unit):
    rows = [(i + 0.5, f'"{values[i % 2]}"') for i in range(10)]
    table = read(lines("x,a", [*rows, (3.5, "unknown")]))
    known = table.decisions[1]
    assert (known.unit, known.words) == (unit, ("unknown",))
    assert cells(table)["a"][:2] == numbers
    assert cells(table)["a"][-1] is None
    if known.written == "amount":
        new = read_for(lines("x,a", rows[::-1]), {"a": "number"}, forms={"a": [known.written, unit]})
        assert cells(new)["a"][:2] == numbers[::-1]
        with pytest.raises(HicorexError, match="column 'a': 'full' is not a number"):
            read_for("x,a\n1,full\n", {"a": "number"}, forms={"a": [known.written, unit]})


def test_types_of_arrow_columns_decide():
    table = pa.table(
        {
            "money": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.25"), None]),
            "coded": pa.array(["u", " v", "u"]).dictionary_encode(),
            "list": pa.array([[1], [2], [3]]),
            "bytes": pa.array([b"1", b"2", b"3"]),
            "when": pa.array([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None]),
            "none": pa.array([None, None, None]),
            "large": pa.array(["u", None, "v"], pa.large_string()),
            "small": pa.array([1.5, 2.5, np.inf], pa.float32()),
            "flag": pa.array([True, None, False]),
            "nan": pa.array([1.5, np.nan, None]),
            "codes": pa.array([3, 4, 3], pa.int64()).dictionary_encode(),
        }
    )
    found = read(parquet(table, store_schema=True))
    assert {own.name: reason_in_words(own) for own in found.decisions} == {
        "money": "numbers",
        "coded": "text, 2 different",
        "list": "values of type list<element: int64>: give each value a column of its own",
        "bytes": "values of type binary: give each value a column of its own",
        "when": "dates: read as days since 1970-01-01",
        "none": "empty",
        "large": "text, 2 different",
        "small": "numbers",
        "flag": "true or false",
        "nan": "constant",
        "codes": "whole numbers, 2 different",
    }
    assert cells(found) == {
        "money": [1.5, 2.25, None],
        "coded": ["u", "v", "u"],
        "when": [18262, 18263, None],
        "large": ["u", None, "v"],
        "small": [1.5, 2.5, np.inf],
        "flag": [True, None, False],
        "codes": [3, 4, 3],
    }
    assert found.frame.schema.field("large").type == pa.dictionary(pa.int32(), pa.string())
    assert found.decisions[9].missing == pytest.approx(2 / 3)


def test_text_is_read_alike_whichever_format_it_comes_in():
    """A frame, and the CSV and Parquet files that it is written to, have one reading."""
    rng = np.random.default_rng(0)
    some = rng.integers(900, size=60)
    table = pa.table(
        {
            "code": ["10", "20", "NA"] * 20,
            "gap": ["u", None, "", "v"] * 15,
            "price": [f"${1000 + i:,}" for i in some],
            "age": ["unknown" if i % 30 == 0 else str(20 + i) for i in range(60)],
            "clock": [f"{i % 24:02}:{i:02}" for i in range(60)],
            "late": [f"2020-01-{i % 28 + 1:02}T{i % 24:02}:30:00Z" for i in range(60)],
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        typed, frame = read(parquet(table)), hicorex.read_table(table)
    text = read(
        lines(",".join(table.column_names), [[f'"{cell or ""}"' for cell in row.values()] for row in table.to_pylist()])
    )
    assert reasons(typed) == reasons(frame) == reasons(text)
    assert decision(typed, "code") == ("categorical", "whole numbers, 2 different")
    assert decision(typed, "clock") == ("gaussian", "times: read as parts of a day")
    assert decision(typed, "late") == ("gaussian", "dates: read as days since 1970-01-01")
    assert [d.unit for d in typed.decisions] == ["", "", "$", "", "", ""]
    for name in ("price", "age", "clock", "late"):
        assert_allclose(np.array(cells(typed)[name], float), np.array(cells(text)[name], float), err_msg=name)
    new = read_for(parquet(table), {"clock": "number"}, forms=typed.forms)
    assert cells(new)["clock"][:2] == [0, pytest.approx(61 / 1440)]


def test_columns_of_unusual_types_are_told_used_or_refused():
    """Types that other programs write: told, used or refused with the name of the column, never a fault."""
    n = 30
    table = pa.table(
        {
            "view": pa.array([f"s{i}" for i in range(n)], pa.string_view()),
            "large": pa.array(["u", "v"] * 15, pa.large_string()),
            "half": pa.array(np.arange(n, dtype=np.float16) / 2),
            "list": pa.array([[1]] * n),
            "bytes": pa.array([b"\xff"] * n),
            "nothing": pa.array([None] * n, pa.date32()),
            "long": pa.array([2**60 + 10 * i for i in range(n)]),
            "gap": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 10), pa.array(["1", None, "x"])),
        }
    )
    found = read(arrow_file(table), missing=("1",))
    assert found.row_names.to_pylist() == [f"s{i}" for i in range(n)]
    assert found.names == ["large", "half", "long", "gap"]
    assert decision(found, "long") == ("gaussian", "whole numbers, 30 different: read as amounts")
    source = arrow_file(table)
    expected = {"large": "text", "half": "number", "long": "number", "nothing": "number"}
    again = read_for(source, expected)
    assert again.frame.column("nothing").null_count == n
    assert_array_equal(again.frame.column("long").to_numpy(), 2.0**60 + 10.0 * np.arange(n))
    for name, what in (("list", "text"), ("bytes", "number"), ("list", "boolean")):
        with pytest.raises(HicorexError, match=f"column '{name}' holds values of type"):
            read_for(source, {name: what})
    for name in ("list", "bytes"):
        with pytest.raises(HicorexError, match=f"Column '{name}' holds values of type .*, which cannot name rows"):
            read(source, row_names=name)


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2020", periods=60),
        pd.date_range("2020", periods=60, tz="UTC"),
        pd.to_timedelta(range(60), unit="D"),
        pl.Series([datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(60)]),
    ],
    ids=["pandas", "zoned", "lengths of time", "polars"],
)
def test_times_of_data_frames_are_days(times):
    frame = (pl if isinstance(times, pl.Series) else pd).DataFrame({"when": times, "day": np.arange(60.0)})
    model = Corex(1, n_states=2, marginals="gaussian", random_state=0).fit(frame)
    encoder = model.fitted_.layers[0].encoder
    assert list(encoder.kinds) == ["gaussian", "gaussian"]
    spread = encoder.spread * encoder.size
    assert spread[0] == pytest.approx(spread[1])
    assert model.clusters_.tolist() == [0, 0]
