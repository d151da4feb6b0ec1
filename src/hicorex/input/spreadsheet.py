"""Text in CSV files that a spreadsheet shows and does not run, and how it is read back.

A spreadsheet runs a cell that begins with one of a few signs. Where it splits cells at semicolons, tabs or line ends,
as it does in many countries, a cell may begin in the middle of a text. There the text gets one more apostrophe.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
# What a spreadsheet may pass over before the sign.
BLANKS = "(?:(?![\\t\\r\\n])[\\s\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u2060\ufeff])*"
# A number does nothing.
NUMBER = r"[+-](?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[;\t\r\n]|\Z)"
FORMULA = f"'*{BLANKS}(?!{NUMBER})[{SIGNS}]"
START, WITHIN = r"\A", r"(?<=[;\t\r\n])"
RUN = re.compile(f"{START}(?={FORMULA}|'*[\\t\\r\\n])|{WITHIN}(?={FORMULA})")
GUARDED = re.compile(f"{START}'(?={FORMULA}|'*[\\t\\r\\n])|{WITHIN}'(?={FORMULA})")
# Quick, of all texts that may have such a place: what they have before the sign is no letter or digit.
SUSPECT = f"(?:^|[;\\t\\r\\n])[^A-Za-z0-9]*[{SIGNS}]|^'*[\\t\\r\\n]"
# The titles of the files that we write; of labels and samples the first is that of the rows.
COLUMNS = ("column", "kind", "missing", "why")
FACTORS = (
    "factor",
    "layer",
    "states",
    "explains",
    "contribution",
    "contribution_stderr",
    "information",
    "reproducibility",
    "n_variables",
    "top_variables",
)
STRUCTURE = (
    *("variable", "factor", "layer", "alpha", "mutual_information", "weight", "cluster", "p_value", "q_value"),
    *("communality", "stability"),
)
PAIRS = ("variable", "other", "kind", "information", "gain")
SAMPLES = (
    *("total_correlation", "surprise", "most_surprised_factor", "factor_surprise"),
    *("surprisal", "odd_values", "odd_combination", "unusual"),
)
# Of what is known from elsewhere: traits, groups of variables, groups of samples, other samples, another model.
ASSOCIATIONS = ("factor", "trait", "kind", "n_samples", "explained_share", "p_value", "q_value")
ENRICHMENT = (
    *("factor", "grouping", "group", "n_variables", "n_group", "n_shared", "expected", "fold", "p_value", "q_value"),
    "variables",
)
DIFFERENCES = (
    *("factor", "state", "most", "least", "share_of_most", "share_of_least", "difference", "explained_share"),
    *("p_value", "q_value"),
)
PRESERVATION = ("factor", "explains", "explains_in_fit", "by_chance", "z", "p_value", "q_value", "preserved")
COMPARISON = ("factor", "other", "likeness", "shared_variables")
RESULTS = (COLUMNS, FACTORS, STRUCTURE, PAIRS, ASSOCIATIONS, ENRICHMENT, DIFFERENCES, PRESERVATION, COMPARISON)
LABEL = re.compile(r"layer[1-9][0-9]*_factor[0-9]+")


def guarded(text: str) -> str:
    """Text with an apostrophe wherever a spreadsheet would begin to run it.

    >>> guarded("=1+2"), guarded("-3.5"), guarded("'=x"), guarded("a; +b")
    ("'=1+2", '-3.5', "''=x", "a;' +b")
    """
    return RUN.sub("'", text)


def original(text: str) -> str:
    """The text that was guarded.

    >>> original("'=1+2"), original("''=x"), original("'tis")
    ('=1+2', "'=x", "'tis")
    """
    return GUARDED.sub("", text)


def guarded_table(table: "pa.Table") -> "pa.Table":
    """A table whose titles and columns of text are guarded; numbers stay."""
    return _changed(table, guarded, SUSPECT)


def original_table(table: "pa.Table") -> "pa.Table":
    """The table that was guarded."""
    return _changed(table, original, "'")


def is_result(titles: Sequence[str]) -> bool:
    """Whether a table with these titles is one of the result files, whose text is guarded."""
    every, rest = tuple(titles), tuple(titles[1:])
    labels = bool(rest) and all(LABEL.fullmatch(title) for title in rest)
    return every in RESULTS or rest == SAMPLES or labels


def _changed(table: "pa.Table", change: Callable[[str], str], suspect: str) -> "pa.Table":
    import pyarrow as pa

    columns = [_changed_column(column, change, suspect) for column in table.columns]
    return pa.table(columns, names=[change(title) for title in table.column_names])


def _changed_column(column: "pa.Array | pa.ChunkedArray", change: Callable[[str], str], suspect: str) -> Any:
    """A column, each of its texts changed that may need it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.unify_dictionaries()
        parts = [
            pa.DictionaryArray.from_arrays(part.indices, _changed_column(part.dictionary, change, suspect))
            for part in column.chunks
        ]
        return pa.chunked_array(parts) if parts else column
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    suspects = pc.match_substring_regex(column, suspect).fill_null(False)
    if not pc.any(suspects).as_py():
        return column
    return pc.replace_with_mask(
        column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column,
        suspects.combine_chunks() if isinstance(suspects, pa.ChunkedArray) else suspects,
        pa.array([change(text) for text in column.filter(suspects).to_pylist()], kind),
    )
