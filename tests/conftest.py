"""Shared helpers: random tables of every kind, the real data sets where they are, leak checks."""

import io
import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import real_data as data_sets
from hicorex import cli
from hicorex.cli.ending import Settings
from hicorex.datasets import make_latent_tree

# Workers of clusters alone import it.
collect_ignore = ["forked.py"]
# Forks, signals and limits of files are of POSIX.
if not hasattr(os, "fork"):
    collect_ignore += [
        "cli/test_cli_memory.py",
        "cli/test_commands_that_are_stopped.py",
        "cli/test_commands_that_fail.py",
    ]
    collect_ignore += [f"storage/test_{name}.py" for name in ("checkpoint", "files", "outputs")]
# Models and folders of results that several files look at.
pytest_plugins = ["fitted", "result_folders"]
# Pictures are drawn without a screen.
os.environ["MPLBACKEND"] = "Agg"

PROJECT = Path(__file__).parents[1]
GOLDEN = PROJECT / "tests" / "golden"
WINE = load_wine(as_frame=True).data

# Names of columns that try to break files, tables and terminals.
HOSTILE = [
    "layer1_factor0",
    "n0",
    "quote\" and 'apostrophe'",
    "</data></node><node id='n0'/>",
    "a & b &amp; ]]> <!-- x -->",
    "snow ☃ and 😀, 漢字",
    "control\x00\x07\x1b[31m\x7f\x85",
    "lone \ud800 half",
    "not characters \ufffe\uffff",
    "tab\tnewline\nreturn\rend",
    "  blanks  ",
    "=1+2; -- DROP",
]

# Of Chromium.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data sets, which is not part of the project."""
    if data_sets.find() is None:
        pytest.skip(data_sets.absent())
    return data_sets.FOLDER


@pytest.fixture(scope="session")
def large_tree():
    """Many samples of a latent tree of four factors, and the truth."""
    return make_latent_tree(40_000, 40, 4, root_flip=0.2, random_state=0)


@pytest.fixture(scope="session")
def noisy_tree(large_tree):
    """The same as numbers, of which some are missing."""
    rng = np.random.default_rng(0)
    table = large_tree[0] + 0.4 * rng.standard_normal(large_tree[0].shape)
    table[rng.random(table.shape) < 0.05] = np.nan
    return table


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Give a command in a folder of its own; what comes back has out, err and code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", None)
    heard = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    before = [(number, signal.getsignal(number)) for number in heard]

    def give(*words, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["hicorex", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        monkeypatch.setattr(Settings, "debug", False)
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return SimpleNamespace(out=printed.out, err=printed.err, code=end.value.code)

    yield give
    for number, handler in before:
        signal.signal(number, handler)


@pytest.fixture
def wine(run, tmp_path):
    """A table in a file, and a model of it."""
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    done = run("fit", "wine.csv", "--layers", "3,1", "--states", "3", "--out", "wine-results")
    assert done.code == 0, done.err
    return done


@pytest.fixture(autouse=True)
def no_leaked_figures():
    """Whatever a test draws is closed when it is over."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def no_leaked_threads():
    """Whatever a test starts has ended when it is over."""
    before = set(threading.enumerate())
    yield
    left = [t for t in set(threading.enumerate()) - before if t.name.startswith("ThreadPoolExecutor")]
    for thread in left:  # those of a fit that was interrupted end by themselves, on a busy machine a little later
        thread.join(5)
    assert not [thread for thread in left if thread.is_alive()]


def mixed_table(rng, n_samples=60, missing=0.0):
    """Gaussian, binary and categorical columns that depend on two hidden coins, and noise of each kind."""
    coins = rng.integers(2, size=(n_samples, 2))
    columns = []
    for coin in coins.T:
        columns += [coin + rng.normal(scale=0.5, size=n_samples) for _ in range(2)]
        columns += [coin ^ (rng.random(n_samples) < 0.15) for _ in range(2)]
        columns += [2 * coin + rng.integers(2, size=n_samples)]
    columns += [coins.sum(axis=1) + rng.normal(scale=0.3, size=n_samples), coins.sum(axis=1)]
    columns += [rng.normal(size=n_samples), rng.integers(3, size=n_samples)]
    kinds = ["gaussian" if c.dtype.kind == "f" else "categorical" for c in columns]
    table = np.column_stack(columns).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    return table, kinds


def storable(name):
    """A name as files hold it, without half a surrogate pair."""
    return name.replace("\ud800", "\ufffd")


def named_table(names, n_samples=200):
    """Binary columns of these names in two groups."""
    # pandas' own type for text has no room for half a surrogate pair
    columns = pd.Index(names, dtype=object)
    return pd.DataFrame(make_latent_tree(n_samples, len(names), 2, random_state=0)[0], columns=columns)


@pytest.fixture(scope="module")
def shared_client():
    """Two workers for tests that do them no harm."""
    from clusters import nannied  # which needs Dask

    with nannied() as client:
        yield client


@pytest.fixture
def client(shared_client):
    """The same, on which a test leaves nothing behind."""
    from clusters import assert_left

    yield shared_client
    assert_left(shared_client, [])


@pytest.fixture(scope="module")
def browser():
    """Chromium of the system, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens a page; in the end, none may have reported an error, asked for anything but itself or gone elsewhere."""
    complaints, contexts = [], []

    def open_page(path, ours=True, **settings):
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, **settings))
        page = contexts[-1].new_page()
        if ours:  # the diagram of scikit-learn has words of its own
            page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if request.url != path.as_uri() else None)
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("framenavigated", lambda frame: complaints.append(frame.url) if frame.url != path.as_uri() else None)
        page.goto(path.as_uri())
        if ours:
            page.wait_for_function("window.hicorex && window.hicorex.state.paths")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
