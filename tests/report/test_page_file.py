"""The file of a report: it has the numbers of the model, loads nothing, and holds any name as text."""

import copy
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import mixed_table, named_table
from numpy.testing import assert_allclose
from pages import HOSTILE_PAGE, Elements, data_of

import hicorex
from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.report.samples import SURPRISING


def test_the_map_has_the_numbers_of_the_model(gene_fit, gene_page):
    model, frame, groups = gene_fit
    drawn = data_of(gene_page)["map"]
    first = model.layers_[0]
    weights = first.alpha_ * first.mutual_information_
    at = {name: i for i, name in enumerate(drawn["names"])}
    found = {
        (drawn["names"][below], drawn["names"][above]): (weight, alpha, known)
        for below, above, weight, alpha, known in zip(
            drawn["below"], drawn["above"], drawn["weight"], drawn["alpha"], drawn["known"], strict=True
        )
    }
    expected = {(frame.columns[i], f"layer1_factor{j}") for i, j in np.argwhere(first.alpha_ > 0)}
    assert {pair for pair in found if pair[1].startswith("layer1")} == expected
    for name, factor in expected:
        i, j = frame.columns.get_loc(name), int(factor.removeprefix("layer1_factor"))
        numbers = (weights[i, j], first.alpha_[i, j], first.mutual_information_[i, j])
        assert_allclose(found[name, factor], numbers, rtol=1e-3)
    (grouping,) = drawn["groupings"]
    for name, group in groups.items():
        if name in at:
            assert grouping["groups"][grouping["number"][at[name]]] == group


def test_details_are_those_of_the_samples(gene_fit, gene_page):
    model, frame, _ = gene_fit
    data = data_of(gene_page)
    states, log_z = model.transform(frame), model.log_z(frame)
    names = list(model.get_feature_names_out())
    assert len(data["details"]) > 6
    for node, detail in data["details"].items():
        name = data["map"]["names"][int(node)]
        j = names.index(name)
        assert detail["counts"] == np.bincount(states[:, j], minlength=2).tolist()
        for state, typical in enumerate(detail["typical"]):
            own = frame.index[states[:, j] == state]
            best = log_z[states[:, j] == state, j]
            assert set(typical) <= set(own)
            assert_allclose(sorted(best)[-len(typical) :], sorted(log_z[frame.index.isin(typical), j]))
        assert data["factors"][node]["explains"] == pytest.approx(log_z[:, j].mean(), rel=1e-5)
        for below, words in detail["profile"].items():
            variable = data["map"]["names"][int(below)]
            column = frame[variable] if variable in frame else states[:, names.index(variable)]
            for state, said in enumerate(words):
                own = np.asarray(column)[states[:, j] == state]
                value, share = re.fullmatch(r"(?:state )?(\d): (\d+)%", said).groups()
                assert np.mean(own == int(value)) == pytest.approx(int(share) / 100, abs=0.006)
                if variable in frame:
                    assert np.mean(column == int(value)) <= 0.5


def test_means_are_told_of_continuous_variables(tmp_path):
    table, kinds = mixed_table(np.random.default_rng(0), 200, missing=0.1)
    model = Corex(3, n_states=2, marginals=kinds, random_state=0).fit(table)
    model.report(tmp_path / "report.html")
    data = data_of(tmp_path / "report.html")
    states = model.transform(table)
    said = 0
    for node, detail in data["details"].items():
        j = int(data["map"]["names"][int(node)].removeprefix("layer1_factor"))
        for below, words in detail["profile"].items():
            i = int(data["map"]["names"][int(below)].removeprefix("x"))
            if kinds[i] == "gaussian":
                for state, word in enumerate(words):
                    own = table[states[:, j] == state, i]
                    numbers = [float(number) for number in word.split(" \u00b1 ")]
                    assert_allclose(numbers, [np.nanmean(own), np.nanstd(own)], atol=0.06 * np.nanstd(own))
                said += 1
    assert said > 3


