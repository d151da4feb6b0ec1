"""Writes the pages of the API reference: every public name, found and not listed by hand.

A name is public if a package says so in ``__all__``, or if a public function or method gives such an object back.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hicorex
from hicorex import datasets, exceptions, plot

# What only the package itself has a use for.
INTERNAL = ("hicorex.storage.records", "hicorex.layer.", "hicorex.estimators.base", "hicorex.fitted.model")
SECTIONS = {
    "Models": "What you fit.",
    "Results": "What models give back.",
    "Functions": "Reading, keeping and comparing.",
    "Pictures": "Each takes matplotlib axes as ``ax`` and gives them back.",
    "Data sets": "Tables of which the truth is known.",
    "Errors and warnings": "Each says what to do.",
}


def public_functions(module: ModuleType) -> dict[str, Any]:
    """The functions of a module that are meant for users, by their whole names."""
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    found = {name: getattr(module, name) for name in names}
    own = {name: value for name, value in found.items() if inspect.isfunction(value)}
    return {
        f"{module.__name__}.{name}": value
        for name, value in own.items()
        if value.__module__.startswith(module.__name__)
    }


def public_methods(value: type) -> list[str]:
    """The names of the methods and properties of a class that hicorex itself defines."""
    owners = [owner for owner in value.__mro__ if owner.__module__.startswith("hicorex")]
    names = {name for owner in owners for name, member in vars(owner).items() if is_method(member)}
    return sorted(name for name in names if not name.startswith("_"))


def is_method(member: Any) -> bool:
    """Whether a member of a class is called or computed, and not merely a field."""
    return isinstance(member, (property, classmethod, staticmethod)) or inspect.isfunction(member)


def classes_named_in(annotation: Any) -> Iterator[type]:
    """The classes of hicorex whose names an annotation holds."""
    classes = known_classes()
    for name in re.findall(r"\w+", annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")):
        if name in classes:
            yield classes[name]


def known_classes() -> dict[str, type]:
    """The classes of hicorex that are in memory, by their short names."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("hicorex")]
    members = [value for module in modules for value in vars(module).values() if inspect.isclass(value)]
    return {value.__name__: value for value in members if value.__module__.startswith("hicorex")}


def given_back(values: list[Any]) -> list[type]:
    """The classes of what functions, and the methods of classes, give back, and of what these hold in turn."""
    found: list[type] = []
    queue = list(values)
    while queue:
        value = queue.pop(0)
        members = [value]
        if inspect.isclass(value):
            members = [inspect.getattr_static(value, name) for name in public_methods(value)]
        for member in members:
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            for result in classes_named_in(getattr(function, "__annotations__", {}).get("return")):
                known = result in found or result in values or result.__module__.startswith(INTERNAL)
                if not known and not result.__name__.startswith("_"):
                    found.append(result)
                    queue.append(result)
    return found


def public_names() -> dict[str, dict[str, Any]]:
    """Every public name, by section: its whole name, and what it stands for."""
    top = {f"hicorex.{name}": getattr(hicorex, name) for name in hicorex.__all__}
    errors = {
        f"hicorex.exceptions.{name}": value
        for name, value in vars(exceptions).items()
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == exceptions.__name__
    }
    errors = {name: value for name, value in errors.items() if value not in top.values()}
    errors |= {name: value for name, value in top.items() if inspect.isclass(value) and issubclass(value, Exception)}
    models = {name: value for name, value in top.items() if hasattr(value, "fit")}
    functions = {name: value for name, value in top.items() if inspect.isfunction(value)}
    others = {name: value for name, value in top.items() if inspect.isclass(value)}
    others = {name: value for name, value in others.items() if name not in models and name not in errors}
    back = given_back([*models.values(), *functions.values(), *others.values()])
    results = others | {f"{value.__module__}.{value.__name__}": value for value in back}
    sections = (models, results, functions, public_functions(plot), public_functions(datasets), errors)
    return {title: dict(section) for title, section in zip(SECTIONS, sections, strict=True)}


def page_of(name: str, value: Any) -> str:
    """The page of one name, in reStructuredText."""
    module, _, short = name.rpartition(".")
    title = f"{short}\n{'=' * len(short)}\n\n.. currentmodule:: {module}\n\n"
    if not inspect.isclass(value):
        return f"{title}.. autofunction:: {short}\n"
    text = f"{title}.. autoclass:: {short}\n"
    if issubclass(value, Exception):
        return text
    for method in public_methods(value):
        kind = "property" if isinstance(inspect.getattr_static(value, method), property) else "method"
        text += f"\n   .. auto{kind}:: {short}.{method}\n"
    return text


def as_rest(lines: list[str]) -> list[str]:
    """A docstring whose fields are lines such as "samples : what they are", as a list that Sphinx can read."""
    text = re.sub(r"shape \((.*?)\)", lambda found: re.sub(r"_(?=\W|$)", r"\\_", found[0]), "\n".join(lines))
    if re.search(r"^(Parameters|Attributes|Returns|Examples)\n-+$", text, re.MULTILINE):
        return text.split("\n")
    field = re.compile(r"^(\w+(?:, \w+)*) : (.*(?:\n +\S.*)*)", re.MULTILINE)
    return field.sub(lambda found: f"\n**{found[1]}**\n    {' '.join(found[2].split())}\n", text).split("\n")


def first_line(value: Any) -> str:
    """What a thing is, in one line."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split())


def index_of(names: dict[str, dict[str, Any]]) -> str:
    """The page that lists all of them."""
    text = "API reference\n=============\n\nEvery public name. Examples run as tests.\n"
    for title, section in names.items():
        text += f"\n{title}\n{'-' * len(title)}\n\n{SECTIONS[title]}\n\n.. list-table::\n   :widths: 30 70\n\n"
        for name, value in section.items():
            shown = name.removeprefix("hicorex.") if title != "Results" else name.rpartition(".")[2]
            text += f"   * - :doc:`{shown} <{name}>`\n     - {first_line(value)}\n"
    listed = "\n".join(f"   {name}" for section in names.values() for name in section)
    return f"{text}\n.. toctree::\n   :hidden:\n\n{listed}\n"


def write_reference(folder: Path) -> None:
    """Write all pages into a folder; what has not changed keeps its time, so that it is not built anew."""
    names = public_names()
    pages = {name: page_of(name, value) for section in names.values() for name, value in section.items()}
    pages["index"] = index_of(names)
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
