"""Writes into docs/architecture.md which functions five calls enter, in order: ``python docs/walk.py``.

Each function stands where it is entered first. Left out are what is private to a module, the verbs of kernels/,
marginals/ and engine/, which serve all others, and of the later calls what the first one enters.
"""

import re
import subprocess
import sys
import tempfile
import textwrap
from itertools import groupby
from pathlib import Path

# Folders whose functions are called from all over.
SERVING = ("kernels", "marginals", "engine", "support")
PAGE = Path(__file__).with_name("architecture.md")
TABLE = """
    from hicorex.datasets import make_latent_tree
    X = make_latent_tree(400, 40, 4, root_flip=0.2, random_state=0)[0]
"""
# What is called, by the marker of its list in the page: what comes before, and the call itself.
CALLS = {
    "Corex(3, n_states=2).fit(array)": (TABLE, "hicorex.Corex(3, n_states=2, n_jobs=1, random_state=0).fit(X)"),
    "HierarchicalCorex().fit(frame)": (
        TABLE + "    import pandas; frame = pandas.DataFrame(X).add_prefix('v')",
        "hicorex.HierarchicalCorex(n_jobs=1, random_state=0).fit(frame)",
    ),
    "hicorex fit data.csv": (
        TABLE + "    import pandas; pandas.DataFrame(X).add_prefix('v').to_csv('data.csv', index=False)",
        "command('fit', 'data.csv', '--quiet')",
    ),
    "hicorex fit folder --memory 2GB": (
        TABLE
        + "    import os, pandas; os.mkdir('folder')\n"
        + "    pandas.DataFrame(X).add_prefix('v').to_parquet('folder/part.parquet')",
        "command('fit', 'folder', '--memory', '2GB', '--quiet')",
    ),
    "Corex(3, n_states=2).fit(dask_array)": (
        TABLE
        + "    import dask.array, distributed\n"
        + "    client = distributed.Client(processes=False, dashboard_address=None, n_workers=1)\n"
        + "    dask_array = dask.array.from_array(X, chunks=(100, 40))",
        "hicorex.Corex(3, n_states=2, n_jobs=1, random_state=0).fit(dask_array)",
    ),
}
PROGRAM = """
    import importlib, pkgutil, sys, threading, warnings
    warnings.simplefilter("ignore")
    import hicorex
    for module in pkgutil.walk_packages(hicorex.__path__, "hicorex."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    {before}
    def command(*words):
        from hicorex.cli import main
        sys.argv = ["hicorex", *words]
        try:
            main()
        except SystemExit:
            pass
    seen = {{}}
    root = hicorex.__path__[0]
    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_flags & 1 and code.co_filename.startswith(root):  # 1: a function's own names
            module = code.co_filename[len(root) + 1 : -3].replace("/", ".")
            seen.setdefault(f"{{module}} {{code.co_qualname}}")
    threading.setprofile(note)
    sys.setprofile(note)
    {call}
    sys.setprofile(None)
    threading.setprofile(None)
    with open("walk", "w") as file:
        file.write("\\n".join(seen))
"""


def walk(before: str, call: str) -> list[tuple[str, str]]:
    """Module and name of each function that a call enters, in order; without what is private to a module."""
    program = textwrap.dedent(PROGRAM).format(before=textwrap.dedent(before).strip(), call=call)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        lines = Path(folder, "walk").read_text().splitlines()
    entered = [tuple(line.split(" ")) for line in lines]
    return [
        (module, name)
        for module, name in entered
        if not re.search(r"(^|\.)_|<", name) and not module.startswith(SERVING)
    ]


def listed(entered: list[tuple[str, str]], common: set[tuple[str, str]]) -> str:
    """The functions as a numbered list, those of a folder one after the other; common ones as an ellipsis."""
    lines = []
    for folder, group in groupby(entered, key=lambda pair: "" if pair in common else pair[0].partition(".")[0]):
        places = [(module.removesuffix(".__init__").partition(".")[2], name) for module, name in group]
        by_module = [
            (module, [name for _, name in names]) for module, names in groupby(places, key=lambda place: place[0])
        ]
        text = "; ".join(f"{module}: {', '.join(names)}" if module else ", ".join(names) for module, names in by_module)
        text = f"1. `{folder}{'/' if by_module[0][0] else '.py'}` {text}" if folder else "1. ..."
        lines += textwrap.wrap(text, 120, subsequent_indent="   ", break_on_hyphens=False)
    return "\n".join(lines)


def main() -> None:
    """Put each list between its two markers."""
    page = PAGE.read_text()
    common: set[tuple[str, str]] = set()
    for title, (before, call) in CALLS.items():
        start, end = f"<!-- walk: {title} -->\n", "<!-- end -->"
        head, rest = page.split(start)
        entered = walk(before, call)
        page = f"{head}{start}{listed(entered, common)}\n{end}{rest.split(end, 1)[1]}"
        common = common or set(entered)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
