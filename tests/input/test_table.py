"""Files: the values that come out of them, the decision on each column, and errors that name file and line."""

import bz2
import csv
import datetime
import decimal
import gzip
import io
import lzma
import sys
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from hicorex import Corex, HicorexError
from hicorex.input.files import Reading, read_new, read_table
from hicorex.input.files.csv_file import BLANKS, MISSING

FIVE = "group,x\nu,1.5\nv,2.5\nu,3.25\nv,4\nu,5\n"


def file_of(text, encoding="utf-8"):
    return io.BytesIO(text if isinstance(text, bytes) else text.encode(encoding))


def read(text, written="utf-8", **options):
    return read_table(file_of(text, written), Reading(**options))


def cells(table):
    return table.frame.to_pydict()


def decision(table, name):
    own = next(d for d in table.decisions if d.name == name)
    return own.kind, own.why


def lines(header, rows):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def assert_five(table):
    assert cells(table) == {"group": list("uvuvu"), "x": [1.5, 2.5, 3.25, 4, 5]}
    assert table.kinds == ["categorical", "gaussian"]
    assert table.names == ["group", "x"]
    assert_array_equal(table.row_names, range(5))
    assert table.row_title == "row"
    assert table.frame.schema.types[0] == pa.dictionary(pa.int32(), pa.string())


def refused(text, match, **options):
    with pytest.raises(HicorexError, match=match) as caught:
        read(text, **options)
    assert "\n" not in str(caught.value)


# Text


def test_quotes():
    table = read('a,b\n"x, ""y""",1.5\n"z",2.5\n"x, ""y""",3.5\n')
    assert cells(table) == {"a": ['x, "y"', "z", 'x, "y"'], "b": [1.5, 2.5, 3.5]}
    assert decision(table, "a") == ("categorical", "text, 2 different")
    assert decision(table, "b") == ("gaussian", "numbers")


def test_byte_order_mark():
    assert_five(read(FIVE, "utf-8-sig"))


def test_utf_16():
    table = read(FIVE.replace("v", "ü"), "utf-16")
    assert cells(table)["group"] == list("uüuüu")
    assert table.notes == ("read as UTF-16",)


def test_windows_1252():
    table = read(FIVE.replace("v", "ü€").replace("group", "größe"), "cp1252")
    assert cells(table)["größe"] == ["u", "ü€", "u", "ü€", "u"]
    assert table.notes == ("not UTF-8: read as Windows-1252",)


def test_windows_1252_beyond_the_head_of_the_file():
    text = "group,x\n" + "u,1.5\n" * 300_000 + "ü,2.5\n"
    table = read(text, "cp1252")
    assert cells(table)["group"][-2:] == ["u", "ü"]
    assert table.notes[:1] == ("not UTF-8: read as Windows-1252",)


def test_given_encodings():
    assert cells(read("a,b\nж,1\nи,2\nж,1\n".encode("cp1251"), encoding="cp1251"))["a"] == ["ж", "и", "ж"]
    refused("a,b\nж,1\n".encode("cp1251"), "not in the encoding utf-8", encoding="utf-8")
    refused("a,b\n", "encoding 'cp9' is not known", encoding="cp9")


def test_semicolons_and_decimal_commas():
    table = read("a;b\n1,5;x\n2,5;y,z\n-0,5e1;x\n")
    assert cells(table) == {"a": [1.5, 2.5, -5.0], "b": ["x", "y,z", "x"]}
    assert table.notes == ("delimiter ';', decimal comma",)


@pytest.mark.parametrize(("delimiter", "sign"), [(";", "."), (";", ","), (",", ".")])
def test_fractions_that_may_be_thousands_are_told(delimiter, sign):
    rows = [("1S258", "0S5", "1S500"), ("919", "0S125", "2S000"), ("2S001", "3", "0S750"), ("12S345", "7S250", "1S125")]
    text = "\n".join(delimiter.join(row).replace("S", sign) for row in [("a", "b", "c"), *rows])
    table = read(text + "\n")
    assert cells(table)["a"] == [1.258, 919, 2.001, 12.345]
    (told,) = [note for note in table.notes if "thousands" in note]
    assert told.startswith(f"column 'a': 1{sign}258 beside 919 is read as a fraction; ")


def test_semicolons_with_decimal_points():
    table = read(FIVE.replace(",", ";"))
    assert_five(table)
    assert table.notes == ("delimiter ';'",)


@pytest.mark.parametrize(("sign", "called"), [("\t", "tab"), ("|", "'|'")])
def test_other_delimiters(sign, called):
    table = read(FIVE.replace(",", sign))
    assert_five(table)
    assert table.notes == (f"delimiter {called}",)


