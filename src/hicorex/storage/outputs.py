"""What may be written where. An output replaces only what hicorex has written, and only if it is told to.

A file counts as written by hicorex if it is a regular file that begins as one of its kind does: with the titles of the
table, the header of a model, the marks of a report or a graph. Nothing beside it is needed to tell, so that results may
be copied, mailed and taken from older versions. If a file comes to begin in another way, add that to ``BEGINNINGS``.
"""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hicorex.exceptions import HicorexError
from hicorex.input.sources.choice import MODEL
from hicorex.input.spreadsheet import (
    ASSOCIATIONS,
    COLUMNS,
    COMPARISON,
    DIFFERENCES,
    ENRICHMENT,
    FACTORS,
    PAIRS,
    PRESERVATION,
    SAMPLES,
    STRUCTURE,
)
from hicorex.storage.archive import HEAD
from hicorex.storage.files import READY, finish, held_in, is_stream, probe_file, probe_folder, real_path

_NAME = rb'(?:\xef\xbb\xbf)?"(?:[^"]|"")*"'


def _row(titles: Sequence[str]) -> bytes:
    """Titles as the first line of a CSV file."""
    return ",".join(f'"{title}"' for title in titles).encode()


# How a file of each kind begins; tables in Parquet by the titles of their columns.
BEGINNINGS = {
    "model": re.compile(HEAD.pattern + rb'\\"kind\\":\\"model\\"', re.DOTALL),
    "columns": re.compile(_row(COLUMNS)),
    "factors": re.compile(_row(FACTORS[:4])),
    "structure": re.compile(_row(STRUCTURE[:4])),
    "pairs": re.compile(_row(PAIRS)),
    "labels": re.compile(_NAME + rb'(?:,"layer\d+_factor\d+(?:_state\d+)?(?: (?:[^"]|"")*)?")+\n'),
    "samples": re.compile(_NAME + b"," + _row(SAMPLES) + rb'(?:,"odd_(?:variable|nats)_\d")*\n'),
    "associations": re.compile(_row(ASSOCIATIONS)),
    "enrichment": re.compile(_row(ENRICHMENT)),
    "differences": re.compile(_row(DIFFERENCES)),
    "preservation": re.compile(_row(PRESERVATION)),
    "comparison": re.compile(_row(COMPARISON)),
    "bounds": re.compile(rb'\{\s*"unit": "nats",'),
    "graph": re.compile(rb'<\?xml [^>]*>\s*<graphml [^>]*>\s*<key id="label" [^>]*>\s*<key id="kind" '),
    "report": re.compile(rb'<!doctype html>.{,2000}<meta name="generator" content="hicorex ', re.DOTALL),
    "example": re.compile(rb'"v0","v1","v2",|"diagnosis","mean radius",'),
}
# The files of a folder of results, and the kind of each.
RESULTS = {
    MODEL: "model",
    "columns.csv": "columns",
    "factors.csv": "factors",
    "structure.csv": "structure",
    "pairs.csv": "pairs",
    "labels.csv": "labels",
    "labels.parquet": "labels",
    "samples.csv": "samples",
    "samples.parquet": "samples",
    "bounds.json": "bounds",
    "graph.graphml": "graph",
    "report.html": "report",
}
# The number of bytes at the start of a file that are looked at.
_LOOKED_AT = 2**22


def check_file(path: Any, kind: str, overwrite: bool, inputs: Mapping[str, Any]) -> None:
    """Refuse a file that must not or cannot be written, before there is anything to lose."""
    if str(path).endswith(("/", os.sep)):
        raise HicorexError(f"--out {path} is the name of a folder; give that of a file.")
    allow_file(path, kind, overwrite, inputs)
    probe_file(path)


def check_folder(path: Any, overwrite: bool, inputs: Mapping[str, Any]) -> None:
    """Refuse a folder that must not or cannot be written, before there is anything to lose.

    If a run was killed while it put its results there, its work is completed first.
    """
    if os.path.isdir(os.path.join(path, READY)):
        _check_held(Path(path))
        finish(path, _is_ours)
    allow_folder(path, overwrite, inputs)
    probe_folder(path)


