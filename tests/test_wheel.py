"""What is installed: the versions that requirements/ states, and the wheel without extras in an empty environment."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import packages_distributions

import pytest
from conftest import PROJECT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hicorex.cli.folder import NAMES

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
OWN, EXTRAS = PYPROJECT["dependencies"], PYPROJECT["optional-dependencies"]
LOCKS = {
    "run.txt": OWN,
    "test.txt": [*OWN, *EXTRAS["test"], *EXTRAS["bench"], *EXTRAS["dev"]],
    "docs.txt": [*OWN, *EXTRAS["docs"]],
}

NOT_FOR_USERS = ("test", "bench", "dev", "docs")


def pins(lock):
    """The versions that a file states, without their hashes."""
    lines = (PROJECT / "requirements" / lock).read_text().splitlines()
    return [Requirement(line.rstrip(" \\")) for line in lines if re.match(r"\w", line)]


def called(requirement):
    return canonicalize_name(Requirement(requirement).name)


@pytest.mark.parametrize("lock", LOCKS)
def test_stated_versions_are_exact_and_name_no_place(lock):
    for line in (PROJECT / "requirements" / lock).read_text().splitlines():
        comment, pin = r"\s*#(   -c requirements/test.txt|[^/]*)", r"[\w-]+==[\w.]+( ; [\w.*' <>=!]+)? \\"
        assert re.fullmatch(rf"{comment}|{pin}|    --hash=sha256:[0-9a-f]{{64}}( \\)?", line), line


@pytest.mark.parametrize("lock", LOCKS)
def test_stated_versions_are_those_that_the_project_allows(lock):
    """Else `make lock` was forgotten."""
    for wanted in map(Requirement, LOCKS[lock]):
        stated = [pin for pin in pins(lock) if canonicalize_name(pin.name) == canonicalize_name(wanted.name)]
        assert stated, f"requirements/{lock} has no version of {wanted.name}"
        for pin in stated:
            (version,) = (one.version for one in pin.specifier)
            assert wanted.specifier.contains(version), f"requirements/{lock} has {pin}, pyproject.toml {wanted}"
    assert set(map(str, pins("run.txt"))) <= set(map(str, pins("test.txt")))


def test_every_import_is_of_a_dependency():
    """One of the wheel's, or of an extra for users: those for Dask bring distributed, cloudpickle and pandas."""
    brought = {"distributed", "cloudpickle", "pandas"}
    for_users = {called(one) for name, extra in EXTRAS.items() if name not in NOT_FOR_USERS for one in extra}
    known = {called(one) for one in OWN} | for_users | brought
    installed = packages_distributions()
    for file in (PROJECT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for module in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"hicorex"}:
                assert known & {called(one) for one in installed[module]}, f"{file.name} imports {module}"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The programs of a new environment that holds the wheel and what it asks for, in the stated versions."""
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "empty", with_pip=True)
    programs = folder / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(map(str, pins("run.txt"))))

    def pip(*words):
        command = [programs / "python", "-m", "pip", *words, "--quiet", "--constraint", constraints]
        return subprocess.run(command, capture_output=True, text=True)

    reached = pip("download", "--dest", folder, "--no-deps", "--no-cache-dir", "--retries", "1", "cycler")
    if reached.returncode and not os.environ.get("CI"):  # where the suite decides, nothing is left out
        pytest.skip(f"The package index cannot be reached: {reached.stderr}")
    assert reached.returncode == 0, reached.stderr
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    done = pip("install", "--no-compile", *folder.glob("hicorex-*.whl"))
    assert done.returncode == 0, done.stderr
    return programs


@pytest.mark.slow
def test_the_wheel_alone_imports_and_helps(programs, tmp_path):
    code = (
        "import hicorex, importlib, pkgutil, sys\n"
        "for module in pkgutil.walk_packages(hicorex.__path__, 'hicorex.'):\n"
        "    if module.name != 'hicorex.__main__': importlib.import_module(module.name)\n"
        "print({'dask', 'pandas', 'pytest', 'hatchling'} & set(sys.modules), hicorex.__file__)"
    )
    done = subprocess.run([programs / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith(f"set() {programs.parent}"), done.stderr

    def helped(*words):
        command = [programs / "hicorex", *words, "--help"]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    commands = re.findall(r"^  (\w+) ", helped().split("Commands:")[1], re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        assert f"hicorex {command}" in helped(command)


@pytest.mark.slow
def test_the_wheel_alone_runs_the_demo(programs, tmp_path):
    done = subprocess.run([programs / "hicorex", "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("example1", "example2", "tree", "breast_cancer"):
        assert sorted(os.listdir(tmp_path / "demo-output" / name)) == sorted(NAMES)
