"""Where the real data sets are: the one place that knows, for tests, benchmarks, examples and the paper.

None of them is part of the project. The variable HICOREX_DATA of the environment names their folder, by
default shared/data beside the project.
"""

import os
from pathlib import Path

FOLDER = Path(os.environ.get("HICOREX_DATA") or Path(__file__).resolve().parents[1] / "shared" / "data")


def find(name: str = ".") -> Path | None:
    """The path of a data set, a file or a folder; None where it is absent."""
    path = FOLDER / name
    return path if path.exists() else None


def absent(name: str = ".") -> str:
    """Why something is skipped, in words."""
    missing = "the real data sets" if name == "." else f"the real data of {name}"
    return f"{missing} are not here; the variable HICOREX_DATA names their folder"