def test_given_delimiter():
    assert_five(read(FIVE.replace(",", ":"), delimiter=":"))
    refused(FIVE, "delimiter is '::'", delimiter="::")
    refused(FIVE, "decimal is ';'", decimal=";")


def test_mixed_line_ends_and_blank_lines():
    assert_five(read("group,x\r\nu,1.5\rv,2.5\n\n  \nu,3.25\r\n\r\nv,4\nu,5"))


def test_cells_of_several_lines():
    rows = [(f"line {i % 3}\nsecond, {i % 3}", i + 0.5) for i in range(20_000)]
    for size in (20, 20_000):
        short = io.StringIO()
        csv.writer(short).writerows([("a", "b"), *rows[:size]])
        table = read(short.getvalue())
        assert cells(table) == {"a": [a for a, _ in rows[:size]], "b": [b for _, b in rows[:size]]}
    assert decision(table, "a") == ("categorical", "text, 3 different")


def test_no_header():
    table = read("1,2.5\n2,3.5\n2,4.5\n")
    assert cells(table) == {"x0": [1, 2, 2], "x1": [2.5, 3.5, 4.5]}
    assert table.notes == ("no header: columns are called x0, x1, ...; if the first line holds names, say --header",)
    assert read("2001,2002\n1.5,2.5\n2.5,3.5\n", header=True).names == ["2001", "2002"]
    assert cells(read("u,v\nw,v\nu,w\n", header=False)) == {"x0": ["u", "w", "u"], "x1": ["v", "v", "w"]}


def test_fractions_above_numbers_are_no_header():
    table = read("5.1,3.5,setosa\n4.9,3.1,setosa\n4.9,3.0,virginica\n")
    assert cells(table) == {"x0": [5.1, 4.9, 4.9], "x1": [3.5, 3.1, 3.0], "x2": ["setosa", "setosa", "virginica"]}


def test_years_beside_a_name_are_a_header():
    table = read("gene,2001,2002\na,1.5,2\nb,2.5,3\n")
    assert table.names == ["2001", "2002"]
    assert table.row_title == "gene"


def test_blank_first_name_marks_names_of_rows():
    table = read('"","a","b"\n"r1",1,2.5\n"r1",2,3.5\n"r3",1,NA\n')
    assert cells(table) == {"a": [1, 2, 1], "b": [2.5, 3.5, None]}
    assert_array_equal(table.row_names, ["r1", "r1", "r3"])
    assert table.row_title == "row"
    assert decision(table, "row") == ("row names", "marked as such by the file")


@pytest.mark.parametrize("sign", [",", " ", "\t"])
def test_header_one_shorter_marks_names_of_rows(sign):
    table = read('"a" "b"\n"r1" 1 2.5\n"r2" 2 3.5\n"r3" 1 NA\n'.replace(" ", sign))
    assert cells(table) == {"a": [1, 2, 1], "b": [2.5, 3.5, None]}
    assert_array_equal(table.row_names, ["r1", "r2", "r3"])
    assert table.notes[-1] == "the header is one field shorter than the rows: the first column holds names of rows"


def test_delimiters_at_the_ends_of_lines():
    table = read("a,b\nu,1.5,\nv,2.5,\nu,3.5,\n")
    assert cells(table) == {"a": ["u", "v", "u"], "b": [1.5, 2.5, 3.5]}
    assert decision(table, "column3") == ("ignored", "empty")


def test_blank_and_duplicated_names():
    table = read("a,,a,a_2,a\n" + "1.5,2.5,3.5,4.5,5.5\n2,3,4,5,6\n")
    assert table.names == ["a", "column2", "a_3", "a_2", "a_4"]
    assert table.notes == (
        "duplicated name 'a': the second is called 'a_3'",
        "duplicated name 'a': the third is called 'a_4'",
    )
    assert cells(table)["a_3"] == [3.5, 4.0]


def test_a_line_of_another_length_is_named():
    text = lines("a,b,c", [(i, i, i) for i in range(15)]) + "1,2\n" + "1,2,3\n"
    with pytest.raises(HicorexError, match=r"^the file, line 17: 2 fields where the header has 3; correct that line"):
        read(text)
    with pytest.raises(HicorexError, match="line 19: 2 fields where the header has 3"):
        read('a,b,"c\n\n"\n' + text.removeprefix("a,b,c\n"))
    with pytest.raises(HicorexError, match="line 3: 3 fields where the first line has 2"):
        read("1,2\n3,4\n5,6,7\n")


