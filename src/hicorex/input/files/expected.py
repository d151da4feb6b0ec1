"""Columns of new samples as the types that a model expects."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import NOT_TICKED, ValueType, Written
from hicorex.input.files.amounts import amounts_in
from hicorex.input.files.dates import days_in
from hicorex.input.files.literals import FALSE, TRUE, numeric_markers
from hicorex.input.files.text_columns import is_text, number_pattern, numbers_of, tidy_text, values_of
from hicorex.input.times import days_of

ARROW_TYPES = {
    ValueType.NUMBER: pa.float64(),
    ValueType.WHOLE: pa.int64(),
    ValueType.BOOLEAN: pa.bool_(),
    ValueType.TEXT: pa.string(),
}
CALLED = {
    ValueType.NUMBER: "a number",
    ValueType.WHOLE: "a whole number",
    ValueType.BOOLEAN: "true or false",
    ValueType.TEXT: "text",
}


class ExpectedColumn(NamedTuple):
    """A column as a model expects it.

    type : what its values are
    called : how messages call it
    missing : markers of missing values
    decimal : the decimal sign of numbers among text, None for a point
    words : texts among numbers that stand for missing values
    written, unit : how the cells were written in the fit, and their unit
    """

    type: ValueType
    called: str
    missing: tuple[str, ...]
    decimal: str | None
    words: list[str]
    written: Written = Written.PLAIN
    unit: str = ""

    def of(self, column: pa.ChunkedArray) -> Any:
        """A column as this type; a value of another is an error that names it."""
        if self.written is Written.TICKED:
            column = self._ticks(column)
        if column.null_count == len(column):
            return pa.nulls(len(column), ARROW_TYPES[self.type])
        column = self._plain(column)
        if self.type is ValueType.TEXT:
            return tidy_text(column if is_text(column.type) else column.cast(pa.string()), self.missing).column
        if is_text(column.type):
            _, codes, _, texts = tidy_text(column, self.missing)
            if self.type is ValueType.BOOLEAN:
                return self._truths(codes, texts)
            column = self._read_numbers(codes, texts)
        return self._as_booleans(column) if self.type is ValueType.BOOLEAN else self._as_numbers(column)

    def _ticks(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Boxes that are not ticked, as the fit has them."""
        if self.type is not ValueType.TEXT:
            return column.cast(ARROW_TYPES[self.type]).fill_null(0)
        if not is_text(column.type):
            column = column.cast(pa.string())
        return pc.fill_null(pa.chunked_array([tidy_text(column, self.missing).column]).cast(pa.string()), NOT_TICKED)

    def _plain(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """A column of numbers, booleans, text or, for text, times."""
        kind = column.type
        if pa.types.is_temporal(kind) and self.written in (Written.DATE, Written.DATE_BY_DAY):
            column = pa.chunked_array([pa.array(days_of(column), from_pandas=True)])
            kind = column.type
        if pa.types.is_dictionary(kind) and not is_text(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if pa.types.is_decimal(kind):
            column, kind = column.cast(pa.float64()), pa.float64()
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if not (numeric or is_text(kind) or (self.type is ValueType.TEXT and pa.types.is_temporal(kind))):
            raise HicorexError(
                f"{self.called} holds values of type {kind}, where the model expects {CALLED[self.type]}; correct it."
            )
        return column

    def _truths(self, codes: np.ndarray, texts: pa.Array) -> pa.Array:
        values = []
        for text in texts.to_pylist():
            if text not in (*TRUE, *FALSE, "1", "0"):
                raise self._strange(text)
            values.append(text in (*TRUE, "1"))
        return pa.array(np.array([*values, False])[codes], mask=codes < 0)

    def _read_numbers(self, codes: np.ndarray, texts: pa.Array) -> pa.ChunkedArray:
        """Texts as numbers; signs such as "?" and "-" alone stand for missing ones, as the words do."""
        decimal = self.decimal or "."
        if self.written is not Written.PLAIN:
            values = self._written_numbers(texts)
            strange = np.isnan(values) & ~np.isin(texts.to_numpy(zero_copy_only=False), self.words)
            if strange.any():
                raise self._strange(texts[int(strange.argmax())])
            return values_of(codes, values)
        number = pc.match_substring_regex(texts, number_pattern(decimal)).to_numpy(zero_copy_only=False)
        bare = pc.match_substring_regex(texts, r"^[^\pL\pN]*$").to_numpy(zero_copy_only=False)
        bare = bare | np.isin(texts.to_numpy(zero_copy_only=False), self.words)
        if not (number | bare).all():
            raise self._strange(texts[int((number | bare).argmin())])
        return numbers_of(codes, texts, number, decimal)

    def _written_numbers(self, texts: pa.Array) -> np.ndarray:
        """Texts as the numbers that they were in the fit, NaN for what is none."""
        if self.written is Written.AMOUNT:
            amounts = amounts_in(texts, self.decimal, self.unit)
            return np.full(len(texts), np.nan) if amounts is None else amounts.values
        return days_in(texts, self.written is Written.DATE_BY_DAY)

    def _as_booleans(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_boolean(column.type):
            return column
        numbers = column.cast(pa.float64())
        odd = pc.invert(pc.is_in(numbers, pa.array([0.0, 1.0, None])))
        if pc.any(odd).as_py():
            raise self._strange(column.filter(odd)[0])
        return numbers.cast(pa.bool_())

    def _as_numbers(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        kind = column.type
        if pa.types.is_boolean(kind):
            raise self._strange(column.drop_null()[0])
        for marker in numeric_markers(self.missing):
            hit = pc.equal(column.cast(pa.float64(), safe=False), marker)
            if pc.any(hit).as_py():
                column = pc.if_else(hit, pa.scalar(None, kind), column)
        if self.type is ValueType.NUMBER:
            return column if pa.types.is_floating(kind) else column.cast(pa.float64(), safe=False)
        if pa.types.is_integer(kind):
            return column
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        odd = pc.not_equal(column, pc.round(column))
        if pc.any(odd).as_py():
            raise self._strange(column.filter(odd)[0])
        return column.cast(pa.int64())

    def _strange(self, value: Any) -> HicorexError:
        value = value.as_py() if isinstance(value, pa.Scalar) else value
        return HicorexError(
            f"{self.called}: {value!r} is not {CALLED[self.type]}, which the model expects; correct it, or say that it "
            "is a missing value by --missing."
        )
