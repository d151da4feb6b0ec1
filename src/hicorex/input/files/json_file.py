"""Tables as JSON: a list of records, a record a line, or a list or mapping of values for each column."""

import json
import re
from typing import Any

import pyarrow as pa

from hicorex.exceptions import HicorexError

# How a text begins that is JSON, and no table of fields.
BEGINS = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*[\[{]|\{\s*"|\{\s*\}|\[\s*\])')
SHAPES = "a list of records, a record a line, or a list of values for each column"


def is_json(start: bytes) -> bool:
    r"""Whether a text that begins so is JSON.

    >>> is_json(b' [{"a": 1}]'), is_json(b'{"a": 1}\n'), is_json(b"a,b\n1,2\n"), is_json(b"[a],b\n")
    (True, True, False, False)
    """
    return BEGINS.match(start) is not None


def read_json(data: pa.Buffer, name: str) -> pa.Table:
    """The columns of a JSON text, those of records in the order in which they come first."""
    try:
        text = memoryview(data).tobytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HicorexError(f"{name} is not UTF-8, as JSON has to be; save it anew.") from None
    try:
        columns = _columns(_parsed(text, name), name)
    except RecursionError:
        raise HicorexError(f"{name} holds values within values; give each a column of its own.") from None
    return pa.table({title: _column(values, title, name) for title, values in columns.items()})


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise HicorexError(f"{name}, line {error.lineno}: {error.msg}; correct that line.") from None
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise HicorexError(f"{name}, line {number}: {error.msg}; correct that line.") from None
    return records


def _columns(held: Any, name: str) -> dict[str, list]:
    if (
        isinstance(held, dict)
        and isinstance(held.get("data"), list)
        and set(held) <= {"columns", "index", "data", "schema"}
    ):
        titles, held = held.get("columns"), held["data"]
        if isinstance(titles, list) and all(isinstance(row, list) and len(row) == len(titles) for row in held):
            return {str(title): [row[at] for row in held] for at, title in enumerate(titles)}
    if isinstance(held, dict):
        # As pandas writes a frame: a mapping from rows to values for each column.
        columns = {title: list(own.values()) if isinstance(own, dict) else own for title, own in held.items()}
        if (
            columns
            and all(isinstance(own, list) for own in columns.values())
            and len({*map(len, columns.values())}) == 1
        ):
            return columns
        held = [held]
    if not held or not all(isinstance(record, dict) for record in held):
        raise HicorexError(f"{name} holds no table that is known; give {SHAPES}.")
    titles = list(dict.fromkeys(title for record in held for title in record))
    return {title: [record.get(title) for record in held] for title in titles}


def _column(values: list, title: str, name: str) -> pa.Array:
    if any(isinstance(value, dict | list) for value in values):
        raise HicorexError(f"{name}: column {title!r} holds values within values; give each a column of its own.")
    kinds = {type(value) for value in values} - {type(None)}
    if str in kinds and len(kinds) > 1:
        # Numbers beside words, as in any text.
        values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    try:
        return pa.array([float(value) if kinds == {int, float} and value is not None else value for value in values])
    except (pa.ArrowException, OverflowError):
        raise HicorexError(f"{name}: column {title!r} mixes types; make it all numbers or all text.") from None