def test_quotes_that_do_not_match_are_never_a_cell():
    refused('a,b\n1,"u\n2,v\n3,w\n', "line 2: a quote is opened and never closed")
    refused('a,b\n1,u\n2,"v\n3,w\n4,"x\n', "line 3: a quote is opened and closed in a later line")
    refused('"a,b\n1,u\n', "line 1: a quote is opened and never closed")
    refused('a,b\n1,u\n"2,v\n3,w\n', "line 3: a quote is opened and never closed")
    assert cells(read('a,b\n1.5,5" u\n2.5,v\n1.5,5" u\n'))["b"] == ['5" u', "v", '5" u']


@pytest.mark.slow
def test_long_lines():
    width = 60_000
    values = np.arange(3 * width).reshape(3, width) + 0.123456789
    text = ",".join(f"g{i}" for i in range(width)) + "\n" + "\n".join(",".join(map(str, row)) for row in values)
    table = read(text)
    assert len(table.names) == len(table.decisions) == width
    assert set(table.kinds) == {"gaussian"}
    for at in (0, 777, width - 1):
        assert table.frame.column(at).to_pylist() == values[:, at].tolist()


def test_a_wide_table_whose_types_change_further_down():
    rows = [[f"{i}.5"] * 300 for i in range(40)]
    rows[30][7] = "u"
    rows[31][8] = "2"
    rows[32][9] = ""
    table = read("\n".join(",".join(row) for row in [[f"g{i}" for i in range(300)], *rows]))
    assert cells(table)["g7"][29:32] == [29.5, None, 31.5]
    assert decision(table, "g7") == ("gaussian", "numbers; 'u' read as missing")
    assert cells(table)["g8"][30:33] == [30.5, 2.0, 32.5]
    assert cells(table)["g9"][31:34] == [31.5, None, 33.5]


TEXTS = st.text(st.sampled_from('ab",;|\t\r\n ä€😀1.-?'), max_size=8)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(",;\t|"), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_random_tables_come_back_cell_by_cell(data, delimiter, quoting):
    width = data.draw(st.integers(2, 4))
    rows = data.draw(st.lists(st.lists(TEXTS, min_size=width, max_size=width), min_size=1, max_size=8))
    names = [f"n{i}" for i in range(width)]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, quoting=quoting).writerows([names, *rows])
    table = read_new(file_of(text.getvalue()), Reading(delimiter=delimiter), dict.fromkeys(names, "text"))
    trimmed = [[None if cell.strip(BLANKS) in MISSING else cell.strip(BLANKS) for cell in row] for row in rows]
    assert [list(row.values()) for row in table.frame.to_pylist()] == trimmed


# Columns


def test_whole_numbers():
    rows = [(i % 5, 7 * i % 31, float(i % 2), "" if i == 3 else i % 3) for i in range(100)]
    table = read(lines("few,many,bits,gaps", rows))
    assert table.kinds == ["categorical", "gaussian", "categorical", "categorical"]
    assert decision(table, "few") == ("categorical", "whole numbers, 5 different")
    assert decision(table, "many") == ("gaussian", "whole numbers, 31 different: read as amounts")
    assert decision(table, "bits") == ("categorical", "whole numbers, 2 different")
    assert table.decisions[3].missing == 0.01
    assert cells(table)["gaps"][:5] == [0, 1, 2, None, 1]
    assert table.frame.schema.types == [pa.int64(), pa.int64(), pa.float64(), pa.int64()]


def test_whole_numbers_of_long_tables():
    i = np.arange(300_000)
    frame = {"few": 10 ** (i % 5), "many": i * 977 % 1_000_003, "some": i % 1000 - 500, "same": i * 0 + 7}
    frame["gaps"] = np.where(i % 2, np.nan, 1e6 * (i % 3))
    table = read(parquet(pa.table(frame)))
    assert [d.why for d in table.decisions] == [
        "whole numbers, 5 different",
        "whole numbers, more than 20 different: read as amounts",
        "whole numbers, 1000 different: read as amounts",
        "constant",
        "whole numbers, 3 different",
    ]
    assert table.decisions[4].missing == 0.5


def test_identifiers():
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


def test_identifiers_of_long_tables():
    table = read(parquet(pa.table({"x": np.arange(120_000) % 7, "s": [f"s{i}" for i in range(120_000)]})))
    assert decision(table, "s") == ("ignored", "an identifier: 20000 rows looked at, each with another value")
    table = read(parquet(pa.table({"x": np.arange(120_000) % 7, "s": [f"s{i % 60_001}" for i in range(120_000)]})))
    assert decision(table, "s") == ("ignored", "nearly every row has a text of its own")


def test_one_long_text_a_row():
    rows = [(i % 3, f"a story {i if i else 1} of some length") for i in range(50)]
    table = read(lines("g,story", rows))
    assert decision(table, "story") == ("ignored", "nearly every row has a text of its own")
    assert table.names == ["g"]


