"""Files of SPSS, Stata and SAS, with the labels of their values; codes that they call missing are missing."""

import io
from typing import Any

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.files.contents import all_bytes
from hicorex.input.files.extras import library
from hicorex.input.memory import require_table
from hicorex.input.sources.signatures import FileFormat

# What reads a format, and what messages call it.
READERS = {
    FileFormat.SPSS: ("read_sav", "SPSS"),
    FileFormat.STATA: ("read_dta", "Stata"),
    FileFormat.SAS: ("read_sas7bdat", "SAS"),
    FileFormat.SAS_TRANSPORT: ("read_xport", "SAS transport"),
}


def read_statistics_file(file: pa.NativeFile, name: str, form: FileFormat) -> pa.Table:
    """The table of a file of SPSS, Stata or SAS."""
    reader, called = READERS[form]
    pyreadstat = library("pyreadstat", "spss", f"{name} is of {called}")
    data = all_bytes(file, name)
    try:
        columns, meta = getattr(pyreadstat, reader)(io.BytesIO(data), output_format="dict")
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # which depends on what is broken
        reason = " ".join(str(error).split()) or type(error).__name__
        raise HicorexError(f"{name} cannot be read as a file of {called}: {reason}; save it anew.") from None
    require_table(f"{name}, read at once,", sum(8 * len(column) for column in columns.values()), "give fewer columns")
    labels = meta.variable_value_labels
    return pa.table({title: _column(column, labels.get(title) or {}, title) for title, column in columns.items()})


def _column(values: Any, labels: dict[Any, str], title: str) -> pa.Array:
    """A column; where each value has a label, these are its values, after the codes, which keep their order."""
    try:
        column = whole_numbers(pa.array(values, from_pandas=True))
    except (pa.ArrowException, OverflowError):
        raise HicorexError(f"Column {title!r} mixes types; make it all numbers or all text.") from None
    codes = column.unique().drop_null()
    known = {_code(code): label for code, label in labels.items() if str(label).strip()}
    present = [_code(code) for code in codes.to_pylist()]
    if len(present) < 2 or not all(code in known for code in present):
        return column
    width = max(len(str(code)) for code in present)
    named = [f"{str(code).rjust(width, '0') if isinstance(code, int) else code}: {known[code]}" for code in present]
    place = {code: at for at, code in enumerate(present)}
    at = [None if code is None else place[_code(code)] for code in column.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(at, pa.int32()), pa.array(named, pa.string()))


def _code(value: Any) -> Any:
    return int(value) if isinstance(value, float | np.floating) and float(value).is_integer() else value


def whole_numbers(column: pa.Array) -> pa.Array:
    """A column of floats as integers if all of its values are whole, as they would be in a text.

    >>> whole_numbers(pa.array([1.0, None, 3.0])).to_pylist(), whole_numbers(pa.array([0.5])).to_pylist()
    ([1, None, 3], [0.5])
    """
    if not pa.types.is_floating(column.type) or column.null_count == len(column):
        return column
    values = column.drop_null().to_numpy()
    are_whole = np.isfinite(values).all() and (values == np.rint(values)).all() and np.abs(values).max() < 2**53
    return column.cast(pa.int64()) if are_whole else column
