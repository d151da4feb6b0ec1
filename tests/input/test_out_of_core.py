"""Tables on disk are fitted to the same bits as in memory, in little memory, and leave nothing behind."""

import gc
import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from models import layers_of
from numpy.testing import assert_array_equal
from sklearn import config_context

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.engine import LocalEngine
from hicorex.exceptions import HicorexError
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of
from hicorex.input.sources.spooled import SpooledSource
from hicorex.input.spool import Spool
from hicorex.layer.progress import Progress, heard_by
from hicorex.storage.checkpoint import Checkpoint

# More than one part of 32 tiles each.
N_ROWS, N_COLUMNS = 140_000, 12
SETTINGS = {"n_states": 2, "n_init": 2, "max_iter": 6, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore:The objective still grew")


@pytest.fixture(scope="module")
def bits():
    return make_latent_tree(N_ROWS, N_COLUMNS, 3, root_flip=0.2, random_state=0)[0].astype(np.uint8)


@pytest.fixture(scope="module")
def numbers(bits):
    rng = np.random.default_rng(0)
    table = (bits + 0.4 * rng.standard_normal(bits.shape)).astype(np.float32)
    table[rng.random(len(table)) < 0.1, 3] = np.nan
    return table


@pytest.fixture(scope="module")
def mixed(bits, numbers):
    frame = pd.DataFrame(numbers[:, :6], columns=[f"number{i}" for i in range(6)])
    frame["bit"] = bits[:, 6]
    frame["flag"] = bits[:, 7].astype(bool)
    frame["word"] = np.array(["no", "yes"])[bits[:, 8]]
    frame["kind"] = pd.Categorical(np.array(["b", "a", "c"])[bits[:, 9] + bits[:, 10]])
    frame["count"] = pd.array(bits[:, 8:12].sum(axis=1), "Int64")
    frame.loc[::9, "count"] = pd.NA
    frame.loc[::11, "word"] = None
    return frame


@pytest.fixture(params=["in memory", "in a scratch file"])
def room(request):
    """Whether the samples fit into the working memory."""
    with config_context(working_memory=1024 if request.param == "in memory" else 1):
        yield request.param


def assert_same(one, other):
    for a, b in zip(layers_of(one), layers_of(other), strict=True):
        assert_array_equal(a.alpha_, b.alpha_)
        assert_array_equal(a.mutual_information_, b.mutual_information_)
        assert_array_equal(a.clusters_, b.clusters_)
        assert_array_equal(a.history_, b.history_)
    assert one.bounds_ == other.bounds_


def as_map(table, path):
    np.save(path, table)
    return np.load(path, mmap_mode="r")


def as_folder(table, folder, n_files=3, **options):
    folder.mkdir()
    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
    size = -(-arrow.num_rows // n_files)
    for i in range(n_files):
        pq.write_table(arrow.slice(i * size, size), folder / f"part{i}.parquet", row_group_size=20_000, **options)
    return folder


@pytest.mark.parametrize("kind", ["bits", "numbers"])
def test_memory_maps_give_the_same_bits(kind, room, tmp_path, request):
    table = request.getfixturevalue(kind)
    X = as_map(table, tmp_path / "x.npy")
    whole, mapped = (Corex(3, **SETTINGS).fit(own) for own in (table, X))
    assert_same(mapped, whole)
    assert_array_equal(mapped.transform(X), whole.transform(table))
    assert_array_equal(mapped.log_z(str(tmp_path / "x.npy")), whole.log_z(table))
    assert mapped.bounds(X) == whole.bounds(table)
    assert mapped.bounds(X[::2]) == whole.bounds(table[::2])
    with LocalEngine(1) as engine:
        parts = mapped.fitted_.layers[0].encoder.encode(source_of(X), None, engine)[0].parts
    assert isinstance(parts, Spool) == (room == "in a scratch file")


def test_folders_files_and_datasets_of_mixed_types_give_the_same_bits(room, mixed, tmp_path):
    folder = as_folder(mixed, tmp_path / "table")
    whole = Corex(3, **SETTINGS).fit(pa.Table.from_pandas(mixed, preserve_index=False))
    for X in (folder, str(folder), ds.dataset(folder), as_folder(mixed, tmp_path / "one", 1) / "part0.parquet"):
        model = Corex(3, **SETTINGS).fit(X)
        assert_same(model, whole)
        assert model.feature_names_in_.tolist() == mixed.columns.tolist()
    assert_array_equal(model.transform(folder), whole.transform(mixed))


@pytest.mark.parametrize("room", ["in a scratch file"], indirect=True)
def test_layers_give_the_same_bits(room, bits, tmp_path):
    X = as_map(bits, tmp_path / "x.npy")
    whole, mapped = (HierarchicalCorex((3, 1), **SETTINGS).fit(own) for own in (bits, X))
    assert_same(mapped, whole)
    assert_array_equal(mapped.transform(X), whole.transform(bits))
    assert mapped.bounds(X) == whole.bounds(bits)
    assert mapped.bounds(X[::2]) == whole.bounds(bits[::2])


@pytest.mark.parametrize("room", ["in a scratch file"], indirect=True)
def test_ranks_weights_sizes_and_batches_give_the_same_bits(room, numbers, tmp_path):
    X = as_map(numbers, tmp_path / "x.npy")
    weight = np.random.default_rng(1).integers(0, 3, N_ROWS).astype(float)
    for settings, own in (
        ({"marginals": "rank"}, None),
        ({"structure": "overlap"}, weight),
        ({"n_factors": "auto", "n_init": 1}, None),
        ({"batch_size": 3000}, weight),
    ):
        whole, mapped = (
            Corex(**{"n_factors": 3} | SETTINGS | settings).fit(t, sample_weight=own) for t in (numbers, X)
        )
        assert_same(mapped, whole)


def test_threads_change_no_bit(numbers, tmp_path):
    X = as_map(numbers, tmp_path / "x.npy")
    with config_context(working_memory=1):
        one, two, four = (Corex(3, n_jobs=n, **SETTINGS).fit(X) for n in (1, 2, 4))
    assert_same(one, two)
    assert_same(one, four)


def test_a_fit_goes_on_from_its_checkpoint(numbers, tmp_path):
    X = as_map(numbers, tmp_path / "x.npy")
    whole = Corex(3, **SETTINGS).fit(numbers)

    class Enough(Exception):
        pass

    class Listener(Progress):
        def iteration(self, iteration, *_):
            if iteration == 4:
                raise Enough

    with config_context(working_memory=1):
        with pytest.raises(Enough), heard_by(Listener()):
            Corex(3, **SETTINGS).fit(X, checkpoint=Checkpoint(tmp_path / "fit", every=0))
        assert_same(Corex(3, **SETTINGS).fit(X, checkpoint=tmp_path / "fit"), whole)
        other = numbers.copy()
        other[77, 5] += 1
        with pytest.raises(HicorexError, match="other data"):
            Corex(3, **SETTINGS).fit(as_map(other, tmp_path / "y.npy"), checkpoint=tmp_path / "fit")


class Meddler(Progress):
    """Does something to the files once the fit is on its way."""

    def __init__(self, harm):
        self.harm, self.seen = harm, 0

    def iteration(self, *_):
        self.seen += 1
        if self.seen == 2:
            self.harm()


def test_what_happens_to_files_once_they_are_read_does_not_matter(numbers, tmp_path):
    X = as_map(numbers, tmp_path / "x.npy")
    whole = Corex(3, **SETTINGS).fit(numbers)
    with config_context(working_memory=1):
        with heard_by(Meddler(lambda: os.unlink(tmp_path / "x.npy"))):
            model = Corex(3, **SETTINGS).fit(X)
        assert_same(model, whole)


@pytest.mark.parametrize("harm", ["changed", "gone", "broken"])
def test_files_that_change_while_they_are_read_are_refused(harm, mixed, tmp_path, monkeypatch):
    folder = as_folder(mixed, tmp_path / "table")
    file = folder / "part1.parquet"
    kept = file.read_bytes()
    learn = Encoder.learn.__func__

    @classmethod
    def meddle(cls, *args):
        encoder = learn(cls, *args)
        if harm == "gone":
            file.unlink()
        else:
            file.write_bytes(kept[: len(kept) // 2] if harm == "broken" else kept + b" ")
        return encoder

    monkeypatch.setattr("hicorex.input.encoder.Encoder.learn", meddle)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(HicorexError, match=r"part1\.parquet (has changed|is no longer there)"):
        Corex(3, **SETTINGS).fit(folder, checkpoint=tmp_path / "fit")
    assert sorted(os.listdir(tmp_path)) == before
    # Once it is back the same fit works.
    monkeypatch.undo()
    file.write_bytes(kept)
    assert Corex(3, **SETTINGS).fit(folder, checkpoint=tmp_path / "fit").tc_ > 0


def test_folders_of_different_columns_and_of_broken_files_are_refused(mixed, tmp_path):
    folder = as_folder(mixed, tmp_path / "table")
    pq.write_table(pa.table({"other": [1.0]}), folder / "part9.parquet")
    with pytest.raises(HicorexError, match=r"part9\.parquet has no column 'number0'"):
        Corex(4, n_states=2).fit(folder)
    (folder / "part9.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(HicorexError, match=r"part9\.parquet is broken"):
        Corex(4, n_states=2).fit(folder)


def test_a_full_disk_is_told_of(numbers, tmp_path, monkeypatch):
    X = as_map(numbers, tmp_path / "x.npy")

    class Full:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, data):
            raise OSError(28, "No space left on device")

    make = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *args, **kwargs: Full(make(*args, **kwargs)))
    with config_context(working_memory=1), pytest.raises(HicorexError, match=r"no space left.*TMPDIR"):
        Corex(3, **SETTINGS).fit(X, checkpoint=tmp_path / "fit")
    assert os.listdir(tmp_path) == ["x.npy"]


def test_nothing_is_left_behind(numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    X = as_map(numbers, tmp_path / "x.npy")
    with config_context(working_memory=1):
        Corex(3, **SETTINGS).fit(X)
        handles, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
        for _ in range(3):
            HierarchicalCorex((3, 1), **SETTINGS).fit(X)
            with pytest.raises(ZeroDivisionError), heard_by(Meddler(lambda: 1 / 0)):
                Corex(3, **SETTINGS).fit(X)
    assert len(os.listdir("/proc/self/fd")) <= handles + 1
    assert threading.active_count() <= threads
    assert os.listdir(tmp_path / "scratch") == []


def test_cross_fitting_on_disk_is_that_in_memory(bits, numbers, tmp_path):
    for table in (bits[:2500], numbers[:2500]):
        weight = np.arange(1, len(table) + 1) % 3
        for sample_weight in (None, weight):
            mapped = as_map(table, tmp_path / "x.npy")
            with config_context(working_memory=0):
                found = HierarchicalCorex((3, 1), **SETTINGS).fit(mapped, sample_weight=sample_weight).cross_fitted_
            model = HierarchicalCorex((3, 1), **SETTINGS).fit(table, sample_weight=sample_weight)
            assert found == model.cross_fitted_ == model.bounds(cv=5)
            assert found.n_samples == (2500 if sample_weight is None else np.count_nonzero(weight))


def test_what_needs_samples_in_memory_says_so(bits, tmp_path):
    X = as_map(bits[:2000], tmp_path / "x.npy")
    model = Corex(2, **SETTINGS).fit(X)
    with pytest.raises(HicorexError, match="samples in memory"):
        model.significance(n_permutations=2)
    parquet = as_folder(pd.DataFrame(bits[:500]).rename(columns=str), tmp_path / "folder")
    model = Corex(2, **SETTINGS).fit(parquet)
    model.report(tmp_path / "model.html")  # of the model alone
    for X in (parquet, ds.dataset(parquet)):
        with pytest.raises(HicorexError, match=r"a path; read the file|not in memory; pass some of its rows"):
            model.report(tmp_path / "samples.html", X)
    assert not (tmp_path / "samples.html").exists()
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(HicorexError, match=r"x\.csv is no file of which some rows can be read"):
        Corex(2, n_states=2).fit(tmp_path / "x.csv")


def test_scratch_files_are_closed_with_what_they_hold():
    table = SpooledSource([np.zeros((3, 2))])
    file = table._file._file
    del table
    gc.collect()
    assert file.closed


def test_spooled_tables_are_read_as_they_were_written():
    rng = np.random.default_rng(0)
    parts = [rng.integers(-5, 5, (size, 3)).astype(np.int8) for size in (10, 1, 300)]
    table, whole = SpooledSource(parts), np.concatenate(parts)
    assert table.shape == whole.shape
    for first, stop in ((0, 311), (5, 12), (310, 311), (7, 7)):
        assert_array_equal(table.read(first, stop), whole[first:stop])
    with pytest.raises(IndexError):
        table.read(300, 312)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system does not tell the memory of a process")
def test_memory_stays_below_a_part_of_the_table(tmp_path):
    """600 MB of numbers, of which no more than a few parts are in memory at a time."""
    path = tmp_path / "x.npy"
    table = np.lib.format.open_memmap(path, "w+", np.float32, (1_500_000, 100))
    rng = np.random.default_rng(0)
    for first in range(0, len(table), 100_000):
        coins = rng.integers(0, 2, (100_000, 4)).astype(np.float32)
        table[first : first + 100_000] = np.tile(coins, 25) + rng.standard_normal((100_000, 100), np.float32)
    table.flush()
    del table
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "import numpy as np; from sklearn import set_config; from hicorex import Corex\n"
        "X = np.random.default_rng(0).normal(size=(3000, 100))\n"
        "Corex(4, n_init=1, max_iter=3).fit(X)\n"
        "def peak():\n"
        "    return int(dict(line.split(':', 1) for line in open('/proc/self/status'))['VmHWM'].split()[0])\n"
        "before = peak()\n"
        "set_config(working_memory=64)\n"
        "model = Corex(4, n_init=1, max_iter=3, random_state=0).fit(sys.argv[1])\n"
        "print((peak() - before) // 1024, model.tc_ > 1)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    grown, found = run.stdout.split()
    assert found == "True"
    assert int(grown) < 550, f"{grown} MiB for a table of 572 MiB in parts of 50"
