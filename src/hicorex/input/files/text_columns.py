"""Columns of text by their different values: trimmed, told from numbers and dates, studied once."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hicorex.input.files.csv_file import BLANKS, NUMBER

TEXT = pa.dictionary(pa.int32(), pa.string())
TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|[+-]\d{2}:?\d{2}))?)?"
DATE = rf"^(\d{{1,2}}([./-])\d{{1,2}}[./-](\d{{4}}|\d{{2}})|\d{{4}}[./-]\d{{1,2}}[./-]\d{{1,2}}){TIME}$"
AMOUNT = r"[+-]?[\d.,]+"
LOOKS = {
    "numbers with a per cent sign; take the sign away": rf"^{AMOUNT}\s*%$",
    "amounts with a currency sign; take the sign away": rf"^[+-]?\s*[$€£¥]\s*{AMOUNT}$|^{AMOUNT}\s*[$€£¥]$",
    "numbers with thousands separators; write them without": r"^[+-]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?$",
    "numbers with a decimal comma; say --decimal ,": r"^[+-]?\d*,\d+$",
    "numbers with a decimal point; say --decimal .": r"^[+-]?\d*\.\d+$",
    "numbers with a sign such as < or *; take the sign away": rf"^[<>≤≥~±]\s*{AMOUNT}$|^{AMOUNT}\s*[*†‡]+$",
    "numbers with a unit; take the unit away": rf"^{AMOUNT}\s*[A-Za-zµ°]{{1,6}}(/[A-Za-z]{{1,4}})?$",
    "numbers in brackets; take the brackets away": rf"^\({AMOUNT}\)$",
    "numbers with a minus sign of print; write -": rf"^[\x{{2212}}\x{{2013}}]\s*{AMOUNT}$",
}


def numeric_markers(markers: Iterable[str]) -> np.ndarray:
    """Those of the markers that are numbers."""
    numbers = [marker.strip() for marker in markers if re.fullmatch(NUMBER, marker.strip())]
    return np.array([float(number) for number in numbers])


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, as it is or as a dictionary."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


class Texts(NamedTuple):
    """A column of text: as a dictionary, as codes (-1: missing), how often each occurs, the different texts."""

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


_ANSWERS: dict[tuple, Any] = {}


def once(study: Callable, texts: pa.Array, *options: Any) -> Any:
    """What a study says of some texts; many columns have the same few, which are studied once."""
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
    """Which texts are numbers; looked at no further once more than three of the first are none."""
    if decimal is None:
        return np.zeros(len(texts), bool)
    pattern = f"^{NUMBER}$".replace(r"\.", re.escape(decimal))
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


def is_dates(texts: pa.Array) -> bool:
    """Whether all of the texts look like dates."""
    match: Callable = pc.match_substring_regex
    return pc.all(match(texts[:50], DATE)).as_py() and pc.all(match(texts, DATE)).as_py()


def looks_like(texts: pa.Array, counts: np.ndarray, decimal: str | None) -> str:
    """What at least nine in ten of the texts look like; of many different ones the first are enough."""
    texts, counts = texts[:1000], counts[:1000]
    enough = 0.9 * counts.sum()
    number, like = once(_looks, texts)
    if decimal is not None and number.any() and not number.all() and counts[number].sum() >= enough:
        strange = texts.filter(pa.array(~number)).to_pylist()
        shown = ", ".join(repr(text[:20]) for text in strange[:3]) + (", ..." if len(strange) > 3 else "")
        return f"; looks like numbers but for {shown}: correct these, or name them by --missing"
    for what, those in like.items():
        if not what.endswith(f"--decimal {decimal}") and counts[those | number].sum() >= enough:
            return f"; looks like {what}"
    return ""


def _looks(texts: pa.Array) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which texts are numbers, and which look like something else that is one."""
    match: Callable = pc.match_substring_regex
    number = match(texts, f"^{NUMBER}$").to_numpy(zero_copy_only=False)
    like = {what: match(texts, pattern).to_numpy(zero_copy_only=False) & ~number for what, pattern in LOOKS.items()}
    return number, {what: those for what, those in like.items() if those.any()}
