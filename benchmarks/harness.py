"""What every benchmark shares: the clock, a process apart, and tables as Markdown.

A benchmark is a module of this folder. Its docstring is the title of its section and the text below it. Its function
``measure(quick)`` yields what was measured, tables and paragraphs; ``quick`` asks for small tables, to see that all
runs. ``draw(tables)``, where there is one, returns a figure of the tables. ``python benchmarks/limit.py`` runs one
benchmark and prints it; ``make bench`` runs them all and writes docs/benchmarks.md (see run.py).
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
import real_data

HERE = Path(__file__).resolve().parent
__all__ = ["HERE", "Block", "Table", "alone", "apart", "in_words", "markdown", "real_data", "shortest", "timed"]


class Table(NamedTuple):
    """What was measured: the format of the numbers of each column by its name, and rows of as many cells.

    A cell is a text, a number, a list of numbers, or None where there is nothing to say.
    """

    columns: dict[str, str]
    rows: list[list[Any]]


Block = Table | str


def timed(function: Callable, *arguments: Any) -> tuple[float, Any]:
    """Seconds of one call, and what it returns."""
    begun = perf_counter()
    result = function(*arguments)
    return perf_counter() - begun, result


def shortest(*functions: Callable, rounds: int = 3, repeats: int = 1, pause: float = 0.0) -> list[float]:
    """Seconds of the shortest call of each function.

    The functions take turns, ``repeats`` calls each, for several rounds: noise of the machine hits all of them. Threads
    of a library that wait for more work disturb the next function for a while, against which a pause helps.
    """
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for which, function in enumerate(functions):
            sleep(pause)
            best[which] = min(best[which], *(timed(function)[0] for _ in range(repeats)))
    return best


class Apart(NamedTuple):
    """What a process of its own returned, its seconds from start to end, and its peak memory in MB."""

    result: Any
    seconds: float
    peak: float


def apart(function: Callable, *arguments: Any) -> Apart:
    """Call a function of a module in a new process."""
    begun = perf_counter()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result, peak = pool.submit(_with_peak, function, arguments).result()
    return Apart(result, perf_counter() - begun, peak)


def _with_peak(function: Callable, arguments: tuple) -> tuple[Any, float]:
    """What a function returns, and the most MB that this process had in memory.

    ``ru_maxrss`` would begin with the memory of the process that started this one.
    """
    warnings.simplefilter("ignore")
    result = function(*arguments)
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    return result, 1024 * int(status["VmHWM"].split()[0]) / 1e6


def markdown(block: Block) -> str:
    """A table in Markdown; a paragraph as it is."""
    if isinstance(block, str):
        return block
    lines = [list(block.columns), ["---"] * len(block.columns)]
    for row in block.rows:
        lines.append([in_words(cell, form) for cell, form in zip(row, block.columns.values(), strict=True)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def in_words(cell: Any, form: str) -> str:
    """The text of a cell, its numbers in the format of the column."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, (list, tuple)):
        return ", ".join(in_words(number, form) for number in cell)
    return format(cell, form)


def alone(measure: Callable[[bool], Iterator[Block]]) -> None:
    """Run one benchmark from the command line and print what it measures."""
    parser = argparse.ArgumentParser(description="Measure, and print what was measured.")
    parser.add_argument("--quick", action="store_true", help="small tables, to see that all runs")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    for block in measure(quick):
        print(markdown(block), end="\n\n", flush=True)
