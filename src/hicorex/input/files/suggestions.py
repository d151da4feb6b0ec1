"""What the columns of a table suggest to change: copies, texts of very many values, weights, a table on its side."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse

from hicorex.input.column_kinds import ColumnDecision, ColumnKind, ColumnReason
from hicorex.input.files.raw import column_of
from hicorex.input.notes import ManyTexts, Note, OnItsSide, PerhapsWeights, SameTwice

# Texts of more different values than this are named.
MANY_TEXTS = 100
WEIGHTS = re.compile(
    r"(?i)((survey|sample|sampling|person|household|final|instance|design|post.?strat\w*)[\W_]*(weights?|wgt|wt)s?"
    r"|[pfhs]?(wt|wgt|wght)s?|fnlwgt|perwt|asecwt|pweight\w*|weights?_?(final|person|hh))"
)
# Copies are looked for in at most this many columns, by this many rows first.
MOST_COLUMNS, SOME_ROWS = 300, 2000
MOST_GROUPS = 5
# A table may lie on its side if it has this many columns of amounts, and their correlation is at least this.
MANY_AMOUNTS, ALIKE = 10, 0.8


def suggestions(columns: Any, decisions: Sequence[ColumnDecision]) -> Iterator[Note]:
    """Notes on the columns that a model is to learn from."""
    texts = [d for d in decisions if d.reason is ColumnReason.CATEGORIES and d.kind.is_learned]
    named = [(d.name, d.n_different) for d in texts if d.n_different and d.n_different > MANY_TEXTS]
    if named:
        yield ManyTexts(*named[0], n_others=len(named) - 1)
    for decision in decisions:
        if decision.kind is ColumnKind.GAUSSIAN and WEIGHTS.fullmatch(decision.name):
            yield PerhapsWeights(decision.name)
    if issparse(columns):
        return
    learned = [at for at, decision in enumerate(decisions) if decision.kind.is_learned]
    if len(learned) <= MOST_COLUMNS:
        same = _same_twice(columns, decisions, learned)
        if same:
            yield SameTwice(tuple(same[:MOST_GROUPS]), max(0, len(same) - MOST_GROUPS))
    if (
        isinstance(columns, pa.Table)
        and any(d.kind is ColumnKind.ROW_NAMES for d in decisions)
        and _on_its_side(columns, decisions)
    ):
        yield OnItsSide()


def _same_twice(columns: Any, decisions: Sequence[ColumnDecision], learned: list[int]) -> list[tuple[str, ...]]:
    """Groups of columns of which each value goes with one value of another; of amounts, those with the same values."""
    found = []
    groups: dict[bytes, list[int]] = {}
    for at in learned:
        groups.setdefault(_pattern(column_of(columns, at), decisions[at].kind, SOME_ROWS), []).append(at)
    for group in groups.values():
        wholly: dict[bytes, list[int]] = {}
        for at in group if len(group) > 1 else ():
            wholly.setdefault(_pattern(column_of(columns, at), decisions[at].kind, None), []).append(at)
        found += [tuple(decisions[at].name for at in same) for same in wholly.values() if len(same) > 1]
    return found


def _pattern(column: Any, kind: ColumnKind, n_rows: int | None) -> bytes:
    """What is the same for columns that say the same: values, or of categories the rows in which these are equal."""
    column = column[:n_rows] if n_rows else column
    if isinstance(column, pa.ChunkedArray | pa.Array):
        if pa.types.is_dictionary(column.type):
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            column = column.unify_dictionaries() if isinstance(column, pa.ChunkedArray) else column
            column = (column.chunk(0) if isinstance(column, pa.ChunkedArray) else column).indices
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), float)
    else:
        values = column.astype(float)
    if not kind.is_coded:
        return b"amounts" + (values + 0.0).tobytes()
    _, first, codes = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes].astype(np.int32).tobytes()


def _on_its_side(columns: pa.Table, decisions: Sequence[ColumnDecision]) -> bool:
    """Whether columns of amounts go together as samples do whose rows are variables of very different size."""
    amounts = [at for at, d in enumerate(decisions) if d.kind in (ColumnKind.GAUSSIAN, ColumnKind.RANK)]
    others = sum(d.kind.is_coded for d in decisions)
    if len(amounts) < MANY_AMOUNTS or others or columns.num_rows < 2 * len(amounts):
        return False
    chosen = amounts[:: max(1, len(amounts) // MANY_AMOUNTS)]
    some = columns.select(chosen).slice(0, SOME_ROWS)
    values = np.column_stack([column.cast(pa.float64()).to_numpy() for column in some.columns])
    values = values[~np.isnan(values).any(axis=1)]
    if len(values) < MANY_AMOUNTS or (values.std(axis=0) == 0).any():
        return False
    together = np.corrcoef(values, rowvar=False)[np.triu_indices(len(chosen), 1)]
    level, spread = values.mean(axis=0), values.std(axis=0)
    return bool(np.median(together) > ALIKE and level.std() < spread.mean() and spread.max() < 3 * spread.min())
