"""Tables on disk.

Ten factors, one start, `working_memory` of 256 MiB. Reading is that of all rows, from the disk and once the system has
them in memory; a pass goes over the scratch file and takes turns with reading. The last columns compare the bound with
that of the first twentieth of the rows in memory.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import Block, Table, alone, apart, shortest, timed
from tables import binary_groups, gaussian_groups

N_FACTORS, READ_ROWS, MADE_ROWS = 10, 2**14, 100_000
SHAPES = {"binary": (10_000_000, 100), "Gaussian": (1_000_000, 1000)}


def write(path: Path, kind: str, n_rows: int, n_columns: int) -> float:
    """Columns in ten groups, each a noisy copy of a hidden bit; the size in GB."""
    dtype = np.uint8 if kind == "binary" else np.float32
    table = np.lib.format.open_memmap(path, "w+", dtype, (n_rows, n_columns))
    for first in range(0, n_rows, MADE_ROWS):
        rows = table[first : first + MADE_ROWS]
        shape = (len(rows), n_columns, N_FACTORS)
        rows[:] = binary_groups(*shape, 0.2, first) if kind == "binary" else gaussian_groups(*shape, 1.0, first)
    table.flush()
    return table.nbytes / 1e9


def read(path: str) -> None:
    """Read all rows, part by part."""
    table = np.load(path, mmap_mode="r")
    for first in range(0, len(table), READ_ROWS):
        np.array(table[first : first + READ_ROWS])


def forget(path: str) -> None:
    """Have the system read a file from the disk again."""
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def fit(path: str) -> tuple[float, int, float]:
    """Seconds, iterations and lower bound of a fit."""
    import sklearn

    from hicorex import Corex

    with sklearn.config_context(working_memory=256):
        seconds, model = timed(Corex(N_FACTORS, n_states=2, n_init=1, random_state=0).fit, path)
    return seconds, model.n_iter_, model.bounds_.lower


def steps(path: str) -> list[float]:
    """Seconds to write the scratch file, of reading and of a pass."""
    import sklearn
    from internals import LocalEngine, encode, pass_over, source_of

    with sklearn.config_context(working_memory=256), LocalEngine() as engine:
        seconds, data = timed(encode, source_of(path), engine)
        one_pass = pass_over(data, N_FACTORS, 1, engine)
        return [seconds, *shortest(lambda: read(path), one_pass)]


def of_a_part(path: str) -> float:
    """The lower bound of a twentieth of the rows, in memory."""
    from hicorex import Corex

    table = np.load(path, mmap_mode="r")
    return Corex(N_FACTORS, n_states=2, n_init=1, random_state=0).fit(np.array(table[: len(table) // 20])).bounds_.lower


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for kind, (n_rows, n_columns) in SHAPES.items():
        n_rows //= 500 if quick else 1
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "table.npy"))
            size = write(Path(path), kind, n_rows, n_columns)
            forget(path)
            from_disk, _ = timed(read, path)
            (seconds, n_iter, bound), _, peak = apart(fit, path)
            scratch, again, one_pass = steps(path)
            part = of_a_part(path)
        name = f"{n_rows:,} x {n_columns:,}, {kind} ({size:.1g} GB)"
        rows.append([name, from_disk, again, scratch, one_pass, seconds, n_iter, peak / 1000, bound, part])
    columns = {"table": "", "read from disk, s": ".1f", "read again, s": ".1f", "scratch file, s": ".1f"}
    columns |= {"a pass, s": ".1f", "whole fit, s": ".0f", "iterations": "", "peak, GB": ".2f"}
    yield Table(columns | {"bound": ".3f", "of a twentieth, in memory": ".3f"}, rows)


if __name__ == "__main__":
    alone(measure)
