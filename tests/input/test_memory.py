"""A limit of memory holds while files are unpacked and decoded: small files that would become large are refused."""

import bz2
import gzip
import lzma
import subprocess
import sys
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import feather, parquet

from hicorex.cli.large import keeping_within
from hicorex.input.files import read_table
from hicorex.input.memory import MemoryLimit, current_limit, keeping, require_table
from hicorex.input.sources import source_of

# Of --memory 500MB, 13 MB are left for a text and 40 MB for a table.
LIMIT = ["--memory", "500MB"]
TEXT = b"a,b\n" + b"1,0\n0,1\n" * 2_000_000
ROWS = 3_000_000


def table(**columns):
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def long_words():
    """One text of 10 kB for each of 6,000 rows, which the file has once."""
    words = pa.DictionaryArray.from_arrays(pa.array(np.arange(6000) % 2, pa.int32()), ["x" * 10_000, "y" * 10_000])
    return pa.table({"a": words.cast(pa.string()), "b": np.arange(6000) % 2})


def sparse_file(path):
    matrix = sp.csr_array((np.ones(4 * 10**6, np.int64), np.arange(4 * 10**6) % 9, [0, *[4 * 10**6] * 5]), (5, 9))
    sp.save_npz(path, matrix)


BOMBS = {
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(TEXT, 1)),
    "t.csv.bz2": lambda path: path.write_bytes(bz2.compress(TEXT[:1_000_000]) * 16),
    "t.csv.xz": lambda path: path.write_bytes(lzma.compress(TEXT, preset=0)),
    "t.csv.zst": lambda path: path.write_bytes(pa.compress(TEXT, "zstd", asbytes=True)),
    "t.npy.gz": lambda path: path.write_bytes(gzip.compress(b"\x93NUMPY" + bytes(16_000_000), 1)),
    "t.npz": lambda path: np.savez_compressed(path, X=np.zeros((ROWS, 2))),
    "sparse.npz": sparse_file,
    "t.parquet": lambda path: parquet.write_table(
        table(a=np.arange(ROWS) % 2, b=np.arange(ROWS) % 2), path, row_group_size=ROWS
    ),
    "words.parquet": lambda path: parquet.write_table(long_words(), path),
    "t.feather": lambda path: feather.write_feather(
        table(a=np.zeros(ROWS), b=np.zeros(ROWS)), path, compression="zstd", chunksize=ROWS
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_become_too_large_is_refused(name, run, tmp_path, monkeypatch):
    monkeypatch.setattr("hicorex.cli.large._be_lean", lambda: None)
    BOMBS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 10**6
    done = run("fit", name, *LIMIT)
    assert done.code == 2
    text = ".csv" in name or name == "t.npy.gz"
    assert f"and --memory 0.5GB leaves {'13.3' if text else '40'} MB for it; " in done.err
    assert name in done.err
    assert "give more memory" in done.err
    assert ("or unpack it and give the file in it" in done.err) == (name == "t.npy.gz")
    assert current_limit() is None


CODE = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, '-m', 'hicorex', *sys.argv[1:]], stderr=subprocess.PIPE, text=True)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, done.stderr)
"""


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet"])
def test_a_process_stays_within_the_limit(name, tmp_path):
    if name == "t.csv.gz":
        (tmp_path / name).write_bytes(gzip.compress(TEXT, 1) * 15)  # 240 MB
    else:
        rows = 12_000_000
        column = pa.array(np.arange(rows, dtype=np.int64) % 2)
        parquet.write_table(pa.table({"a": column, "b": column}), tmp_path / name, row_group_size=rows)
    command = [sys.executable, "-c", CODE, "fit", name, *LIMIT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    code, peak, message = done.stdout.split(maxsplit=2)
    assert (code, int(peak) < 500e6) == ("2", True), done.stdout
    assert "and --memory 0.5GB leaves " in message


def test_tables_with_texts_are_the_same_within_a_limit(tmp_path):
    words = np.array(["one", None, "another", ""], object)[np.arange(1000) % 4]
    own = pa.table({"word": pa.array(words, pa.string()), "long": pa.array(words, pa.large_string())})
    own = own.append_column("kind", own["word"].dictionary_encode()).append_column("x", pa.array(np.arange(1000.0)))
    parquet.write_table(own, tmp_path / "t.parquet", row_group_size=300)
    plain = source_of(tmp_path / "t.parquet").read(0, 1000)
    with keeping(MemoryLimit(10**9, 10**9, "somebody")):
        assert source_of(tmp_path / "t.parquet").read(0, 1000).equals(plain)
    with (
        keeping(MemoryLimit(10**9, 3000, "somebody")),
        pytest.raises(ValueError, match=r"A row group of .* takes 0\.0"),
    ):
        source_of(tmp_path / "t.parquet").read(0, 1000)


def test_streams_are_given_up_before_the_memory_is_gone(monkeypatch):
    """Without an option, what is free is the limit."""
    monkeypatch.setattr("hicorex.cli.large.limits.free_memory", lambda: 10**8)

    class Endless(BytesIO):
        name = "endless.csv"

        def read(self, size=-1):
            assert self.n_bytes < 10**9
            self.n_bytes += size
            return b"1,0\n" * (size // 4)

        n_bytes = 0

    message = r"endless\.csv, unpacked and read at once, takes more than 50.* and the memory that is free leaves 50 MB"
    with keeping_within(None), pytest.raises(ValueError, match=message):
        read_table(Endless())


def test_a_refusal_tells_the_sizes_and_who_sets_the_limit():
    with keeping(MemoryLimit(1, 10**9, "a cup")):
        require_table("The sea", 10**9, "")
        with pytest.raises(ValueError, match=r"^The sea takes more than 2 GB, and a cup leaves 1 GB for it; go\.$"):
            require_table("The sea", 2 * 10**9, "go", at_least=True)
