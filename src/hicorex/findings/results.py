"""What a fit has found as tables, as plain numbers, and as a summary that a person can read."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hicorex.findings.graph import names_of, ranked_links, weights_of
from hicorex.input.spreadsheet import guarded_table
from hicorex.printing import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from hicorex.base import LayeredEstimator
    from hicorex.bounds.bounds import Bounds

# How many variables a factor is introduced by, in the table and in the summary.
TOP, FEW = 10, 5
# Of a layer, the summary lists so many factors; its lines and the names in them have so many columns at most.
MOST_FACTORS, WIDTH, NAME_WIDTH = 10, 100, 32

NOTHING = (
    "Nothing is explained: what the factors tell of how the variables depend on each other is no more than they cost. "
    "The variables may be independent. Otherwise: does a value such as -999 stand for a missing one? Are there sums or "
    "notes among the rows? Do numbers have heavy tails, for which there is the kind rank?"
)

SURROGATE = re.compile("[\ud800-\udfff]")


def columns_table(decisions: Iterable[Any]) -> "pa.Table":
    """What was made of each column of the file, and why."""
    import pyarrow as pa

    names, kinds, missing, reasons = zip(*decisions, strict=True)
    return pa.table({"column": _text(names), "kind": kinds, "missing": missing, "why": _text(reasons)})


def labels_table(model: "LayeredEstimator", X: Any, row_names: Any, row_title: str) -> "pa.Table":
    """The most likely state of every factor for each sample."""
    return labels_of_states(model, np.asarray(model.transform(X)), row_names, row_title)


def labels_of_states(model: "LayeredEstimator", labels: np.ndarray, row_names: Any, row_title: str) -> "pa.Table":
    """As labels_table, for samples whose states are known."""
    columns = {name: labels[:, j].astype(np.int8) for j, name in enumerate(factor_names(model))}
    return _by_row(columns, row_names, row_title)


def samples_table(model: "LayeredEstimator", X: Any, row_names: Any, row_title: str) -> "pa.Table":
    """How much of each sample is explained, how unusual that is, and the factor that says so most."""
    return samples_of_log_z(model, model.log_z(X), row_names, row_title)


def samples_of_log_z(model: "LayeredEstimator", log_z: np.ndarray, row_names: Any, row_title: str) -> "pa.Table":
    """As samples_table, for samples whose log Z is known."""
    import pyarrow as pa

    total = log_z.sum(axis=1)
    factor = np.zeros(len(log_z), int)
    deviation = np.zeros(len(log_z))
    for j in range(log_z.shape[1]):  # by column, since a second table of this size may not fit
        own = model._surprise_of_factors(log_z[:, j], j)
        larger = np.abs(own) > np.abs(deviation)
        factor[larger] = j
        deviation[larger] = own[larger]
    columns = {
        "total_correlation": total,
        "surprise": model._surprise_of_samples(total),
        "most_surprised_factor": _text(factor_names(model)).take(pa.array(factor, mask=deviation == 0)),
        "factor_surprise": deviation,
    }
    return _by_row(columns, row_names, row_title)


def factors_table(model: "LayeredEstimator") -> "pa.Table":
    """What each factor explains, and the variables that it is made of first of all."""
    import pyarrow as pa

    rows = list(_factors(model))
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    columns["top_variables"] = _text("; ".join(names) for names in columns["top_variables"])
    return pa.table(columns)


def structure_table(model: "LayeredEstimator") -> "pa.Table":
    """Every link: which variable, or factor of the layer below, belongs to which factor, and how far."""
    import pyarrow as pa

    names = [_text(own) for own in names_of(model)]
    parts = []
    for k, layer in enumerate(model._stack, start=1):
        below, factor = ranked_links(layer)
        columns = {
            "variable": names[k - 1].take(pa.array(below)),
            "factor": names[k].take(pa.array(factor)),
            "layer": np.full(below.size, k),
            "alpha": layer.alpha_[below, factor],
            "mutual_information": layer.mutual_information_[below, factor],
            "weight": weights_of(layer)[below, factor],
            "cluster": layer.clusters_[below] == factor,
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def bounds_dict(bounds: "Bounds") -> dict[str, Any]:
    """Bounds as plain numbers, text and lists, in nats; None for what is not a number."""
    plain = {name: _plain(value) for name, value in vars(bounds).items() if name not in ("layers", "factors")}
    for name, rows in (("layers", bounds.layers), ("factors", bounds.factors)):
        plain[name] = [{key: _plain(value) for key, value in row._asdict().items()} for row in rows]
    return {"unit": "nats"} | plain


def write_csv(table: "pa.Table", file: BinaryIO) -> None:
    """Write a table as CSV in UTF-8, its numbers in as many digits as it takes to read them back exactly.

    Text that a spreadsheet would run is guarded by an apostrophe.
    """
    from pyarrow import csv

    csv.write_csv(guarded_table(table), file)


class Growing:
    """A table in a file, as CSV or Parquet, that some rows at a time are added to."""

    def __init__(self, file: Any, parquet: bool):
        self._file, self._parquet = file, parquet
        self._writer: Any = None

    def write(self, table: "pa.Table") -> None:
        """Add rows, of the same columns every time."""
        from pyarrow import csv, parquet

        if not self._parquet:
            table = guarded_table(table)
        if self._writer is None:
            make = parquet.ParquetWriter if self._parquet else csv.CSVWriter
            self._writer = make(self._file, table.schema)
        self._writer.write_table(table)

    def __enter__(self) -> "Growing":
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is None:
            return
        try:
            self._writer.close()
        except Exception:
            if error[0] is None:  # otherwise it is that which matters
                raise


def description(model: "LayeredEstimator") -> dict[str, Any]:
    """What the summary tells, and more, as plain numbers, text and lists."""
    stack = model._stack
    variables = names_of(model)[0]
    return {
        "n_samples": _plain(model.bounds_.n_samples),
        "n_variables": len(variables),
        "layers": [int(layer.n_factors_) for layer in stack],
        "stop_reason": getattr(model, "stop_reason_", None),
        "bounds": bounds_dict(model.bounds_),
        "factors": list(_factors(model)),
        "unassigned": [variables[i] for i in np.flatnonzero(stack[0].clusters_ == -1)],
    }


def summary(model: "LayeredEstimator") -> str:
    """A dozen lines in plain words: how much is explained, and by what."""
    told = description(model)
    lines = _fill(heading(told)) + _fill(how_much(told))
    if explains(told):
        for k, size in enumerate(told["layers"], start=1):
            lines += _about_layer(k, size, [row for row in told["factors"] if row["layer"] == k])
        lines += _about_unassigned(told["unassigned"])
    if no_more(told):
        lines += ["", *_fill(no_more(told))]
    return "\n".join(lines)


def _factors(model: "LayeredEstimator") -> Iterator[dict[str, Any]]:
    """A row for each factor."""
    names = names_of(model)
    bounds = model.bounds_.factors
    done = 0
    for k, layer in enumerate(model._stack, start=1):
        below, factor = ranked_links(layer)
        order = np.lexsort((layer.clusters_[below] != factor, factor))  # first those that belong to it most
        below, factor = below[order], factor[order]
        first = np.searchsorted(factor, np.arange(layer.n_factors_ + 1))
        sizes = np.bincount(layer.clusters_ + 1, minlength=layer.n_factors_ + 1)[1:]
        for j, name in enumerate(names[k]):
            own = bounds[done + j]
            yield {
                "factor": name,
                "layer": k,
                "states": layer.n_states_,
                "explains": _plain(layer.tcs_[j]),
                "contribution": _plain(own.contribution),
                "contribution_stderr": _plain(own.contribution_stderr),
                "information": _plain(own.information),
                "n_variables": int(sizes[j]),
                "top_variables": [names[k - 1][i] for i in below[first[j] : first[j + 1]][:TOP]],
            }
        done += layer.n_factors_


def factor_names(model: "LayeredEstimator") -> list[str]:
    """The names of the factors of all layers, in the order of ``transform``."""
    return [name for own in names_of(model)[1:] for name in own]


def _by_row(columns: dict[str, Any], row_names: Any, row_title: str) -> "pa.Table":
    """A table of one row a sample, which begins with what the samples are called."""
    import pyarrow as pa

    title = SURROGATE.sub("\ufffd", row_title)
    while title in columns:
        title += "_"
    return pa.table({title: _row_names(row_names)} | columns)


def _row_names(row_names: Any) -> Any:
    """A column of what the samples are called, as text where it is not of one kind."""
    import pyarrow as pa

    if isinstance(row_names, pa.Array | pa.ChunkedArray):
        return row_names
    try:
        return pa.array(row_names)
    except (TypeError, ValueError):
        return _text(map(str, row_names))


def _text(names: Iterable[str]) -> "pa.Array":
    """A column of text; halves of surrogate pairs, which no file can hold, as U+FFFD."""
    import pyarrow as pa

    return pa.array([SURROGATE.sub("\ufffd", name) for name in names], pa.string())


def _plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


# The summary


def explains(told: dict) -> bool:
    """Whether anything is explained."""
    lower = told["bounds"]["lower"]
    return lower is not None and lower > 0 and any(row["explains"] for row in told["factors"])


def heading(told: dict) -> str:
    """How large the table and the model are."""
    sizes = told["layers"]
    shape = f"{count(sum(sizes), 'factor')} in {count(len(sizes), 'layer')}"
    if len(sizes) > 1:
        shape += f" ({', '.join(map(str, sizes))})"
    return f"{count(told['n_samples'], 'sample')}, {count(told['n_variables'], 'variable')}; {shape}."


def how_much(told: dict) -> str:
    """How much is explained, and how sure that is; or that it is nothing."""
    if not explains(told):
        return NOTHING
    bounds, n_layers = told["bounds"], len(told["layers"])
    lower = f"{short(bounds['lower'])} nats (standard error {short(bounds['lower_stderr'], 2)})"
    text = (
        f"The factors explain at least {lower} of the total correlation, the dependence among the variables. "
        "This is measured on the samples of the fit, and too high where these are few."
    )
    if bounds["depth"] < n_layers:
        text += f" It counts {bounds['depth']} of the {n_layers} layers, since the others add nothing."
    if bounds["upper"] is None:
        text += f" There is no upper bound: {bounds['no_upper']}."
    else:
        text += f" The total correlation is at most {short(bounds['upper'])} nats."
    if len(told["unassigned"]) == told["n_variables"]:
        text += " No link of a variable to a factor is significant: all of it may be chance."
    return text


def _about_layer(k: int, size: int, rows: list[dict]) -> list[str]:
    used = [row for row in rows if row["explains"]]
    lines = ["", f"Layer {k}: {count(size, 'factor')} of {rows[0]['states']} states"]
    for row in used[:MOST_FACTORS]:
        n = row["n_variables"]
        members = count(n, "variable" if k == 1 else "factor") if n else "no significant link"
        start = f"{row['factor']}: {short(row['explains'])} nats, {members}, led by"
        lines += _fill(start, leading(row, FEW), "  ")
    if len(used) > MOST_FACTORS:
        lines += _fill(f"and {len(used) - MOST_FACTORS:,} more", (), "  ")
    if len(used) < size:
        lines += _fill(f"{count(size - len(used), 'factor')} left empty", (), "  ")
    return lines


def _about_unassigned(names: list[str]) -> list[str]:
    if not names:
        return []
    more = ["..."] if len(names) > FEW else []
    start = f"{count(len(names), 'variable')} without a significant link to a factor:"
    return ["", *_fill(start, [*names[:FEW], *more])]


def leading(row: dict, most: int) -> list[str]:
    """The first variables that belong to a factor most, or if there are none, that are linked to it."""
    return row["top_variables"][: min(most, row["n_variables"] or most)]


def no_more(told: dict) -> str:
    """Why there is no further layer, if that is what samples say and not what was asked for."""
    reason = told["stop_reason"] or ""
    return f"There is no further layer: {reason}." if "no more than chance" in reason else ""


def count(number: int, noun: str) -> str:
    """A number of things in words."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short(x: float | None, digits: int = 4) -> str:
    """A number as a person would say it, rounding errors as 0."""
    if x is None:
        return "unknown"
    if abs(x) < 1e-9:
        return "0"
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.{digits}g}"


def _fill(text: str, names: Iterable[str] = (), indent: str = "") -> list[str]:
    """Text and then a list of names as lines that are not too long; names are shortened, but not broken."""
    pieces = [shortened(printable(word), WIDTH // 2) for word in text.split()]
    shown = [shortened(printable(name), NAME_WIDTH) for name in names]
    pieces += [f"{name}," for name in shown[:-1]] + shown[-1:]
    lines = [indent + pieces[0]]
    for piece in pieces[1:]:
        longer = f"{lines[-1]} {piece}"
        if _columns(longer) <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(f"{indent}  {piece}" if indent else piece)
    return lines


def shortened(text: str, most: int) -> str:
    """Text of so many columns at most, with an ellipsis in the middle if it has more."""
    if _columns(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{_start(text, most - 1 - end)}\u2026{_start(text[::-1], end)[::-1]}"


def _start(text: str, most: int) -> str:
    """As much of the text as has so many columns."""
    return text[: sum(width <= most for width in accumulate(map(_columns, text)))]


def _columns(text: str) -> int:
    """How wide a text is in a terminal, where some characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
