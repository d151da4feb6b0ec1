"""Groups of variables, from mappings and from files as people have them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hicorex import HicorexError
from hicorex.findings.groups import groupings_of

NAMES = ["AA", "NA", "IBM", "T", "XOM", "zero", "one", "two"]


def test_a_mapping_groups_variables_by_name():
    (found,) = groupings_of(NAMES, {"AA": "metal", "IBM": "tech", "T": "tech", "else": "x", "NA": None, "XOM": np.nan})
    assert found.title == "group"
    assert found.groups == ("tech", "metal")
    assert_array_equal(found.number, [1, -1, 0, 0, -1, -1, -1, -1])


def test_a_series_has_its_name():
    (found,) = groupings_of(NAMES, pd.Series(["a", "b"], index=["AA", "T"], name="sector"))
    assert found.title == "sector"
    assert found.groups == ("a", "b")


def test_numbers_name_columns_and_groups():
    (found,) = groupings_of(["0", "1", "2"], {0: 7, 1: 7, 2: 8})
    assert found.groups == ("7", "8")


def test_a_file_gives_each_column_of_few_values(tmp_path):
    """The names are found in whichever column holds them; those of companies are no groups."""
    file = tmp_path / "sectors.csv"
    rows = ["id,ticker,company,sector,exchange"]
    rows += [
        f"{i},{name},Company {i},{'energy' if i < 3 else 'tech'},{'N' if i % 2 else 'Q'}"
        for i, name in enumerate(NAMES)
    ]
    file.write_text("\n".join([*rows, "99,unknown,Company,tech,N"]))
    found = groupings_of(NAMES, file)
    assert [one.title for one in found] == ["sector", "exchange"]
    assert found[0].groups == ("tech", "energy")
    assert_array_equal(found[0].number, [1, 1, 1, 0, 0, 0, 0, 0])
    assert groupings_of(NAMES, str(file))[1].number[0] == 0 if found[1].groups[0] == "Q" else 1


def test_a_file_may_have_semicolons_and_gaps(tmp_path):
    file = tmp_path / "groups.csv"
    file.write_text("name;group\nAA;metal\nNA;\nIBM;tech\nT;tech\n")
    (found,) = groupings_of(NAMES, file)
    assert_array_equal(found.number, [1, -1, 0, 0, -1, -1, -1, -1])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, ""])
def test_missing_groups_are_none(missing):
    (found,) = groupings_of(NAMES, {"AA": "x", "T": missing})
    assert found.groups == ("x",)
    series = pd.Series(["a", pd.NA, "b"], index=["AA", "T", "IBM"], dtype="string")
    assert groupings_of(NAMES, series)[0].groups == ("a", "b")
    assert groupings_of(NAMES, pd.Series([1, pd.NA], index=["AA", "T"], dtype="Int64"))[0].groups == ("1",)


def test_a_file_may_have_no_header(tmp_path):
    file = tmp_path / "groups.csv"
    file.write_text("AA,metal\nIBM,tech\nT,tech\n")
    (found,) = groupings_of(NAMES, file)
    assert found.groups == ("tech", "metal")
    assert found.number[0] == 1


def test_equal_groups_are_in_natural_order():
    (found,) = groupings_of(NAMES, {"AA": "grp 10", "IBM": "grp 2", "T": "grp 1", "XOM": "grp 10"})
    assert found.groups == ("grp 10", "grp 1", "grp 2")


def test_the_smallest_of_very_many_groups_become_one(tmp_path):
    names = [f"v{i}" for i in range(100)]
    groups = {name: f"g{i // 2}" for i, name in enumerate(names)}
    file = tmp_path / "groups.csv"
    file.write_text("name,group\n" + "".join(f"{name},{group}\n" for name, group in groups.items()))
    for given in (groups, file):
        (found,) = groupings_of(names, given)
        assert len(found.groups) == 36
        assert found.groups[-1] == "15 smaller groups"
        assert np.bincount(found.number).tolist() == [2] * 35 + [30]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"x": "y"}, r"groups names none of the model's variables: it has 'x', and the variables are called 'AA'"),
        (["tech", "metal"], "groups is of type list; give a mapping"),
        ("nowhere.csv", "nowhere.csv is not there"),
        (
            pd.DataFrame({"AA": ["x"]}),
            "groups is of type DataFrame; give a mapping of variables to groups, such as one",
        ),
        ({"aa": "x"}, "small and capital letters must agree"),
    ],
    ids=["no match", "a list", "no file", "a frame", "another case"],
)
def test_what_is_no_grouping_is_refused(given, told):
    with pytest.raises(HicorexError, match=told):
        groupings_of(NAMES, given)


def test_files_that_do_not_fit_are_refused(tmp_path):
    file = tmp_path / "other.csv"
    file.write_text("name,group\nx,1\ny,2\n")
    with pytest.raises(HicorexError, match=r"other.csv names none of the model's variables: it has 'x', 'y'"):
        groupings_of(NAMES, file)
    file.write_text("name\n" + "\n".join(NAMES))
    with pytest.raises(HicorexError, match="no column of groups beside the names"):
        groupings_of(NAMES, file)
    file.write_text("name,group\nAA,x\nIBM,y\nAA,z\n")
    with pytest.raises(HicorexError, match="has 'AA' twice, as 'x' and as 'z'; keep one of them"):
        groupings_of(NAMES, file)
    pd.DataFrame({"name": NAMES, "group": [[1]] * len(NAMES)}).to_parquet(tmp_path / "lists.parquet")
    with pytest.raises(HicorexError, match="no column of groups"):
        groupings_of(NAMES, tmp_path / "lists.parquet")
    file.write_text("")
    with pytest.raises(HicorexError, match="is empty"):
        groupings_of(NAMES, file)
