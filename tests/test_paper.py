"""The paper's experiments run, in small, and their results in full are those that are written down."""

import importlib.util
import json

import pytest
from conftest import PROJECT

import real_data

PAPER = PROJECT / "paper"
spec = importlib.util.spec_from_file_location("paper_run", PAPER / "run.py")
driver = importlib.util.module_from_spec(spec)
spec.loader.exec_module(driver)


@pytest.mark.parametrize("name", driver.EXPERIMENTS)
def test_experiments_run_in_small(name, tmp_path):
    needed = driver.load(name).SOURCE
    claims, skipped = driver.run_all([name], tmp_path, True, None, real_data.find())
    if skipped:
        pytest.skip(real_data.absent(needed))
    assert claims
    assert list(tmp_path.glob(f"{name}*.png"))
    for claim in claims:
        assert claim["id"].startswith(f"{name}:")
        assert isinstance(claim["reproduced"], bool)
        assert all(isinstance(claim[key], str) and claim[key] for key in driver.KEYS[:-1])
    written = {claim["id"] for claim in json.loads((PAPER / "results.json").read_text())["claims"]}
    assert {claim["id"] for claim in claims} == {id for id in written if id.split(":")[0] == name}


def test_every_experiment_is_run_and_shown():
    scripts = {path.stem for path in PAPER.glob("*.py")} - {"run"}
    assert scripts == set(driver.EXPERIMENTS)
    results = json.loads((PAPER / "results.json").read_text())
    assert not results["skipped"]
    page = (PAPER.parent / "docs" / "paper.md").read_text()
    for claim in results["claims"]:
        assert tuple(claim) == driver.KEYS
        assert claim["measured"].replace("|", "\\|") in page
    for name in driver.EXPERIMENTS:
        assert list((PAPER / "figures").glob(f"{name}*.png"))


def test_without_its_data_an_experiment_is_skipped(capsys, tmp_path):
    claims, skipped = driver.run_all(["sp500_time", "big5"], tmp_path, True, None, None)
    assert claims == []
    assert skipped["sp500_time"] == real_data.absent("sp500")
    assert "big5: skipped" in capsys.readouterr().out
    table = tmp_path / "returns.csv"
    table.write_text("month,A,B\n1998-02,0.1,0.2\n1998-03,0.2,0.1\n")
    claims, skipped = driver.run_all(["sp500_structure"], tmp_path, True, table, None)
    assert claims == []
    assert skipped["sp500_structure"].startswith("the sectors are not known; put sectors.csv")
