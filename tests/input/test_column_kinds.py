"""What decides on columns by values alone, and the words for it."""

import dataclasses

import pytest
from written import lines, read

from hicorex.input import notes
from hicorex.input.column_kinds import (
    KINDS,
    MOST_CODES,
    MOST_TEXTS,
    ColumnDecision,
    ColumnKind,
    ColumnReason,
    NumberFacts,
    NumberForm,
    Resemblance,
    verdict_on_numbers,
    verdict_on_texts,
)
from hicorex.input.encoder import FAMILIES
from hicorex.input.words import FORMS, REASONS, alike, common_reason, note_in_words, reason_in_words

PLAIN = NumberFacts(
    n_rows=1000,
    is_boolean=False,
    is_integer=True,
    is_empty=False,
    is_constant=False,
    is_whole=True,
    n_different=30,
    counts_rows=False,
)


@pytest.mark.parametrize(
    ("facts", "kind", "reason"),
    [
        ({"is_empty": True}, ColumnKind.IGNORED, ColumnReason.EMPTY),
        ({"is_constant": True}, ColumnKind.IGNORED, ColumnReason.CONSTANT),
        ({"is_boolean": True, "is_integer": False}, ColumnKind.CATEGORICAL, ColumnReason.BOOLEAN),
        ({"counts_rows": True}, ColumnKind.IGNORED, ColumnReason.ROW_NUMBER),
        ({"counts_rows": True, "is_integer": False}, ColumnKind.GAUSSIAN, ColumnReason.AMOUNTS),
        ({"is_identifier": True, "is_unique": True}, ColumnKind.IGNORED, ColumnReason.IDENTIFIER),
        ({"is_identifier": True}, ColumnKind.IGNORED, ColumnReason.NEARLY_IDENTIFIER),
        ({"counts_runs": True}, ColumnKind.IGNORED, ColumnReason.COUNTER),
        ({"n_different": 12, "n_rows": 30}, ColumnKind.GAUSSIAN, ColumnReason.AMOUNTS),
        ({"is_whole": False}, ColumnKind.GAUSSIAN, ColumnReason.NUMBERS),
        ({"n_different": MOST_CODES}, ColumnKind.CATEGORICAL, ColumnReason.CODES),
        ({"n_different": MOST_CODES + 1}, ColumnKind.GAUSSIAN, ColumnReason.AMOUNTS),
        ({"n_different": None}, ColumnKind.GAUSSIAN, ColumnReason.AMOUNTS),
    ],
)
def test_counts_decide_on_columns_of_numbers(facts, kind, reason):
    verdict = verdict_on_numbers(PLAIN._replace(**facts))
    assert (verdict.kind, verdict.reason) == (kind, reason)
    assert verdict.names_rows == (reason in (ColumnReason.ROW_NUMBER, ColumnReason.IDENTIFIER))


@pytest.mark.parametrize(
    ("counts", "kind", "reason"),
    [
        ((100, 100, 1), ColumnKind.IGNORED, ColumnReason.CONSTANT),
        ((100, 90, 1), ColumnKind.CATEGORICAL, ColumnReason.TICKED),
        ((100, 99, 1), ColumnKind.IGNORED, ColumnReason.CONSTANT),
        ((100, 90, 50), ColumnKind.CATEGORICAL, ColumnReason.CATEGORIES),
        ((100, 100, 51), ColumnKind.IGNORED, ColumnReason.FREE_TEXT),
        ((100, 100, 100), ColumnKind.IGNORED, ColumnReason.IDENTIFIER),
        ((20, 20, 20), ColumnKind.CATEGORICAL, ColumnReason.CATEGORIES),
        ((4 * MOST_TEXTS, 4 * MOST_TEXTS, MOST_TEXTS + 1), ColumnKind.IGNORED, ColumnReason.TOO_MANY_CATEGORIES),
    ],
)
def test_counts_decide_on_columns_of_texts(counts, kind, reason):
    verdict = verdict_on_texts(*counts)
    assert (verdict.kind, verdict.reason) == (kind, reason)
    assert verdict.names_rows == (counts[0] == counts[1] == counts[2])


def test_a_decision_holds_numbers_and_texts_apart_from_words():
    table = read(lines("a,b", [("?" if i == 7 else i % 3, f"{i % 4}*") for i in range(40)]))
    a, b = table.decisions
    assert a == ColumnDecision("a", ColumnKind.CATEGORICAL, ColumnReason.CODES, 1 / 40, n_different=3, words=("?",))
    assert b[1:3] == (ColumnKind.CATEGORICAL, ColumnReason.CATEGORIES)
    assert (b.n_different, b.resembles) == (4, Resemblance(NumberForm.SIGN))


def test_decisions_that_differ_in_numbers_alone_are_told_together():
    few = [ColumnDecision(f"c{n}", ColumnKind.CATEGORICAL, ColumnReason.CODES, n_different=n) for n in (7, 3, 5)]
    assert len({alike(decision) for decision in few}) == 1
    assert common_reason(few) == "whole numbers, 3 to 7 different"
    assert common_reason([few[0], few[0]]) == reason_in_words(few[0]) == "whole numbers, 7 different"
    uncounted = few[0]._replace(n_different=None)
    assert reason_in_words(uncounted) == f"whole numbers, more than {MOST_CODES} different"
    others = [uncounted, few[0]._replace(as_asked=True), few[0]._replace(words=("?",)), few[0]._replace(name="c")]
    assert [alike(own) == alike(few[0]) for own in others] == [False, False, False, True]


def test_every_reason_form_and_note_has_words():
    assert REASONS.keys() == set(ColumnReason)
    assert FORMS.keys() == set(NumberForm)
    examples = {str: "x", int: 2, bool: True, str | None: ";", tuple[str, ...]: ("x",)}
    examples[tuple[tuple[str, ...], ...]] = (("x", "y"),)
    for kind in notes.Note.__subclasses__():
        assert note_in_words(kind(*(examples[own.type] for own in dataclasses.fields(kind))))
    with pytest.raises(TypeError, match="a note without words"):
        note_in_words(notes.Note())


def test_every_kind_has_a_family_of_marginals():
    assert set(FAMILIES) == set(KINDS)
