"""Columns and types that the files of a table have in common."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.sources.table_files import TableFile


def common_schema(parts: Sequence[TableFile], order: Sequence[str] | None) -> pa.Schema:
    """The columns that all files have, each of a type that holds the values of all."""
    first = parts[0]
    names = first.schema.names
    types = dict(zip(names, first.schema.types, strict=True))
    for at, part in enumerate(parts):
        held = part.schema.names
        check_names(part.name, held)
        for column in sorted({*held} ^ {*names}, key=[*names, *held].index):
            raise column_differs(part, first, column, column in held)
        for column, given in zip(held, part.schema.types, strict=True):
            if given == types[column]:
                continue
            wide = _wider(types[column], given)
            if wide is None and not part.is_blank(column):
                if not all(before.is_blank(column) for before in parts[:at]):
                    raise HicorexError(
                        f"{part.name} has column {column!r} as {given}, the files before as {types[column]}; "
                        f"write it again with {types[column]}."
                    )
                wide = given
            types[column] = wide or types[column]
    for column in order or ():
        if column not in types:
            raise HicorexError(
                f"{first.name} has no column {column!r}, which the dataset has; add it, or leave it out."
            )
    return pa.schema([(column, types[column]) for column in order or names], first.schema.metadata)


def column_differs(part: TableFile, first: TableFile, column: str, extra: bool) -> HicorexError:
    """Why files of different columns are no table."""
    return HicorexError(
        f"{part.name} has a column {column!r} that {first.name} has not; write it again without that column."
        if extra
        else f"{part.name} has no column {column!r}, which {first.name} has; write it again with that column."
    )


def check_names(name: str, columns: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    if len(set(columns)) < len(columns):
        twice = next(column for at, column in enumerate(columns) if column in columns[:at])
        raise HicorexError(f"{name} has two columns of the name {twice!r}; rename one of them.")


def _wider(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both, None if there is none of the same kind."""
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if pa.types.is_null(one) or (pa.types.is_dictionary(one) and pa.types.is_null(one.value_type)):
            return other
    if pa.types.is_dictionary(a) and pa.types.is_dictionary(b):
        index, value = _wider(a.index_type, b.index_type), _wider(a.value_type, b.value_type)
        return None if index is None or value is None else pa.dictionary(index, value, a.ordered and b.ordered)
    for one, other in ((a, b), (b, a)):
        if pa.types.is_dictionary(one):
            return _wider(one.value_type, other)
    if _is_text(a) and _is_text(b):
        return pa.large_string() if pa.types.is_large_string(a) or pa.types.is_large_string(b) else pa.string()
    for is_kind, kinds in ((pa.types.is_integer, "iu"), (pa.types.is_floating, "f")):
        if is_kind(a) and is_kind(b):
            wide = np.promote_types(a.to_pandas_dtype(), b.to_pandas_dtype())
            return pa.from_numpy_dtype(wide) if wide.kind in kinds else None
    return None


def _is_text(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def width(kind: pa.DataType) -> int | None:
    """The number of bits of a value, None if it varies."""
    if pa.types.is_dictionary(kind):
        return kind.index_type.bit_width
    try:
        return kind.bit_width
    except ValueError:
        return None


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns in the order and of the types of the schema."""
    columns = []
    for field in schema:
        column = table.column(field.name)
        if column.type != field.type:
            blank = column.null_count == len(column)
            column = pa.chunked_array([pa.nulls(len(column), field.type)]) if blank else column.cast(field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)
