"""What the user says of columns: which are used, their kinds, names of rows and weights."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from written import decision, lines, read, refused

ROWS = lines("name,g1,g2,h1,w", [(f"s{i}", i + 0.5, 2 * i + 0.5, i % 3, 1 + i % 2) for i in range(30)])


def test_columns_are_used_and_excluded_by_name_or_pattern():
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


def test_kinds_are_given_by_name_before_pattern():
    table = read(ROWS, kinds={"h1": "gaussian", "?1": "categorical", "g*": "rank", "name": "categorical"})
    assert table.kinds == ["categorical", "rank", "rank", "gaussian", "categorical"]


def test_kinds_that_do_not_fit_are_refused():
    refused(
        ROWS, "Column 'name' holds text and cannot be rank; make it categorical or leave it out", kinds={"name": "rank"}
    )
    refused(ROWS, "kinds gives 'g1' the kind 'normal'; use one of gaussian, rank, categorical", kinds={"g1": "normal"})


def test_columns_hold_names_of_rows_and_weights_when_asked():
    table = read(ROWS, row_names="h1", weights="w")
    assert_array_equal(table.row_names, np.arange(30) % 3)
    assert_array_equal(table.sample_weight, 1 + np.arange(30) % 2)
    assert table.names == ["g1", "g2"]
    assert decision(table, "h1") == ("row names", "asked for")
    assert decision(table, "w") == ("weights", "whole numbers: how many times each row counts")
    fractions = read(ROWS, weights="g1")
    worth = fractions.sample_weight.sum() ** 2 / (fractions.sample_weight**2).sum()
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
        f"--{option.replace('_', '-')} names column 'gg1', which the file does not have: did you mean 'g1'",
        **{option: given},
    )


def test_patterns_that_match_nothing_are_refused():
    refused(
        ROWS, r"use names column 'q\*', which the file does not have; it has 'name', 'g1', 'g2' and others", use=("q*",)
    )


def test_a_table_with_nothing_to_learn_from_is_refused():
    refused("a,b\n1,\n1,\n", "has no column to learn from: 'a': ignored, constant; 'b': ignored, empty")
    refused("a,b\n1,2\n", "has no column to learn from: it has one row, and at least two are needed", header=True)
