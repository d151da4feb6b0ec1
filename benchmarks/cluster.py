"""A cluster of two processes beside two threads of one: whole fits, and one pass.

    python benchmarks/cluster.py [--data FOLDER] [--small]

Fits ten factors to a generated float32 table of 500,000 x 500 (1 GB; --small: a tenth of the rows) and, given the
folder of data sets, to the census as it is, 299,285 x 43, and one-hot, 299,285 x 505. Workers make or read their rows
themselves, and hold them before the clock starts, as the table in memory is there before.
"""

import argparse
import pickle
import time
import warnings
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from hicorex import Corex
from hicorex.input.intake import take_in
from hicorex.layer.data import Data
from hicorex.layer.one_pass import run_pass
from hicorex.layer.structure import RULES, Measured
from hicorex.marginals.base import Estimate

DATA = Path(__file__).parents[2] / "shared" / "data"
SETTINGS = {"n_init": 2, "max_iter": 15, "tol": 0.0, "random_state": 0, "n_jobs": 2}
N_FACTORS, PASSES = 10, 5
CHUNK = 50_000


def floats(n_rows: int, first: int) -> np.ndarray:
    """Some rows of a table of 500 columns in ten groups, each of them a hidden bit and noise."""
    rng = np.random.default_rng(first)
    size = min(CHUNK, n_rows - first)
    hidden = rng.integers(0, 2, (size, N_FACTORS)).astype(np.float32)[:, np.arange(500) % N_FACTORS]
    return hidden + rng.standard_normal((size, 500), np.float32)


def census(path: str, one_hot: bool) -> pd.DataFrame | np.ndarray:
    """The census, its categories as they are or one-hot."""
    frame = pd.read_parquet(path).drop(columns="split")
    return pd.get_dummies(frame.select_dtypes("category")).to_numpy(np.int8) if one_hot else frame


def some_rows(read, first: int) -> pd.DataFrame | np.ndarray:
    return read()[first : first + CHUNK]


def tables(data: Path | None, small: bool):
    """Of each table a name, the number of rows, what gives rows from one on, and the rows of the whole."""
    if data:
        path = str(data / "census_kdd" / "census_income_kdd.parquet")
        for name, one_hot in (("census, mixed", False), ("census, one-hot", True)):
            read = partial(census, path, one_hot)
            whole = read()
            yield name, len(whole), partial(some_rows, read), whole
    n_rows = 50_000 if small else 500_000
    pieces = partial(floats, n_rows)
    yield "float32", n_rows, pieces, np.concatenate([pieces(first) for first in range(0, n_rows, CHUNK)])


def on_workers(client, n_rows: int, pieces, whole):
    """The table as a collection of Dask that workers have made and hold."""
    import dask.array
    import dask.dataframe
    from dask import delayed
    from distributed import wait

    rows = [delayed(pieces, pure=False)(first) for first in range(0, n_rows, CHUNK)]
    if isinstance(whole, np.ndarray):
        sizes = [min(CHUNK, n_rows - first) for first in range(0, n_rows, CHUNK)]
        parts = [
            dask.array.from_delayed(own, (size, whole.shape[1]), whole.dtype)
            for own, size in zip(rows, sizes, strict=True)
        ]
        X = dask.array.concatenate(parts)
    else:
        X = dask.dataframe.from_delayed(rows, meta=whole.iloc[:0], verify_meta=False)
    X = client.persist(X)
    wait(X)
    return X


def fitted(X) -> tuple[float, Corex]:
    """Seconds of a fit, and the model."""
    start = time.perf_counter()
    model = Corex(N_FACTORS, **SETTINGS).fit(X)
    return time.perf_counter() - start, model


def passes(model: Corex, tables: list) -> tuple[list[float], Data, tuple[int, int]]:
    """Seconds of a pass as in a fit over each of the tables, which take turns; data and traffic of the last."""
    with ExitStack() as stack:
        engines = [stack.enter_context(table.engine(2)) for table in tables]
        data = [table.encode(model._schema, None, engine) for table, engine in zip(tables, engines, strict=True)]
        states = [asked(model, own) for own in data]
        sizes = [traffic(*own) for own in zip(engines, states, data, strict=True)]
        seconds = np.full(len(tables), np.inf)
        for _ in range(PASSES):
            for at, own in enumerate(zip(states, data, engines, strict=True)):
                start = time.perf_counter()
                run_pass(*own)
                seconds[at] = min(seconds[at], time.perf_counter() - start)
        return seconds.tolist(), data[-1], sizes[-1]


def asked(model, data):
    """The state of a fitted layer, twice side by side, that asks what a pass of the fit asks."""
    twice, state = np.tile(np.arange(N_FACTORS), 2), model._state
    questions = []
    state = state.take_factors(twice, state.questions, 2)
    for block, parameters, alpha in zip(data.blocks, state.parameters, state.alpha, strict=True):
        estimate = Estimate(parameters, state.prior, block.dependence(parameters, state.prior))
        questions.append(RULES[model.structure].questions(Measured(block, estimate, 2), alpha))
    return state.take_factors(np.arange(twice.size), questions, 2)


def traffic(engine, state, data) -> tuple[int, int]:
    """Bytes of the function of a pass, and of its sums."""
    import cloudpickle

    sizes = []
    add = engine.sum

    def weighed(function, parts):
        found = add(function, parts)
        sizes.extend((len(cloudpickle.dumps(function)), len(pickle.dumps(found))))
        return found

    engine.sum = weighed
    run_pass(state, data, engine)
    del engine.sum
    return sizes[0], sizes[1]


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA if DATA.is_dir() else None)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="", help="tables whose name begins so")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    from distributed import Client, LocalCluster

    head = "table              rows x columns  parts x tile"
    head += "".join(f" {what} s: threads cluster ratio" for what in (" fit", "pass"))
    print(f"{head}  function MB, sums MB")
    for name, n_rows, pieces, whole in tables(given.data, given.small):
        if not name.startswith(given.only):
            continue
        small = whole[:5000]
        Corex(2, n_init=1, max_iter=3, n_jobs=2).fit(small)
        fit_here, model = fitted(whole)
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as found,
            Client(found) as client,
        ):
            X = on_workers(client, n_rows, pieces, whole)
            (pass_here, pass_there), data, sizes = passes(model, [take_in(whole), take_in(X)])
            fit_there, other = fitted(X)
        assert other.tc_ == model.tc_
        shape = f"{n_rows:,} x {whole.shape[1]}"
        line = f"{name:<17}{shape:>16}{len(data.parts):>7} x {data.height:<5}"
        for here, there in ((fit_here, fit_there), (pass_here, pass_there)):
            line += f"{here:>15.2f}{there:>8.2f}{there / here:>6.2f}"
        print(line + "".join(f"{size / 1e6:>10.2f}" for size in sizes), flush=True)


if __name__ == "__main__":
    main()
