"""The commands associate, enrich and compare: what Python gives, in files, and clear refusals."""

import numpy as np
import pandas as pd
import pytest

from hicorex import Corex
from hicorex.datasets import make_latent_tree

NAMES = [f"gene{i}" for i in range(12)]


@pytest.fixture(scope="module")
def genes():
    """A model, its samples by name, and traits of them."""
    table, _ = make_latent_tree(200, 12, 2, root_flip=0.3, random_state=0)
    X = pd.DataFrame(table, columns=NAMES)
    model = Corex(2, n_states=2, n_init=1, random_state=0).fit(X)
    rng = np.random.default_rng(0)
    states = model.transform(X)
    traits = pd.DataFrame(
        {
            "patient": [f"p{i:03}" for i in range(200)],
            "response": np.where(states[:, 1] ^ (rng.random(200) < 0.1), "good", "poor"),
            "age": rng.normal(60, 9, size=200).round(2),
            "days": (rng.exponential(500, size=200) * (1 + 3 * states[:, 0])).round(),
            "died": (rng.random(200) < 0.8).astype(int),
        }
    )
    return model, X, traits


@pytest.fixture
def folder(genes, run, tmp_path):
    """The same as files, in the current folder."""
    model, X, traits = genes
    model.save(tmp_path / "genes.hicorex")
    X.insert(0, "patient", traits["patient"])
    X.assign(response=traits["response"]).to_csv(tmp_path / "genes.csv", index=False)
    del X["patient"]
    traits.sample(frac=1, random_state=0).iloc[:180].to_csv(tmp_path / "traits.csv", index=False)
    pd.DataFrame({"gene": NAMES, "pathway": [f"path {i}" for i in model.clusters_]}).to_csv(
        tmp_path / "groups.csv", index=False
    )
    return tmp_path


def test_associate_matches_rows_by_name(genes, folder, run):
    model, X, traits = genes
    done = run(
        *("associate", "genes.hicorex", "genes.csv", "--traits", "traits.csv"),
        *("--survival", "days,died", "--out", "found.csv"),
    )
    assert done.code == 0, done.err
    table = pd.read_csv(folder / "found.csv")
    some = traits.sample(frac=1, random_state=0).iloc[:180].set_index("patient")
    expected = model.associate(some, X.set_index(traits["patient"]), survival=("days", "died")).to_frame()
    pd.testing.assert_frame_equal(table, expected, check_exact=False, rtol=1e-9)
    assert {"response", "age", "days"} == set(table["trait"])
    assert dict(zip(table["trait"][:2], table["factor"][:2], strict=True)) == {
        "response": "layer1_factor1",
        "days": "layer1_factor0",
    }
    assert "layer1_factor1    response" in done.out
    again = run("associate", "genes.hicorex", "genes.csv", "--traits", "traits.csv", "--out", "found.csv")
    assert "found.csv is there already" in again.err
    words = ("associate", "genes.hicorex", "genes.csv", "--traits", "traits.csv", "--out", "found.csv", "--overwrite")
    more = run(*words)
    assert more.code == 0, more.err


def test_enrich_reads_groups_and_gene_sets(genes, folder, run):
    model, _, _ = genes
    done = run("enrich", "genes.hicorex", "--groups", "groups.csv", "--out", "found.csv")
    assert done.code == 0, done.err
    table = pd.read_csv(folder / "found.csv")
    assert table["variables"][0].split("; ") == [
        n for n, c in zip(NAMES, model.clusters_, strict=True) if f"path {c}" == table["group"][0]
    ]
    sets = folder / "sets.gmt"
    sets.write_text("one\tremark\t" + "\t".join(NAMES[:4]) + "\n")
    done = run("enrich", "genes.hicorex", "--groups", "sets.gmt")
    assert done.code == 0, done.err
    assert "one" in done.out
    absent = run("enrich", "genes.hicorex", "--groups", "absent.gmt")
    assert absent.code != 0
    assert "absent.gmt cannot be read" in absent.err


def test_compare_takes_groups_models_and_new_samples(genes, folder, run):
    model, X, traits = genes
    done = run("compare", "genes.hicorex", "genes.csv", "--by", "response", "--out", "by.csv")
    assert done.code == 0, done.err
    pd.testing.assert_frame_equal(
        pd.read_csv(folder / "by.csv"), model.compare_groups(traits["response"], X).to_frame(), rtol=1e-9
    )
    done = run("compare", "genes.hicorex", "genes.csv", "--permutations", 20, "--out", "kept.parquet")
    assert done.code == 0, done.err
    assert pd.read_parquet(folder / "kept.parquet")["preserved"].all()
    assert "2 of 2" in done.out
    done = run("compare", "genes.hicorex", "genes.csv", "--other", "genes.hicorex", "--out", "-")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].replace('"', "") == "factor,other,likeness,shared_variables"


def test_what_cannot_be_held_against_a_model_is_refused(folder, run):
    def error(*words):
        done = run(*words)
        assert done.code != 0
        return done.err

    both = error("compare", "genes.hicorex", "genes.csv", "--by", "response", "--other", "genes.hicorex")
    assert "give one of them" in both
    assert "'nothing'" in error("compare", "genes.hicorex", "genes.csv", "--by", "nothing")
    to_associate = ("associate", "genes.hicorex", "genes.csv", "--traits")
    assert "give two columns, TIME,EVENT" in error(*to_associate, "traits.csv", "--survival", "days")
    assert "'dead'" in error(*to_associate, "traits.csv", "--survival", "days,dead")
    assert "absent.csv" in error(*to_associate, "absent.csv")
    traits = pd.read_csv(folder / "traits.csv")
    traits.drop(columns="patient").to_csv(folder / "nameless.csv", index=False)
    assert "180 rows, DATA has 200" in error(*to_associate, "nameless.csv")
    traits.assign(patient=[f"q{i}" for i in range(180)]).to_csv(folder / "strange.csv", index=False)
    assert "no name in common" in error(*to_associate, "strange.csv")
    pd.read_csv(folder / "genes.csv")[["patient", *NAMES]].to_csv(folder / "same.csv", index=False)
    assert "no column that is not a variable of the model" in error(*to_associate, "same.csv")