def test_profiles_of_many_samples_are_those_of_the_same_samples(tmp_path, monkeypatch):
    monkeypatch.setattr("hicorex.report.details.PROFILE_ROWS", 100)
    rng = np.random.default_rng(0)
    coin = np.sort(rng.integers(3, size=1000))  # in order, so that the first rows are not like the others
    X = coin[:, None] + rng.normal(scale=0.1, size=(1000, 4))
    model = Corex(1, n_states=3, random_state=0).fit(X)
    model.report(tmp_path / "report.html", X)
    (detail,) = data_of(tmp_path / "report.html")["details"].values()
    for words in detail["profile"].values():
        assert sorted(round(float(word.split()[0])) for word in words) == [0, 1, 2]


def test_the_most_frequent_of_many_values_is_told(tmp_path):
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=300)
    letters = np.array(list("abcdef"))
    codes = np.where(rng.random((5, 300)) < 0.7, 4 * coin, rng.integers(6, size=(5, 300)))
    X = pd.DataFrame(dict(zip("vwxyz", letters[codes], strict=True)))
    model = Corex(1, n_states=2, random_state=0).fit(X)
    model.report(tmp_path / "report.html", X)
    (detail,) = data_of(tmp_path / "report.html")["details"].values()
    states = model.transform(X)[:, 0]
    drawn = data_of(tmp_path / "report.html")["map"]["names"]
    assert len(detail["profile"]) == 5
    for node, words in detail["profile"].items():
        for state, word in enumerate(words):
            counts = X[drawn[int(node)]][states == state].value_counts(normalize=True)
            assert word == f"{counts.index[0]}: {counts.iloc[0]:.0%}"


def test_surprising_samples_are_named_with_the_factors_that_say_so(gene_fit, gene_page):
    model, frame, _ = gene_fit
    surprise = model.surprise(frame)
    rows = re.search(r'<table id="surprising".*?<tbody>(.*?)</tbody>', gene_page.read_text(), re.DOTALL)[1].split(
        "</tr>"
    )
    order = np.argsort(-np.abs(surprise.samples), kind="stable")[:SURPRISING]
    expected = frame.index[[i for i in order if abs(surprise.samples[i]) >= 2]]
    assert 3 < len(expected) < 20
    assert [re.search('<td data-value="(.*?)">', row)[1] for row in rows[:-1]] == list(expected)
    assert frame.index[17] in expected
    i = frame.index.get_loc(expected[0])
    names = model.get_feature_names_out()
    order = np.argsort(-np.abs(surprise.factors[i]))[:3]
    said = re.findall(r">(layer\d_factor\d)</button> \(([+-][\d.]+)\)", rows[0])
    assert said == [(names[j], f"{surprise.factors[i, j]:+.1f}") for j in order]


def test_the_summary_says_how_much(gene_fit, gene_page):
    model, _, _ = gene_fit
    text = gene_page.read_text()
    assert "300 samples, 40 variables; 9 factors in 3 layers (6, 2, 1)." in text
    crossed = model.fitted_.cross_fitted  # the report has made it
    assert f"at least {crossed.lower:.4g} nats (standard error {crossed.lower_stderr:.2g})" in text
    of_fit = f"{model.bounds_.lower:.4g} nats (standard error {model.bounds_.lower_stderr:.2g})"
    assert f"On the samples of the fit, as all figures below, it is {of_fit}" in text
    assert "cross-fitted bound up to here" in text
    assert f"at most {model.bounds_.upper:.4g} nats" in text
    assert re.search(rf"<dt>hicorex</dt><dd>{hicorex.__version__}</dd>", text)
    assert "<dt>random_state</dt><dd>0</dd>" in text


@pytest.mark.parametrize("page", ["gene_page", "hostile_page"])
def test_nothing_is_loaded_from_anywhere(page, request):
    text = request.getfixturevalue(page).read_text("utf-8")
    elements = Elements(text).found
    for tag, attributes in elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "data", "action", "poster", "srcset"):
                assert value.startswith(("#", "data:")), (tag, value)
    assert [tag for tag, _ in elements].count("script") == 2
    assert not {"iframe", "object", "embed", "base", "form"} & {tag for tag, _ in elements}
    assert not re.search(r"@import|url\((?!#)", text)
    policy = next(own["content"] for tag, own in elements if tag == "meta" and "http-equiv" in own)
    assert policy.startswith("default-src 'none'")


