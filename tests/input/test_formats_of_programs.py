"""Workbooks, files of SPSS, Stata, SAS and R, JSON and AnnData are read as the same table in a text is."""

import datetime
import io
import json
import sys
import zipfile
from xml.sax.saxutils import escape

import anndata
import numpy as np
import pandas as pd
import pyreadstat
import pytest
import rdata
from numpy.testing import assert_array_equal
from scipy import sparse
from written import decision, lines, notes, read, reasons, refused

import hicorex
from hicorex import Corex, HicorexError


def table(n_rows=60):
    """Columns of every kind, as people have them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(n_rows) + 1,
            "age": rng.integers(18, 80, n_rows),
            "q1": rng.integers(1, 6, n_rows),
            "x": rng.normal(size=n_rows).round(3),
            "sex": np.where(rng.random(n_rows) < 0.5, "f", "m"),
            "when": [datetime.date(2020, 1, 1) + datetime.timedelta(days=7 * i) for i in range(n_rows)],
        }
    )
    frame.loc[3, "x"] = np.nan
    return frame


def told(read_table):
    """What was decided on each column, and the cells."""
    rows = [(own.name, str(own.kind), own.missing, own.reason) for own in read_table.decisions]
    return rows, read_table.frame.to_pandas().to_dict("list")


def as_text():
    return read(table().to_csv(index=False))


def assert_like_text(found):
    (rows, cells), (expected, expected_cells) = told(found), told(as_text())
    assert rows == expected
    for name, column in expected_cells.items():
        assert_array_equal(np.asarray(cells[name]), np.asarray(column))


def written_by(function, frame, ending, tmp_path, **options):
    function(frame, str(tmp_path / f"t.{ending}"), **options)
    return (tmp_path / f"t.{ending}").read_bytes()


def cell_of_sheet(value):
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    if isinstance(value, datetime.date):
        return f'<c s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
    return f"<c><v>{value}</v></c>"


def workbook(**sheets):
    """An .xlsx file with these sheets, each a list of rows."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    spread = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        parts = "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{spread}.worksheet+xml"/>'
            for i in range(len(sheets))
        )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
            f'PartName="/xl/workbook.xml" ContentType="{spread}.sheet.main+xml"/>{parts}</Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type="{kinds}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        names = "".join(f'<sheet name="{name}" sheetId="{i + 1}" r:id="s{i}"/>' for i, name in enumerate(sheets))
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{kinds}"><sheets>{names}</sheets></workbook>'
        )
        targets = "".join(
            f'<Relationship Id="s{i}" Type="{kinds}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(len(sheets))
        )
        styles = f'<Relationship Id="st" Type="{kinds}/styles" Target="styles.xml"/>'
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{targets}{styles}</Relationships>',
        )
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
            "</styleSheet>",
        )
        for i, rows in enumerate(sheets.values()):
            cells = "".join(f"<row>{''.join(map(cell_of_sheet, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/sheet{i}.xml", f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>'
            )
    return file.getvalue()


def open_document(rows):
    """An .ods file with one sheet."""

    def cell(value):
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return "<table:table-cell/>"
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
        if isinstance(value, datetime.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value.isoformat()}"/>'
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    names = "urn:oasis:names:tc:opendocument:xmlns"
    content = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{names}:office:1.0" xmlns:table="{names}:table:1.0" '
            f'xmlns:text="{names}:text:1.0"><office:body><office:spreadsheet><table:table table:name="one">{content}'
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        )
        archive.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest xmlns:manifest="{names}:manifest:1.0"><manifest:file-entry manifest:full-path="/" '
            'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>',
        )
    return file.getvalue()


def rows_of_sheet():
    frame = table()
    return [list(frame.columns), *frame.astype(object).to_numpy().tolist()]


def test_workbooks_are_read_as_their_sheets_would_be_as_text():
    assert_like_text(read(workbook(one=rows_of_sheet())))
    assert_like_text(read(open_document(rows_of_sheet())))


def test_the_first_sheet_with_cells_is_read_or_the_one_that_is_asked_for():
    book = workbook(empty=[], people=rows_of_sheet(), other=[["a", "b"], *[[i % 2, i + 0.5] for i in range(30)]])
    found = read(book)
    assert_like_text(found)
    assert "sheet 'people' of 3: for another one say --sheet" in notes(found)
    assert read(book, sheet="other").names == ["a", "b"]
    assert notes(read(book, sheet="other")) == ()
    with pytest.raises(HicorexError, match="has no sheet 'poeple'; did you mean 'people'"):
        read(book, sheet="poeple")
    refused(workbook(empty=[]), "has no cells")


