"""Fitted models that several files of tests look at, each fitted once."""

import numpy as np
import pandas as pd
import pytest
from conftest import HOSTILE, mixed_table, named_table
from pages import HOSTILE_PAGE

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree, make_overlapping_clusters


@pytest.fixture(scope="session")
def tree_fit():
    """Three layers of several states, and their samples."""
    X, _ = make_latent_tree(300, 40, 5, root_flip=0.15, random_state=0)
    return HierarchicalCorex((5, 2, 1), n_states=(2, 3, 2), n_init=3, random_state=0).fit(X), X


@pytest.fixture(scope="session", params=["unique", "overlap", "tree"])
def mixed_fit(request):
    """One layer by each rule, and its samples, with columns of every kind and missing values."""
    table, kinds = mixed_table(np.random.default_rng(0), 150, missing=0.1)
    names = [f"column {i}" for i in range(len(kinds))]
    X = pd.DataFrame(table, columns=names)
    return Corex(3, n_states=2, marginals=kinds, structure=request.param, n_init=3, random_state=0).fit(X), X


@pytest.fixture(scope="session")
def empty_factors_fit():
    """Three layers, with empty factors in the first, and their samples."""
    X = make_latent_tree(500, 60, 6, root_flip=0.15, random_state=0)[0]
    return HierarchicalCorex((8, 2, 1), n_states=(2, 3, 2), n_init=2, max_iter=500, random_state=0).fit(X), X


@pytest.fixture(scope="session")
def overlapping_fit():
    """Variables of several factors, in samples of different weights."""
    table, _ = make_overlapping_clusters(random_state=0)
    return Corex(3, n_states=2, n_init=2, random_state=0).fit(table, sample_weight=np.arange(100) % 3), table


@pytest.fixture(scope="session")
def hostile_fit():
    """Names of columns that try to break files, tables and terminals."""
    table = named_table(HOSTILE)
    return Corex(2, n_states=2, n_init=2, random_state=0).fit(table), table


@pytest.fixture(scope="session")
def gene_fit():
    """A tree with groups that are the truth, months for names of samples, and one month that breaks all rules."""
    X, truth = make_latent_tree(300, 40, (5, 2), root_flip=0.15, flip=(0.05, 0.1), random_state=0)
    X[17] = np.random.default_rng(0).integers(2, size=40)
    names = [f"gene{i}" for i in range(40)]
    months = pd.Index(np.arange(np.datetime64("1990-01"), np.datetime64("2015-01")).astype(str), name="month")
    frame = pd.DataFrame(X, index=months, columns=names)
    model = HierarchicalCorex((6, 2, 1), n_states=2, n_init=3, random_state=0).fit(frame)
    return model, frame, {name: f"pathway {c}" for name, c in zip(names, truth.clusters, strict=True)}


@pytest.fixture(scope="session")
def gene_page(gene_fit, tmp_path_factory):
    """The report of these genes."""
    model, frame, groups = gene_fit
    path = tmp_path_factory.mktemp("genes") / "report.html"
    model.report(path, frame, groups=groups, title="A tree of genes")
    return path


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory):
    """A report in which names of columns, rows, groups, categories and the title all try to get out."""
    table = named_table(HOSTILE_PAGE)
    table = table.assign(**{HOSTILE_PAGE[0]: np.where(table.iloc[:, 0] > 0, HOSTILE_PAGE[12], HOSTILE_PAGE[13])})
    table["<img src=y> of no group"] = np.random.default_rng(0).normal(size=len(table))
    rows = [HOSTILE_PAGE[i % len(HOSTILE_PAGE)] for i in range(len(table))]
    table = table.set_axis(pd.Index(rows, name=HOSTILE_PAGE[12], dtype=object))
    model = HierarchicalCorex((2, 1), n_states=2, n_init=2, random_state=0).fit(table)
    assert model.layers_[0].clusters_[-1] == -1
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    groups = {name: HOSTILE_PAGE[12 + i % 4] for i, name in enumerate(HOSTILE_PAGE)}
    model.report(path, table, groups=groups, title=HOSTILE_PAGE[13])
    return path
