"""Files in which people name factors, or the variables that anchor them: CSV of two columns, or JSON."""

import json
from pathlib import Path
from typing import Any

from hicorex.exceptions import HicorexError
from hicorex.findings.groups import texts_of


def names_from(path: Any) -> dict[str, str | None]:
    """The name of each factor, by the one that it has, from a names file; None where it is blank."""
    names: dict[str, str | None] = {}
    for factor, name in _pairs(path, "name"):
        if factor in names:
            raise HicorexError(f"{path} has the factor {factor!r} twice; keep one of them.")
        names[factor] = name or None
    return names


def anchors_from(path: Any) -> dict[str | int, list[str]]:
    """The variables that anchor each factor, by its name or number, from a file."""
    anchors: dict[str | int, list[str]] = {}
    for factor, variable in _pairs(path, "variable"):
        if not variable:
            raise HicorexError(f"{path} has no variable beside the factor {factor!r}; give one, or leave out the line.")
        anchors.setdefault(int(factor) if factor.isdecimal() else factor, []).append(variable)
    return anchors


def _pairs(path: Any, what: str) -> list[tuple[str, str]]:
    """Pairs of a factor and what a file says of it."""
    if str(path).lower().endswith(".json"):
        return _pairs_of_json(path, what)
    from hicorex.input.files.dialect import TextStyle
    from hicorex.input.files.formats import read_raw

    raw = read_raw(str(path), TextStyle(header=True))
    columns = dict(zip((str(name).strip() for name in raw.names), texts_of(raw.columns), strict=True))
    if not {"factor", what} <= set(columns):
        raise HicorexError(f"{path} needs the columns factor and {what}; it has {', '.join(columns)}.")
    pairs = [(factor or "", value or "") for factor, value in zip(columns["factor"], columns[what], strict=True)]
    return _sound(path, [pair for pair in pairs if any(pair)], what)


def _pairs_of_json(path: Any, what: str) -> list[tuple[str, str]]:
    """Pairs of a JSON object: by factor one text, or a list of them."""
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise HicorexError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise HicorexError(f"{path} is no JSON: {error}.") from error
    if not isinstance(given, dict):
        raise HicorexError(f'{path} is not an object of factors; write it as {{"factor": "{what}"}}.')
    several = {factor: values if isinstance(values, list) else [values] for factor, values in given.items()}
    return _sound(path, [(factor, value) for factor, values in several.items() for value in values], what)


def _sound(path: Any, pairs: list[tuple[str, Any]], what: str) -> list[tuple[str, str]]:
    """The pairs, if there are any and each is of texts."""
    if not pairs:
        raise HicorexError(f"{path} holds no factor; give lines of a factor and its {what}.")
    for factor, value in pairs:
        if not factor:
            raise HicorexError(f"{path} has a line without a factor, beside the {what} {value!r}; fill it in.")
        if not isinstance(value, str | None):
            raise HicorexError(f"{path} has {value!r} for the factor {factor!r}; give a text.")
    return [(factor, value or "") for factor, value in pairs]
