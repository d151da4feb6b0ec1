"""What the command line shows on standard error: what was made of the columns, and a fit on its way."""

import sys
import time
from collections.abc import Hashable, Iterable
from contextlib import ExitStack, suppress
from math import isfinite
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from hicorex.findings.numbers import count
from hicorex.findings.text import shortened
from hicorex.input.column_kinds import ColumnDecision
from hicorex.input.notes import Note
from hicorex.input.words import alike, common_reason, note_in_words
from hicorex.layer.progress import Progress
from hicorex.support.printing import printable, printable_lines, printable_streams, terminal

# Columns of which the same is said are shown together, with at most this many of their names.
FEW = 4
# Seconds between two lines where there is no terminal.
LINE_EVERY = 30.0


class PrintableConsole(Console):
    """Standard error, with colours and lines that move; whatever text is drawn is printable."""

    def __init__(self) -> None:
        super().__init__(file=terminal(sys.stderr), highlight=False)

    def render(self, *given: Any) -> Iterable[Segment]:
        """What is drawn, piece by piece: text, or control codes that rich has made."""
        for piece in super().render(*given):
            yield piece if piece.control else piece._replace(text=printable_lines(piece.text))


def show_decisions(decisions: Iterable[ColumnDecision], notes: Iterable[Note]) -> None:
    """A table of what was made of the columns, those of which the same is said together."""
    groups: dict[Hashable, list[ColumnDecision]] = {}
    for decision in decisions:
        groups.setdefault(alike(decision), []).append(decision)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, justify in (("read as", "left"), ("columns", "right"), ("names", "left"), ("missing", "right")):
        table.add_column(title, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.add_column("why", overflow="fold")
    for group in groups.values():
        table.add_row(*_row(group))
    console = PrintableConsole()
    for note in notes:
        console.print(Text(printable(f"Note: {note_in_words(note)}.")), soft_wrap=True)
    console.print(table)
    console.print()


def _row(group: list[ColumnDecision]) -> tuple[str, str, Text, str, Text]:
    """What is said of some columns: their kind, number, names, how much is missing, and why."""
    names = ", ".join(shortened(printable(decision.name), 30) for decision in group[:FEW])
    more = ", ..." if len(group) > FEW else ""
    missing = max(decision.missing for decision in group)
    at_most = f"{'up to ' if len(group) > 1 else ''}{max(missing, 0.001):.1%}" if missing else ""
    why = Text(printable(common_reason(group)))
    return str(group[0].kind), f"{len(group):,}", Text(names + more), at_most, why


class LiveProgress(Progress):
    """Shows a fit on its way: a line for each layer that is done, and one that moves for the layer at hand."""

    def __init__(self) -> None:
        console = PrintableConsole()
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None
        self._layer = 1
        self._keep = ExitStack()
        self._begun = self._shown = time.monotonic()
        self._last = ""

    def __enter__(self) -> "LiveProgress":
        if self._live is not None:
            self._live.start()
            self._keep.callback(self._live.stop)
            self._keep.enter_context(printable_streams())  # what is printed now goes above the line that moves
        return self

    def __exit__(self, *error: Any) -> None:
        with suppress(OSError):  # of a terminal that was closed
            self._keep.close()

    def layer(self, number: int) -> None:
        """Begin to count anew."""
        self._layer = number
        self._begun = time.monotonic()
        self._show(f"layer {number}: starting")

    def size(self, tried: Any) -> None:
        """Say how a size did on samples that it was not fitted to."""
        reached = f"{tried.lower:.4g} \u00b1 {tried.lower_stderr:.2g} nats on held-out samples"
        self._show(
            f"layer {self._layer}: tried {count(tried.n_factors, 'factor')} of {tried.n_states} states, {reached} "
            f"({self._spent()})"
        )

    def iteration(self, number: int, most: int, objective: float, n_starts: int) -> None:
        """Say how far the fit is, and how long it may take at most."""
        if number == 1:
            self._begun = time.monotonic()
        left = (time.monotonic() - self._begun) / max(number - 1, 1) * (most - number)
        reached = f"{objective:.4f} nats" if isfinite(objective) else "..."
        starts = f"{count(n_starts, 'start')} running"
        left_over = f", at most {_clock(left)} left" if number > 2 else ""
        self._last = f"iteration {number}, {reached}"
        self._show(f"layer {self._layer}: iteration {number} of at most {most}, {starts}, {reached}{left_over}")

    def layer_done(self) -> None:
        """Leave a line about the layer behind."""
        self._print(f"layer {self._layer}: done at {self._last} ({self._spent()})")

    def fold(self, number: int, n_folds: int) -> None:
        """Say how far cross-fitting is."""
        if number == 1:
            self._begun = time.monotonic()
        self._show(f"cross-fitting: fold {number} of {n_folds} ({self._spent()})")

    def cross_fitted(self, bounds: Any) -> None:
        """Leave a line about it behind."""
        reached = f"{bounds.lower:.4g} \u00b1 {bounds.lower_stderr:.2g} nats on held-out samples"
        self._print(f"cross-fitting: done, {reached} ({self._spent()})")

    def resample(self, number: int, n_resamples: int) -> None:
        """Say how far the fits to halves are."""
        if number == 1:
            self._begun = time.monotonic()
        self._show(f"stability: fit {number} of {n_resamples} to halves of the rows ({self._spent()})")

    def _spent(self) -> str:
        return _clock(time.monotonic() - self._begun)

    def _show(self, line: str) -> None:
        if self._live is not None:
            self._live.update(Text(line))
        elif time.monotonic() - self._shown >= LINE_EVERY:
            self._print(line)

    def _print(self, line: str) -> None:
        self._shown = time.monotonic()
        if self._live is not None:
            self._live.console.print(Text(line))
        else:
            print(line, file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
