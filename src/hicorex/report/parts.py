"""The parts that sections of the report are made of: cells, tables, figures and notes."""

from collections.abc import Sequence
from typing import Any

from hicorex.findings.numbers import short
from hicorex.report.markup import Markup, element, joined


def number_cell(x: float | None, words: str | None = None) -> Markup:
    """A cell of a table that shows a number, in short or in these words, and sorts by all its digits."""
    digits = "-Infinity" if x is None else repr(float(x))
    return element("td", short(x) if words is None else words, class_="number", data_value=digits)


def sortable_heads(first: str, *numbers: str) -> Markup:
    """The heads of columns that sort: a name and then numbers."""
    heads = [element("th", _button(first), scope="col")]
    heads += [element("th", _button(name), scope="col", class_="number", data_number=True) for name in numbers]
    return joined(heads)


def _button(*inside: Any, **attributes: Any) -> Markup:
    return element("button", *inside, type="button", **attributes)


def factor_button(name: str, nodes: dict[str, int]) -> str:
    """The name of a factor, which opens its panel if the map has it."""
    return _button(name, class_="link", data_factor=nodes[name]) if name in nodes else name


def scrolling_table(heads: Markup, rows: Sequence[Markup], tall: bool = False, **attributes: Any) -> Markup:
    """A table that scrolls by itself where there is little room."""
    table = element("table", element("thead", element("tr", heads)), element("tbody", *rows), **attributes)
    return element("div", table, class_="tall scroll" if tall else "scroll")


def terms(entries: dict[str, Any]) -> Markup:
    """Terms, and what there is to say of each."""
    return element("dl", *(joined([element("dt", name), element("dd", value)]) for name, value in entries.items()))


def note(text: str) -> Markup:
    """A paragraph in small letters."""
    return element("p", text, class_="note")


def long_head(head: str) -> Markup:
    """The head of a column of many words."""
    return element("th", head, scope="col", class_="long")


def side_by_side(*figures: Markup) -> Markup:
    """Figures beside each other."""
    return element("div", *figures, class_="pair")


def figure(picture: Markup, caption: str = "") -> Markup:
    """A picture with what there is to say of it."""
    return element("figure", picture, element("figcaption", caption) if caption else "")
