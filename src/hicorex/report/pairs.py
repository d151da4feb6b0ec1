"""The section of the report on pairs of variables that factors leave dependent."""

from hicorex.findings.description import Description
from hicorex.findings.words import count, how_much_with_pairs
from hicorex.report.markup import Markup, element, joined, shown
from hicorex.report.parts import note, number_cell, scrolling_table, sortable_heads

# Pairs that are listed.
MOST_PAIRS = 300


def pairs(told: Description) -> Markup:
    """What variables tell of each other beyond the factors."""
    if not told.pairs:
        return note("No pair of variables is known to depend on each other beyond the factors.")
    rows = [
        element(
            "tr",
            element("td", f"{shown(pair.variable)} {pair.kind} {shown(pair.other)}"),
            number_cell(pair.information),
            number_cell(pair.gain),
        )
        for pair in told.pairs[:MOST_PAIRS]
    ]
    words = (
        "For each variable, the one other that still tells most about it when the factors are known, so that the pairs "
        "make no circle. Information is what the two share beyond the factors, and gain what the lower bound gains by "
        "the pair on samples that it was not learned from, both in nats."
    )
    rest = len(told.pairs) - MOST_PAIRS
    heads = sortable_heads("pair", "information", "gain")
    return joined(
        [
            element("p", how_much_with_pairs(told.with_pairs)) if told.with_pairs is not None else "",
            note(words),
            scrolling_table(heads, rows, tall=True, id="pair-list", class_="sortable"),
            note(f"and {count(rest, 'more pair')}") if rest > 0 else "",
        ]
    )
