"""Chunks and partitions of Dask that are not what they declare are refused by name, before anything is made of them."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clusters import dask, no_hang, ready_to_fork  # noqa: F401

from hicorex import Corex
from hicorex.engine import cluster
from hicorex.exceptions import HicorexError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

FAST = {"n_states": 2, "n_init": 1, "max_iter": 3, "random_state": 0}
ROWS, COLUMNS = 60, 4


@pytest.fixture(params=["client", "alone"])
def where(request, monkeypatch):
    """On a cluster, and where there is none."""
    warnings.simplefilter("ignore")
    if request.param == "client":
        return request.getfixturevalue("client")
    monkeypatch.setattr(cluster, "current_client", lambda: None)
    return None


def numbers(dtype=np.int64):
    rng = np.random.default_rng(0)
    return (rng.integers(2, size=(ROWS, 1)) ^ (rng.random((ROWS, COLUMNS)) < 0.1)).astype(dtype)


def array(second, dtype=np.int64, unknown=False):
    """Two chunks of 30 rows that are said to be of a type, the second of which may be something else."""
    pieces = [
        da.from_delayed(dask.delayed(own, traverse=False), (ROWS // 2, COLUMNS), dtype)
        for own in (numbers(dtype)[:30], second)
    ]
    X = da.concatenate(pieces)
    if unknown:
        X._chunks = ((np.nan,) * 2, X.chunks[1])
    return X


def with_nan():
    chunk = numbers(float)[30:]
    chunk[3, 1] = np.nan
    return chunk


CHUNKS = {
    "NaN where integers are said": (
        with_nan,
        r"is of type float64 and has NaN, and is declared of type int64: .*float64",
    ),
    "another type": (
        lambda: numbers(np.int32)[30:],
        r"is of type int32, and is declared of type int64: give X\.map",
    ),
    "text": (lambda: numbers().astype(str)[30:], r"is of type str\d+, and is declared of type int64"),
    "fewer rows": (lambda: numbers()[31:], "has the shape 29 x 4, and is declared 30 x 4: give it its true chunks"),
    "more rows": (lambda: numbers()[29:], "has the shape 31 x 4, and is declared 30 x 4"),
    "fewer columns": (lambda: numbers()[30:, 1:], "has the shape 30 x 3, and is declared 30 x 4"),
    "more columns": (lambda: numbers()[30:, [0, 1, 2, 3, 3]], "has the shape 30 x 5, and is declared 30 x 4"),
    "one dimension": (lambda: numbers()[30:, 0], "has the shape 30, and is declared 30 x 4"),
    "sparse": (
        lambda: sp.csr_array(numbers()[30:]),
        "is sparse, of type int64, and is declared of type int64: tell",
    ),
    "masked": (
        lambda: np.ma.masked_equal(numbers()[30:], 1),
        r"is a masked array, whose mask would be lost: give X\.map",
    ),
    "a frame": (lambda: pd.DataFrame(numbers()[30:]), "is a DataFrame, and is declared of type int64"),
}


@pytest.mark.parametrize("kind", CHUNKS)
def test_chunks_unlike_their_array_are_refused(kind, where):
    make, message = CHUNKS[kind]
    with pytest.raises(HicorexError, match=rf"^Chunk \(1, 0\) of the Dask array {message}"):
        Corex(1, **FAST).fit(array(make()))


def test_chunks_of_new_samples_unlike_their_array_are_refused(where):
    model = Corex(1, **FAST).fit(numbers())
    for make, message in (CHUNKS["NaN where integers are said"], CHUNKS["fewer rows"]):
        X = array(make())
        for use in (model.score, model.bounds, lambda X: np.asarray(model.transform(X))):
            with pytest.raises(HicorexError, match=rf"^Chunk \(1, 0\) of the Dask array {message}"):
                use(X)


def test_lengths_of_texts_and_orders_of_bytes_may_differ(where):
    """Lengths of texts and the order of bytes; numbers of rows that nobody has said; NaN in a type that has it."""
    expected = Corex(1, **FAST).fit(numbers()).tc_
    assert Corex(1, **FAST).fit(array(numbers(">i8")[30:])).tc_ == expected
    words = np.array(["no", "certainly"])[numbers()]
    assert Corex(1, **FAST).fit(array(words[30:], "U2")).tc_ > 0
    assert Corex(1, **FAST).fit(array(numbers()[35:], unknown=True)).tc_ > 0
    assert Corex(1, **FAST).fit(array(with_nan(), float)).tc_ > 0


def frame():
    table = pd.DataFrame(numbers(), columns=list("abcd")).astype({"b": float})
    table["word"] = pd.Categorical(np.array(["no", "yes"])[table["a"]], ["no", "yes"])
    return table


PARTITIONS = {
    "a renamed column": (
        lambda own: own.rename(columns={"b": "B"}),
        "lacks the column 'b' and has 'B', and the data frame declares 'a', 'b', 'c', 'd', 'word': bring all",
    ),
    "the first renamed": (lambda own: own.rename(columns={"a": "A"}), "lacks the column 'a' and has 'A'"),
    "a column less": (lambda own: own.drop(columns="c"), "lacks the column 'c', and the data frame declares"),
    "a column more": (lambda own: own.assign(z=1), "has the column 'z' too, and"),
    "another order": (lambda own: own[["a", "c", "b", "d", "word"]], "has the column 'c' in the place of 'b'"),
    "another type": (
        lambda own: own.assign(d=own["d"].where(own["d"] > 0)),
        "has column 'd' as float64, and the data frame declares int64: bring all partitions to one type",
    ),
    "other categories": (
        lambda own: own.assign(word=own["word"].cat.rename_categories(["non", "oui"])),
        "has column 'word' as categories 'non', 'oui', and the data frame declares categories 'no', 'yes'",
    ),
    "no frame": (lambda own: own["a"], "is a Series: have what makes it give a data frame"),
}


def data_frame(harm):
    table = frame()
    return dd.from_delayed(
        [dask.delayed(own, traverse=False) for own in (table[:30], harm(table[30:]))],
        meta=table[:0],
        verify_meta=False,
    )


@pytest.mark.parametrize("kind", PARTITIONS)
def test_partitions_unlike_their_data_frame_are_refused(kind, where):
    harm, message = PARTITIONS[kind]
    with pytest.raises(HicorexError, match=f"^Partition 1 of the Dask data frame {message}"):
        Corex(1, **FAST).fit(data_frame(harm))


def test_partitions_of_new_samples_unlike_their_data_frame_are_refused(where):
    model = Corex(1, **FAST).fit(frame())
    harm, message = PARTITIONS["other categories"]
    whole = dd.from_pandas(frame(), npartitions=2)
    X = whole.map_partitions(lambda own: harm(own) if own.index[0] else own, meta=whole._meta, enforce_metadata=False)
    for use in (model.score, model.bounds, lambda X: np.asarray(model.transform(X))):
        with pytest.raises(HicorexError, match=f"^Partition 1 of the Dask data frame {message}"):
            use(X)


def test_partitions_that_are_another_length_each_time(where, tmp_path):
    def some(counter):
        with open(counter, "a") as file:
            file.write("x")
        return frame()[: 30 - len(counter.read_text()) // 2]

    X = dd.from_delayed([dask.delayed(some)(tmp_path / "n")], meta=frame()[:0], verify_meta=False)
    with pytest.raises(HicorexError, match=r"^Partition 0 of the Dask data frame has \d+ rows, and had \d+ when"):
        Corex(1, **FAST).fit(X)


def test_open_categories_and_kinds_of_text_may_differ(where):
    table = frame()
    meta = table[:0].assign(word=table["word"][:0].cat.set_categories(["__UNKNOWN_CATEGORIES__"]))
    pieces = [table[:30], table[30:].assign(word=table["word"][30:].cat.add_categories("perhaps"))]
    X = dd.from_delayed([dask.delayed(own, traverse=False) for own in pieces], meta=meta, verify_meta=False)
    assert Corex(1, **FAST).fit(X).tc_ == Corex(1, **FAST).fit(table).tc_
