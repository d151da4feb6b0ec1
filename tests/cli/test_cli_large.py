"""The command line on tables that are read part by part: the same answers, within the memory given."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import hicorex
from hicorex.cli import folder, large
from hicorex.cli.folder import LARGE_NAMES, NAMES
from hicorex.cli.parsing import memory_size
from hicorex.input.files import Reading, read_table, stream_table, streamed
from hicorex.input.sources import source_of

N_ROWS = 3000


def table_of(n_rows=N_ROWS, seed=0):
    """Columns of every kind, with gaps and markers."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 2))
    columns = {"name": [f"row {i}" for i in range(n_rows)]}
    for i in range(6):
        columns[f"x{i}"] = (hidden[:, i % 2] + rng.normal(size=n_rows)).astype(np.float32 if i == 1 else float)
    columns["x2"][::11] = -999
    table = pd.DataFrame(columns)
    table["word"] = np.where(hidden[:, 0] > 0, " red", "blue")
    table.loc[::7, "word"] = None
    table["level"] = pd.array(np.digitize(hidden[:, 1], [-1, 0, 1]), "Int32")
    table.loc[::13, "level"] = pd.NA
    table["yes"] = hidden[:, 0] + rng.normal(size=n_rows) > 0
    table["sort"] = pd.Categorical(np.where(hidden[:, 1] > 0.3, "a", "b"))
    table["same"] = 1
    table["w"] = rng.integers(0, 3, n_rows)
    return pa.Table.from_pandas(table, preserve_index=False)


