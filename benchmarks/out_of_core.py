"""Tables on disk: time of a pass beside merely reading the file, peak memory, and the bound beside that of a sample.

    python benchmarks/out_of_core.py [--folder FOLDER] [--small]

Makes 10,000,000 x 100 binary and 1,000,000 x 1,000 Gaussian tables in the folder (5 GB; --small: a hundredth of the
rows), fits ten factors with scikit-learn's working_memory at 256 MiB, each in a process of its own, and removes them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N_FACTORS, NOISE = 10, {"binary": 0.2, "gaussian": 1.0}
SHAPES = {"binary": (10_000_000, 100), "gaussian": (1_000_000, 1000)}
READ_ROWS = 2**14


def make(path: Path, kind: str, n_rows: int, n_columns: int) -> None:
    """Columns in ten groups, each a noisy copy of a hidden bit."""
    dtype = np.uint8 if kind == "binary" else np.float32
    table = np.lib.format.open_memmap(path, "w+", dtype, (n_rows, n_columns))
    rng = np.random.default_rng(0)
    group = np.arange(n_columns) % N_FACTORS
    for first in range(0, n_rows, 100_000):
        rows = table[first : first + 100_000]
        hidden = rng.integers(0, 2, (len(rows), N_FACTORS), dtype=np.uint8)[:, group]
        if kind == "binary":
            rows[:] = hidden ^ (rng.random(rows.shape, np.float32) < NOISE[kind])
        else:
            rows[:] = hidden + NOISE[kind] * rng.standard_normal(rows.shape, np.float32)
    table.flush()


def run(path: str, n_init: int) -> dict:
    """Fit a file; what it took."""
    import sklearn

    from hicorex import Corex
    from hicorex.engine import LocalEngine
    from hicorex.input.intake import take_in
    from hicorex.input.sources import source_of
    from hicorex.layer.one_pass import run_pass

    source = source_of(path)

    def read() -> float:
        start = time.perf_counter()
        for first in range(0, source.shape[0], READ_ROWS):
            source.read(first, min(first + READ_ROWS, source.shape[0]))
        return time.perf_counter() - start

    forget(path)
    from_disk = read()
    settings = {"n_init": n_init, "random_state": 0}
    with sklearn.config_context(working_memory=256):
        start = time.perf_counter()
        model = Corex(N_FACTORS, **settings).fit(path)
        whole = time.perf_counter() - start
        peak = peak_memory() / 2**30
        with LocalEngine() as engine:
            start = time.perf_counter()
            data = take_in(path).encode(model._schema, None, engine)
            spooled = time.perf_counter() - start
            asked = fitted_state(model, data)
            passes, reads = [], []
            for _ in range(3):
                reads.append(read())
                start = time.perf_counter()
                run_pass(asked, data, engine)
                passes.append(time.perf_counter() - start)
    sample = np.load(path, mmap_mode="r")[: source.shape[0] // 20]
    some = Corex(N_FACTORS, **settings).fit(np.array(sample))
    return {
        "disk": from_disk,
        "read": min(reads),
        "pass": min(passes),
        "spool": spooled,
        "fit": whole,
        "iterations": model.n_iter_,
        "peak": peak,
        "lower": model.bounds_.lower,
        "sample": some.bounds_.lower,
    }


def peak_memory() -> int:
    """Bytes that this process had in memory at most; unlike ``ru_maxrss``, not those of the one that started it."""
    with open("/proc/self/status") as file:
        return 1024 * int(dict(line.split(":", 1) for line in file)["VmHWM"].split()[0])


def forget(path: str) -> None:
    """Have the system read a file from the disk again."""
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def fitted_state(model, data):
    """The state of a fitted layer that asks what a pass of the fit asks."""
    from hicorex.layer.structure import RULES, Measured
    from hicorex.marginals.base import Estimate

    state = model._state
    questions = []
    for block, parameters, alpha in zip(data.blocks, state.parameters, state.alpha, strict=True):
        estimate = Estimate(parameters, state.prior, block.dependence(parameters, state.prior))
        questions.append(RULES[model.structure].questions(Measured(block, estimate, 1), alpha))
    return state.take_factors(np.arange(N_FACTORS), questions)


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print(json.dumps(run(given.run, 1)))
        return
    print("read: all rows, from the disk and once they are cached; pass: over the scratch file, cached")
    print(
        "table                      disk s  read s  pass s  spool s  fit s  iterations  peak GiB   bound  of a sample"
    )
    for kind, (n_rows, n_columns) in SHAPES.items():
        n_rows = n_rows // 100 if given.small else n_rows
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = Path(folder, "table.npy")
            make(path, kind, n_rows, n_columns)
            script = [sys.executable, __file__, "--run", str(path)]
            found = json.loads(subprocess.run(script, capture_output=True, text=True, check=True).stdout)
        name = f"{n_rows:,} x {n_columns:,} {kind}"
        print(
            f"{name:<26}{found['disk']:>7.2f}{found['read']:>8.2f}{found['pass']:>8.2f}"
            f"{found['spool']:>9.1f}{found['fit']:>7.0f}{found['iterations']:>12}{found['peak']:>10.2f}"
            f"{found['lower']:>8.3f}{found['sample']:>13.3f}"
        )


if __name__ == "__main__":
    main()