def test_what_a_sheet_holds_beside_samples_is_seen_as_in_text():
    rows = [[None, None], ["name", "price"], *[[f"s{i}", f"${i % 40 + 1},000"] for i in range(60)], [None, None]]
    found = read(workbook(one=rows))
    assert found.frame.num_rows == 60
    assert found.decisions[1].unit == "$"
    text = [["Sales of 2020"], ["by region"], ["a", "b"], *[[i + 0.5, i % 3] for i in range(20)]]
    assert read(workbook(one=text), skip_lines=2).names == ["a", "b"]


@pytest.mark.parametrize(
    ("ending", "options"),
    [("sav", {}), ("zsav", {"compress": True}), ("dta", {}), ("dta", {"version": 8}), ("xpt", {})],
)
def test_files_of_statistics_programs_are_read_as_text_is(ending, options, tmp_path):
    write = {"dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}.get(ending, pyreadstat.write_sav)
    assert_like_text(read(written_by(write, table(), ending, tmp_path, **options)))


def test_labels_name_values_and_codes_that_mean_missing_are_missing(tmp_path):
    answers = {1.0: "never", 2.0: "seldom", 3.0: "at times", 4.0: "often", 5.0: "always"}
    labels = {"q1": answers, "age": {79.0: "oldest"}}
    content = written_by(
        pyreadstat.write_sav, table(), "sav", tmp_path, variable_value_labels=labels, missing_ranges={"age": [79]}
    )
    found = read(content)
    column = found.frame.column("q1").cast("string").to_pylist()
    assert column == [f"{code}: {answers[code]}" for code in table().q1]
    assert decision(found, "q1") == ("categorical", "text, 5 different")
    assert decision(found, "age")[0] == "gaussian"
    assert found.decisions[1].missing == pytest.approx((table().age == 79).mean())


@pytest.mark.parametrize("form", ["records", "lines", "columns", "split", "lists"])
def test_json_is_read_as_text_is(form):
    frame = table().assign(when=table().when.astype(str))
    if form == "lists":
        text = json.dumps(frame.astype(object).where(frame.notna(), None).to_dict("list"))
    else:
        text = frame.to_json(orient="records" if form == "lines" else form, lines=form == "lines")
    assert_like_text(read(text))


def test_json_that_is_no_table_is_refused_with_the_line_or_the_column():
    refused('{"a": 1, "b": 2}\n{"a": 1, "b": }\n', "line 2: Expecting value; correct that line")
    refused('[{"a": 1}, {"a": [1, 2]}]', "column 'a' holds values within values")
    refused("[[1, 2], [3, 4]]", "holds no table that is known; give a list of records")
    refused('[{"a": 1},', "line 1: .*; correct that line")
    refused("[" * 100_000, "line 1|values within values")
    refused(b'[{"a": "\xff"}]', "is not UTF-8")
    mixed = read('[{"a": 1, "b": "x"}, {"a": "none", "b": "y"}, {"b": "x"}]' + " ")
    assert mixed.names == ["a", "b"]


def test_frames_and_matrices_of_r_are_read(tmp_path):
    rdata.write_rds(tmp_path / "t.rds", table().drop(columns="when"))
    found = read((tmp_path / "t.rds").read_bytes())
    expected = read(table().drop(columns="when").to_csv(index=False))
    assert told(found)[0] == told(expected)[0]
    matrix = np.random.default_rng(0).normal(size=(20, 3))
    rdata.write_rds(tmp_path / "m.rds", matrix)
    assert_array_equal(read((tmp_path / "m.rds").read_bytes()).frame, matrix)
    rdata.write_rds(tmp_path / "l.rds", ["no table"])
    refused((tmp_path / "l.rds").read_bytes(), "no table; save a data frame or a matrix")


def annotated(X=None):
    X = np.random.default_rng(0).normal(size=(50, 4)) if X is None else X
    cells = pd.DataFrame({"batch": list("ab") * 25}, index=[f"cell{i}" for i in range(50)])
    return anndata.AnnData(X, obs=cells, var=pd.DataFrame(index=[f"gene{i}" for i in range(X.shape[1])]))


def test_annotated_data_are_read_from_files_and_objects(tmp_path):
    for X in (None, sparse.random(50, 30, 0.1, format="csr", random_state=0)):
        data = annotated(X)
        data.write_h5ad(tmp_path / "t.h5ad")
        for found in (hicorex.read_table(tmp_path / "t.h5ad"), hicorex.read_table(data)):
            assert found.names == list(data.var_names)
            assert found.row_names.to_pylist() == list(data.obs_names)
            assert "the matrix X is learned from, not 'batch' of obs" in notes(found)
            cells = found.frame.toarray() if sparse.issparse(found.frame) else found.frame
            assert_array_equal(cells, data.X.toarray() if sparse.issparse(data.X) else data.X)


def test_a_model_of_annotated_data_writes_its_results_back(tmp_path):
    cause = np.random.default_rng(0).integers(2, size=(50, 2)).repeat(3, axis=1)
    data = annotated(cause + 0.2 * np.random.default_rng(1).normal(size=(50, 6)))
    model = Corex(n_factors=2, n_states=2, random_state=0).fit(data)
    assert list(model.feature_names_in_) == list(data.var_names)
    assert_array_equal(model.alpha_, Corex(n_factors=2, n_states=2, random_state=0).fit(data.to_df()).alpha_)
    hicorex.annotate(data, model)
    assert_array_equal(data.obsm["hicorex"], model.transform(data))
    assert_array_equal(data.obsm["hicorex_log_z"], model.log_z(data))
    assert_array_equal(data.varm["hicorex_alpha"], model.alpha_)
    assert_array_equal(data.varm["hicorex_information"], model.mutual_information_)
    assert_array_equal(data.uns["hicorex"]["tcs"], model.tcs_)
    data.write_h5ad(tmp_path / "t.h5ad")
    again = anndata.read_h5ad(tmp_path / "t.h5ad")
    assert_array_equal(again.obsm["hicorex"], data.obsm["hicorex"])
    assert again.uns["hicorex"]["factors"].tolist() == ["layer1_factor0", "layer1_factor1"]
    with pytest.raises(HicorexError, match="knows 6 variables, and adata has 4"):
        hicorex.annotate(data[:, :4].copy(), model)
    with pytest.raises(HicorexError, match="writes into an AnnData object, not DataFrame"):
        hicorex.annotate(data.to_df(), model)


@pytest.mark.parametrize(
    ("start", "match"),
    [
        (b"$FL2" + bytes(200), "cannot be read as a file of SPSS"),
        (b"<stata_dta><header><release>118</release>" + bytes(100), "cannot be read as a file of Stata"),
        (bytes(12) + b"\xc2\xea\x81\x60" + bytes(300), "cannot be read as a file of SAS"),
        (b"\x89HDF\r\n\x1a\n" + bytes(200), "is no AnnData, or broken"),
        (b"X\n\0\0\0\x03" + bytes(50), "begins like a file of R but cannot be read"),
    ],
)
def test_broken_files_are_refused(start, match):
    refused(start, match)


@pytest.mark.parametrize(
    ("module", "extra", "content"),
    [
        ("python_calamine", "excel", workbook(one=[["a", "b"], [1, 2]])),
        ("pyreadstat", "spss", b"$FL2" + bytes(100)),
        ("anndata", "anndata", b"\x89HDF\r\n\x1a\n" + bytes(100)),
        ("rdata", "r", b"X\n\0\0\0\x03" + bytes(50)),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(module, extra, content, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    refused(content, rf"which {module} reads: pip install \"hicorex\[{extra}\]\"")


def test_models_of_all_formats_are_the_same(tmp_path):
    settings = {"n_factors": 2, "n_states": 2, "n_init": 1, "max_iter": 5, "random_state": 0}
    contents = [
        table().to_csv(index=False).encode(),
        workbook(one=rows_of_sheet()),
        written_by(pyreadstat.write_sav, table(), "sav", tmp_path),
        lines("", []).encode() + table().assign(when=table().when.astype(str)).to_json(orient="records").encode(),
    ]
    fits = [Corex(**settings).fit(read(content)) for content in contents]
    for other in fits[1:]:
        assert_array_equal(other.alpha_, fits[0].alpha_)
        assert_array_equal(other.tcs_, fits[0].tcs_)
    assert reasons(read(contents[1])) == reasons(read(contents[0]))