def test_the_same_model_gives_the_same_page(gene_fit, gene_page, tmp_path):
    model, frame, groups = gene_fit
    model.report(tmp_path / "again.html", frame, groups=groups, title="A tree of genes")
    assert (tmp_path / "again.html").read_bytes() == gene_page.read_bytes()


def test_identifiers_of_the_page_are_unique(gene_page):
    ids = [attributes["id"] for _, attributes in Elements(gene_page.read_text()).found if "id" in attributes]
    assert len(ids) > 30
    assert len(ids) == len(set(ids))


def test_the_samples_of_the_fit_are_known_until_the_model_is_saved(gene_fit, tmp_path):
    model, _, _ = gene_fit
    model.report(tmp_path / "known.html")
    assert data_of(tmp_path / "known.html")["details"]
    model.save(tmp_path / "model.hicorex")
    hicorex.load(tmp_path / "model.hicorex").report(tmp_path / "alone.html")
    assert not data_of(tmp_path / "alone.html")["details"]
    assert "give them to see which are surprising" in (tmp_path / "alone.html").read_text()


@pytest.mark.parametrize(
    "make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_any_kind_of_frame_gets_a_report(make, gene_fit, tmp_path):
    _, frame, groups = gene_fit
    table = make(frame.reset_index(drop=True))
    model = Corex(3, n_states=2, n_init=1, random_state=0).fit(table)
    model.report(tmp_path / "report.html", table, groups=groups)
    assert "300 samples" in (tmp_path / "report.html").read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(30, 4)),
        np.ones((10, 3)),
        np.random.default_rng(0).integers(2, size=(20, 1)),
        np.full((6, 2), np.nan),
        np.repeat(np.arange(2), 10)[:, None].repeat(3, axis=1),
    ],
    ids=["noise", "constants", "one column", "all missing", "copies"],
)
def test_tables_with_little_in_them_get_a_report(X, tmp_path):
    for model in (
        Corex(2, n_states=2, n_init=1, random_state=0),
        HierarchicalCorex((2, 1), n_states=2, n_init=1, random_state=0),
    ):
        model.fit(X).report(tmp_path / "report.html", X)
        assert f"{len(X)} samples" in (tmp_path / "report.html").read_text()
        model._repr_html_()


def test_long_names_are_cut_and_many_links_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("hicorex.report.map.MOST_LINKS", 10)
    X, _ = make_latent_tree(200, 30, 3, random_state=0)
    model = Corex(3, n_states=2, n_init=1, random_state=0).fit(
        pd.DataFrame(X, columns=[f"{i} {'long ' * 50}" for i in range(30)])
    )
    model.report(tmp_path / "report.html")
    drawn = data_of(tmp_path / "report.html")["map"]
    weights = np.sort((model.alpha_ * model.mutual_information_).ravel())
    assert_allclose(sorted(drawn["weight"]), weights[-10:], rtol=1e-3)
    assert max(map(len, drawn["names"])) == 80
    assert "the 10 strongest are shown" in (tmp_path / "report.html").read_text()


def test_bad_requests_leave_nothing_behind(gene_fit, tmp_path):
    model, frame, _ = gene_fit
    with pytest.raises(HicorexError, match=r"row_names has shape \(2,\) for 300 samples; give one entry a sample"):
        model.report(tmp_path / "report.html", frame, row_names=["a", "b"])
    with pytest.raises(HicorexError, match="none of the model's variables"):
        model.report(tmp_path / "report.html", frame, groups={"x": "y"})
    with pytest.raises(HicorexError, match=r"X is 'genes.csv', a path; read the file first"):
        model.report(tmp_path / "report.html", "genes.csv")
    with pytest.raises(HicorexError, match="row_names is not a list of names"):
        model.report(tmp_path / "report.html", frame, row_names=[[1], [2, 3]])
    with pytest.raises(HicorexError, match="row_names are of samples that this model no longer knows"):
        copy.copy(model).report(tmp_path / "report.html", row_names=["a"])  # which leaves the samples behind
    assert not list(tmp_path.iterdir())


