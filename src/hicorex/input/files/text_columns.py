"""Columns of text by their different values: trimmed, told from numbers and dates, studied once."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hicorex.input.column_kinds import NOT_TICKED, NumberForm, Resemblance
from hicorex.input.files.literals import BLANKS, NUMBER, numeric_markers, with_decimal

T = TypeVar("T")
TEXT = pa.dictionary(pa.int32(), pa.string())
AMOUNT = r"[+-]?[\d.,]+"
FORMS = {
    NumberForm.PERCENT: rf"^{AMOUNT}\s*%$",
    NumberForm.CURRENCY: rf"^[+-]?\s*[$€£¥]\s*{AMOUNT}$|^{AMOUNT}\s*[$€£¥]$",
    NumberForm.THOUSANDS: r"^[+-]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?$",
    NumberForm.DECIMAL_COMMA: r"^[+-]?\d*,\d+$",
    NumberForm.DECIMAL_POINT: r"^[+-]?\d*\.\d+$",
    NumberForm.SIGN: rf"^[<>≤≥~±]\s*{AMOUNT}$|^{AMOUNT}\s*[*†‡]+$",
    NumberForm.UNIT: rf"^{AMOUNT}\s*[A-Za-zµ°]{{1,6}}(/[A-Za-z]{{1,4}})?$",
    NumberForm.BRACKETS: rf"^\({AMOUNT}\)$",
    NumberForm.PRINTED_MINUS: rf"^[\x{{2212}}\x{{2013}}]\s*{AMOUNT}$",
}
# What is no strange form in a file with this decimal sign.
USUAL_FORM = {",": NumberForm.DECIMAL_COMMA, ".": NumberForm.DECIMAL_POINT}
# Of the texts that are no numbers among others that are, the first are kept.
EXCEPTIONS = 4


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, as it is or as a dictionary."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


class Texts(NamedTuple):
    """A column of text.

    column : as a dictionary
    codes : the code of each row, -1 where missing
    counts : the number of rows of each code
    different : the text of each code
    """

    column: pa.Array
    codes: np.ndarray
    counts: np.ndarray
    different: pa.Array


def tidy_text(column: pa.ChunkedArray, missing: tuple[str, ...]) -> Texts:
    """A column of text without blanks around, without markers of missing values and texts that do not occur."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    elif column.num_chunks > 1:
        column = column.unify_dictionaries()
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    codes, given = whole.indices, whole.dictionary
    if codes.type != pa.int32():
        codes = codes.cast(pa.int64())
    if given.type != pa.string():
        given = given.cast(pa.string())
    codes = codes.fill_null(-1).to_numpy() if codes.null_count else codes.to_numpy()
    counts = np.bincount(codes.astype(np.intp) + 1, minlength=len(given) + 1)[1:]
    texts, gone, clean = once(_trim, given, missing)
    if clean and counts.all():
        return Texts(from_codes(codes, given) if whole.type != TEXT else whole, codes, counts, given)
    gone = gone | (counts == 0)
    kept = pc.unique(texts.filter(pa.array(~gone))).drop_null()
    place = pc.index_in(texts, kept).fill_null(-1).to_numpy().astype(np.int32)
    place[gone] = -1
    codes = np.where(codes >= 0, place[codes], np.int32(-1))
    counts = np.bincount(codes.astype(np.intp) + 1, minlength=len(kept) + 1)[1:]
    return Texts(from_codes(codes, kept), codes, counts, kept)


_ANSWERS: dict[tuple[Any, ...], Any] = {}


def once(study: Callable[..., T], texts: pa.Array, *options: Any) -> T:
    """What a study says of some texts; texts that many columns share are studied once."""
    if len(texts) > 50:
        return study(texts, *options)
    key = (study, tuple(texts.to_pylist()), options)
    if key not in _ANSWERS:
        if len(_ANSWERS) > 1000:
            _ANSWERS.clear()
        _ANSWERS[key] = study(texts, *options)
    return _ANSWERS[key]


def _trim(given: pa.Array, missing: tuple[str, ...]) -> tuple[pa.Array, np.ndarray, bool]:
    """The texts without blanks around, which are markers of missing values, and whether nothing changes."""
    texts = pc.utf8_trim(given, BLANKS)
    gone = pc.is_in(texts, pa.array(missing, pa.string())).to_numpy(zero_copy_only=False)
    markers = numeric_markers(missing)
    if markers.size:
        number = pc.match_substring_regex(texts, f"^{NUMBER}$").fill_null(False).to_numpy(zero_copy_only=False)
        gone[number] |= np.isin(to_floats(texts.filter(pa.array(number))), markers)
    return texts, gone, not (gone.any() or given.null_count) and texts.equals(given)


