"""The search.

The objective that the search ends with, the same for every seed, beside the best of many starts primed by single
variables, each run to its end by the same rule. There are two seeds; the adjusted Rand index compares the strongest
factors of the variables between them. The bound is five-fold, in nats with its standard error. The picture shows the
best objective so far by the time since the begin, for the Big-5 survey.
"""

from collections.abc import Iterator
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from harness import Block, Table, alone, real_data
from internals import LocalEngine, encode, race_to_the_end, source_of
from sklearn.metrics import adjusted_rand_score
from tables import big5_full, latent_tree

from hicorex import Corex
from hicorex.layer.progress import Progress, heard_by

N_SEEDS, TOGETHER = 2, 10


def debd(name: str) -> np.ndarray:
    """The training part of a binary table."""
    held = np.load(real_data.FOLDER / "debd" / f"{name}.npz")
    return np.unpackbits(held["train"], axis=1, count=int(held["n"])).astype(np.int8)


def bfi() -> pd.DataFrame:
    return pd.read_csv(real_data.FOLDER / "bfi/bfi.csv").filter(regex="^[ACENO][1-5]$").astype("Int64")


def big5() -> np.ndarray:
    return big5_full()[0][:2000]


def words() -> np.ndarray:
    return pd.read_csv(real_data.FOLDER / "news20_w100/news20_w100.csv.gz").iloc[:, 1:].to_numpy(np.int8)


def returns() -> np.ndarray:
    return pd.read_csv(real_data.FOLDER / "sp500/monthly_returns.csv.gz", index_col=0).to_numpy(float)


def genes() -> np.ndarray:
    return pd.read_csv(real_data.FOLDER / "tcga_ov/tcga_ov_881genes.csv.gz").iloc[:, 5:].to_numpy(float)


# Name, table, factors, states, marginals, number of plain starts.
REAL = (
    ("bfi", bfi, 5, 2, "auto", 200),
    ("bfi", bfi, 5, 3, "auto", 200),
    ("bfi", bfi, 5, 4, "auto", 200),
    ("big5, 2000 people", big5, 5, 3, "auto", 200),
    ("news20, 100 words", words, 10, 2, "auto", 30),
    ("S&P 500, ranks", returns, 20, 3, "rank", 100),
    ("genes, ranks", genes, 20, 3, "rank", 50),
    ("plants", lambda: debd("plants"), 10, 3, "auto", 30),
    ("nltcs", lambda: debd("nltcs"), 5, 3, "auto", 100),
)


class Course(Progress):
    """Seconds since the begin and the best objective, after each iteration."""

    def __init__(self):
        self.begun, self.points = perf_counter(), []

    def iteration(self, number, most, objective, n_starts):
        if np.isfinite(objective):
            self.points.append((perf_counter() - self.begun, objective))


def plain_starts(X: Any, n_factors: int, n_states: int, marginals: str, n_starts: int) -> list[tuple[float, float]]:
    """Seconds since the begin and the best objective, after every ten starts."""
    begun, best, points = perf_counter(), -np.inf, []
    table = source_of(X)
    with LocalEngine() as engine:
        data = encode(table, engine, marginals)
        for first in range(0, n_starts, TOGETHER):
            best = max(best, race_to_the_end(data, n_factors, n_states, first, TOGETHER, engine))
            points.append((perf_counter() - begun, best))
    return points


def strongest(model: Corex) -> np.ndarray:
    return (model.alpha_ * model.mutual_information_).argmax(axis=1)


def row_of(name: str, X: Any, m: int, k: int, marginals: str, n_starts: int) -> list:
    settings = {"n_states": k, "marginals": marginals}
    *_, (plain_seconds, best) = plain_starts(X, m, k, marginals, n_starts)
    begun = perf_counter()
    models = [Corex(m, random_state=seed, **settings).fit(X) for seed in range(N_SEEDS)]
    seconds = (perf_counter() - begun) / N_SEEDS
    found = np.array([model.history_.max() for model in models])
    agreement = np.mean([adjusted_rand_score(strongest(a), strongest(b)) for a, b in combinations(models, 2)])
    bound = models[0].bounds(X, cv=5)
    return [
        f"{name}, {m} x {k}",
        n_starts,
        best,
        float(found.mean()),
        100 * float(found.mean() / best - 1),
        100 * float(np.ptp(found) / found.mean()),
        float(agreement),
        models[0].tc_,
        f"{bound.lower:.2f} ± {bound.lower_stderr:.2f}",
        plain_seconds,
        seconds,
    ]


def measure(quick: bool) -> Iterator[Block]:
    cases = REAL if real_data.find() and not quick else []
    if quick:
        case = latent_tree(200, 30, 4)
        cases = [(case.name, lambda: case.X, 3, 2, "auto", 20)]
    rows = [row_of(name, load(), *rest) for name, load, *rest in cases]
    columns = {
        "table, factors x states": "",
        "plain starts": "",
        "the best": ".4g",
        "search": ".4g",
        "more, %": ".2f",
        "spread of seeds, %": ".2f",
        "ARI of seeds": ".2f",
        "`tc_`": ".4g",
        "five-fold bound": "",
        "plain starts, s": ".0f",
        "search, s": ".1f",
    }
    yield Table(columns, rows)
    _, load, *rest = cases[0] if quick else cases[3]
    X, course = load(), Course()
    with heard_by(course):
        Corex(rest[0], n_states=rest[1], marginals=rest[2]).fit(X)
    points = [["plain starts", *point] for point in plain_starts(X, *rest)]
    points += [["search", *point] for point in course.points[:: max(1, len(course.points) // 30)]]
    yield Table({"by": "", "seconds": ".2f", "best objective": ".4g"}, points)


def draw(tables: list[Table]) -> Any:
    """The best objective so far by time."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
    for by, colour in (("plain starts", "#888888"), ("search", "#0072b2")):
        seconds, best = np.array([row[1:] for row in tables[1].rows if row[0] == by], float).T
        ax.step(seconds, np.maximum.accumulate(best), where="post", label=by, color=colour)
    ax.set(xscale="log", xlabel="seconds", ylabel="best objective, nats")
    ax.legend(frameon=False)
    return figure


if __name__ == "__main__":
    alone(measure)
