"""The real data sets are found by one variable, in one place."""

import os
import subprocess
import sys

from conftest import PROJECT

import real_data


def found_with(**variables):
    environment = {name: value for name, value in os.environ.items() if name != "HICOREX_DATA"} | variables
    show = [sys.executable, "-c", "import real_data; print(real_data.FOLDER, real_data.find('no such set'))"]
    return subprocess.run(show, env=environment, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()


def test_a_variable_names_the_folder(tmp_path):
    assert found_with(HICOREX_DATA=str(tmp_path)) == [str(tmp_path), "None"]
    assert found_with() == [str(PROJECT.parent / "shared" / "data"), "None"]


def test_what_is_absent_is_said_with_the_remedy():
    assert "big5" in real_data.absent("big5")
    assert "HICOREX_DATA" in real_data.absent()


def test_no_other_file_reads_the_variable():
    scripts = [
        path for folder in ("benchmarks", "examples", "paper", "src") for path in (PROJECT / folder).rglob("*.py")
    ]
    assert scripts
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        assert "environ" not in text or "HICOREX_DATA" not in text, path
        assert '"shared"' not in text, path