def from_codes(codes: np.ndarray, values: pa.Array) -> pa.Array:
    """The dictionary column of some codes, -1 for missing."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), values)


def to_floats(texts: pa.Array, decimal: str = ".") -> np.ndarray:
    """Texts that are known to be numbers as numbers."""
    texts = pc.replace_substring(pc.utf8_ltrim(texts, "+"), decimal, ".")
    return texts.cast(pa.float64()).to_numpy(zero_copy_only=False)


def numbers_in(texts: pa.Array, decimal: str | None) -> np.ndarray:
    """Which texts are numbers; the search ends once more than three of the first are none."""
    if decimal is None:
        return np.zeros(len(texts), bool)
    pattern = number_pattern(decimal)
    first = pc.match_substring_regex(texts[:200], pattern).to_numpy(zero_copy_only=False)
    if np.count_nonzero(~first) > 3:
        return np.zeros(len(texts), bool)
    return pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)


def numbers_of(codes: np.ndarray, texts: pa.Array, number: np.ndarray, decimal: str) -> pa.ChunkedArray:
    """A column of text as numbers, whole ones if all are; texts that are none are missing."""
    values = np.zeros(len(texts) + 1)
    values[:-1][number] = to_floats(texts.filter(pa.array(number)), decimal)
    absent = ~np.append(number, False)[codes]
    whole = bool((np.abs(values) < 2**53).all() and (values == np.rint(values)).all())
    digits = whole and pc.all(pc.match_substring_regex(texts.filter(pa.array(number)), r"^[+-]?\d+$")).as_py()
    return pa.chunked_array([pa.array(values[codes].astype(np.int64) if digits else values[codes], mask=absent)])


def values_of(codes: np.ndarray, values: np.ndarray) -> pa.ChunkedArray:
    """The column of the numbers that the texts of some codes stand for; NaN and no code are missing."""
    column = np.append(values, np.nan)[codes]
    absent = np.isnan(column)
    known = values[~np.isnan(values)]
    if (np.abs(known) < 2**53).all() and (known == np.rint(known)).all():
        return pa.chunked_array([pa.array(np.where(absent, 0, column).astype(np.int64), mask=absent)])
    return pa.chunked_array([pa.array(column, mask=absent)])


def ticks(codes: np.ndarray, texts: pa.Array) -> pa.Array:
    """Boxes that hold one text or nothing, as one of two texts."""
    values = pa.array([texts[0].as_py(), NOT_TICKED], pa.string())
    return from_codes(np.where(codes < 0, 1, 0), values)


def resemblance(texts: pa.Array, counts: np.ndarray, decimal: str | None) -> Resemblance | None:
    """What at least nine in ten of the texts look like; of many different ones the first are enough."""
    texts, counts = texts[:1000], counts[:1000]
    enough = 0.9 * counts.sum()
    number, of_form = once(_forms, texts)
    if decimal is not None and number.any() and not number.all() and counts[number].sum() >= enough:
        others = texts.filter(pa.array(~number))[:EXCEPTIONS].to_pylist()
        return Resemblance(NumberForm.MOSTLY_PLAIN, tuple(others))
    for form, those in of_form.items():
        if form is not USUAL_FORM.get(decimal or "") and counts[those | number].sum() >= enough:
            return Resemblance(form)
    return None


def number_pattern(decimal: str) -> str:
    """The pattern of a text that is a number with this decimal sign."""
    return with_decimal(f"^{NUMBER}$", decimal)


def _forms(texts: pa.Array) -> tuple[np.ndarray, dict[NumberForm, np.ndarray]]:
    """Which texts are numbers, and which look like something else that is one."""
    match: Callable[..., Any] = pc.match_substring_regex
    number = match(texts, f"^{NUMBER}$").to_numpy(zero_copy_only=False)
    of_form = {form: match(texts, pattern).to_numpy(zero_copy_only=False) & ~number for form, pattern in FORMS.items()}
    return number, {form: those for form, those in of_form.items() if those.any()}
