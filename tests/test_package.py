"""The package itself: one-way imports, truths of the data sets, formulas."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hicorex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters
from hicorex.information import entropy, mutual_information, sample_entropy, total_correlation

PACKAGE = Path(hicorex.__file__).parent
# Each folder or module may import from those before it, never from those after.
ORDER = [
    "support",
    "exceptions",
    "information",
    "kernels",
    "marginals",
    "engine",
    "layer",
    "bounds",
    "selection",
    "input",
    "fitted",
    "storage",
    "findings",
    "relations",
    "datasets",
    "plot",
    "report",
    "estimators",
    "cli",
    "__main__",
]


def run_time_nodes(node):
    """A node of a program and all within it, but for what only a type checker reads."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from run_time_nodes(child)


def test_modules_import_only_from_those_above_them():
    files = [f for f in PACKAGE.rglob("*.py") if f.parent != PACKAGE or f.name != "__init__.py"]
    for file in files:
        own = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in run_time_nodes(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hicorex"):
                inside = node.module.split(".")[1:]
                names = inside[:1] or [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [a.name.split(".")[1] for a in node.names if a.name.startswith("hicorex.")]
            for name in names:
                assert ORDER.index(name) <= ORDER.index(own), f"{file.name} imports {name}"


def test_every_module_has_its_place_in_the_order():
    modules = {
        p.name.removesuffix(".py") for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert modules - {"__init__"} == set(ORDER)


def test_only_one_file_uses_the_compiler():
    users = [f.name for f in PACKAGE.rglob("*.py") if "import numba" in f.read_text() or "from numba" in f.read_text()]
    assert users == ["compiled.py"]


def test_only_one_file_uses_the_private_names_of_scikit_learn():
    users = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sklearn":
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                users |= {file.name} if any(name.startswith("_") for name in names) else set()
    assert users == {"compatibility.py"}


def test_imports_and_fits_where_nothing_can_be_written(tmp_path):
    """A read-only package and no home folder leave no place for a cache of compiled code."""
    code = (
        "import numpy as np, numba.core.caching as c\n"
        "for locator in c.CacheImpl._locator_classes: locator.from_function = classmethod(lambda *a: None)\n"
        "from hicorex import Corex\n"
        "x = np.random.default_rng(0).normal(size=(30, 4))\n"
        "print(Corex(1, n_init=1, random_state=0).fit(x).transform(x).shape)"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "NUMBA_CACHE_DIR")}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert run.stdout.strip() == "(30, 1)", run.stderr


def test_information_of_known_distributions_is_right():
    coin = np.array([0.5, 0.5])
    assert_allclose(entropy(coin), np.log(2))
    assert entropy([1.0, 0.0]) == 0
    assert_allclose(mutual_information(np.outer(coin, coin)), 0, atol=1e-12)
    assert_allclose(mutual_information(np.diag(coin)), np.log(2))
    triple = np.zeros((2, 2, 2))
    triple[0, 0, 0] = triple[1, 1, 1] = 0.5
    assert_allclose(total_correlation(triple), 2 * np.log(2))
    assert_allclose(sample_entropy([0, 0, 1, 1]), np.log(2))


@pytest.mark.parametrize("make", [make_independent_clusters, make_overlapping_clusters])
def test_truth_of_the_synthetic_examples_is_right(make):
    X, truth = make(n_samples=100_000, cluster_size=3, random_state=0)
    coins = truth.factors.T
    if make is make_independent_clusters:
        expected = 3 * 4 * np.log(2) - 4 * np.log(2)
        groups = coins
    else:
        expected = 3 * (3 * np.log(2) + 1.5 * np.log(2)) - 3 * np.log(2)
        groups = [*coins, coins[0] + coins[1]]
    assert_allclose(truth.total_correlation, expected, rtol=1e-3)
    for column, cluster in zip(X.T, truth.clusters, strict=True):
        assert_allclose((column - groups[cluster]).std(), 0.1, rtol=0.02)


def test_truth_of_a_latent_tree_equals_enumeration():
    X, truth = make_latent_tree(200_000, 6, 2, root_flip=0.2, flip=(0.1, 0.1), random_state=0)
    flip = np.array([[0.9, 0.1], [0.1, 0.9]])
    turn = np.array([[0.8, 0.2], [0.2, 0.8]])
    branch = np.einsum("ry,ya,yb,yc->rabc", turn, flip, flip, flip)
    exact = total_correlation(0.5 * np.einsum("rabc,rdef->abcdef", branch, branch))
    assert_allclose(truth.total_correlation, exact, rtol=0.01)
    assert set(np.bincount(truth.clusters)) == {3}
    assert X.shape == (200_000, 6)


def test_latent_trees_may_have_odd_shapes():
    for shape in ((2, 4), (5, 1)):
        assert np.isfinite(make_latent_tree(50, 3, shape, random_state=0)[1].total_correlation)
    X, truth = make_latent_tree(400, 6, (2,), root_flip=0, flip=(0, 0), random_state=0)
    assert_allclose(truth.total_correlation, 5 * np.log(2))
    assert np.all(X[:, :1] == X)
