"""The command line within a limit of memory or of disk: it is kept, and what does not fit costs nothing."""

import gzip
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from large_tables import table_of, write_parts
from pyarrow import parquet

import hicorex
from hicorex.cli import large
from hicorex.cli.parsing import memory_size


def test_sizes_of_memory_are_read_as_people_write_them():
    assert memory_size("2GB") == 2 * 10**9
    assert memory_size("1.5 gib") == 3 * 2**29
    assert memory_size(None) is None
    for wrong in ("2", "GB", "2XB", "-1GB", "2 G"):
        with pytest.raises(hicorex.HicorexError, match=f"--memory {wrong}: give a size such as 2GB"):
            memory_size(wrong)
    with pytest.raises(hicorex.HicorexError, match="give at least 500MB"):
        memory_size("100MB")


def test_packed_texts_beyond_the_limit_are_to_be_converted(run, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "OF_LIMIT", 10**6)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1.5,2.5\n" * 200))
    done = run("fit", "t.csv.gz", "--memory", "600MB")
    assert done.code == 2
    assert "t.csv.gz, unpacked and read at once, takes more than 0.0016 MB" in done.err
    assert "and --memory 0.6GB leaves 0.00018 MB for it; give more" in done.err
    assert "format='parquet') and give that folder." in done.err
    assert "standard input; give a file" in run("fit", "-", "--memory", "600MB").err
    np.save("wide.npy", np.zeros((5000, 9000), np.int8))
    done = run("fit", "wide.npy", "--memory", "500MB")
    assert "has no column to learn from" in done.err
    np.save("wide.npy", np.random.default_rng(0).integers(2, size=(5000, 9000), dtype=np.int8))
    done = run("fit", "wide.npy", "--memory", "500MB")
    assert "--memory 0.5GB is too little for this table of 9,000 columns; give at least 1." in done.err


def process(*words, cwd, **settings):
    # A shell's background jobs ignore interrupts, and so would their children.
    return subprocess.Popen(
        [sys.executable, "-m", "hicorex", *map(str, words)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=settings.pop("before", lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)),
        **settings,
    )


@pytest.fixture(scope="module")
def large_files(tmp_path_factory):
    """300 MB as an array, and more than half of it as a folder of Parquet files."""
    path = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    n_rows, n_parts = 1_000_001, 8
    array = np.lib.format.open_memmap(path / "t.npy", "w+", dtype=float, shape=(n_rows, 38))
    (path / "t").mkdir()
    for part in np.array_split(np.arange(n_rows), n_parts):
        hidden = rng.integers(2, size=(part.size, 2))
        array[part] = own = np.repeat(hidden, 19, axis=1) + rng.normal(size=(part.size, 38))
        if part[0] > n_rows // 2:
            continue
        columns = {f"x{i}": own[:, i] for i in range(36)} | {"kind": hidden[:, 0].astype(np.int8)}
        columns["word"] = np.array(["one", "other"])[hidden[:, 1]]
        parquet.write_table(
            pa.table(columns), path / "t" / f"part{part[0]:07}.parquet", row_group_size=20_000, compression="none"
        )
    array.flush()
    return path


def peak_of_fit(data, memory, folder, *options):
    """The peak of a process of its own, as the system measures it."""
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'hicorex', *sys.argv[1:]], stdout=subprocess.DEVNULL)\n"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    words = ["fit", str(data), "--layers", "2", "--starts", "1", "--max-iter", "3", "--memory", memory, "--out", "r"]
    command = [sys.executable, "-c", code, *words, *options, "--quiet"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    code, peak = map(int, run.stdout.split())
    assert code == 0, run.stderr
    return peak


@pytest.mark.parametrize("name", ["t.npy", "t"])
def test_the_limit_of_memory_is_kept(name, large_files, tmp_path):
    assert peak_of_fit(large_files / name, "700MB", tmp_path, "--batch-size", "20000") < 700e6
    assert parquet.read_metadata(tmp_path / "r" / "samples.parquet").num_rows > 500_000
    assert (tmp_path / "r" / "samples.csv").exists() == (name == "t")  # the other one has more than a million rows
    assert parquet.read_metadata(tmp_path / "r" / "labels.parquet").num_row_groups > 1
    assert os.listdir(tmp_path) == ["r"]


def test_the_results_of_many_rows_count_towards_the_limit(tmp_path):
    """A table that is small itself, 10 MB."""
    hidden = np.random.default_rng(0).integers(0, 2, (500_000, 4), dtype=np.uint8)
    table = pa.table({f"x{i}": hidden[:, i % 4] for i in range(20)})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=50_000)
    assert peak_of_fit("t.parquet", "500MB", tmp_path) < 500e6