@pytest.mark.parametrize(
    "dates",
    [
        ["31.12.2020", "1.1.2021"],
        ["12/31/2020", "01/01/21 10:30 PM"],
        ["2020-12-31", "2021-01-01"],
        ["2020-12-31 10:00", "2021/01/01 11:00:30.5"],
        ["2020-12-31T10:00:00Z", "2021-01-01T10:00:00Z"],
    ],
)
def test_dates(dates):
    table = read(lines("x,when", [(1.5, dates[0]), (2.5, dates[1]), (3.5, dates[0])]))
    assert decision(table, "when") == ("ignored", "dates")
    assert table.names == ["x"]
    table = read(lines("when,x", [(dates[0], 1.5), (dates[1], 2.5)]))
    assert decision(table, "when") == ("row names", "dates")
    table = read(lines("x,when", [(1.5, dates[0]), (2.5, dates[1]), (3.5, dates[0])]), kinds={"when": "categorical"})
    assert decision(table, "when") == ("categorical", "as asked for: dates")
    assert len(set(cells(table)["when"])) == 2


def test_booleans():
    table = read("a,b\ntrue,1.5\nFalse,2.5\n,3.5\n")
    assert cells(table)["a"] == [True, False, None]
    assert decision(table, "a") == ("categorical", "true or false")


def test_columns_without_information():
    table = read("empty,same,text,x\n,1,u,1.5\nNA,1,u,2.5\n,1,,3.5\n")
    assert [d.why for d in table.decisions] == ["empty", "constant", "constant", "numbers"]
    assert [d.missing for d in table.decisions] == pytest.approx([1, 0, 1 / 3, 0])
    assert table.names == ["x"]


def test_missing_markers_as_text_and_number():
    rows = [("-999", -999.0, -999, "none"), (1.5, 2.5, 3, "u"), (2.5, 1.5, 4, " u "), ("none", 0.5, 3, "-999.0")]
    table = read(lines("a,b,c,d", rows), missing=("-999", "none"))
    assert cells(table) == {
        "a": [None, 1.5, 2.5, None],
        "b": [None, 2.5, 1.5, 0.5],
        "c": [None, 3, 4, 3],
    }
    assert [d.missing for d in table.decisions] == [0.5, 0.25, 0.25, 0.5]
    assert [d.kind for d in table.decisions] == ["gaussian", "gaussian", "categorical", "ignored"]
    array = np.array([[1.0, -999], [2.5, 3], [-999, 4.5]])
    table = read(npy(array), missing=("-999",))
    assert_array_equal(table.frame, np.where(array == -999, np.nan, array))
    table = read(npy(array.astype(int)), missing=("-999",))
    assert_array_equal(table.frame, np.where(array == -999, np.nan, array.astype(int)))


def test_question_marks_among_numbers():
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
    assert decision(read(lines("a,b", many)), "a")[1] == "nearly every row has a text of its own"


def test_blanks_around_numbers_and_texts():
    table = read("a , b, c\n 1.5, u ,+2\n 2.5 , v,3\n NA, u,  2 \n")
    assert cells(table) == {"a": [1.5, 2.5, None], "b": ["u", "v", "u"], "c": [2, 3, 2]}


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        (['"1,234.5"', '"2,345,678"'], "numbers with thousands separators; write them without"),
        (["1.234.567", "2.345.678"], "numbers with thousands separators; write them without"),
        (["12%", "1.5 %"], "numbers with a per cent sign; take the sign away"),
        (["$12", "$1.50"], "amounts with a currency sign; take the sign away"),
        (['"1,5"', '"2,25"'], "numbers with a decimal comma; say --decimal ,"),
    ],
)
def test_numbers_written_otherwise(values, advice):
    table = read(lines("x,a", [(i + 0.5, values[i % 2]) for i in range(10)]))
    assert decision(table, "a") == ("categorical", f"text, 2 different; looks like {advice}")


def test_arrow_types():
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
    assert {d.name: d.why for d in found.decisions} == {
        "money": "numbers",
        "coded": "text, 2 different",
        "list": "values of type list<element: int64>: give each value a column of its own",
        "bytes": "values of type binary: give each value a column of its own",
        "when": "dates",
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
        "large": ["u", None, "v"],
        "small": [1.5, 2.5, np.inf],
        "flag": [True, None, False],
        "codes": [3, 4, 3],
    }
    assert found.frame.schema.field("large").type == pa.dictionary(pa.int32(), pa.string())
    assert found.decisions[9].missing == pytest.approx(2 / 3)


# Options


ROWS = lines("name,g1,g2,h1,w", [(f"s{i}", i + 0.5, 2 * i + 0.5, i % 3, 1 + i % 2) for i in range(30)])


