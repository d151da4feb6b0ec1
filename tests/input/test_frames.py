"""Columns of categorical types: the same categories, codes and unseen values as plain text, in every library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from hicorex import HicorexError
from hicorex.engine import LocalEngine
from hicorex.input.encoder import Encoder
from hicorex.input.readers import reader_of
from hicorex.input.sources import source_of

LEVELS = ["zebra", "ape", "unused", "cat", "äffin"]
TEXTS = ["cat", None, "ape", "zebra", "ape", "äffin", None, "cat"]
NEW = ["ape", "new", None, "zebra"]


def arrow_chunks(texts):
    chunks = [pa.array(part, pa.string()).dictionary_encode() for part in (texts[:2], texts[2:])]
    return pa.table({"a": pa.chunked_array(chunks)})


def arrow_doubles(texts):
    """A dictionary with a value given twice, one that does not occur and one that is missing."""
    values = [*dict.fromkeys(t for t in texts if t), "unused", texts[0], None]
    codes = [len(values) - 1 if text is None else values.index(text) for text in texts]
    codes[0] = len(values) - 2
    return pa.table({"a": pa.DictionaryArray.from_arrays(pa.array(codes, pa.uint8()), pa.array(values))})


MAKERS = {
    "pandas": lambda texts: pd.DataFrame({"a": pd.Categorical(texts)}),
    "pandas with unused": lambda texts: pd.DataFrame({"a": pd.Categorical(texts, categories=[*LEVELS, "new"])}),
    "pandas of arrow": lambda texts: pd.DataFrame(
        {"a": pd.Series(texts, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))}
    ),
    "polars": lambda texts: pl.DataFrame({"a": pl.Series(texts, dtype=pl.Categorical)}),
    "polars enum": lambda texts: pl.DataFrame({"a": pl.Series(texts, dtype=pl.Enum([*LEVELS, "new"]))}),
    "polars slice": lambda texts: pl.DataFrame({"a": pl.Series(["gone", *texts], dtype=pl.Categorical)})[1:],
    "arrow": lambda texts: pa.table({"a": pa.array(texts).dictionary_encode()}),
    "arrow in chunks": arrow_chunks,
    "arrow with doubles": arrow_doubles,
    "arrow slice": lambda texts: pa.table({"a": pa.array(["gone", *texts]).dictionary_encode()})[1:],
}


def learned(frame, new=None, marginals="auto"):
    with LocalEngine(1) as engine:
        encoder = Encoder.learn(source_of(frame), marginals, None, engine)
        data, unseen = encoder.encode(source_of(frame if new is None else new), None, engine)
    return encoder, data.parts[0].samples[0], unseen


def plain(values):
    return pd.DataFrame({"a": pd.Series(values, dtype=object)})


@pytest.mark.parametrize("texts", [TEXTS, [t for t in TEXTS if t]], ids=["missing", "complete"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_categories_and_codes_are_those_of_plain_text(make, texts):
    expected, expected_block, _ = learned(plain(texts))
    encoder, block, unseen = learned(make(texts))
    assert encoder.kinds == ["categorical"]
    assert encoder.categories[0].tolist() == ["ape", "cat", "zebra", "äffin"]
    assert_array_equal(encoder.categories[0], expected.categories[0])
    assert encoder.categories[0].dtype == expected.categories[0].dtype
    assert_array_equal(block.codes, expected_block.codes)
    assert unseen == []


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("fit", [*MAKERS.values(), plain], ids=[*MAKERS, "plain"])
def test_unseen_categories_are_missing_and_told(make, fit):
    _, block, unseen = learned(fit(TEXTS), make(NEW))
    assert_array_equal(block.codes, [[0, 4, 4, 2]])
    assert unseen == ["'a'"]
    _, block, unseen = learned(fit(TEXTS), plain(NEW))
    assert_array_equal(block.codes, [[0, 4, 4, 2]])
    assert unseen == ["'a'"]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_categories_that_no_sample_has_are_not_unseen(make):
    assert learned(make(TEXTS), make(["ape", None, "zebra"]))[2] == []


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "arrow with doubles"])
def test_a_categorical_column_without_values_is_empty(name):
    encoder, _, _ = learned(MAKERS[name]([None, None, None]) if "arrow" not in name else nothing(name))
    assert not encoder.informative[0]


def nothing(name):
    empty = pa.array([None] * 3, pa.string()).dictionary_encode()
    frame = pa.table({"a": empty})
    return frame.to_pandas(types_mapper=pd.ArrowDtype) if "pandas" in name else frame


def test_categories_may_be_numbers():
    values = [3, 1, None, 3, 2]
    for frame in (
        pd.DataFrame({"a": pd.Categorical(values)}),
        pa.table({"a": pa.array(values, pa.int64()).dictionary_encode()}),
    ):
        encoder, block, _ = learned(frame)
        assert encoder.categories[0].tolist() == [1, 2, 3]
        assert encoder.categories[0].dtype == np.int64
        assert_array_equal(block.codes, [[2, 0, 3, 2, 1]])
        assert_array_equal(reader_of(frame).numbers(np.array([0]))[:, 0], [3, 1, np.nan, 3, 2])
        assert learned(frame, marginals="gaussian")[0].kinds == ["gaussian"]


def test_categories_that_are_not_finite():
    for marginals in ("auto", "categorical"):
        with pytest.raises(HicorexError, match="Column 'a' has an infinity"):
            learned(pd.DataFrame({"a": pd.Categorical([1.5, np.inf])}), marginals=marginals)


def wide_frames():
    rng = np.random.default_rng(0)
    columns = {}
    for i in range(600):
        values = [
            rng.normal(size=20),
            rng.normal(size=20).astype(np.float32),
            rng.integers(3, size=20),
            rng.integers(2, size=20).astype(np.int8),
            rng.integers(2, size=20).astype(bool),
            np.where(rng.random(20) < 0.3, np.nan, rng.normal(size=20)),
            rng.choice(["u", "v"], 20),
        ]
        columns[f"c{i}"] = values[rng.integers(len(values))]
    pandas = pd.DataFrame(columns)
    gaps = {name: [None if v != v else v for v in values.tolist()] for name, values in columns.items()}
    return {
        "pandas": pandas,
        "pandas of arrow": pandas.convert_dtypes(dtype_backend="pyarrow"),
        "pandas nullable": pandas.convert_dtypes(),
        "polars": pl.DataFrame(columns),
        "polars with gaps": pl.DataFrame(gaps),
        "arrow": pa.table(columns),
        "arrow with gaps": pa.table(gaps),
        "arrow in chunks": pa.concat_tables([pa.table(columns)[:7], pa.table(columns)[7:]]),
        "objects": pandas.astype(object),
    }


@pytest.mark.parametrize("name", list(wide_frames()))
def test_wide_tables_of_all_types_are_read_column_by_column(name):
    """Numbers come many columns at a time: each must be that of its column."""
    plain = wide_frames()["pandas"]
    table = reader_of(wide_frames()[name])
    for i in (0, 599, 3, 255, 256, 511, *range(600)):
        expected = plain.iloc[:, i].to_numpy()
        values, missing = table._values(i)
        gone = pd.isna(expected)
        assert_array_equal(missing, gone)
        assert_array_equal(values[~gone].astype(str), expected[~gone].astype(values.dtype).astype(str))
        assert (values.dtype.kind == "f") == (expected.dtype.kind == "f")


def test_arrow_columns_of_the_same_name_are_refused():
    table = pa.table([pa.array([1, 2]), pa.array([2, 3])], names=["a", "a"])
    with pytest.raises(HicorexError, match="X has two columns of the name 'a'; rename one of them"):
        reader_of(table)
