"""What is known of samples beside the table of a fit: read as columns of a table are, and matched to the samples."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.readers import reader_of
from hicorex.input.readers.frames import as_frame
from hicorex.relations.survival import Survival


class Traits(NamedTuple):
    """Traits of some samples.

    rows : the samples that they are known of, (N',), as places among all samples
    frame : their traits, a data frame of narwhals with N' rows; None if all are times with events
    survival : by name, times with events of the same samples
    """

    rows: np.ndarray
    frame: nw.DataFrame | None
    survival: dict[str, Survival]


def traits_of(given: Any, samples: Any, n_samples: int, survival: Any, known: Sequence[str]) -> Traits:
    """Traits, from whatever people have them in.

    Parameters
    ----------
    given : data frame, mapping of names to columns, array, or path of a file
    samples : the table of the samples; if both are pandas, rows are matched by their index
    n_samples : their number
    survival : the columns of a time and its event, or a mapping of names to such pairs; None for none
    known : the variables of the model, which cannot be traits
    """
    if isinstance(given, str | PathLike):
        raise HicorexError(f"traits is {str(given)!r}, a path; read the file first, or use the command associate.")
    rows, places = matched_rows(given, samples, n_samples)
    frame = _frame(given)[places]
    names = [str(name) for name in frame.columns]
    clash = sorted(set(names) & set(known))
    if clash:
        raise HicorexError(
            f"Trait {clash[0]!r} is a variable of the model, which depends on its factors by construction; leave it "
            "out, or rename it if it is another one."
        )
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    return taken_apart(frame, rows, survival)


def taken_apart(frame: nw.DataFrame, rows: np.ndarray, survival: Any) -> Traits:
    """The traits of some rows, with times and their events apart from the others."""
    pairs = _pairs(survival)
    names = [str(name) for name in frame.columns]
    times = {}
    for name, pair in pairs.items():
        for column in pair:
            if column not in names:
                raise HicorexError(
                    f"survival names the column {column!r}, which traits does not have; it has {_listed(names)}."
                )
        times[name] = Survival.of(_numbers(frame, pair[0]), _numbers(frame, pair[1]), pair)
    left = [column for column in names if column not in {column for pair in pairs.values() for column in pair}]
    if not left and not times:
        raise HicorexError("traits has no column; give one or more.")
    return Traits(rows, frame.select(left) if left else None, times)


def matched_rows(given: Any, samples: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Which samples have traits, and the row of each among the traits: by index if both are pandas, else by place."""
    here, there = _index(samples), _index(given)
    n_rows = len(_frame(given))
    if here is None or there is None or here.equals(there):
        if n_rows != n_samples:
            raise HicorexError(f"traits has {n_rows} rows, X has {n_samples}; give one row of traits for each sample.")
        return np.arange(n_samples), np.arange(n_samples)
    if not there.is_unique:
        raise HicorexError(
            f"The index of traits has {there[there.duplicated()][0]!r} twice; keep one row of traits for each sample."
        )
    return rows_by_name(list(here), list(there), "The index of X")


def rows_by_name(names: Sequence[Any], known: Sequence[Any], what: str) -> tuple[np.ndarray, np.ndarray]:
    """Which samples are known by name, and where."""
    place = {name: at for at, name in enumerate(known)}
    found = np.array([place.get(name, -1) for name in names], int)
    if not (found >= 0).any():
        raise HicorexError(
            f"{what} and that of traits have no name in common ({names[0]!r}, {known[0]!r}); call the samples alike, "
            "or pass both without names, in one order."
        )
    return np.flatnonzero(found >= 0), found[found >= 0]


def _index(table: Any) -> Any:
    """The index of a pandas table whose rows have names; None of any other."""
    index = getattr(table, "index", None)
    if isinstance(table, Mapping) and table:
        return _index(next(iter(table.values())))
    if type(table).__module__.partition(".")[0] != "pandas" or type(index).__name__ == "RangeIndex":
        return None
    return index


def _frame(given: Any) -> nw.DataFrame:
    """Traits as a data frame of narwhals."""
    if hasattr(given, "to_frame") and hasattr(given, "dtype") and getattr(given, "ndim", 0) == 1:  # one column
        given = {str(given.name if given.name is not None else "trait0"): given}
    if isinstance(given, Mapping):
        columns = {str(name): _column(name, values) for name, values in given.items()}
        sizes = {name: len(column) for name, column in columns.items()}
        if len(set(sizes.values())) > 1:
            shortest, longest = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            raise HicorexError(
                f"Trait {shortest!r} has {sizes[shortest]} values, {longest!r} {sizes[longest]}; give one of each for "
                "every sample."
            )
        return nw.from_native(pa.table(columns))
    frame = None if isinstance(given, np.ndarray) else as_frame(given)
    if frame is not None:
        return frame
    array = np.asarray(given)
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiubUS":
        raise HicorexError(
            f"traits is of type {type(given).__name__}; give a data frame, or a mapping of names to columns."
        )
    by_column = enumerate(array.reshape(len(array), -1).T)
    return nw.from_native(pa.table({f"trait{at}": _column(at, column) for at, column in by_column}))


def _column(name: Any, values: Any) -> pa.Array:
    try:
        known = isinstance(values, np.ndarray) or hasattr(values, "to_numpy")
        return pa.array(values if known else list(values), from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        raise HicorexError(f"Trait {name!r} mixes types or is no column; make it all numbers or all text.") from None


def _pairs(survival: Any) -> dict[str, tuple[str, str]]:
    """The columns of times and their events, by name."""
    if survival is None:
        return {}
    pairs = survival if isinstance(survival, Mapping) else {None: survival}
    for pair in pairs.values():
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise HicorexError(
                f"survival is {survival!r}; give the columns of a time and of whether the event came, as "
                "('days', 'died'), or a mapping of names to such pairs."
            )
    return {str(pair[0] if name is None else name): (str(pair[0]), str(pair[1])) for name, pair in pairs.items()}


def _numbers(frame: nw.DataFrame, name: str) -> np.ndarray:
    """A column of a frame as numbers, NaN where missing."""
    column = frame.select(name)
    if column[name].dtype == nw.Boolean:
        return np.array([np.nan if value is None else float(value) for value in column[name].to_list()])
    return reader_of(column.to_native()).numbers(np.array([0]))[:, 0]


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")
