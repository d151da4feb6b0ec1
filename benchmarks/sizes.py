"""Sizes that `"auto"` takes.

What `HierarchicalCorex()` decides on, by default settings unless a parsimony is named. Shares are of the best held-out
bound of a grid, 1, 2, 3, 5, 8, 12, 20 and 40 factors of 2, 3, 4, 6 and 8 states, by the same fits of one start on the
same folds. Seeds draw made tables anew, and the order of the rows of real ones, which draws other folds: for one table
the size is the same for every seed. On noise it takes one factor and says that this explains no more than chance. Test
parts are evaluated by whole fits to the training parts, with parsimony 0.01. Times are seconds of the processor in one
process, of the second fit of its kind.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import product
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from harness import HERE, Block, Table, alone, real_data
from tables import big5_full, big5_sample, latent_tree

from hicorex import HierarchicalCorex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters
from hicorex.input.encoder import Encoder, label_data
from hicorex.input.sources import source_of
from hicorex.layer.notes import Notes
from hicorex.layer.options import FitOptions
from hicorex.layer.progress import SILENT
from hicorex.layer.structure import RULES
from hicorex.selection.sizing import PARSIMONY, STATES, Search
from hicorex.selection.trials import Size, Trials

FACTORS = (1, 2, 3, 5, 8, 12, 20, 40)
SMALL_PARSIMONY = 0.01
SEEDS = range(6)
# What other ways reach on the test parts, in nats; and columns of the census in the sample.
MARKS = {"nltcs": 3.1, "plants": 17.5, "accidents": 14.5, "baudio": 8.8}
CENSUS_ROWS = 20_000

Settings = dict[str, Any]


def binary(name: str, part: str) -> np.ndarray:
    """One part of a table of bits."""
    with np.load(real_data.FOLDER / "debd" / f"{name}.npz") as bits:
        return np.unpackbits(bits[part], axis=1, count=int(bits["n"]))


def real_tables() -> dict[str, tuple[Callable[[], Any], Settings]]:
    """Functions that read the real tables, and the settings that suit them."""
    folder = real_data.FOLDER

    def census() -> pd.DataFrame:
        people = pd.read_parquet(folder / "census_kdd" / "census_income_kdd.parquet")
        return people.drop(columns="split").sample(CENSUS_ROWS, random_state=0)

    def bfi() -> pd.DataFrame:
        return pd.read_csv(folder / "bfi" / "bfi.csv").filter(regex="^[ACENO][1-5]$").astype("Int64")

    ranks = {"marginals": "rank"}
    return {
        "bfi": (bfi, {}),
        "Big-5 sample": (lambda: big5_sample().X, {}),
        "news20_w100": (lambda: pd.read_csv(folder / "news20_w100" / "news20_w100.csv.gz").iloc[:, 1:].to_numpy(), {}),
        "sp500, ranks": (lambda: pd.read_csv(folder / "sp500" / "monthly_returns.csv.gz", index_col=0), ranks),
        "tcga_ov, ranks": (
            lambda: pd.read_csv(folder / "tcga_ov" / "tcga_ov_881genes.csv.gz", index_col=0).iloc[:, 4:],
            ranks,
        ),
        **{name: (lambda name=name: binary(name, "train"), {}) for name in MARKS},
        f"census, {CENSUS_ROWS:,} rows": (census, {}),
    }


def shares(X: Any, settings: Settings) -> list[Any]:
    """The sizes that are chosen by default and with a small parsimony, and their shares of the best of a grid."""
    source = source_of(X, least_samples=2)
    with source.engine(None) as engine:
        encoder = Encoder.learn(source, settings.get("marginals", "auto"), None, engine)
        data, _ = encoder.encode(source, None, engine, gaps=encoder.gaps)
        options = FitOptions(1, 2, "auto", 200, 1e-5)
        trials = Trials(data, RULES["unique"], engine, options, label_data, Notes())
        most = max(1, data.n_columns // 2)
        sizes = [
            Search(trials, most, False, STATES, parsimony, SILENT).choose().size
            for parsimony in (PARSIMONY, SMALL_PARSIMONY)
        ]
        grid = [Size(*size) for size in product([m for m in FACTORS if m <= most], STATES)]
        by_size = {size: trials.on_all_folds(size).lower for size in {*grid, *sizes}}
    best = max(grid, key=lambda size: by_size[size])
    cells = [cell for size in sizes for cell in (in_short(size), by_size[size] / by_size[best])]
    return [in_short(best), by_size[best], *cells]


def in_short(size: Size) -> str:
    """Factors and states."""
    return f"{size.n_factors} x {size.n_states}"


def sizes_of(X: Any, **settings: Any) -> str:
    """The size of each layer."""
    layers = HierarchicalCorex(random_state=0, **settings).fit(X).layers_
    return ", ".join(in_short(Size(layer.n_factors_, layer.n_states_)) for layer in layers)


def counted(texts: list[str]) -> str:
    """Each of some texts, with how often it occurs."""
    return "; ".join(f"{text} ({texts.count(text)} of {len(texts)})" for text in dict.fromkeys(texts))


def shuffled(X: Any, seed: int) -> Any:
    """The rows in another order, but for the first seed."""
    order = np.random.default_rng(seed).permutation(len(X)) if seed else np.arange(len(X))
    return X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]


def made_tables(quick: bool) -> Iterator[tuple[str, str, Callable[[int], np.ndarray]]]:
    """Names of made tables, their true sizes, and functions that draw them by a seed."""
    if quick:
        yield "example 1", "4 x 2", lambda s: make_independent_clusters(cluster_size=20, random_state=s)[0]
        return
    yield "example 1", "4 x 2", lambda s: make_independent_clusters(random_state=s)[0]
    yield "example 2", "3 x 2", lambda s: make_overlapping_clusters(random_state=s)[0]
    for n_factors, root_flip in (((7,), 0.25), ((20,), 0.25), ((12, 3), 0.1), ((12, 3), 0.2), ((20, 4), 0.15)):
        n_samples, n_columns = (2000, 20 * n_factors[0]) if len(n_factors) == 1 else (2500, 240)

        def tree(
            seed: int, shape: tuple[int, int] = (n_samples, n_columns), m: tuple = n_factors, flip: float = root_flip
        ) -> np.ndarray:
            return make_latent_tree(*shape, m, root_flip=flip, random_state=seed)[0]

        truth = ", ".join(f"{m} x 2" for m in (*n_factors, 1))
        yield f"latent tree, {n_samples} x {n_columns}, flips of factors {root_flip}", truth, tree
    sys.path.append(str(HERE.parent / "paper"))
    from beyond import overlapping_tree

    yield "tree with overlap", "6 x 2, 1 x 2", lambda s: overlapping_tree(2000, s)[0]
    yield "noise, 200 x 30", "1 x 2", lambda s: np.random.default_rng(s).normal(size=(200, 30))


def chosen(quick: bool) -> Table:
    """The sizes that are chosen, by seed."""
    seeds = range(1) if quick else SEEDS
    rows = [[name, truth, counted([sizes_of(make(s)) for s in seeds])] for name, truth, make in made_tables(quick)]
    for name, (read, settings) in ({} if quick else real_tables()).items():
        if name in ("bfi", "Big-5 sample", "nltcs", "plants"):
            X, truth = read(), "5" if name in ("bfi", "Big-5 sample") else ""
            rows.append([name, truth, counted([sizes_of(shuffled(X, s), **settings) for s in seeds])])
    if not quick and real_data.find("big5"):
        rows.append(["Big-5, all rows", "5", counted([sizes_of(shuffled(big5_full()[0], s)) for s in SEEDS])])
    return Table({"data": "", "truth": "", "factors x states of layers, bottom up": ""}, rows)


def explained() -> Table:
    """What whole fits with a small parsimony explain of the test parts."""
    rows = []
    for name, mark in MARKS.items():
        model = HierarchicalCorex(parsimony=SMALL_PARSIMONY, random_state=0).fit(binary(name, "train"))
        bound = model.bounds(binary(name, "test"))
        sizes = ", ".join(in_short(Size(layer.n_factors_, layer.n_states_)) for layer in model.layers_)
        rows.append([name, sizes, bound.lower, bound.lower_stderr, mark])
    return Table({"test part": "", "sizes": "", "nats": ".2f", "standard error": ".2f", "to be reached": ".1f"}, rows)


def seconds(act: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and what an act returns."""
    begun = process_time()
    result = act()
    return process_time() - begun, result


