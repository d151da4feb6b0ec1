"""The command line from file to results: seconds and peak memory of the whole process."""

import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

DATA = Path(__file__).parents[2] / "shared" / "data"
PEOPLE = "race,age,engnat,gender,hand,source,country"
REAL = {
    "Big-5, all rows": (
        DATA / "big5" / "big5_full.csv.gz",
        ["--missing", "0", "--exclude", PEOPLE, "--layers", "5,1", "--states", "3"],
    ),
    "census": (
        DATA / "census_kdd" / "census_income_kdd.parquet",
        ["--exclude", "split", "--weights", "instance_weight", "--layers", "10,2,1"],
    ),
}


def made(folder):
    """A wide and a tall table of groups that follow a coin."""
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=(500, 1))
    wide = np.where(rng.random((500, 20_000)) < 0.3, coin, rng.integers(2, size=(500, 20_000)))
    coin = rng.integers(2, size=1_000_000)
    tall = {f"real {i}": (coin + rng.standard_normal(coin.size)).round(4) for i in range(5)}
    texts = np.array(["low", "middle", "high"])
    tall |= {f"text {i}": texts[coin + rng.integers(2, size=coin.size)] for i in range(5)}
    tables = {
        "500 x 20,000 of 0 and 1": pa.table(list(wide.T), names=[f"g{i}" for i in range(wide.shape[1])]),
        "1,000,000 x 10 mixed": pa.table(tall),
    }
    for name, table in tables.items():
        path = Path(folder) / f"{name.split()[0]}.csv"
        pacsv.write_csv(table, path)
        yield name, path, ["--layers", "4"]


def run(words):
    """Seconds and peak memory, MB, of a process."""
    begun = perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", "hicorex", *words], os.environ)
    _, status, usage = os.wait4(child, 0)
    assert status == 0
    return perf_counter() - begun, usage.ru_maxrss / 1024


def main() -> None:
    print("| table | file | options | seconds | peak, MB |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        cases = [(name, path, options) for name, (path, options) in REAL.items() if path.exists()]
        for name, path, options in [*cases, *made(folder)]:
            seconds, peak = run(["fit", str(path), *options, "--quiet", "--overwrite", "--out", f"{folder}/results"])
            size = path.stat().st_size / 1e6
            ending = "".join(path.suffixes)
            print(
                f"| {name} | {ending}, {size:.1f} MB | `{' '.join(options)}` | {seconds:.0f} | {peak:.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
