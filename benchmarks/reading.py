"""Reading files.

Reading a file and deciding on every column, against pyarrow's reading of the same file with its defaults; the two take
turns, the shortest of five.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from harness import Block, Table, alone, shortest
from internals import read_table
from tables import arrow_columns, mixed_columns

FORMATS = {"csv": (pacsv.write_csv, pacsv.read_csv), "parquet": (pq.write_table, pq.read_table)}


def cases(part: int):
    rng = np.random.default_rng(0)
    words = np.array(["AA", "AG", "GG"])
    yield "100 x 20,000 floats", arrow_columns(rng.standard_normal((100, 20_000 // part)).round(6))
    yield "500 x 20,000 of 0 and 1", arrow_columns(rng.integers(2, size=(500, 20_000 // part)))
    yield "1,000,000 x 10 mixed", mixed_columns(1_000_000 // part)
    yield "500 x 5,000 texts", arrow_columns(words[rng.integers(3, size=(500, 5000 // part))])


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, table in cases(100 if quick else 1):
            for form, (write, read) in FORMATS.items():
                path = str(Path(folder) / f"table.{form}")
                write(table, path)
                theirs, ours = shortest(partial(read, path), partial(read_table, path), rounds=1 if quick else 5)
                rows.append([name, form, theirs, ours, ours / theirs])
    yield Table({"table": "", "format": "", "pyarrow, s": ".2f", "hicorex, s": ".2f", "ratio": ".2f"}, rows)


if __name__ == "__main__":
    alone(measure)