def ratio(name: str, X: Any, settings: Settings) -> list[Any]:
    """How long the choice takes with the fit, and the fit of these sizes alone."""
    HierarchicalCorex(random_state=0, **settings).fit(X)  # loops are compiled
    chosen_in, model = seconds(lambda: HierarchicalCorex(random_state=0, **settings).fit(X))
    sizes = [Size(layer.n_factors_, layer.n_states_) for layer in model.layers_]
    layers, states = zip(*sizes, strict=True)
    given = HierarchicalCorex(layers, n_states=states, random_state=0, **settings)
    fitted_in, _ = seconds(lambda: given.fit(X))
    text = ", ".join(map(in_short, sizes))
    return [name, " x ".join(map(str, X.shape)), text, chosen_in, fitted_in, chosen_in / fitted_in]


def times(quick: bool) -> Table:
    """Ratios of times."""
    from sklearn.datasets import load_breast_cancer, load_wine

    tables: dict[str, tuple[Any, Settings]] = {"example 1": (make_independent_clusters(random_state=0)[0], {})}
    if not quick:
        tables["example 2"] = (make_overlapping_clusters(random_state=0)[0], {})
        tree = latent_tree(2000, 400, 20, root_flip=0.25)
        tables[tree.name] = (tree.X, {})
        tables |= {"wine": (load_wine().data, {}), "breast cancer": (load_breast_cancer().data, {})}
        if real_data.find():
            tables |= {name: (read(), settings) for name, (read, settings) in real_tables().items()}
    columns = {"data": "", "shape": "", "sizes": "", "by itself, s": ".2f", "sizes given, s": ".2f", "ratio": ".1f"}
    return Table(columns, [ratio(name, *of) for name, of in tables.items()])


def measure(quick: bool) -> Iterator[Block]:
    yield chosen(quick)
    yield times(quick)
    if real_data.find() is None:
        yield f"Left out: {real_data.absent()}."
    elif not quick:
        columns = {
            "data": "",
            "best of grid": "",
            "nats": ".2f",
            "default": "",
            "share": ".3f",
            "0.01": "",
            "its share": ".3f",
        }
        yield Table(columns, [[name, *shares(read(), settings)] for name, (read, settings) in real_tables().items()])
        yield explained()


if __name__ == "__main__":
    alone(measure)
