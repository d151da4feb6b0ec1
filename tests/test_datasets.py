"""Stock prices as people have them: archives and ready tables, whole and broken. Truths are in test_package.py."""

import gzip
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hicorex import HicorexError
from hicorex.datasets import load_quantquote

DAYS = ("05", "16", "30")


def prices(months, level=10.0, days=DAYS):
    """The text of a file of daily prices, whose close grows by 1 with each day given."""
    dates = [month.replace("-", "") + day for month in months for day in days]
    return "".join(f"{date},0,9,99,1,{level + i},1000\n" for i, date in enumerate(dates))


WHOLE = ["1998-11", "1998-12", "1999-01", "1999-02"]
FILES = {
    "msft": prices(WHOLE),
    "aa": prices(WHOLE, 20.0),
    "gaps": prices(WHOLE, 40.0, days=("12",)),
    "early": prices(WHOLE[:3]),
    "late": prices(WHOLE[1:]),
    "hole": prices(WHOLE[:1] + WHOLE[2:]),
}


def folder_of(files, path):
    (path / "daily").mkdir(parents=True)
    for ticker, text in files.items():
        (path / "daily" / f"table_{ticker}.csv").write_text(text)
    (path / "readme.txt").write_text("prices\n")
    return path


def zip_of(files, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("quantquote/readme.txt", "prices\n")
        archive.writestr("__MACOSX/quantquote/daily/._table_aa.csv", b"\0\1")
        for ticker, text in files.items():
            archive.writestr(f"quantquote/daily/table_{ticker}.csv", text)
    return path


@pytest.mark.parametrize("kind", ["folder", "daily", "zip"])
def test_monthly_returns_of_companies_that_are_there_throughout(kind, tmp_path):
    path = zip_of(FILES, tmp_path / "q.zip") if kind == "zip" else folder_of(FILES, tmp_path / "q")
    found = load_quantquote(path / "daily" if kind == "daily" else path)
    assert found.feature_names == ["AA", "GAPS", "MSFT"]
    assert found.months == WHOLE[1:]
    assert found.sectors is None
    assert found.data.dtype == np.float64
    ends = np.array([[22, 40, 12], [25, 41, 15], [28, 42, 18], [31, 43, 21]])
    assert_allclose(found.data, ends[1:] / ends[:-1] - 1)


def test_lines_may_come_in_any_order(tmp_path):
    lines = FILES["aa"].splitlines(keepends=True)
    turned = {"aa": "".join(reversed(lines)), "msft": FILES["msft"].replace("\n", "\r\n")}
    found, plain = (load_quantquote(folder_of(files, tmp_path / name)) for name, files in (("a", turned), ("b", FILES)))
    assert_allclose(found.data, plain.data[:, [0, 2]])


def test_sectors_come_from_a_mapping_or_a_file(tmp_path):
    path = folder_of(FILES, tmp_path / "q")
    found = load_quantquote(path, sectors={"AA": "Materials", "MSFT": "IT", "OTHER": "IT"})
    assert found.sectors == ["Materials", None, "IT"]
    (tmp_path / "sectors.csv").write_text("ticker,sector\nAA,Materials\nGAPS,Retail\nMSFT,IT\n")
    assert load_quantquote(path, tmp_path / "sectors.csv").sectors == ["Materials", "Retail", "IT"]
    with pytest.raises(HicorexError, match="names none"):
        load_quantquote(path, sectors={"aa": "Materials"})
    assert load_quantquote(path).sectors is None
    assert load_quantquote(zip_of(FILES, tmp_path / "q.zip")).sectors == ["Materials", "Retail", "IT"]  # beside it


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("19990302,0,9\n", r"table_bad\.csv.* is broken: .*Row #13"),
        ("1999-03-02,0,9,9,9,9,9\n", r"table_bad\.csv.* is broken: .*Row #13"),
        ("19991302,0,9,9,9,9,9\n", r"table_bad\.csv.* is broken: row 12 has date 19991302"),
        ("990302,0,9,9,9,9,9\n", r"table_bad\.csv.* row 12 .*YYYYMMDD"),
        ("19990302,0,9,9,9,,9\n", r"table_bad\.csv.* is broken"),
        ("19990302,0,9,9,9,nan,9\n", r"table_bad\.csv.* is broken"),
        ("19990302,0,9,9,9,0,9\n", r"table_bad\.csv.* close 0"),
    ],
)
@pytest.mark.parametrize("make", [folder_of, zip_of])
def test_a_broken_line_is_named_with_its_file(make, line, said, tmp_path):
    with pytest.raises(HicorexError, match=said):
        load_quantquote(make(FILES | {"bad": FILES["aa"] + line}, tmp_path / "q.zip"))


@pytest.mark.parametrize("make", [folder_of, zip_of])
def test_archives_without_returns_are_refused(make, tmp_path):
    for number, (files, said) in enumerate(
        [
            ({}, r"no daily/table_<ticker>\.csv"),
            ({"aa": ""}, r"table_aa\.csv.* is broken: Empty"),
            ({"aa": prices(WHOLE[:1])}, "prices of 1998-11 alone"),
            ({"early": FILES["early"], "late": FILES["late"]}, "no company .* from 1998-11 to 1999-02"),
            ({"aa": FILES["aa"], "AA": FILES["aa"]}, "AA twice"),
        ]
    ):
        with pytest.raises(HicorexError, match=said):
            load_quantquote(make(files, tmp_path / f"{number}.zip"))


def test_what_is_no_archive_is_refused(tmp_path):
    with pytest.raises(HicorexError, match="not there"):
        load_quantquote(tmp_path / "none.zip")
    (tmp_path / "q.zip").write_bytes(b"PK\3\4 cut off")
    with pytest.raises(HicorexError, match="no zip file"):
        load_quantquote(tmp_path / "q.zip")


def test_ready_tables_are_read(tmp_path):
    text = "month,b,NA,a\n1998-02,0.25,,-0.5\n1998-03,0.5,1,0\n"
    (tmp_path / "returns.csv").write_text(text)
    (tmp_path / "monthly_returns.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "sectors.csv").write_text("ticker,sector\nA,x\nB,y\n")
    for path in ("returns.csv", "monthly_returns.csv.gz", "."):
        found = load_quantquote(tmp_path / path)
        assert found.feature_names == ["A", "B", "NA"]
        assert found.months == ["1998-02", "1998-03"]
        assert found.sectors == ["x", "y", None]
        assert_allclose(found.data, [[-0.5, 0.25, np.nan], [0, 0.5, 1]])
    assert load_quantquote(tmp_path, sectors={"A": "z"}).sectors == ["z", None, None]


@pytest.mark.parametrize("text", ["", "month,a\n", "month\n1998-02\n", "month,a\n1998-02,x\n", "month,a\n1998-02\n"])
def test_broken_tables_are_refused(text, tmp_path):
    (tmp_path / "returns.csv").write_text(text)
    with pytest.raises(HicorexError, match=r"returns\.csv is"):
        load_quantquote(tmp_path / "returns.csv")


def test_the_papers_companies_are_read(real_data):
    found = load_quantquote(real_data / "sp500")
    assert found.data.shape == (186, 388)
    assert (found.months[0], found.months[-1]) == ("1998-02", "2013-07")
    assert np.isfinite(found.data).all()
    assert found.feature_names == sorted(found.feature_names)
    assert found.sectors.count("Utilities") == 29
    assert found.sectors[found.feature_names.index("AAPL")] == "Information Technology"
