"""A folder with a table, its results and files of other people, what it holds, and what commands say of it."""

import shutil
import stat

import numpy as np
import pandas as pd
import pytest

from hicorex.cli.folder import write_folder
from hicorex.estimators.hierarchy import HierarchicalCorex
from hicorex.input.files import Reading, read_table

QUICK = ("--layers", "1", "--starts", "1", "--max-iter", "5", "--quiet")
TABLE = pd.DataFrame(np.random.default_rng(0).integers(2, size=(30, 1)) ^ np.zeros((30, 4), int), columns=list("abcd"))
# What commands say, and the option that replaces results.
IN_FOLDER = ") is in that folder; choose another folder"
NOT_OURS = "which hicorex has not written; choose another folder, or move it away"
OVER = "--overwrite"


@pytest.fixture(scope="session")
def result_folder(tmp_path_factory):
    """A folder with a table, its results, and files of other people; it is not to be changed."""
    folder = tmp_path_factory.mktemp("made")
    TABLE.to_csv(folder / "t.csv", index=False)
    (folder / "groups.csv").write_text("name,group\na,x\nb,x\nc,y\nd,y\n")
    table = read_table(folder / "t.csv", Reading())
    model = HierarchicalCorex((1,), n_states=2, n_init=1, max_iter=5, marginals=table.kinds, random_state=0).fit(
        table.frame
    )
    write_folder(folder / "r", model, table)
    for name in ("model.hicorex", "labels.csv", "labels.parquet", "samples.csv", "report.html"):
        shutil.copy(folder / "r" / name, folder / f"ours.{name}")
    TABLE.to_parquet(folder / "own.parquet")
    (folder / "thesis.docx").write_text("a year's work")
    (folder / "page.html").write_text("<!doctype html><title>mine</title>")
    return folder


@pytest.fixture
def work_folder(result_folder, run, tmp_path):
    """A copy of it to work in, which is the current folder."""
    shutil.copytree(result_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def seen(folder):
    """All that a folder holds, to the last byte, mode and time."""
    found = {}
    for file in sorted(folder.rglob("*")):
        about = file.lstat()
        text = file.read_bytes() if stat.S_ISREG(about.st_mode) else None
        found[str(file)] = (text, about.st_mode, about.st_ino, about.st_mtime_ns)
    return found