def test_use_and_exclude():
    table = read(ROWS, use=("g*", "h?"), exclude=("g2",))
    assert table.names == ["g1", "h1"]
    assert decision(table, "g2") == ("ignored", "excluded")
    assert decision(table, "w") == ("ignored", "not among those to be used")
    assert table.row_title == "name"
    table = read(ROWS, exclude=("name",))
    assert table.row_title == "row"
    assert decision(table, "name") == ("ignored", "excluded")
    assert read(ROWS.replace("g1", "G1"), use=("g*",)).names == ["g2"]
    assert read(ROWS.replace("g1", "g[1]"), use=("g[1]",)).names == ["g[1]"]


def test_kinds():
    table = read(ROWS, kinds={"h1": "gaussian", "?1": "categorical", "g*": "rank", "name": "categorical"})
    assert table.kinds == ["categorical", "rank", "rank", "gaussian", "categorical"]


def test_kinds_that_do_not_fit():
    refused(
        ROWS, "Column 'name' holds text and cannot be rank; make it categorical or leave it out", kinds={"name": "rank"}
    )
    refused(ROWS, "kinds gives 'g1' the kind 'normal'; use one of gaussian, rank, categorical", kinds={"g1": "normal"})


def test_row_names_and_weights():
    table = read(ROWS, row_names="h1", weights="w")
    assert_array_equal(table.row_names, np.arange(30) % 3)
    assert_array_equal(table.weight, 1 + np.arange(30) % 2)
    assert table.names == ["g1", "g2"]
    assert decision(table, "h1") == ("row names", "asked for")
    assert decision(table, "w") == ("weights", "whole numbers: each row counts so many times")
    fractions = read(ROWS, weights="g1")
    worth = fractions.weight.sum() ** 2 / (fractions.weight**2).sum()
    assert decision(fractions, "g1") == ("weights", f"relative: together the rows count as {worth:.4g} of equal weight")
    assert decision(table, "name") == ("ignored", "an identifier: every row has another value")
    refused(ROWS, "weights names column 'name', which does not hold numbers", weights="name")
    message = "Column 'g1' of --weights has the negative number -1 in row 29; give 0 to leave a sample out"
    refused(ROWS.replace("29.5", "-1"), message, weights="g1")


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("use", ("gg1",)),
        ("exclude", ("gg1",)),
        ("kinds", {"gg1": "rank"}),
        ("row_names", "gg1"),
        ("weights", "gg1"),
    ],
)
def test_unknown_columns_are_named_with_the_closest(option, given):
    refused(
        ROWS,
        f"--{option.replace('_', '-')} names column 'gg1', which the file does not have; the closest it has: 'g1'",
        **{option: given},
    )


def test_patterns_that_match_nothing():
    refused(
        ROWS, r"use names column 'q\*', which the file does not have; it has 'name', 'g1', 'g2' and others", use=("q*",)
    )


def test_nothing_to_learn_from():
    refused("a,b\n1,\n1,\n", "has no column to learn from: 'a': ignored, constant; 'b': ignored, empty")
    refused("a,b\n1,2\n", "has no column to learn from: it has one row, and at least two are needed", header=True)


