"""Every benchmark runs, in small, and the pages show what results.json holds."""

import importlib
import json
import sys

import pytest
from conftest import PROJECT

BENCHMARKS = PROJECT / "benchmarks"
SHARED = {"harness", "internals", "run", "tables"}
NEEDED = {
    "cluster": ("distributed",),
    "topics": ("corextopic",),
    "anchors": ("corextopic",),
    "peers": ("corextopic", "linearcorex"),
}


@pytest.fixture(scope="module")
def driver():
    """The module that runs benchmarks, which like them is no part of a package."""
    names = {path.stem for path in BENCHMARKS.glob("*.py")}
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("run")
    sys.path.remove(str(BENCHMARKS))
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def results():
    return json.loads((BENCHMARKS / "results.json").read_text(encoding="utf-8"))


def names_of_benchmarks():
    return sorted(path.stem for path in BENCHMARKS.glob("*.py") if path.stem not in SHARED)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names_of_benchmarks())
def test_a_benchmark_runs_in_small_and_its_section_can_be_written(name, driver, tmp_path):
    for needed in NEEDED.get(name, ()):
        pytest.importorskip(needed)
    section = json.loads(json.dumps(driver.run(name, quick=True), default=lambda number: number.item()))
    tables = [block for block in section["blocks"] if not isinstance(block, str)]
    assert tables
    for table in tables:
        assert table["rows"]
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
    text = driver.section_text(name, section)
    assert text.startswith("## ")
    assert text.count("\n| ---") == len(tables)
    driver.draw(name, section, tmp_path)
    assert (tmp_path / f"{name}.png").exists() == ("![" in text)


def test_every_benchmark_has_its_place_on_the_page(driver, results):
    assert sorted(driver.BENCHMARKS) == names_of_benchmarks()
    assert set(results) <= set(driver.BENCHMARKS)


def test_pages_show_the_results_that_are_kept(driver, results):
    assert (driver.DOCS / "benchmarks.md").read_text(encoding="utf-8") == driver.page_of(results)
    for path in (PROJECT / "README.md", *driver.DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert driver.refilled(text, results) == text, path


def test_a_benchmark_that_was_never_run_is_said_to_be(driver):
    page = driver.page_of({})
    assert page.count("Not measured yet.") == len(driver.BENCHMARKS)


def test_the_shortest_of_several_runs_is_taken_in_turns(driver):
    harness = importlib.import_module("harness")
    calls = []
    seconds = harness.shortest(lambda: calls.append("a"), lambda: calls.append("b"), rounds=2, repeats=2)
    assert "".join(calls) == "aabbaabb"
    assert len(seconds) == 2
    assert all(0 <= second < 1 for second in seconds)


def test_cells_are_written_in_the_format_of_their_column(driver):
    harness = importlib.import_module("harness")
    table = harness.Table({"name": "", "seconds": ".1f", "rows": ","}, [["a", [1.25, 2.0], 1000], ["b", None, 2]])
    assert harness.markdown(table).splitlines()[2:] == ["| a | 1.2, 2.0 | 1,000 |", "| b |  | 2 |"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is that of Linux")
def test_a_process_apart_has_a_peak_of_its_own(driver):
    harness = importlib.import_module("harness")
    here = bytearray(200_000_000)
    assert len(here) == 200_000_000
    found = harness.apart(len, "four")
    assert found.result == 4
    assert 0 < found.peak < 200
    assert found.seconds > 0
