"""What goes with a release: one version everywhere, a citation, a conda recipe, and files of the host that parse."""

import ast
import datetime
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml
from conftest import PROJECT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import hicorex

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
PYTHONS = [f"3.{minor}" for minor in range(11, 15)]
HOST = PROJECT / ".github"
# What conda calls otherwise than Python's index.
OF_CONDA = {"matplotlib": "matplotlib-base"}


def read(name):
    return yaml.safe_load((PROJECT / name).read_text(encoding="utf-8"))


CITATION, RECIPE, CI = read("CITATION.cff"), read("recipe/recipe.yaml"), read(".github/workflows/ci.yml")


def test_every_file_says_the_same_version():
    first = re.search(
        r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert first[1] == hicorex.__version__
    assert CITATION["version"] == RECIPE["context"]["version"] == hicorex.__version__
    released = None if first[2] == "unreleased" else first[2]
    assert CITATION.get("date-released") == released
    if released:
        datetime.date.fromisoformat(released)


def test_a_tag_of_this_commit_is_its_version():
    if not (PROJECT / ".git").exists() or not shutil.which("git"):
        pytest.skip("this is no clone")
    command = ["git", "tag", "--points-at", "HEAD", "--list", "v*"]
    tags = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    assert set(tags) <= {f"v{hicorex.__version__}"}


def test_the_version_stands_in_one_place():
    module = ast.parse((PROJECT / "src" / "hicorex" / "__init__.py").read_text())
    said = [
        node.value.value for node in module.body if isinstance(node, ast.Assign) and node.targets[0].id == "__version__"
    ]
    assert said == [hicorex.__version__]
    assert "version" in PYPROJECT["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", hicorex.__version__)


def cff_authors(authors):
    assert authors
    for author in authors:
        person = {"family-names", "given-names"} <= set(author)
        assert person != ("name" in author), author
        assert set(author) <= (
            {"family-names", "given-names", "affiliation", "orcid"} if person else {"name", "website"}
        )


def test_the_citation_is_of_the_format_that_it_names():
    """Of Citation File Format 1.2.0: the fields it requires, those that are used here, and their types."""
    assert CITATION["cff-version"] == "1.2.0"
    allowed = {"cff-version", "message", "type", "title", "version", "date-released", "abstract", "license", "keywords"}
    assert set(CITATION) <= allowed | {"authors", "references"}
    assert {"cff-version", "message", "title", "authors"} <= set(CITATION)
    texts = allowed - {"keywords"}
    assert all(isinstance(CITATION[field], str) and CITATION[field] for field in texts & set(CITATION))
    assert CITATION["type"] == "software"
    assert CITATION["license"] == PYPROJECT["license"]
    assert sorted(CITATION["keywords"]) == sorted(set(PYPROJECT["keywords"]))
    cff_authors(CITATION["authors"])
    assert [author["name"] for author in CITATION["authors"]] == [author["name"] for author in PYPROJECT["authors"]]
    for work in CITATION["references"]:
        assert {"authors", "title", "type"} <= set(work) <= {"authors", "title", "type", "year", "collection-title"}
        cff_authors(work["authors"])
        assert isinstance(work["year"], int)


def test_the_package_is_described_for_those_who_look_for_it():
    classifiers = PYPROJECT["classifiers"]
    assert len(set(classifiers)) == len(classifiers)
    said = [c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)]
    assert said == PYTHONS
    assert SpecifierSet(PYPROJECT["requires-python"]).contains(PYTHONS[0])
    assert not SpecifierSet(PYPROJECT["requires-python"]).contains("3.10")
    for start in ("Development Status", "Intended Audience", "Operating System", "Topic", "Typing"):
        assert any(c.startswith(f"{start} ::") for c in classifiers), start
    trove = pytest.importorskip("trove_classifiers")
    assert set(classifiers) <= trove.classifiers


def test_the_conda_recipe_has_the_dependencies_of_the_package():
    wanted = {
        OF_CONDA.get(one.name, one.name): str(one.specifier) for one in map(Requirement, PYPROJECT["dependencies"])
    }
    assert RECIPE["context"]["python_min"] == PYTHONS[0]
    assert dict(line.split(" ", 1) for line in RECIPE["requirements"]["run"]) == {
        **wanted,
        "python": ">=${{ python_min }}",
    }
    build = tomllib.loads((PROJECT / "pyproject.toml").read_text())["build-system"]["requires"]
    host = {line.split(" ")[0]: line for line in RECIPE["requirements"]["host"]}
    for one in map(Requirement, build):
        assert host[one.name] == f"{one.name} {one.specifier}"
    assert RECIPE["build"]["python"]["entry_points"] == [
        f"{name} = {place}" for name, place in PYPROJECT["scripts"].items()
    ]
    assert RECIPE["source"]["path"] == "../dist/hicorex-${{ version }}.tar.gz"
    assert (RECIPE["about"]["license"], RECIPE["about"]["summary"]) == (PYPROJECT["license"], PYPROJECT["description"])
    assert (PROJECT / RECIPE["about"]["license_file"]).exists()


def test_the_public_ci_covers_each_system_python_and_end_of_the_dependencies():
    jobs = CI["jobs"]
    matrix = jobs["systems"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert {system.split("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    targets = re.findall(r"^([\w-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    given = []
    for name, job in jobs.items():
        assert job["timeout-minutes"] > 0, name
        assert set(job.get("needs", "dist").split()) <= set(jobs)
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), name
            assert re.fullmatch(r"[\w-]+/[\w-]+@v[\d.]+", step.get("uses", "some/action@v1")), step
            given += re.findall(r"make (?:-C source )?([\w-]+)", step.get("run", ""))
            for path in re.findall(r"requirements/[\w.]+", step.get("run", "")):
                assert (PROJECT / path).exists()
    assert {"test", "test-newest", "test-oldest", "docs", "dist"} <= set(given) <= set(targets)
    assert CI["permissions"] == {"contents": "read"}
    assert True in CI  # what YAML makes of the word "on"


@pytest.mark.parametrize("path", sorted((HOST / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name)
def test_a_form_for_issues_asks_for_what_it_names(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name == "config.yml":
        assert set(form) <= {"blank_issues_enabled", "contact_links"}
        return
    assert set(form) == {"name", "description", "labels", "body"}
    asked = [item for item in form["body"] if item["type"] != "markdown"]
    names = [item["id"] for item in asked]
    assert asked
    assert len(set(names)) == len(names)
    assert any(item.get("validations", {}).get("required") for item in asked)
    for item in form["body"]:
        assert item["type"] in ("markdown", "textarea")
        assert set(item) <= {"type", "id", "attributes", "validations"}
        assert "value" in item["attributes"] if item["type"] == "markdown" else item["attributes"]["label"]


def test_files_that_hosts_and_reviewers_look_for_are_there():
    for name in ("CODE_OF_CONDUCT.md", "SECURITY.md", "CONTRIBUTING.md", "LICENSE", ".github/PULL_REQUEST_TEMPLATE.md"):
        assert len((PROJECT / name).read_text(encoding="utf-8")) > 300, name
    for page in (HOST.glob("*.md"), PROJECT.glob("*.md")):
        for path in page:
            for target in re.findall(r"\]\(([^)#:\s]+)\)", path.read_text(encoding="utf-8")):
                assert (path.parent / target).exists(), f"{path.name}: {target}"