# Formats


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parquet(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def feathered(table, **options):
    file = io.BytesIO()
    feather.write_feather(table, file, **options)
    return file.getvalue()


def arrow():
    return pacsv.read_csv(file_of(FIVE))


@pytest.mark.parametrize(
    "content",
    [
        FIVE.encode(),
        FIVE.replace(",", "\t").encode(),
        gzip.compress(FIVE[:20].encode(), mtime=0) + gzip.compress(FIVE[20:].encode(), mtime=0),
        bz2.compress(FIVE.encode()),
        lzma.compress(FIVE.encode()),
        pa.compress(FIVE.encode(), "zstd", asbytes=True),
        parquet(arrow()),
        gzip.compress(parquet(arrow())),
        feathered(arrow()),
        feathered(arrow(), compression="uncompressed"),
    ],
    ids=["csv", "tsv", "gzip", "bzip2", "xz", "zstd", "parquet", "parquet in gzip", "feather", "arrow"],
)
@pytest.mark.parametrize("how", ["path", "file", "standard input"])
def test_formats_are_told_by_their_content(content, how, tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    path.write_bytes(content)
    if how == "path":
        assert_five(read_table(path))
        assert_five(read_table(str(path)))
    elif how == "file":
        with path.open("rb") as file:
            assert_five(read_table(file))
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert_five(read_table("-"))


def test_names_of_rows_from_pandas():
    frame = arrow().to_pandas().set_index(np.array(list("pqrst")))
    table = read(parquet(pa.Table.from_pandas(frame)))
    assert cells(table) == cells(read(FIVE))
    assert_array_equal(table.row_names, list("pqrst"))


ARRAY = np.random.default_rng(0).normal(size=(6, 4)).round(2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ">f8"])
def test_arrays(dtype):
    for content in (npy(ARRAY.astype(dtype)), npz(a=ARRAY.astype(dtype)), npz(b=ARRAY[0], X=ARRAY.astype(dtype))):
        table = read(content)
        assert_array_equal(table.frame, ARRAY.astype(dtype))
        assert table.names == ["x0", "x1", "x2", "x3"]
        assert table.kinds == ["gaussian"] * 4
        assert decision(table, "x3") == ("gaussian", "numbers")
        assert table.notes == ("an array: columns are called x0, x1, ...",)


def test_arrays_with_columns_left_out():
    array = np.column_stack([np.arange(10), np.arange(10) % 2, np.zeros(10), np.arange(10)[::-1]]).astype(np.int16)
    table = read(npy(array))
    assert_array_equal(table.frame, array[:, [1, 3]])
    assert table.names == ["x1", "x3"]
    assert [d.kind for d in table.decisions] == ["row names", "categorical", "ignored", "categorical"]
    assert_array_equal(table.row_names, np.arange(10))
    assert_array_equal(read(npy(array[:, 1:2] == 1)).frame, array[:, 1:2] == 1)
    assert cells(read(npy(np.array([["u", "1.5"], ["v", "2.5"], ["u", "1.5"]])))) == {
        "x0": ["u", "v", "u"],
        "x1": [1.5, 2.5, 1.5],
    }


def test_arrays_of_records():
    records = np.array([(1, 2.5, b"u"), (2, 3.5, b"v"), (1, 4.5, b"u")], [("a", int), ("b", float), ("c", "S1")])
    assert cells(read(npy(records))) == {"a": [1, 2, 1], "b": [2.5, 3.5, 4.5], "c": ["u", "v", "u"]}


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (npy(ARRAY[0]), "holds a vector; save an array of two dimensions"),
        (npy(ARRAY[None]), "holds an array of 3 dimensions; save an array of two dimensions"),
        (npy(ARRAY * 1j), "holds values of type complex128; save an array of numbers"),
        (npy(np.array([["u", None]])), "holds Python objects; save an array of numbers"),
        (npz(a=np.array([["u", None]])), "holds Python objects; save an array of numbers"),
        (npz(a=ARRAY, b=ARRAY), "holds the arrays a, b; call the table X, or save it alone"),
        (npy(ARRAY[:0]), "has no rows"),
        (npy(ARRAY)[:-8], "begins like a NumPy file but is broken"),
    ],
)
def test_arrays_that_are_no_table(content, match):
    refused(content, match)


@pytest.mark.parametrize(
    ("dtype", "dense"), [(np.int64, np.uint8), (np.float64, np.float64), (np.float32, np.float32), (bool, bool)]
)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices(dtype, dense, form):
    array = (np.arange(28).reshape(7, 4) * 7 % 5 * (np.arange(4) % 2 == np.arange(7)[:, None] % 2)).astype(dtype)
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_array(array).asformat(form))
    table = read(file.getvalue())
    assert_array_equal(table.frame, array)
    assert table.frame.dtype == dense
    wide = np.zeros((7, 200), dtype)
    wide[:, 50:54] = array
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_array(wide).asformat(form))
    table, plain = read(file.getvalue()), read(npy(wide.astype(dense)))
    assert sparse.issparse(table.frame)
    assert table.frame.dtype == dense
    assert_array_equal(table.frame.toarray(), plain.frame)
    assert (table.names, table.kinds, table.decisions) == (plain.names, plain.kinds, plain.decisions)
    if dtype is not bool:
        refused(file.getvalue(), "has a missing value in row", missing=("0",), weights="x51")
        options = {"missing": ("2",), "row_names": "x0", "exclude": ("x52",)}
        table, plain = (read(content, **options) for content in (file.getvalue(), npy(wide.astype(dense))))
        assert_array_equal(table.frame, plain.frame)
        assert_array_equal(table.row_names, plain.row_names)
        assert table.decisions == plain.decisions


def test_large_sparse_matrices_take_the_memory_of_their_cells():
    """As a table this one has a hundred million cells."""
    rng = np.random.default_rng(0)
    place = (rng.integers(20_000, size=50_000), rng.integers(5000, size=50_000))
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array((np.ones(50_000, int), place), shape=(20_000, 5000)))
    tracemalloc.start()
    table = read(file.getvalue())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.frame.shape[1] > 4900
    assert peak < 30e6


def test_sparse_matrices_that_are_too_large():
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_array(([1.0], ([5], [7])), shape=(1_000_000, 100_000)))
    assert read(file.getvalue()).names == ["x7"]
    refused(file.getvalue(), "takes 800.0 GB as a table, of .* GB that are free; keep fewer", missing=("1",))