def test_an_interrupt_keeps_the_checkpoint_and_leaves_nothing_else(large_files, tmp_path):
    words = ["fit", large_files / "t", "--layers", "5", "--starts", "2", "--memory", "700MB", "--out", "r"]
    begun = process(*words, "--checkpoint-every", "0", cwd=tmp_path)
    while not (tmp_path / "r.checkpoint").exists():
        assert begun.poll() is None, begun.stderr.read()
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    _, told = begun.communicate(timeout=30)
    assert begun.returncode == 130
    assert "stopped; the fit so far is in r.checkpoint; give the same command again" in told
    assert os.listdir(tmp_path) == ["r.checkpoint"]


def test_a_full_disk_is_told_in_a_line_and_leaves_nothing(tmp_path):
    """Files of this process may have half a megabyte, less than the scratch file or the labels."""
    write_parts(table_of(60_000), tmp_path / "t", rows=5000)

    def little_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**19, 2**19))

    code = "import hicorex.input.memory as f; f.free_memory = lambda: 30_000; from hicorex.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        code,
        "fit",
        "t",
        "--layers",
        "2",
        "--starts",
        "1",
        "--max-iter",
        "3",
        "--out",
        "r",
    ]
    environment = {k: v for k, v in os.environ.items() if k != "TMPDIR"}
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=little_disk, env=environment)
    assert run.returncode == 2, run.stderr
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"hicorex: The scratch file in {tmp_path} cannot be written: ")
    assert os.listdir(tmp_path) == ["t"]


def test_results_for_which_there_is_no_room_cost_nothing(tmp_path):
    """Of a table read part by part, the labels and samples of some thousand rows at a time."""
    write_parts(table_of(9000), tmp_path / "t")
    code = (
        "import hicorex.cli.large, hicorex.input.files.streamed as streamed\n"
        "hicorex.cli.large.OF_FREE, streamed.BATCH_CELLS = 10**12, 60_000\n"
        "from hicorex.__main__ import main\n"
        "main()"
    )
    words = ["fit", "t", "--layers", "2", "--starts", "1", "--max-iter", "3", "--quiet", "--checkpoint", "c"]
    words += ["--kinds", "x2=gaussian", "--out"]  # a model that is smaller than its labels

    def run(out, most=resource.RLIM_INFINITY):
        return subprocess.run(
            [sys.executable, "-c", code, *words, out, "--overwrite"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        )

    def held(out):
        return {file.name: file.read_bytes() for file in (tmp_path / out).iterdir()}

    assert run("r").returncode == 0
    before = held("r")
    os.remove(tmp_path / "c")
    sizes = {name: len(raw) for name, raw in before.items()}
    for name, part in (("labels.parquet", 0.7), ("model.hicorex", 0.9), ("samples.parquet", 0.3)):
        done = run("r", int(part * sizes[name]))
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.splitlines()
        named = f"hicorex: {tmp_path}/r/{name.split('.')[0]}."  # the same rows go to .csv and .parquet
        assert line.startswith(named)
        assert "cannot be written: file too large; free some space" in line
        assert line.endswith("The fit so far is in c; give the same command again to go on.")
        assert sorted(os.listdir(tmp_path)) == ["c", "r", "t"]
        assert held("r") == before
    assert run("again").returncode == 0
    again = held("again")
    assert again.keys() == before.keys()
    for name in sorted(again.keys() - {"report.html"}):  # which says when it was made
        assert again[name] == before[name], name
