"""Runs that are interrupted, cut off or without a home, and lose nothing."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from conftest import WINE

from hicorex.cli import ending


def start(folder, *words):
    # A shell's background jobs ignore interrupts, and so would their children.
    return subprocess.Popen(
        [sys.executable, "-m", "hicorex", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_interrupts_stop_within_a_second_and_lose_nothing(tmp_path):
    """Ctrl-C, a cluster's SIGTERM and a closed terminal at some moments of a fit, which goes on to the same bits."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(1500, 400)))
    words = ("fit", "x.npy", "--layers", "30", "--structure", "overlap", "--starts", "6", "--checkpoint-every", "0.2")
    rng = np.random.default_rng(0)
    path = tmp_path / "r.checkpoint"
    waits = []
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        before = path.stat().st_mtime_ns if path.exists() else 0
        fit = start(tmp_path, *words, "--out", "r")
        while fit.poll() is None and (not path.exists() or path.stat().st_mtime_ns == before):
            time.sleep(0.01)
        time.sleep(0.5 * rng.random())
        begun = time.perf_counter()
        fit.send_signal(number)
        _, told = fit.communicate(timeout=60)
        waits.append(time.perf_counter() - begun)
        assert fit.returncode == code, told
        assert told.splitlines()[-1] == (
            "hicorex: stopped; the fit so far is in r.checkpoint; give the same command again to go on."
        )
        assert sorted(os.listdir(tmp_path)) == ["r.checkpoint", "x.npy"]
    assert sorted(waits)[1] < 1, waits  # a busy machine may hold up one of them
    for out in ("r", "whole"):
        _, told = start(tmp_path, *words, "--out", out).communicate(timeout=300)
        assert ("Going on from r.checkpoint." in told) == (out == "r")
    assert (tmp_path / "r" / "model.hicorex").read_bytes() == (tmp_path / "whole" / "model.hicorex").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["r", "whole", "x.npy"]


def test_a_stop_while_cross_fitting_loses_no_fit(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(1500, 300)))
    words = ("fit", "x.npy", "--layers", "20", "--states", "2", "--starts", "6", "--checkpoint-every", "600")
    words += ("--folds", "40")
    fit = start(tmp_path, *words, "--out", "r")
    while fit.poll() is None and not (tmp_path / "r.checkpoint").exists():
        time.sleep(0.01)  # it is there once the layer is fitted
    fit.send_signal(signal.SIGINT)
    _, told = fit.communicate(timeout=60)
    assert fit.returncode == 130, told
    assert told.splitlines()[-1] == (
        "hicorex: stopped; the fit so far is in r.checkpoint; give the same command again to go on."
    )
    for out in ("r", "whole"):
        _, told = start(tmp_path, *words, "--out", out).communicate(timeout=300)
        assert ("Going on from r.checkpoint." in told) == (out == "r")
    assert (tmp_path / "r" / "model.hicorex").read_bytes() == (tmp_path / "whole" / "model.hicorex").read_bytes()


def test_what_takes_long_after_a_stop_is_told(run, capsys, monkeypatch):
    monkeypatch.setattr(ending, "PATIENCE", 0.01)
    monkeypatch.setattr(ending.Settings, "stop_code", 0)
    run("--version")  # which listens to signals
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGHUP)
    assert ending.Settings.stop_code == 129
    time.sleep(0.2)
    assert capsys.readouterr().err == "hicorex: stopped; ending, a moment ...\n"
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run("--version")
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # as nohup wants it


def test_a_closed_pipe_is_no_error(wine, tmp_path):
    pd.concat([WINE] * 100).to_csv(tmp_path / "long.csv", index=False)  # more than a pipe holds
    command = f"{sys.executable} -m hicorex transform wine-results long.csv | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith('"row"')
    assert done.stderr == ""


def test_a_fit_needs_no_home_folder(tmp_path):
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "NUMBA_CACHE_DIR")}
    words = [sys.executable, "-m", "hicorex", "fit", "wine.csv", "--layers", "2", "--quiet"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