def test_sparse_matrices_with_an_index_beyond_the_table():
    file = io.BytesIO()
    matrix = sparse.csr_array(np.eye(50))
    matrix.indices[3] = 10**6
    sparse.save_npz(file, matrix)
    refused(file.getvalue(), "begins like a NumPy file but is broken")


def test_workbooks():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    refused(file.getvalue(), "is an Excel workbook; save its sheet as CSV")
    refused(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "is an Excel workbook; save its sheet as CSV")


# Errors


def test_archives():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.csv", FIVE)
    refused(file.getvalue(), "is a zip archive; unpack it")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty; give a file with a header and rows"),
        (b"\n \n", "is empty; give a file with a header and rows"),
        (b"a,b\n", "has a header and no rows"),
        (gzip.compress(FIVE.encode(), mtime=0)[:-12], "is compressed by gzip and broken; make or fetch it again"),
        (
            gzip.compress(FIVE.encode(), mtime=0)[:12] + b"abc",
            "is compressed by gzip and broken; make or fetch it again",
        ),
        (parquet(arrow())[:-20], "begins like a Parquet file but is broken; make or fetch it again"),
        (feathered(arrow())[:-20], "begins like a Feather file but is broken; make or fetch it again"),
        (b"PK\x03\x04abc", "begins like a zip file but is broken"),
        (bytes(range(256)), "is neither text nor a format that is known; save it as CSV"),
        (parquet(arrow()[:0]), "has no rows"),
    ],
)
def test_broken_files(content, match, tmp_path):
    refused(content, f"^the file {match}")
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(HicorexError, match=f"data.csv {match}"):
        read_table(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(HicorexError, match=r"data\.csv is not there; check its name and folder"):
        read_table(tmp_path / "data.csv")
    with pytest.raises(HicorexError, match="is a folder; give a file"):
        read_table(tmp_path)


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    path = tmp_path / "data.csv"
    path.write_text(FIVE)
    monkeypatch.setattr(pa, "OSFile", refuse)
    with pytest.raises(HicorexError, match=r"data\.csv may not be read; change its permissions"):
        read_table(path)


def test_a_model_takes_the_frame_and_the_kinds():
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=(200, 2))
    rows = [(f"s{i}", "uv"[a], a + rng.normal() / 9, b, b + rng.normal() / 9) for i, (a, b) in enumerate(coin)]
    table = read(lines("name,a1,a2,b1,b2", rows))
    model = Corex(2, marginals=table.kinds, n_init=2, random_state=0).fit(table.frame)
    first, second, third, fourth = model.clusters_
    assert first == second != third == fourth
    new = read_new(
        file_of(lines("b2,b1,a2,a1", [(1, 1, 0, "u")])),
        Reading(),
        dict(zip(table.names, ("text", "number", "whole number", "number"), strict=True)),
    )
    assert_array_equal(model.transform(new.frame), model.transform(table.frame)[[np.argmin(coin[:, 0] - coin[:, 1])]])


# New samples


EXPECTED = {"x": "number", "n": "whole number", "t": "text", "b": "boolean"}


def new(text, reading=None, expected=EXPECTED):
    return read_new(file_of(text), reading or Reading(), expected)


def test_new_samples_in_the_order_of_the_model():
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


def test_new_samples_of_other_types():
    frame = pa.table({"x": [1, 2], "n": [3.0, np.nan], "t": [1, 2], "b": [0, 1]})
    table = new(parquet(frame))
    assert cells(table) == {"x": [1.0, 2.0], "n": [3, None], "t": ["1", "2"], "b": [False, True]}


def test_new_samples_with_missing_values():
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
def test_new_samples_that_do_not_fit(row, match):
    with pytest.raises(HicorexError, match=match):
        new(f"x,n,t,b\n{row}\n")


def test_new_samples_that_lack_a_column():
    with pytest.raises(
        HicorexError, match="the file lacks the column 'height' that the model knows; the closest it has: 'heigth'"
    ):
        new("heigth,x\n1,2\n", expected={"height": "number", "x": "number"})


def test_new_samples_from_arrays():
    table = read_new(file_of(npy(ARRAY)), Reading(), {"x2": "number", "x0": "number"})
    assert_array_equal(table.frame, ARRAY[:, [2, 0]])
    table = read_new(file_of(npy(ARRAY.round())), Reading(), {"x2": "whole number", "x0": "number"})
    assert_array_equal(table.frame, ARRAY[:, [2, 0]].round())
    table = read_new(file_of(npy(np.eye(3, dtype=int))), Reading(missing=("1",)), {"x1": "number"})
    assert_array_equal(table.frame, [[0], [np.nan], [0]])


