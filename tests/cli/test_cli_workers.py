"""The command line with the workers of a cluster: the same answers, or what is wrong with the cluster."""

import sys

import numpy as np
import pandas as pd
import pytest
from large_tables import FIT, same_model, table_of, write_parts

from hicorex.cli import large


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
