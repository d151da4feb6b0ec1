"""Reading a file and deciding on its columns, against pyarrow's own reading of the same file."""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from hicorex.input.files import read_table

REPEATS = 3


def columns(values):
    return pa.table([pa.array(column) for column in values.T], names=[f"g{i}" for i in range(values.shape[1])])


def mixed(n_rows, rng):
    table = {"sample": np.char.add("s", np.arange(n_rows).astype(str))}
    for at, size in enumerate((5, 100, 1_000_000)):
        table[f"real {at}"] = rng.standard_normal(n_rows).round(5)
        table[f"whole {at}"] = rng.integers(size, size=n_rows)
    for at, size in enumerate((3, 50, 1000)):
        table[f"text {at}"] = np.array([f"category {k}" for k in range(size)])[rng.integers(size, size=n_rows)]
    return pa.table(table)


def seconds(read, path):
    begin = perf_counter()
    read(path)
    return perf_counter() - begin


def main() -> None:
    rng = np.random.default_rng(0)
    cases = {
        "100 x 20,000 floats": lambda: columns(rng.standard_normal((100, 20_000)).round(6)),
        "500 x 20,000 of 0 and 1": lambda: columns(rng.integers(2, size=(500, 20_000))),
        "1,000,000 x 10 mixed": lambda: mixed(1_000_000, rng),
        "500 x 5,000 texts": lambda: columns(np.array(["AA", "AG", "GG"])[rng.integers(3, size=(500, 5_000))]),
    }
    forms = {"csv": (pacsv.write_csv, pacsv.read_csv), "parquet": (pq.write_table, pq.read_table)}
    print("| table | format | pyarrow, s | hicorex, s | ratio |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in cases.items():
            table = make()
            for form, (write, read) in forms.items():
                path = str(Path(folder) / f"table.{form}")
                write(table, path)
                read(path)
                times = [(seconds(read, path), seconds(read_table, path)) for _ in range(REPEATS)]
                theirs, ours = np.median(times, axis=0)
                ratio = np.median([b / a for a, b in times])
                print(f"| {name} | {form} | {theirs:.2f} | {ours:.2f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