def test_text_of_files_with_types_stays_text():
    """Parquet says that a column is text: codes of digits are no amounts, and "NA" is a country."""
    codes = pa.array(["10", "20", "NA"] * 20)
    table = pa.table({"code": codes.dictionary_encode(), "plain": codes, "gap": ["u", None, ""] * 20, "f": range(60)})
    read_back = read(parquet(table))
    assert decision(read_back, "code") == ("categorical", "text, 3 different")
    assert decision(read_back, "plain") == ("categorical", "text, 3 different")
    assert [d.missing for d in read_back.decisions] == pytest.approx([0, 0, 2 / 3, 0])
    assert cells(read_back)["code"][:3] == ["10", "20", "NA"]
    again = read_new(io.BytesIO(parquet(table)), Reading(), {"code": "text"})
    assert again.frame.column(0).to_pylist()[:3] == ["10", "20", "NA"]


def test_usual_row_names_are_used_where_they_are():
    text = "x,who\n1,u\n2,v\n"
    assert read_new(io.BytesIO(text.encode()), Reading(), {"x": "number"}, "who").row_names.to_pylist() == ["u", "v"]
    assert read_new(io.BytesIO(b"x\n1\n2\n"), Reading(), {"x": "number"}, "who").row_names.tolist() == [0, 1]


def test_words_among_numbers_are_missing_in_new_samples_too():
    text = lines("x,y", [("unknown" if i in (3, 9) else i / 7, i % 3) for i in range(60)])
    table = read(text)
    assert table.words == {"x": ["unknown"]}
    again = read_new(file_of(text), Reading(), {"x": "number"}, words=table.words)
    assert again.frame.column(0).null_count == 2
    with pytest.raises(HicorexError, match="'unknown' is not a number"):
        read_new(file_of(text), Reading(), {"x": "number"})


def test_columns_of_unusual_types():
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
    assert found.names == ["large", "half", "long"]
    assert decision(found, "long") == ("gaussian", "whole numbers, 30 different: read as amounts")
    source = arrow_file(table)
    expected = {"large": "text", "half": "number", "long": "number", "nothing": "number"}
    again = read_new(io.BytesIO(source), Reading(), expected)
    assert again.frame.column("nothing").null_count == n
    assert_array_equal(again.frame.column("long").to_numpy(), 2.0**60 + 10.0 * np.arange(n))
    for name, what in (("list", "text"), ("bytes", "number"), ("list", "boolean")):
        with pytest.raises(HicorexError, match=f"column '{name}' holds values of type"):
            read_new(io.BytesIO(source), Reading(), {name: what})
    for name in ("list", "bytes"):
        with pytest.raises(HicorexError, match=f"Column '{name}' holds values of type .*, which cannot name rows"):
            read(source, row_names=name)


def arrow_file(table):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_long_names_of_rows_take_no_more_room_than_in_the_file():
    text = lines("id,x", [("y" * 30_000 if i == 0 else f"s{i}", i % 2) for i in range(2000)])
    assert read(text).row_names.nbytes < 200_000


def test_blank_lines_and_quotes_are_read_without_a_scan(monkeypatch):
    """A blank line, or cells of several lines, must not send the whole file through Python."""
    monkeypatch.setattr("hicorex.input.files.csv_file._Parse._fault", None)
    rows = "".join(f'"a ""{i}"" b",{i / 7}\r\n' for i in range(30))
    for text in (f"t,x\r\n{rows}\r\n\r\n", f't,x\n"two\nlines",1.5\n\n{rows}'):
        assert read(text).frame.num_rows == 30 + text.count("two")


def test_heavy_tails_are_told():
    rng = np.random.default_rng(0)
    rows = zip(np.exp(2 * rng.normal(size=500)), rng.normal(size=500), rng.random(500), strict=True)
    text = lines("income,height,share", [tuple(round(v, 6) for v in row) for row in rows])
    assert read(text).notes == ("heavy tails in 'income': read as rank, by --kinds, they may explain more",)
    assert read(text, kinds={"income": "rank"}).notes == ()
    array = np.column_stack([np.exp(2 * rng.normal(size=30_000)), rng.normal(size=30_000)])
    assert "heavy tails in 'x0':" in read(npy(array)).notes[1]


def test_blanks_around_names_do_not_part_a_model_from_its_table(tmp_path):
    """A data frame keeps them, a text file does not."""
    table = pa.table({" a": [0, 1] * 10, "b ": [0, 1] * 10, "\u2028": [1, 0] * 10})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", Reading()).names == [" a", "b ", "\u2028"]
    pacsv.write_csv(table.rename_columns([" a", "b ", "c "]), tmp_path / "t.csv")
    expected = {"c": "whole number", " a": "whole number"}
    assert read_new(tmp_path / "t.csv", Reading(), expected).frame.column_names == ["c", " a"]
