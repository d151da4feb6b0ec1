"""From a file to results.

`hicorex fit` with ten starts, from reading to the last result file; the whole process, Python and
its libraries included.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import Block, Table, alone, apart, real_data

PEOPLE = "race,age,engnat,gender,hand,source,country"
REAL = {
    "Big-5, 19,719 x 50": (
        "big5/big5_full.csv.gz",
        ["--missing", "0", "--exclude", PEOPLE, "--layers", "5,1", "--states", "3"],
    ),
    "census, 299,285 x 43 mixed": (
        "census_kdd/census_income_kdd.parquet",
        ["--exclude", "split", "--weights", "instance_weight", "--layers", "10,2,1"],
    ),
}


def give(words: list[str]) -> None:
    """Give a command; an error if it fails."""
    from hicorex.__main__ import main

    sys.argv = ["hicorex", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{words} ended with {end.code}") from None


def made(folder: str, part: int) -> Iterator[tuple[str, Path, list[str]]]:
    """A wide and a tall table."""
    import pyarrow.csv
    from tables import arrow_columns, binary_groups, mixed_columns

    tables = {
        "500 x 20,000 of 0 and 1": arrow_columns(binary_groups(500, 20_000 // part, 1, flip=0.35)),
        "1,000,000 x 10 mixed": mixed_columns(1_000_000 // part),
    }
    for name, table in tables.items():
        path = Path(folder) / f"{name.split()[0]}.csv"
        pyarrow.csv.write_csv(table, path)
        yield name, path, ["--layers", "4"]


def measure(quick: bool) -> Iterator[Block]:
    real = {name: (real_data.find(path), options) for name, (path, options) in REAL.items()}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cases = [] if quick else [(name, path, options) for name, (path, options) in real.items() if path is not None]
        cases += list(made(folder, 200 if quick else 1))[: 1 if quick else None]
        for name, path, options in cases:
            words = ["fit", str(path), *options, "--quiet", "--overwrite", "--out", f"{folder}/results"]
            _, seconds, peak = apart(give, words)
            file = f"{''.join(path.suffixes)}, {path.stat().st_size / 1e6:.1f} MB"
            rows.append([name, file, f"`{' '.join(options)}`", seconds, peak])
    yield Table({"table": "", "file": "", "options": "", "seconds": ".0f", "peak, MB": ".0f"}, rows)
    for name, (path, _) in real.items():
        if path is None:
            yield f"Left out: {name}; {real_data.absent(REAL[name][0])}."


if __name__ == "__main__":
    alone(measure)
