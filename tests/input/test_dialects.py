"""Tables as text: every dialect, the values that come out, and errors that name the line."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from written import FIVE, assert_five, cells, decision, lines, notes, read, read_for, refused

from hicorex import HicorexError
from hicorex.input.files import Reading
from hicorex.input.files.literals import BLANKS, MISSING


def test_quoted_cells_lose_their_quotes_and_keep_those_within():
    table = read('a,b\n"x, ""y""",1.5\n"z",2.5\n"x, ""y""",3.5\n')
    assert cells(table) == {"a": ['x, "y"', "z", 'x, "y"'], "b": [1.5, 2.5, 3.5]}
    assert decision(table, "a") == ("categorical", "text, 2 different")
    assert decision(table, "b") == ("gaussian", "numbers")


def test_a_byte_order_mark_is_no_part_of_the_first_name():
    assert_five(read(FIVE, "utf-8-sig"))


def test_utf_16_is_known_by_its_mark():
    table = read(FIVE.replace("v", "ü"), "utf-16")
    assert cells(table)["group"] == list("uüuüu")
    assert notes(table) == ("read as UTF-16",)


def test_text_that_is_not_utf_8_is_read_as_windows_1252():
    table = read(FIVE.replace("v", "ü€").replace("group", "größe"), "cp1252")
    assert cells(table)["größe"] == ["u", "ü€", "u", "ü€", "u"]
    assert notes(table) == ("not UTF-8: read as Windows-1252",)


def test_windows_1252_is_noticed_beyond_the_head_of_the_file():
    text = "group,x\n" + "u,1.5\n" * 300_000 + "ü,2.5\n"
    table = read(text, "cp1252")
    assert cells(table)["group"][-2:] == ["u", "ü"]
    assert notes(table)[:1] == ("not UTF-8: read as Windows-1252",)


def test_a_given_encoding_is_used_or_refused():
    assert cells(read("a,b\nж,1\nи,2\nж,1\n".encode("cp1251"), encoding="cp1251"))["a"] == ["ж", "и", "ж"]
    refused("a,b\nж,1\n".encode("cp1251"), "not in the encoding utf-8", encoding="utf-8")
    refused("a,b\n", "encoding 'cp9' is not known", encoding="cp9")


def test_semicolons_and_decimal_commas_are_found_out():
    table = read("a;b\n1,5;x\n2,5;y,z\n-0,5e1;x\n")
    assert cells(table) == {"a": [1.5, 2.5, -5.0], "b": ["x", "y,z", "x"]}
    assert notes(table) == ("delimiter ';', decimal comma",)


@pytest.mark.parametrize(("delimiter", "sign"), [(";", "."), (";", ","), (",", ".")])
def test_fractions_that_may_be_thousands_are_told(delimiter, sign):
    rows = [("1S258", "0S5", "1S500"), ("919", "0S125", "2S000"), ("2S001", "3", "0S750"), ("12S345", "7S250", "1S125")]
    text = "\n".join(delimiter.join(row).replace("S", sign) for row in [("a", "b", "c"), *rows])
    table = read(text + "\n")
    assert cells(table)["a"] == [1.258, 919, 2.001, 12.345]
    (told,) = [note for note in notes(table) if "thousands" in note]
    assert told.startswith(f"column 'a': 1{sign}258 beside 919 is read as a fraction; ")


def test_semicolons_go_with_decimal_points_too():
    table = read(FIVE.replace(",", ";"))
    assert_five(table)
    assert notes(table) == ("delimiter ';'",)


@pytest.mark.parametrize(("sign", "called"), [("\t", "tab"), ("|", "'|'")])
def test_tabs_and_bars_are_found_out(sign, called):
    table = read(FIVE.replace(",", sign))
    assert_five(table)
    assert notes(table) == (f"delimiter {called}",)


def test_a_given_delimiter_is_used_or_refused():
    assert_five(read(FIVE.replace(",", ":"), delimiter=":"))
    refused(FIVE, "delimiter is '::'", delimiter="::")
    refused(FIVE, "decimal is ';'", decimal=";")


def test_line_ends_may_be_mixed_and_lines_blank():
    assert_five(read("group,x\r\nu,1.5\rv,2.5\n\n  \nu,3.25\r\n\r\nv,4\nu,5"))


def test_a_quoted_cell_may_have_several_lines():
    rows = [(f"line {i % 3}\nsecond, {i % 3}", i + 0.5) for i in range(20_000)]
    for size in (20, 20_000):
        short = io.StringIO()
        csv.writer(short).writerows([("a", "b"), *rows[:size]])
        table = read(short.getvalue())
        assert cells(table) == {"a": [a for a, _ in rows[:size]], "b": [b for _, b in rows[:size]]}
    assert decision(table, "a") == ("categorical", "text, 3 different")