def test_dates_are_called_what_the_picture_calls_them(gene_fit, tmp_path):
    model, frame, _ = gene_fit
    frame.set_axis(pd.to_datetime(frame.index)).pipe(lambda own: model.report(tmp_path / "report.html", own))
    text = (tmp_path / "report.html").read_text()
    assert "1991-06" in text
    assert "00:00:00" not in text


def test_the_style_of_the_user_does_not_matter(gene_fit, gene_page, tmp_path):
    model, frame, groups = gene_fit
    with plt.rc_context({"axes.grid": True, "savefig.bbox": "tight", "font.size": 30, "text.usetex": True}):
        model.report(tmp_path / "again.html", frame, groups=groups, title="A tree of genes")
        assert plt.rcParams["font.size"] == 30
    assert (tmp_path / "again.html").read_bytes() == gene_page.read_bytes()


def test_names_like_colours_stay_names():
    names = ["#332288", "#000000", "stroke: #ffffff", "#010203"]
    X, _ = make_latent_tree(100, 4, 1, flip=(0.05, 0.05), random_state=0)
    html = Corex(1, n_states=2, n_init=1, random_state=0).fit(pd.DataFrame(X, columns=names))._repr_html_()
    picture = html[html.index("<svg class") :]
    for name in names:
        assert f">{name}<" in picture


def test_names_in_pictures_are_text(tmp_path):
    X = make_latent_tree(60, 6, 1, random_state=0)[0]
    model = Corex(1, n_states=2, n_init=1, random_state=0).fit(X)
    model.report(tmp_path / "report.html", X, row_names=[f"日本{i}" for i in range(60)])
    assert len(re.findall(r"<text[^>]*>日本\d+</text>", (tmp_path / "report.html").read_text("utf-8"))) > 5


def test_notebooks_show_the_report_in_small(gene_fit):
    model, _, _ = gene_fit
    html = model._repr_html_()
    assert "300 samples, 40 variables" in html
    assert "<svg" in html
    assert "gene" in html
    assert "300 samples" not in HierarchicalCorex()._repr_html_()
    assert model._repr_mimebundle_()["text/html"]


def test_hostile_names_in_notebooks_are_text():
    table = named_table(HOSTILE_PAGE)
    html = Corex(2, n_states=2, n_init=1, random_state=0).fit(table)._repr_html_()
    ours = html[html.index('<div class="hicorex"') :]
    assert not {"img", "script", "b"} & {tag for tag, _ in Elements(ours).found}


def test_answers_that_are_numbers_are_told_by_their_mean_and_how_frequent_each_is(tmp_path):
    rng = np.random.default_rng(0)
    trait = rng.integers(2, size=400)
    X = np.clip(2 * trait[:, None] + rng.integers(1, 5, size=(400, 5)), 1, 6)
    model = Corex(1, random_state=0).fit(X)
    model.report(tmp_path / "report.html", X)
    data = data_of(tmp_path / "report.html")
    (detail,), (facts,) = data["details"].values(), data["factors"].values()
    states = model.transform(X)[:, 0]
    for node, words in detail["profile"].items():
        i = int(data["map"]["names"][int(node)].removeprefix("x"))
        for state, word in enumerate(words):
            own = X[states == state, i]
            each = ", ".join(f"{v}: {np.mean(own == v):.0%}" for v in np.unique(X[:, i]))
            assert word == f"{own.mean():.3g} ({each})"
    assert len(facts["in_words"]) == 2
    assert all(re.fullmatch(r"(x\d about [\d.]+(, )?){3}", words) for words in facts["in_words"])
