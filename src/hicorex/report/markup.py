"""The one place where HTML is made: text is escaped whatever it holds, unless it was made here."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from hicorex.findings.text import shortened
from hicorex.support.printing import json_text, printable

# Elements that hold nothing.
VOID = ("img", "input")
# Longer names are cut in the middle.
NAME_WIDTH = 80


class Markup(str):
    """Text that is HTML."""


def text(value: Any) -> Markup:
    """A value as HTML: markup as it is, anything else as text, escaped and printable."""
    return value if isinstance(value, Markup) else Markup(escape(printable(value)))


def shown(name: Any) -> str:
    """A name that a page can show."""
    return shortened(printable(str(name)), NAME_WIDTH)


def joined(pieces: Iterable[Any], between: str = "") -> Markup:
    """Some pieces one after the other."""
    return Markup(text(between).join(map(text, pieces)))


def element(tag: str, *inside: Any, **attributes: Any) -> Markup:
    """An element; an attribute that is None is left out, one that is True has no value.

    >>> element("td", "a < b", class_="number", data_value=1)
    '<td class="number" data-value="1">a &lt; b</td>'
    """
    end = "" if tag in VOID else f"</{tag}>"
    return Markup(f"<{tag}{_attributes(attributes)}>{joined(inside)}{end}")


def picture(svg: str, **attributes: Any) -> Markup:
    """What matplotlib has written, from its element on, with attributes of ours."""
    return Markup(f"<svg{_attributes(attributes)}{svg.partition('<svg')[2]}")


def script_data(value: Any) -> Markup:
    """A value as JSON, which no text in it can end the element of."""
    json = json_text(value, separators=(",", ":"), allow_nan=False)
    return Markup(json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def resource(name: str) -> Markup:
    """A file of this folder, which is ours: a script, a style sheet or a template."""
    return Markup((files("hicorex.report") / name).read_text(encoding="utf-8"))


def one_script(names: Iterable[str]) -> Markup:
    """Files of the folder script/ as one: they see each other's names, and the page does not."""
    parts = "".join(resource(f"script/{name}.js") for name in names)
    return Markup(f'"use strict";\n(() => {{\n{parts}}})();\n')


def filled(template: Markup, **parts: Any) -> Markup:
    """A template with its places filled."""
    return Markup(Template(template).substitute({name: text(part) for name, part in parts.items()}))


def _attributes(given: dict[str, Any]) -> str:
    known = {name.rstrip("_").replace("_", "-"): value for name, value in given.items() if value is not None}
    return "".join(
        f" {name}" if value is True else f' {name}="{escape(printable(value))}"' for name, value in known.items()
    )