def allow_file(path: Any, kind: str, overwrite: bool, inputs: Mapping[str, Any]) -> None:
    """Refuse to replace an input, a file that hicorex has not written, or, without ``overwrite``, any file.

    Parameters
    ----------
    path : path
    kind : a key of BEGINNINGS
    overwrite : bool
    inputs : mapping of str to path
        The files and folders that the output is made from, by what the command calls them; "-" for standard input.
    """
    if is_stream(path):
        return
    real = real_path(path)
    for what, given in inputs.items():
        _refuse_within(path, real, what, given)
        if _is_same(real, given) or _is_same(real, os.path.join(given, MODEL)):
            raise HicorexError(f"--out {path} is {what} ({_called(given)}); choose another name.")
    if not os.path.exists(real):
        return
    if not overwrite:
        raise HicorexError(f"{path} is there already; choose another name, or add --overwrite to replace it.")
    if not is_written(real, kind):
        what = {"report": "report", "example": "table of the demo"}.get(kind, f"table of {kind}")
        other = "folder" if kind == "example" else "name"
        raise HicorexError(f"{path} is not a {what} that hicorex has written; choose another {other}, or move it away.")


def allow_folder(path: Any, overwrite: bool, inputs: Mapping[str, Any]) -> None:
    """Refuse a folder that holds an input, what hicorex has not written, or, without ``overwrite``, anything.

    As ``allow_file``, for a folder of results.
    """
    real = real_path(path)
    if os.path.lexists(real) and not os.path.isdir(real):
        raise HicorexError(f"{path} is a file; give the name of a folder.")
    held = held_in(real) if os.path.isdir(real) else []
    for what, given in inputs.items():
        _refuse_within(path, real, what, given)
        around = [Path(given), *Path(os.path.realpath(given)).parents] if given != "-" else []
        if any(_is_same(real, folder) for folder in around) or any(_is_same(real / name, given) for name in held):
            raise HicorexError(f"--out {path}: {what} ({_called(given)}) is in that folder; choose another folder.")
    _check_held(Path(path))
    if held and not overwrite:
        raise HicorexError(
            f"{path} is not empty; choose another folder, or add --overwrite to replace the results in it."
        )


def is_written(path: Path, kind: str) -> bool:
    """Whether a file is one that hicorex writes, of this kind, or has nothing in it."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    with open(path, "rb") as file:
        start = file.read(_LOOKED_AT)
    if start.startswith(b"PAR1"):
        start = _titles(path)
    return not start or BEGINNINGS[kind].match(start) is not None


def _is_ours(path: Path) -> bool:
    """Whether the place of a result holds one, or nothing."""
    return path.name in RESULTS and (not os.path.lexists(path) or is_written(path, RESULTS[path.name]))


def _titles(path: Path) -> bytes:
    """The titles of a Parquet file, as those of a CSV file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with open(path, "rb") as file:
            names = parquet.read_schema(file).names
    except (pa.ArrowException, OSError):
        return b"broken"
    return ",".join('"' + name.replace('"', '""') + '"' for name in names).encode(errors="replace") + b"\n"


def _check_held(path: Path) -> None:
    """Refuse a folder that holds what hicorex has not written."""
    for name in held_in(path) if os.path.isdir(path) else ():
        if name not in RESULTS:
            raise HicorexError(f"{path} holds {name}, which is not a result; choose another folder, or move it away.")
        if not is_written(path / name, RESULTS[name]):
            raise HicorexError(
                f"{path} holds {name}, which hicorex has not written; choose another folder, or move it away."
            )


def _refuse_within(path: Any, real: Path, what: str, given: Any) -> None:
    """Refuse an output among the files of a table."""
    if what == "DATA" and os.path.isdir(given) and any(_is_same(folder, given) for folder in real.parents):
        raise HicorexError(f"--out {path} is in {what} ({given}), a folder that is read whole; choose a place outside.")


def _called(given: Any) -> Any:
    return "standard input" if given == "-" else given


def _is_same(path: Any, given: Any) -> bool:
    """Whether two paths lead to the same file or folder, whatever they are called."""
    with suppress(OSError, ValueError):
        return os.path.samestat(os.stat(path), os.fstat(0) if given == "-" else os.stat(given))
    return False
