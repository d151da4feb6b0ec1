"""What is published: the source distribution has what tests and the site need, the wheel what runs, neither more."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes

import pytest
from conftest import PROJECT

import hicorex

PACKAGE = PROJECT / "src" / "hicorex"
MADE = {".pyc", ".nbi", ".nbc"}  # by Python and by the compiler, where the package runs
# Of a clone, and no part of what is published.
OF_A_CLONE = re.compile(r"\.gitignore|\.ci/.*")
DATA = {".npz", ".npy", ".csv", ".parquet", ".feather", ".h5ad", ".hicorex", ".whl", ".gz", ".zip", ".log"}


def built(target, folder, source=PROJECT):
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", folder]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob({"sdist": "hicorex-*.tar.gz", "wheel": "hicorex-*.whl"}[target])
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built("sdist", folder)) as file:
        file.extractall(folder, filter="data")
    return folder / f"hicorex-{hicorex.__version__}"


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    """The files of the wheel that the source distribution makes, by name."""
    with zipfile.ZipFile(built("wheel", tmp_path_factory.mktemp("wheel"), source)) as file:
        return {name: file.read(name) for name in file.namelist()}


def files_of(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_source_distribution_has_every_file_of_a_clone_and_no_other(source):
    names = files_of(source) - {"PKG-INFO", ".gitignore"}
    if (PROJECT / ".git").exists() and shutil.which("git"):
        command = ["git", "ls-files", "-z", "--cached"]
        of_git = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
        kept = {name for name in of_git.split("\0") if name and (PROJECT / name).exists()}
        assert {name for name in kept if not OF_A_CLONE.fullmatch(name)} <= names
    for name in ("Makefile", "pyproject.toml", "real_data.py", "requirements/docs.txt", "docs/conf.py", "CITATION.cff"):
        assert name in names
    assert {"tests/oracle.py", "examples/plot_growers.py", "benchmarks/results.json", "paper/run.py"} <= names
    for name in names:
        golden = name.startswith("tests/golden/")
        assert golden or not DATA & {f".{part}" for part in name.split("/")[-1].split(".")[1:]}, name
        assert not set(name.split("/")) & {"__pycache__", ".hypothesis", ".pytest_cache", "site", "dist"}, name
        assert not MADE & {name[-4:]}, name


def test_the_source_distribution_is_small(source):
    assert sum(path.stat().st_size for path in source.rglob("*") if path.is_file()) < 12e6


def test_the_wheel_is_the_package_and_nothing_else(wheel):
    own = {name for name in wheel if not name.startswith(f"hicorex-{hicorex.__version__}.dist-info/")}
    wanted = {f"hicorex/{name}" for name in files_of(PACKAGE)}
    assert own == {name for name in wanted if "__pycache__" not in name and name[-4:] not in MADE}
    assert wheel["hicorex/py.typed"] == b""
    assert {name.rpartition(".")[2] for name in own} == {"py", "typed", "css", "html", "js"}
    assert sum(map(len, wheel.values())) < 3e6


def test_the_wheel_says_what_it_is(wheel):
    (metadata,) = (message_from_bytes(text) for name, text in wheel.items() if name.endswith("/METADATA"))
    assert metadata["Version"] == hicorex.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert metadata.get_payload().startswith("# hicorex\n")
    (entries,) = (text.decode() for name, text in wheel.items() if name.endswith("/entry_points.txt"))
    assert "hicorex = hicorex.__main__:main" in entries


@pytest.mark.parametrize("code", ["import hicorex", "from hicorex import *"])
def test_importing_says_nothing(code, tmp_path):
    """As errors its own warnings; those of the libraries below may come with any new version of theirs."""
    strict = ["-W", "error"] if code == "import hicorex" else []
    done = subprocess.run([sys.executable, *strict, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
