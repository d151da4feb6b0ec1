"""Missing values filled in.

A tenth of the cells is taken away and filled in by `impute(X, means=True)` of a model that was fitted to what is left,
and by two imputers of scikit-learn with their default settings; IterativeImputer by the twenty nearest columns and in
three rounds where there are a hundred columns or more. These see standardised numbers, and categories as indicators. Of
numbers the root mean square error in standard deviations, of categories the share that is wrong; seconds are of the
processor, those of the fit and of the filling together.
"""

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from harness import Block, Table, alone, real_data
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from hicorex import Corex
from hicorex.datasets import make_latent_tree

# Columns from which on a table is wide.
WIDE = 100


def cases(quick: bool) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Tables by name, complete, and settings."""
    tree, _ = make_latent_tree(500, 30, 3, random_state=0)
    yield "latent tree", pd.DataFrame(tree.astype(str)), {"n_factors": 3, "n_states": 2}
    if quick or real_data.find("big5/test_big5.csv.gz") is None:
        return
    answers = pd.read_csv(real_data.find("big5/test_big5.csv.gz")).iloc[:, -50:]
    complete = answers[(answers >= 0).all(axis=1)][:1500].astype(float).reset_index(drop=True)
    yield "big5", complete, {"n_factors": 5, "n_states": 8}
    genes = pd.read_csv(real_data.find("tcga_ov/tcga_ov_881genes.csv.gz"), index_col=0)
    numbers = genes.select_dtypes("number")
    yield "tcga_ov", numbers.dropna(axis=1).iloc[:, 3:303].reset_index(drop=True), {"n_factors": 20, "n_states": 6}
    people = pd.read_parquet(real_data.find("census_kdd/census_income_kdd.parquet")).iloc[:2000]
    few = [name for name in people if 1 < people[name].nunique() <= 20]
    census = people[few].astype(str).where(people[few].notna()).dropna(axis=1)
    yield "census", census, {"n_factors": 8, "n_states": 6}


def taken_away(table: pd.DataFrame) -> pd.DataFrame:
    """The table without a tenth of its cells."""
    return table.mask(np.random.default_rng(0).random(table.shape) < 0.1)


def filled_by(imputer: Any, gaps: pd.DataFrame) -> pd.DataFrame:
    """What an imputer of numbers makes of a table: numbers standardised, categories as indicators."""
    texts = [name for name in gaps if pd.api.types.is_object_dtype(gaps[name])]
    numbers = gaps.drop(columns=texts)
    scaled = (numbers - numbers.mean()) / numbers.std()
    parts, levels = [scaled], {}
    for name in texts:
        indicators = pd.get_dummies(gaps[name]).astype(float).where(gaps[name].notna(), np.nan)
        levels[name] = indicators.columns
        parts.append(indicators.add_prefix(f"{name}="))
    wide = pd.concat(parts, axis=1)
    found = pd.DataFrame(imputer.fit_transform(wide), columns=wide.columns)
    filled = found[scaled.columns] * numbers.std() + numbers.mean()
    for name in texts:
        filled[name] = levels[name].to_numpy()[found[[f"{name}={v}" for v in levels[name]]].to_numpy().argmax(axis=1)]
    return filled[gaps.columns]


def filled_by_hicorex(gaps: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """What our own factors make of it."""
    return Corex(**settings, random_state=0, n_jobs=1).fit(gaps).impute(gaps, means=True)


def error_of(table: pd.DataFrame, gaps: pd.DataFrame, filled: pd.DataFrame) -> float:
    """The error in the cells that were taken away."""
    taken = gaps.isna().to_numpy()
    if pd.api.types.is_object_dtype(table.dtypes.iloc[0]):
        return float(np.mean((table != filled).to_numpy()[taken]))
    return float(np.sqrt(np.mean((((table - filled) / table.std()).to_numpy()[taken]) ** 2)))


def measure(quick: bool) -> Iterator[Block]:
    rows = []
    for name, table, settings in cases(quick):
        gaps = taken_away(table)
        limits = {"max_iter": 3, "n_nearest_features": 20} if table.shape[1] >= WIDE else {}
        ways = (
            lambda gaps=gaps, settings=settings: filled_by_hicorex(gaps, settings),
            lambda gaps=gaps, limits=limits: filled_by(IterativeImputer(random_state=0, **limits), gaps),
            lambda gaps=gaps: filled_by(KNNImputer(), gaps),
        )
        errors, seconds = [], []
        for way in ways:
            begun = process_time()
            filled = way()
            seconds.append(process_time() - begun)
            errors.append(error_of(table, gaps, filled))
        what = "wrong categories" if pd.api.types.is_object_dtype(table.dtypes.iloc[0]) else "error of numbers"
        rows.append([f"{name}, {len(table)} x {table.shape[1]}", what, *errors, seconds])
    columns = {
        "table": "",
        "of": "",
        "hicorex": ".3f",
        "IterativeImputer": ".3f",
        "KNNImputer": ".3f",
        "seconds of each": ".1f",
    }
    yield Table(columns, rows)
    if not quick and real_data.find("big5/test_big5.csv.gz") is None:
        yield f"{real_data.absent().capitalize()}."


if __name__ == "__main__":
    alone(measure)
