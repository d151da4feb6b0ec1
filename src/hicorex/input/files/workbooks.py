"""Workbooks: .xlsx, .xls and .ods. A sheet is read as the text that it would be saved as."""

import csv
import datetime
import io
import zipfile
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.column_names import near
from hicorex.input.files.contents import all_bytes
from hicorex.input.files.csv_file import read_text
from hicorex.input.files.dialect import TextStyle
from hicorex.input.files.extras import library
from hicorex.input.files.raw import RawTable
from hicorex.input.memory import require_text
from hicorex.input.notes import SheetOfSeveral
from hicorex.input.sources.integrity import whole

# What an archive holds that is a workbook: of Office, or of OpenDocument.
MEMBERS = ("[Content_Types].xml", "content.xml")


def holds_sheets(file: pa.NativeFile, name: str) -> bool:
    """Whether a zip archive is a workbook."""
    archive = whole(name, zipfile.ZipFile, file, form="zip")
    file.seek(0)
    return not set(MEMBERS).isdisjoint(archive.namelist())


def read_workbook(file: pa.NativeFile, name: str, style: TextStyle, texts: Collection[str] = ()) -> RawTable:
    """A sheet of a workbook: the one that is asked for, or the first that has cells."""
    calamine = library("python_calamine", "excel", f"{name} is a workbook")
    data = all_bytes(file, name)
    try:
        book = calamine.load_workbook(io.BytesIO(data))
    except calamine.PasswordError:
        raise HicorexError(f"{name} is locked by a password; save it without.") from None
    except (calamine.CalamineError, OSError):
        raise HicorexError(
            f"{name} begins like a workbook but is broken or of another kind; save it anew, or its sheet as CSV."
        ) from None
    rows, notes = whole(name, _chosen, book, name, style.sheet, form="workbook")
    decimal = style.decimal or "."
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_written(cell, decimal) for cell in row] for row in rows)
    content = text.getvalue().encode()
    require_text(f"{name}, as text,", len(content), "save it as Parquet")
    raw = read_text(pa.py_buffer(content), name, replace(style, delimiter=",", decimal=decimal, encoding=None), texts)
    return raw._replace(notes=(*notes, *raw.notes))


def _chosen(book: Any, name: str, sheet: str | None) -> tuple[list[list[Any]], tuple[SheetOfSeveral, ...]]:
    """The rows of a sheet that are not blank, and what there is to say of it."""
    titles = list(book.sheet_names)
    if sheet is not None:
        if sheet not in titles:
            close = near(sheet, titles) or titles[:3]
            raise HicorexError(f"{name} has no sheet {sheet!r}; did you mean {' or '.join(map(repr, close))}?")
        titles = [sheet]
    for title in titles:
        rows = [row for row in book.get_sheet_by_name(title).to_python() if any(cell != "" for cell in row)]
        if rows:
            several = sheet is None and len(titles) > 1
            return rows, (SheetOfSeveral(title, len(titles)),) * several
    raise HicorexError(f"{name} has no cells; give a sheet with a header and rows.")


def _written(cell: Any, decimal: str) -> str:
    """A cell as text."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell).replace(".", decimal)
    if isinstance(cell, datetime.timedelta):
        return repr(cell.total_seconds() / 86_400).replace(".", decimal)
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else str(cell)
