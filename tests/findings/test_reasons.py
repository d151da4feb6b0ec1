"""Reasons are told with the numbers that they rest on."""

import pytest

from hicorex.bounds.result import NoUpper, NoUpperReason
from hicorex.findings.reasons import why_no_upper, why_this_size
from hicorex.selection.sizing import SizeReason, Sizing
from hicorex.selection.trials import Tried

WEAK, GOOD, BETTER = Tried(1, 0.012, 0.01, 1), Tried(2, 1.2345, 0.1, 2), Tried(4, 1.25, 0.1, 3)

TWO_OF_THREE, TWO_OF_EIGHT = Tried(2, 1.5, 0.1, 2, 3, 0.9, 0.1), Tried(2, 1.6, 0.1, 2, 8, 0.9, 0.1)


@pytest.mark.parametrize(
    ("sizing", "reason", "told"),
    [
        (
            Sizing(1, (WEAK,)),
            SizeReason.CHANCE,
            "1 factor explains 0.012 ± 0.01 nats on held-out samples, no more than chance",
        ),
        (Sizing(2, (WEAK, GOOD)), SizeReason.FEW_COLUMNS, "there are too few columns for more than 2 factors"),
        (
            Sizing(2, (WEAK, GOOD, BETTER), 4, 0.0155, 0.02, 0.04),
            SizeReason.NOT_ENOUGH_MORE,
            "on held-out samples 4 factors add 0.0155 ± 0.02 nats to the 1.234 of 2, and would have to add 0.04",
        ),
        (
            Sizing(2, (WEAK, GOOD, BETTER), 4, 0.0155),
            SizeReason.NOT_ENOUGH_MORE,
            "on held-out samples 4 factors add 0.0155 nats to the 1.234 of 2, which is not enough",
        ),
        (
            Sizing(2, (TWO_OF_THREE, TWO_OF_EIGHT), 4, 0.5, 0.02, 0.04, n_states=3, parsimony=0.06),
            SizeReason.NOT_FOUND_AGAIN,
            "on held-out samples 4 factors add 0.5 ± 0.02 nats to the 1.5 of 2, but fits to other samples do not find "
            "the same ones; 2 factors of 3 states explain 1.5 nats, 2 of 8 would explain 1.6",
        ),
        (
            Sizing(2, (TWO_OF_THREE,), n_states=3, parsimony=0.06, given=True),
            SizeReason.AS_ASKED,
            "2 factors were asked for",
        ),
    ],
)
def test_a_size_is_told_with_its_numbers(sizing, reason, told):
    assert sizing.reason is reason
    assert why_this_size(sizing) == told


def test_a_missing_upper_bound_is_told_with_its_column():
    told = {reason: why_no_upper(NoUpper(reason, "'a'")) for reason in NoUpperReason}
    assert told == {
        NoUpperReason.NOT_DISCRETE: "column 'a' is not discrete",
        NoUpperReason.GAPS: "column 'a' has missing values or categories that the fit has not seen",
        NoUpperReason.NOT_A_FUNCTION: "equal samples have different labels, which then are no function of X",
    }
    assert why_no_upper(None) == ""