def test_lines_of_numbers_have_no_header_unless_it_is_said():
    table = read("1,2.5\n2,3.5\n2,4.5\n")
    assert cells(table) == {"x0": [1, 2, 2], "x1": [2.5, 3.5, 4.5]}
    assert notes(table) == ("no header: columns are called x0, x1, ...; if the first line holds names, say --header",)
    assert read("2001,2002\n1.5,2.5\n2.5,3.5\n", header=True).names == ["2001", "2002"]
    assert cells(read("u,v\nw,v\nu,w\n", header=False)) == {"x0": ["u", "w", "u"], "x1": ["v", "v", "w"]}


def test_fractions_above_numbers_are_no_header():
    table = read("5.1,3.5,setosa\n4.9,3.1,setosa\n4.9,3.0,virginica\n")
    assert cells(table) == {"x0": [5.1, 4.9, 4.9], "x1": [3.5, 3.1, 3.0], "x2": ["setosa", "setosa", "virginica"]}


def test_years_beside_a_name_are_a_header():
    table = read("gene,2001,2002\na,1.5,2\nb,2.5,3\n")
    assert table.names == ["2001", "2002"]
    assert table.row_title == "gene"


def test_a_blank_first_name_marks_names_of_rows():
    table = read('"","a","b"\n"r1",1,2.5\n"r1",2,3.5\n"r3",1,NA\n')
    assert cells(table) == {"a": [1, 2, 1], "b": [2.5, 3.5, None]}
    assert_array_equal(table.row_names, ["r1", "r1", "r3"])
    assert table.row_title == "row"
    assert decision(table, "row") == ("row names", "marked as such by the file")


@pytest.mark.parametrize("sign", [",", " ", "\t"])
def test_a_header_one_shorter_marks_names_of_rows(sign):
    table = read('"a" "b"\n"r1" 1 2.5\n"r2" 2 3.5\n"r3" 1 NA\n'.replace(" ", sign))
    assert cells(table) == {"a": [1, 2, 1], "b": [2.5, 3.5, None]}
    assert_array_equal(table.row_names, ["r1", "r2", "r3"])
    assert notes(table)[-1] == "the header is one field shorter than the rows: the first column holds names of rows"


def test_delimiters_at_the_ends_of_lines_make_an_empty_column():
    table = read("a,b\nu,1.5,\nv,2.5,\nu,3.5,\n")
    assert cells(table) == {"a": ["u", "v", "u"], "b": [1.5, 2.5, 3.5]}
    assert decision(table, "column3") == ("ignored", "empty")


def test_blank_and_duplicated_names_become_names_that_differ():
    table = read("a,,a,a_2,a\n" + "1.5,2.5,3.5,4.5,5.5\n2,3,4,5,6\n")
    assert table.names == ["a", "column2", "a_3", "a_2", "a_4"]
    assert notes(table) == (
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
def test_lines_of_any_length_are_read():
    width = 60_000
    values = np.arange(3 * width).reshape(3, width) + 0.123456789
    text = ",".join(f"g{i}" for i in range(width)) + "\n" + "\n".join(",".join(map(str, row)) for row in values)
    table = read(text)
    assert len(table.names) == len(table.decisions) == width
    assert set(table.kinds) == {"gaussian"}
    for at in (0, 777, width - 1):
        assert table.frame.column(at).to_pylist() == values[:, at].tolist()


def test_types_of_a_wide_table_may_change_further_down():
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
    table = read_for(text.getvalue(), dict.fromkeys(names, "text"), reading=Reading(delimiter=delimiter))
    trimmed = [[None if cell.strip(BLANKS) in MISSING else cell.strip(BLANKS) for cell in row] for row in rows]
    assert [list(row.values()) for row in table.frame.to_pylist()] == trimmed


def test_blank_lines_and_quotes_are_read_without_a_scan(monkeypatch):
    """A blank line, or cells of several lines, must not send the whole file through Python."""
    monkeypatch.setattr("hicorex.input.files.csv_file.CellReader._fault", None)
    rows = "".join(f'"a ""{i}"" b",{i / 7}\r\n' for i in range(30))
    for text in (f"t,x\r\n{rows}\r\n\r\n", f't,x\n"two\nlines",1.5\n\n{rows}'):
        assert read(text).frame.num_rows == 30 + text.count("two")
