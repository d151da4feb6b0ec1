"""On a cluster.

Ten factors, two starts, fifteen iterations: two processes of one thread beside two threads of one process. Workers make
or read their rows themselves and hold them before the clock starts, as the table in memory is there before. Traffic is
that of one pass: the function that each worker gets, and the sums of a part. Both give the same bits.

The last table is one array in few chunks and in many, and one data frame in few partitions and in many, that Dask cuts
here and that the workers make: three factors, one start, fifteen iterations, from the collection to the fitted model,
the shortest of three. Beside it is what Dask takes to make the tasks of the same collection.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pandas as pd
from harness import Block, Table, alone, real_data, shortest, timed
from internals import encode, pass_over, source_of, traffic
from tables import gaussian_groups

from hicorex import Corex

SETTINGS = {"n_states": 2, "n_init": 2, "max_iter": 15, "tol": 0.0, "random_state": 0, "n_jobs": 2}
N_FACTORS, CHUNK = 10, 50_000
CENSUS = "census_kdd/census_income_kdd.parquet"


def made(n_rows: int, first: int) -> np.ndarray:
    """Some rows of a table of 500 columns in ten groups."""
    return gaussian_groups(min(CHUNK, n_rows - first), 500, N_FACTORS, noise=1.0, seed=first)


def census(one_hot: bool, first: int | None = None) -> pd.DataFrame | np.ndarray:
    """The census, its categories as they are or one-hot; all rows, or some from one on."""
    frame = pd.read_parquet(real_data.FOLDER / CENSUS).drop(columns="split")
    table = pd.get_dummies(frame.select_dtypes("category")).to_numpy(np.int8) if one_hot else frame
    return table if first is None else table[first : first + CHUNK]


def cases(quick: bool):
    """Of each table a name, what gives the rows from one on, and all rows."""
    n_rows = 5000 if quick else 500_000
    rows_from = partial(made, n_rows)
    yield "float32", rows_from, np.concatenate([rows_from(first) for first in range(0, n_rows, CHUNK)])
    if not quick and real_data.find(CENSUS):
        for name, one_hot in (("census, one-hot", True), ("census, mixed", False)):
            yield name, partial(census, one_hot), census(one_hot)


@contextmanager
def two_workers():
    """A client of two workers of one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as workers,
        Client(workers) as client,
    ):
        yield client


@contextmanager
def on_workers(rows_from, whole):
    """The table as a collection of Dask that the two workers of a cluster have made and hold."""
    import dask.array
    import dask.dataframe
    from dask import delayed
    from distributed import wait

    firsts = range(0, len(whole), CHUNK)
    with two_workers() as client:
        rows = [delayed(rows_from, pure=False)(first) for first in firsts]
        if isinstance(whole, np.ndarray):
            shapes = [whole[first : first + CHUNK].shape for first in firsts]
            parts = zip(rows, shapes, strict=True)
            X = dask.array.concatenate([dask.array.from_delayed(chunk, shape, whole.dtype) for chunk, shape in parts])
        else:
            X = dask.dataframe.from_delayed(rows, meta=whole.iloc[:0], verify_meta=False)
        X = client.persist(X)
        wait(X)
        yield X


def of_passes(tables) -> tuple[list[float], list[int], int]:
    """Seconds of a pass over each of the tables, which take turns; traffic and number of parts of the last."""
    with ExitStack() as stack:
        passes = []
        for X in tables:
            table = source_of(X)
            engine = stack.enter_context(table.engine(2))
            data = encode(table, engine)
            passes.append(pass_over(data, N_FACTORS, 2, engine))
        sizes = traffic(passes[-1], engine)
        return shortest(*passes, rounds=5), sizes, len(data.parts)


def compared(name, rows_from, whole) -> list:
    """A row of the table: threads beside a cluster."""
    Corex(2, n_states=2, n_init=1, max_iter=3, n_jobs=2).fit(whole[:5000])  # compiles
    fit_here, model = timed(Corex(N_FACTORS, **SETTINGS).fit, whole)
    with on_workers(rows_from, whole) as X:
        (pass_here, pass_there), sizes, n_parts = of_passes([whole, X])
        fit_there, other = timed(Corex(N_FACTORS, **SETTINGS).fit, X)
    assert other.tc_ == model.tc_
    shape = f"{name}, {len(whole):,} x {whole.shape[1]}"
    passes, fits = [pass_here, pass_there, pass_there / pass_here], [fit_here, fit_there, fit_there / fit_here]
    return [shape, n_parts, *(size / 1e6 for size in sizes), passes, fits]


def slices(whole: pd.DataFrame, first: int, height: int) -> pd.DataFrame:
    """Some rows of a frame."""
    return whole[first : first + height]


def in_chunks(whole: np.ndarray, n_chunks: int) -> dict:
    """The table as an array, as a frame that Dask cuts here, and as one that workers cut."""
    import dask.array
    import dask.dataframe

    height, frame = len(whole) // n_chunks, pd.DataFrame(whole).add_prefix("v")
    firsts = range(0, len(whole), height)
    return {
        "array": dask.array.from_array(whole, chunks=(height, -1)),
        "frame": dask.dataframe.from_pandas(frame, npartitions=n_chunks),
        "frame by calls": dask.dataframe.from_map(partial(slices, frame), firsts, height=height, meta=frame[:0]),
    }


def by_chunks(quick: bool) -> Table:
    """Fits to one table in few chunks and in many, which take turns."""
    n_rows, few, many = (2000, 20, 1000) if quick else (200_000, 200, 20_000)
    whole = gaussian_groups(n_rows, 20, 3, noise=1.0, seed=0).astype(float)
    fit = Corex(3, **SETTINGS | {"n_init": 1}).fit
    rows = []
    tables = zip(in_chunks(whole, few).items(), in_chunks(whole, many).values(), strict=True)
    with two_workers():
        for (name, few_chunks), many_chunks in tables:
            fit(few_chunks)  # imports and compiles
            seconds = shortest(partial(fit, few_chunks), partial(fit, many_chunks), rounds=1 if quick else 3)
            for n, X, s in zip((few, many), (few_chunks, many_chunks), seconds, strict=True):
                rows.append([f"{name}, {n_rows:,} x 20", n, s, s / seconds[0], timed(X.to_delayed)[0]])
    columns = {"table": "", "chunks": ",", "fit, s": ".2f", "ratio to the first": ".2f"}
    return Table(columns | {"tasks made by Dask, s": ".2f"}, rows)


def measure(quick: bool) -> Iterator[Block]:
    rows, cells = [], []
    for name, rows_from, whole in cases(quick):
        rows.append(compared(name, rows_from, whole))
        cells.append(whole.size)
    columns = {"table": "", "parts": "", "function, MB": ".2f", "sums, MB": ".2f"}
    columns |= dict.fromkeys(["pass, s: threads, cluster, ratio", "fit, s: threads, cluster, ratio"], ".2f")
    yield Table(columns, rows)
    # Two products of X and of X^2 with the columns of two starts, a multiplication and an addition each.
    operations = 2 * 2 * 2 * cells[0] * 2 * N_FACTORS
    by_threads, by_workers = (operations / seconds / 1e9 for seconds in rows[0][4][:2])
    yield (
        f"A pass over the first table is {operations:.1e} operations: {by_threads:.0f} Gflop/s by threads, "
        f"{by_workers:.0f} by workers."
    )
    yield by_chunks(quick)
    if real_data.find(CENSUS) is None:
        yield f"Left out: {real_data.absent(CENSUS)}."


if __name__ == "__main__":
    alone(measure)