def write_parts(table, path, n_parts=3, rows=400):
    path.mkdir(exist_ok=True)
    height = -(-table.num_rows // n_parts)
    for k in range(n_parts):
        parquet.write_table(table.slice(k * height, height), path / f"part{k}.parquet", row_group_size=rows)


@pytest.fixture
def little(monkeypatch):
    """Hardly any memory is free, and what is freed stays as it is."""
    monkeypatch.setattr(large.limits, "free_memory", lambda: 30_000)
    monkeypatch.setattr(large, "_be_lean", lambda: None)


FIT = ("--layers", "3,1", "--starts", "2", "--max-iter", "20")
OPTIONS = ("--missing", "-999", "--weights", "w", "--kinds", "x3=rank")


def same_model(a, b):
    one, other = (hicorex.load(name) for name in (a, b))
    assert one.tc_ == other.tc_
    assert one.bounds_.lower == other.bounds_.lower
    assert one.fitted_.expected() == other.fitted_.expected()
    for x, y in zip(one.layers_, other.layers_, strict=True):
        np.testing.assert_array_equal(x.alpha_, y.alpha_)
        np.testing.assert_array_equal(x.clusters_, y.clusters_)


@pytest.mark.parametrize("form", ["feather", "folder"])
def test_tables_part_by_part_give_the_bits_of_tables_in_memory(form, run, tmp_path, monkeypatch):
    table = table_of()
    name = "t" if form == "folder" else f"t.{form}"
    if form == "folder":
        write_parts(table, tmp_path / "t")
    else:
        feather.write_feather(table, name, chunksize=700)
    assert run("fit", name, *FIT, *OPTIONS, "--out", "whole").code == 0
    monkeypatch.setattr(large.limits, "free_memory", lambda: 30_000)
    monkeypatch.setattr(large, "_be_lean", lambda: None)
    monkeypatch.setattr(streamed, "BATCH_CELLS", 4000)
    done = run("fit", name, *FIT, *OPTIONS, "--out", "parts")
    assert done.code == 0, done.err
    assert "Note: 3,000 rows, read part by part." in done.err
    same_model("whole", "parts")
    assert sorted(os.listdir("whole")) == sorted(NAMES)
    assert sorted(os.listdir("parts")) == sorted([*NAMES, *LARGE_NAMES])
    for file in ("columns.csv", "factors.csv", "structure.csv", "labels.csv", "bounds.json", "graph.graphml"):
        assert (tmp_path / "whole" / file).read_text() == (tmp_path / "parts" / file).read_text(), file
    whole, parts = (pd.read_csv(f"{own}/samples.csv") for own in ("whole", "parts"))
    pd.testing.assert_frame_equal(whole, parts, rtol=1e-9, atol=1e-9)
    pd.testing.assert_frame_equal(parts, pd.read_parquet("parts/samples.parquet"), check_dtype=False)
    pd.testing.assert_frame_equal(*(pd.read_parquet(f"{own}/labels.parquet") for own in ("whole", "parts")))
    assert run("transform", "parts", name, "--out", "l.csv").code == 0
    assert (tmp_path / "l.csv").read_text() == (tmp_path / "parts" / "labels.csv").read_text()
    assert run("transform", "parts", name, "--out", "l.parquet").code == 0
    pd.testing.assert_frame_equal(pd.read_parquet("l.parquet"), pd.read_parquet("parts/labels.parquet"))
    assert run("transform", "parts", name).out == (tmp_path / "l.csv").read_text()
    told = run("score", "parts", name, "--json", "--out", "s.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("s.parquet"), pd.read_parquet("parts/samples.parquet"))
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    again = read_table(source_of(name), Reading(missing=("-999",), weights="w"))
    assert json.loads(told.out)["lower"] == pytest.approx(hicorex.load("parts").bounds(again.frame).lower, rel=1e-6)


@pytest.mark.parametrize("kind", ["f8", "i2", "U"])
def test_arrays_part_by_part_give_the_bits_of_arrays_in_memory(kind, run, tmp_path, monkeypatch):
    numbers = table_of().select([f"x{i}" for i in range(6)]).to_pandas().to_numpy()
    if kind != "f8":
        numbers = np.where(numbers == -999, -999, np.round(2 * numbers))
    np.save("t.npy", numbers.astype(int).astype(str) if kind == "U" else numbers.astype(kind))
    assert run("fit", "t.npy", *FIT, "--missing", "-999", "--out", "whole").code == 0
    monkeypatch.setattr(large.limits, "free_memory", lambda: 30_000)
    monkeypatch.setattr(large, "_be_lean", lambda: None)
    done = run("fit", "t.npy", *FIT, "--missing", "-999", "--out", "parts")
    assert done.code == 0, done.err
    same_model("whole", "parts")
    assert (tmp_path / "whole/labels.csv").read_text() == (tmp_path / "parts/labels.csv").read_text()
    assert run("transform", "parts", "t.npy").out == (tmp_path / "parts/labels.csv").read_text()


def test_what_a_sample_does_not_show_is_read_all_the_same(run, little, tmp_path, monkeypatch):
    """A column that is constant, whole or without gaps in the sample need not be so elsewhere."""
    monkeypatch.setattr(streamed, "SAMPLE_ROWS", 100)
    table = table_of().to_pandas()
    table.insert(0, "count", np.arange(N_ROWS))
    looked = np.concatenate([np.arange(10) + start for start in np.linspace(0, N_ROWS - 10, 10).astype(int)])
    rest = np.setdiff1d(np.arange(N_ROWS), looked)
    table["rare"] = np.where(np.isin(np.arange(N_ROWS), rest), table["x0"], 1.0)
    table["halves"] = np.round(table["x4"])
    table.loc[rest[::2], "halves"] += 0.5
    table["gone"] = table["x5"].where(np.isin(np.arange(N_ROWS), looked))
    table["many"] = np.where(np.isin(np.arange(N_ROWS), looked), "a", [f"v{i % 40}" for i in range(N_ROWS)])
    table.loc[rest[:50], "level"] = -999
    write_parts(pa.Table.from_pandas(table, preserve_index=False), tmp_path / "t")
    done = run("fit", "t", *FIT, "--missing", "-999", "--kinds", "many=categorical", "--out", "r")
    assert done.code == 0, done.err
    assert "what is said of columns is from a sample of 100 rows" in " ".join(done.err.split())
    columns = pd.read_csv("r/columns.csv").set_index("column")
    assert columns.loc["count", ["kind", "why"]].tolist() == ["row names", "an identifier: the number of the row"]
    assert columns.loc["rare", "why"] == "constant"
    assert columns.loc["halves", "kind"] == "categorical"
    assert pd.read_csv("r/labels.csv")["count"].tolist() == list(range(N_ROWS))


def test_messages_name_file_column_and_value(run, little, tmp_path, monkeypatch):
    monkeypatch.setattr(streamed, "SAMPLE_ROWS", 100)
    texts = np.full((1000, 3), "1", dtype="U3")
    texts[::3], texts[500, 1] = "2", "?!x"
    np.save("t.npy", texts)
    done = run("fit", "t.npy", *FIT)
    assert done.code == 2
    assert "t.npy, column 'x1': '?!x' is not a whole number" in done.err.splitlines()[-1]
    assert os.listdir(tmp_path) == ["t.npy"]
    write_parts(table_of(), tmp_path / "t")
    done = run("fit", "t", *FIT, "--weights", "word")
    assert "--weights names column 'word', which does not hold numbers" in done.err
    weights = np.ones(N_ROWS)
    weights[1234] = -1
    write_parts(table_of().append_column("weight", pa.array(weights)), tmp_path / "t")
    done = run("fit", "t", "--weights", "weight")
    assert "Column 'weight' of --weights has the negative number -1 in row 1234; give 0 to leave" in done.err


def test_long_tables_get_no_csv_and_a_report_of_some_rows(run, little, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "MOST_CSV", 1000)
    monkeypatch.setattr(folder, "REPORTED_ROWS", 500)
    monkeypatch.setattr(streamed, "BATCH_CELLS", 4000)
    write_parts(table_of(), tmp_path / "t")
    assert run("fit", "t", *FIT, "--out", "r").code == 0
    assert {"labels.csv", "samples.csv"}.isdisjoint(os.listdir("r"))
    assert len(pd.read_parquet("r/labels.parquet")) == len(pd.read_parquet("r/samples.parquet")) == N_ROWS
    assert "500 samples, evenly spread over 3,000;" in (tmp_path / "r/report.html").read_text()
    assert run("report", "r", "t").code == 0
    assert "500 samples, evenly spread over 3,000;" in (tmp_path / "report.html").read_text()
    assert run("fit", "t", *FIT, "--out", "r", "--overwrite").code == 0


def test_sizes_of_memory():
    assert memory_size("2GB") == 2 * 10**9
    assert memory_size("1.5 gib") == 3 * 2**29
    assert memory_size(None) is None
    for wrong in ("2", "GB", "2XB", "-1GB", "2 G"):
        with pytest.raises(hicorex.HicorexError, match=f"--memory {wrong}: give a size such as 2GB"):
            memory_size(wrong)
    with pytest.raises(hicorex.HicorexError, match="give at least 500MB"):
        memory_size("100MB")


def test_texts_beyond_the_limit_are_to_be_converted(run, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "OF_LIMIT", 10**6)
    (tmp_path / "t.csv").write_text("a,b\n" + "1.5,2.5\n" * 200)
    done = run("fit", "t.csv", "--memory", "600MB")
    assert done.code == 2
    assert "t.csv, read at once, takes 0.0016 MB, and --memory 0.6GB leaves 0.00018 MB for it; give more" in done.err
    assert "format='parquet') and give that folder." in done.err
    assert "standard input; give a file" in run("fit", "-", "--memory", "600MB").err
    np.save("wide.npy", np.zeros((5000, 9000), np.int8))
    done = run("fit", "wide.npy", "--memory", "500MB")
    assert "has no column to learn from" in done.err
    np.save("wide.npy", np.random.default_rng(0).integers(2, size=(5000, 9000), dtype=np.int8))
    done = run("fit", "wide.npy", "--memory", "500MB")
    assert "--memory 0.5GB is too little for this table of 9,000 columns; give at least 1." in done.err


FAULTS = {
    "gone": (lambda path: path.unlink(), "part1.parquet is no longer there; put it back"),
    "changed": (lambda path: path.write_bytes(path.read_bytes() + b" "), "part1.parquet has changed since"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_fails_on_the_way_costs_nothing(fault, run, little, tmp_path, monkeypatch):
    write_parts(table_of(), tmp_path / "t")
    assert run("fit", "t", *FIT, "--out", "expected").code == 0
    path = tmp_path / "t" / "part1.parquet"
    held = path.read_bytes()
    spoil, message = FAULTS[fault]
    with monkeypatch.context() as patch:
        real = folder.write_folder
        patch.setattr(folder, "write_folder", lambda *given: (spoil(path), real(*given)))
        done = run("fit", "t", *FIT, "--out", "r", "--checkpoint", "c")
    assert done.code == 2
    assert message in done.err.splitlines()[-1]
    assert sorted(os.listdir(tmp_path)) == ["c", "expected", "t"]
    path.write_bytes(held)
    done = run("fit", "t", *FIT, "--out", "r", "--checkpoint", "c")
    assert done.code == 0, done.err
    assert "Going on from c." in done.err
    same_model("expected", "r")


def test_files_that_do_not_fit_together_are_named(run, little, tmp_path):
    write_parts(table_of(), tmp_path / "t")
    parquet.write_table(table_of(50).drop_columns("word"), tmp_path / "t" / "part2.parquet")
    done = run("fit", "t", *FIT)
    assert done.code == 2
    assert "part2.parquet has no column 'word'" in done.err
    (tmp_path / "t" / "part2.parquet").write_bytes(b"PAR1 and nothing else")
    assert "part2.parquet is broken; make or fetch it again" in run("fit", "t", *FIT).err
    assert os.listdir(tmp_path) == ["t"]


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
    words = ["fit", "t", "--layers", "2", "--starts", "1", "--max-iter", "3", "--quiet", "--checkpoint", "c", "--out"]

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
    for name, part in (("labels.parquet", 0.4), ("model.hicorex", 0.9), ("samples.parquet", 0.3)):
        done = run("r", int(part * sizes[name]))
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"hicorex: {tmp_path}/r/{name} cannot be written: file too large; free some space")
        assert line.endswith("The fit so far is in c; give the same command again to go on.")
        assert sorted(os.listdir(tmp_path)) == ["c", "r", "t"]
        assert held("r") == before
    assert run("again").returncode == 0
    again = held("again")
    assert again.keys() == before.keys()
    for name in sorted(again.keys() - {"report.html"}):  # which says when it was made
        assert again[name] == before[name], name


def test_batches(run, tmp_path):
    table_of().to_pandas().to_csv("t.csv", index=False)
    done = run("fit", "t.csv", *FIT, "--batch-size", "1000", "--out", "r")
    assert done.code == 0, done.err
    assert hicorex.load("r").batch_size == 1000
    assert "--batch-size" in run("fit", "t.csv", "--batch-size", "1").err


def test_dask_needs_a_scheduler_and_files(run, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("hicorex.cli.workers.PATIENCE", 1)
    monkeypatch.setattr(large, "_be_lean", lambda: None)
    write_parts(table_of(), tmp_path / "t")
    done = run("fit", "t", *FIT, "--dask", "tcp://127.0.0.1:9")
    assert done.code == 2
    assert "--dask tcp://127.0.0.1:9: no scheduler answers there" in done.err.splitlines()[-1]
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert "--dask cannot be used with t.csv; give Parquet" in run("fit", "t.csv", "--dask", "tcp://127.0.0.1:9").err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert 'pip install "hicorex[dask]"' in run("fit", "t", *FIT, "--dask", "tcp://127.0.0.1:9").err


def test_workers_of_a_cluster_give_the_same_bits(run, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(large, "_be_lean", lambda: None)
    write_parts(table_of(), tmp_path / "t")
    np.save("t.npy", table_of().select([f"x{i}" for i in range(6)]).to_pandas().to_numpy())
    options = [*FIT, "--missing", "-999", "--exclude", "w"]
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        for name in ("t", "t.npy"):
            options = options if name == "t" else options[:-2]
            assert run("fit", name, *options, "--out", f"{name}-here").code == 0
            done = run("fit", name, *options, "--out", f"{name}-there", "--dask", cluster.scheduler_address)
            assert done.code == 0, done.err
            same_model(f"{name}-here", f"{name}-there")
            here, there = (pd.read_parquet(f"{name}-{own}/labels.parquet") for own in ("here", "there"))
            pd.testing.assert_frame_equal(here, there)
        monkeypatch.setattr("hicorex.cli.workers._reads", lambda source: "t is not there.")
        done = run("fit", "t", *options, "--out", "r", "--dask", cluster.scheduler_address)
        assert done.code == 2
        assert "cannot read the data (t is not there); put them where all workers see them" in done.err
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()


def test_a_streamed_table_is_decided_on_like_one_in_memory(tmp_path):
    parquet.write_table(table_of(), tmp_path / "t.parquet", row_group_size=500)
    reading = Reading(missing=("-999",), weights="w")
    whole, parts = (
        read_table(tmp_path / "t.parquet", reading),
        stream_table(source_of(tmp_path / "t.parquet"), "t.parquet", reading),
    )
    assert whole.decisions == parts.decisions
    assert whole.frame.schema.types == parts.frame.read(0, 10).schema.types == parts.frame.read(5, 5).schema.types
    np.testing.assert_array_equal(whole.sample_weight, parts.sample_weight)


def test_the_results_of_many_rows_count_towards_the_limit(tmp_path):
    """A table that is small itself, 10 MB."""
    hidden = np.random.default_rng(0).integers(0, 2, (500_000, 4), dtype=np.uint8)
    table = pa.table({f"x{i}": hidden[:, i % 4] for i in range(20)})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=50_000)
    assert peak_of_fit("t.parquet", "500MB", tmp_path) < 500e6
