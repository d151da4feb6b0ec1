"""One table has one reading: kinds follow from values, whatever type these have and whichever way they come."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import real_data
from hicorex import Corex
from hicorex.engine import LocalEngine
from hicorex.input.column_kinds import MOST_CODES, ROWS_OF_CODE
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of


def kinds(X, marginals="auto", weight=None):
    with LocalEngine(1) as engine:
        return Encoder.learn(source_of(X), marginals, weight, engine).kinds


def plain_kind(values):
    """The rule, plainly: numbers stand for categories if they are whole, and few."""
    known = values[~np.isnan(values)]
    n_different = len(set(known.tolist()))
    few = n_different <= 2 or (n_different <= MOST_CODES and n_different * ROWS_OF_CODE <= len(values))
    return "categorical" if known.size and (known == np.rint(known)).all() and few else "gaussian"


@pytest.mark.parametrize("n_rows", [2, 5, 10, 59, 60, 61, 2000])
@pytest.mark.parametrize("dtype", [float, np.float32, int, np.uint8, np.int64])
def test_kinds_follow_the_rule(n_rows, dtype):
    rng = np.random.default_rng(n_rows)
    table = np.column_stack([rng.integers(most, size=n_rows) for most in (1, 2, 3, 5, 20, 21, 22, 100)]).astype(dtype)
    assert kinds(table) == [plain_kind(column.astype(float)) for column in table.T]
    assert kinds(table * 1000.0 - 7) == [plain_kind(column * 1000.0) for column in table.T]
    if table.dtype.kind == "f":
        table[:, 1:4] += 0.5
        assert kinds(table) == [plain_kind(column.astype(float)) for column in table.T]


def test_ten_rows_of_numbers_are_no_categories_and_many_rows_of_five_are():
    rng = np.random.default_rng(0)
    assert kinds(rng.standard_normal((10, 3)).round(1)) == ["gaussian"] * 3
    assert kinds(rng.integers(5, size=(2000, 2)).astype(float)) == ["categorical"] * 2
    assert kinds(rng.integers(1000, size=(2000, 2))) == ["gaussian"] * 2


def ways(table, path):
    """The columns of a table of whole numbers, some of them few, some many, as all that X may be."""
    frame = pd.DataFrame(table, columns=[f"x{i}" for i in range(table.shape[1])])
    np.save(path / "x.npy", table)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    (path / "folder").mkdir()
    pq.write_table(arrow[:3000], path / "folder" / "a.parquet")
    pq.write_table(arrow[3000:], path / "folder" / "b.parquet")
    return {
        "floats": table.astype(float),
        "frame": frame,
        "frame of floats": frame.astype(float),
        "nullable frame": frame.astype("Int64"),
        "polars": pl.from_pandas(frame),
        "arrow": arrow,
        "objects": table.astype(object),
        "sparse": csr_array(table),
        "sparse floats": csr_array(table.astype(float)),
        "npy": path / "x.npy",
        "folder": path / "folder",
        "dask array": da.from_array(table.astype(float), chunks=(900, 3)),
        "dask frame": dd.from_pandas(frame, npartitions=7),
    }


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")
def test_every_way_gives_the_kinds_and_the_model_of_an_array(tmp_path):
    """A column has few values in its first parts and many in the last one, so that no part alone can tell."""
    rng = np.random.default_rng(0)
    cause = rng.integers(3, size=6000)
    table = np.column_stack([cause, cause > 0, cause + rng.integers(30, size=6000), rng.integers(2, size=(6000, 2))])
    late = rng.integers(4, size=6000)
    late[-20:] = np.arange(20) + 50
    table = np.column_stack([table, late, 1000 * (cause == 1)])
    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="synchronous"):
        patch.setattr("hicorex.layer.data.TILE_CELLS", 1)
        settings = {"n_factors": 2, "n_states": 2, "n_init": 2, "max_iter": 8, "random_state": 0}
        model = Corex(**settings).fit(table)
        known = [*["categorical"] * 2, "gaussian", *["categorical"] * 2, "rank", "categorical"]
        assert model.fitted_.layers[0].encoder.kinds == known
        for way, X in ways(table, tmp_path).items():
            other = Corex(**settings).fit(X)
            assert other.fitted_.layers[0].encoder.kinds == known, way
            if not way.startswith("sparse"):  # whose sums are taken in another order
                assert_array_equal(other.alpha_, model.alpha_, way)
                assert_array_equal(other.tcs_, model.tcs_, way)
                assert_array_equal(other.transform(X), model.transform(table), way)


def test_kinds_of_weighted_rows_are_those_of_repeated_ones():
    codes = np.arange(12)[:, None] % 6 * [1, 1]
    assert kinds(codes) == ["gaussian"] * 2
    assert kinds(codes.repeat(2, axis=0)) == kinds(codes, weight=np.full(12, 2.0)) == ["categorical"] * 2


def test_patterns_ask_for_columns_of_numbers_alone():
    frame = pd.DataFrame({"a1": np.arange(60) % 3, "a2": np.arange(60) / 7, "b": list("xyz") * 20})
    assert kinds(frame, {"*": "rank"}) == ["rank", "rank", "categorical"]
    assert kinds(frame, {"a*": "categorical", "a1": "gaussian"}) == ["gaussian", "categorical", "categorical"]
    assert kinds(frame, {"a?": "gaussian", "a2": "auto"}) == ["gaussian", "gaussian", "categorical"]
    with pytest.raises(ValueError, match=r"marginals names column 'c\*', which the table does not have"):
        kinds(frame, {"c*": "rank"})
    with pytest.raises(ValueError, match="which the table does not have: did you mean 'weight'"):
        kinds(frame.rename(columns={"b": "weight"}), {"wieght": "rank"})


@pytest.mark.skipif(not real_data.find("messy"), reason=real_data.absent("messy"))
def test_indicators_of_any_type_give_the_same_model():
    onehot = pd.read_csv(real_data.find("messy/onehot.csv.gz"))
    models = [
        Corex(n_factors=4, n_states=2, random_state=0).fit(X)
        for X in (onehot, onehot.astype(int), onehot.astype(bool), onehot.to_numpy(), onehot.to_numpy(np.float32))
    ]
    assert models[0].bounds_.lower > 8
    for other in models[1:]:
        assert_array_equal(other.alpha_, models[0].alpha_)
        assert_array_equal(other.tcs_, models[0].tcs_)
        assert_array_equal(other.transform(onehot.to_numpy()), models[0].transform(onehot))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")
@pytest.mark.skipif(not real_data.find("messy"), reason=real_data.absent("messy"))
@pytest.mark.parametrize("sparse", [False, True])
def test_factors_of_a_pipeline_foretell_who_survived(sparse):
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    titanic = pd.read_csv(real_data.find("messy/titanic.csv.gz"))
    amounts = ["age", "fare"]
    others = [name for name in titanic if name not in (*amounts, "survived", "alive")]
    columns = ColumnTransformer(
        [
            ("codes", OneHotEncoder(handle_unknown="ignore", sparse_output=sparse), others),
            ("amounts", make_pipeline(SimpleImputer(), StandardScaler()), amounts),
        ]
    )
    corex = Corex(n_factors=4, n_states=2, random_state=0)
    pipeline = make_pipeline(columns, corex, LogisticRegression())
    assert cross_val_score(pipeline, titanic, titanic.survived, cv=3).mean() > 0.78
