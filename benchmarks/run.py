"""Run benchmarks, keep what they measure in results.json, and write docs/benchmarks.md from all of it.

    python benchmarks/run.py                 all of them
    python benchmarks/run.py limit peers     some of them; the sections of the others stay as they are
    python benchmarks/run.py --quick         small tables, printed and not kept
    python benchmarks/run.py --page          nothing is run; the pages are written anew

Other pages show the results of a benchmark between two comments, <!-- results: peers --> and <!-- end of results -->.
"""

import argparse
import importlib
import json
import os
import platform
import re
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
from harness import HERE, Block, Table, markdown

import hicorex

# In the order of the page.
BENCHMARKS = (
    "limit",
    "scaling",
    "peers",
    "search",
    "topics",
    "anchors",
    "memory",
    "out_of_core",
    "batches",
    "cluster",
    "optimism",
    "widths",
    "representations",
    "hierarchy",
    "returns",
    "planted",
    "sizes",
    "stability",
    "pairs",
    "entries",
    "impute",
    "noise",
    "links",
    "smoothing",
    "amounts",
    "reading",
    "command_line",
    "report",
)
RESULTS, DOCS = HERE / "results.json", HERE.parent / "docs"
MARKED = re.compile(r"(<!-- results: (\w+) -->\n).*?(\n<!-- end of results -->)", re.DOTALL)
HEAD = """# Benchmarks

Written by `make bench` from what was measured; `make bench ONLY=limit` runs one of them and leaves the others as they
are. Each says when, where and under which load of the machine it ran, 1.0 for one busy core. Machines are noisy: look
at ratios, which are taken in one run, before seconds.
"""


def machine() -> str:
    """The processor, the number of cores and the versions that matter."""
    names = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    name = names[0].strip() if names else platform.processor()
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, hicorex {hicorex.__version__}"
    return f"{len(os.sched_getaffinity(0))} cores of {name}, {versions}"


def run(name: str, quick: bool) -> dict[str, Any]:
    """One benchmark: what it measured, when and where."""
    section = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine(), "load": round(os.getloadavg()[0], 1)}
    begun = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blocks: list[Block] = list(importlib.import_module(name).measure(quick))
    as_data = [block if isinstance(block, str) else block._asdict() for block in blocks]
    return section | {"seconds": round(perf_counter() - begun), "blocks": as_data}


def blocks_of(section: dict[str, Any]) -> list[Block]:
    """The tables and paragraphs of a section."""
    return [block if isinstance(block, str) else Table(**block) for block in section["blocks"]]


def title_of(module: ModuleType) -> tuple[str, str]:
    """The title of a benchmark, and the text below it."""
    title, _, text = (module.__doc__ or "").strip().partition("\n\n")
    return title.rstrip("."), text


def results_text(name: str, section: dict[str, Any]) -> list[str]:
    """When and where a benchmark ran, and what it measured."""
    load = "" if section["load"] is None else f"; load at the start {section['load']}, {section['seconds']} s in all"
    origin = f"`make bench ONLY={name}`, {section['date']}: {section['machine']}{load}."
    return [origin, *map(markdown, blocks_of(section))]


def section_text(name: str, section: dict[str, Any] | None) -> str:
    """A section of the page."""
    title, text = title_of(importlib.import_module(name))
    lines = [f"## {title}", text]
    if section is None:
        return "\n\n".join([*lines, "Not measured yet."])
    lines += results_text(name, section)
    if hasattr(importlib.import_module(name), "draw"):
        lines.append(f"![{title}](figures/{name}.png)")
    return "\n\n".join(lines)


def page_of(results: dict[str, Any]) -> str:
    """The page of all benchmarks."""
    return "\n\n".join([HEAD.rstrip(), *(section_text(name, results.get(name)) for name in BENCHMARKS)]) + "\n"


def refilled(text: str, results: dict[str, Any]) -> str:
    """A page of the documentation, its marked places filled with results."""

    def fill(match: re.Match) -> str:
        if match[2] not in results:
            return match[0]
        text = "\n\n".join(results_text(match[2], results[match[2]]))
        return f"{match[1]}\n{text}\n{match[3]}"

    return MARKED.sub(fill, text)


def write_pages(results: dict[str, Any]) -> None:
    """Write docs/benchmarks.md, and anew what other pages show of the results."""
    (DOCS / "benchmarks.md").write_text(page_of(results), encoding="utf-8")
    for path in (HERE.parent / "README.md", *DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if (new := refilled(text, results)) != text:
            path.write_text(new, encoding="utf-8")


def draw(name: str, section: dict[str, Any], folder: Path) -> None:
    """The figure of a benchmark that has one."""
    module = importlib.import_module(name)
    if hasattr(module, "draw"):
        tables = [block for block in blocks_of(section) if isinstance(block, Table)]
        module.draw(tables).savefig(folder / f"{name}.png", dpi=120)


def main() -> int:
    """Run what the command line asks for; each result is kept at once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmarks", nargs="*", choices=[*BENCHMARKS, []], help="all by default")
    parser.add_argument("--quick", action="store_true", help="small tables, printed and not kept")
    parser.add_argument("--page", action="store_true", help="only write the pages anew")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    names = [] if options.page else [n for n in BENCHMARKS if n in options.benchmarks or not options.benchmarks]
    for name in names:
        section = run(name, options.quick)
        print(section_text(name, section), end="\n\n", flush=True)
        if not options.quick:
            results[name] = section
            text = json.dumps(results, indent=1, ensure_ascii=False, default=lambda number: number.item())
            RESULTS.write_text(text + "\n", encoding="utf-8")
            draw(name, section, DOCS / "figures")
    if not options.quick:
        write_pages(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
