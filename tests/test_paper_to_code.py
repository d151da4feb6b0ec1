"""The table from the paper to the code in docs/theory.md names every equation, and functions that name it too."""

import importlib
import inspect
import re

import pytest
from conftest import PROJECT

# Equations and theorems of the paper's sections 2 to 4, by their labels.
LABELS = [
    "eq:tc",
    "eq:tcxy",
    "eq:tcl",
    "eq:basic",
    "eq:tcub",
    "eq:basicopt",
    "eq:m1",
    "eq:AI",
    "eq:label",
    "eq:marg",
    "eq:update",
    "eq:Z",
    "eq:tclb2",
    "eq:alpha",
    "eq:fullopt",
    "eq:label_m",
    "eq:tree",
    "eq:est",
    "Thm:basic",
    "Cor:tclb",
    "Thm:hierarchy",
    "Thm:tcub",
    "Thm:convergence",
]
ROW = re.compile(r"^\| `([\w:]+)` \|.*\| `hicorex\.([\w.]+)` \|$", re.MULTILINE)


def rows():
    return ROW.findall((PROJECT / "docs" / "theory.md").read_text())


def test_every_equation_of_the_paper_has_its_row():
    assert [label for label, _ in rows()] == LABELS


@pytest.mark.parametrize(("label", "place"), rows())
def test_the_function_of_a_row_names_the_equation(label, place):
    module, name = place, []
    while True:
        try:
            found = importlib.import_module(f"hicorex.{module}")
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            name.insert(0, last)
    for part in name:
        found = getattr(found, part)
    assert re.search(rf"\b{label.replace(':', '[: ]')}\b", inspect.getdoc(found)), f"{place} does not name {label}"
