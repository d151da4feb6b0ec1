"""The report: one file with the model's own numbers, and a page that works in a browser whatever names it holds."""

import copy
import json
import re
from html.parser import HTMLParser

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import HOSTILE, mixed_table, named_table
from numpy.testing import assert_allclose, assert_array_equal

import hicorex
from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.report.markup import shown
from hicorex.report.samples import SURPRISING

HOSTILE_PAGE = [
    *HOSTILE,
    "<img src=x onerror=\"document.title='broken'\">",
    "</script><script>document.title='broken'</script>",
    "<!--<script>",
    "&lt;b&gt; \u2028 \\u003c $math$ ${title}",
    "javascript:alert(1)",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def tree():
    """A tree with groups that are the truth, months for names of samples, and one month that breaks all rules."""
    X, truth = make_latent_tree(300, 40, (5, 2), root_flip=0.15, flip=(0.05, 0.1), random_state=0)
    X[17] = np.random.default_rng(0).integers(2, size=40)
    names = [f"gene{i}" for i in range(40)]
    months = pd.Index(np.arange(np.datetime64("1990-01"), np.datetime64("2015-01")).astype(str), name="month")
    frame = pd.DataFrame(X, index=months, columns=names)
    model = HierarchicalCorex((6, 2, 1), n_init=3, random_state=0).fit(frame)
    return model, frame, {name: f"pathway {c}" for name, c in zip(names, truth.clusters, strict=True)}


@pytest.fixture(scope="module")
def tree_page(tree, tmp_path_factory):
    model, frame, groups = tree
    path = tmp_path_factory.mktemp("tree") / "report.html"
    model.report(path, frame, groups=groups, title="A tree of genes")
    return path


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    """Names of columns, rows, groups, categories and the title that all try to get out."""
    table = named_table(HOSTILE_PAGE)
    table = table.assign(**{HOSTILE_PAGE[0]: np.where(table.iloc[:, 0] > 0, HOSTILE_PAGE[12], HOSTILE_PAGE[13])})
    table["<img src=y> of no group"] = np.random.default_rng(0).normal(size=len(table))
    rows = [HOSTILE_PAGE[i % len(HOSTILE_PAGE)] for i in range(len(table))]
    table = table.set_axis(pd.Index(rows, name=HOSTILE_PAGE[12], dtype=object))
    model = HierarchicalCorex((2, 1), n_init=2, random_state=0).fit(table)
    assert model.layers_[0].clusters_[-1] == -1
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    groups = {name: HOSTILE_PAGE[12 + i % 4] for i, name in enumerate(HOSTILE_PAGE)}
    model.report(path, table, groups=groups, title=HOSTILE_PAGE[13])
    return path


def data_of(path):
    """What the page draws from."""
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"))[1]
    )


class Elements(HTMLParser):
    """All elements of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


# What is in the file


def test_the_map_has_the_numbers_of_the_model(tree, tree_page):
    model, frame, groups = tree
    drawn = data_of(tree_page)["map"]
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


def test_details_are_those_of_the_samples(tree, tree_page):
    model, frame, _ = tree
    data = data_of(tree_page)
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
    model = Corex(3, marginals=kinds, random_state=0).fit(table)
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
                    assert_allclose(numbers, [np.nanmean(own), np.nanstd(own)], rtol=0.06)
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
    model = Corex(1, random_state=0).fit(X)
    model.report(tmp_path / "report.html", X)
    (detail,) = data_of(tmp_path / "report.html")["details"].values()
    states = model.transform(X)[:, 0]
    drawn = data_of(tmp_path / "report.html")["map"]["names"]
    assert len(detail["profile"]) == 5
    for node, words in detail["profile"].items():
        for state, word in enumerate(words):
            counts = X[drawn[int(node)]][states == state].value_counts(normalize=True)
            assert word == f"{counts.index[0]}: {counts.iloc[0]:.0%}"


def test_surprising_samples_are_named_with_the_factors_that_say_so(tree, tree_page):
    model, frame, _ = tree
    surprise = model.surprise(frame)
    rows = re.search(r'<table id="surprising".*?<tbody>(.*?)</tbody>', tree_page.read_text(), re.DOTALL)[1].split(
        "</tr>"
    )
    order = np.argsort(-np.abs(surprise.samples), kind="stable")[:SURPRISING]
    expected = frame.index[[i for i in order if abs(surprise.samples[i]) >= 2]]
    assert 3 < len(expected) < 20
    assert [re.search("<td>(.*?)</td>", row)[1] for row in rows[:-1]] == list(expected)
    assert frame.index[17] in expected
    i = frame.index.get_loc(expected[0])
    names = model.get_feature_names_out()
    order = np.argsort(-np.abs(surprise.factors[i]))[:3]
    said = re.findall(r">(layer\d_factor\d)</button> \(([+-][\d.]+)\)", rows[0])
    assert said == [(names[j], f"{surprise.factors[i, j]:+.1f}") for j in order]


def test_the_summary_says_how_much(tree, tree_page):
    model, _, _ = tree
    text = tree_page.read_text()
    assert "300 samples, 40 variables; 9 factors in 3 layers (6, 2, 1)." in text
    assert f"at least {model.bounds_.lower:.4g} nats (standard error {model.bounds_.lower_stderr:.2g})" in text
    assert f"at most {model.bounds_.upper:.4g} nats" in text
    assert re.search(rf"<dt>hicorex</dt><dd>{hicorex.__version__}</dd>", text)
    assert "<dt>random_state</dt><dd>0</dd>" in text


@pytest.mark.parametrize("page", ["tree_page", "hostile_page"])
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


def test_the_same_model_gives_the_same_page(tree, tree_page, tmp_path):
    model, frame, groups = tree
    model.report(tmp_path / "again.html", frame, groups=groups, title="A tree of genes")
    assert (tmp_path / "again.html").read_bytes() == tree_page.read_bytes()


def test_identifiers_of_the_page_are_unique(tree_page):
    ids = [attributes["id"] for _, attributes in Elements(tree_page.read_text()).found if "id" in attributes]
    assert len(ids) > 30
    assert len(ids) == len(set(ids))


def test_the_samples_of_the_fit_are_known_until_the_model_is_saved(tree, tmp_path):
    model, _, _ = tree
    model.report(tmp_path / "known.html")
    assert data_of(tmp_path / "known.html")["details"]
    model.save(tmp_path / "model.hicorex")
    hicorex.load(tmp_path / "model.hicorex").report(tmp_path / "alone.html")
    assert not data_of(tmp_path / "alone.html")["details"]
    assert "give them to see which are surprising" in (tmp_path / "alone.html").read_text()


@pytest.mark.parametrize(
    "make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_any_kind_of_frame(make, tree, tmp_path):
    _, frame, groups = tree
    table = make(frame.reset_index(drop=True))
    model = Corex(3, n_init=1, random_state=0).fit(table)
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
def test_tables_with_little_in_them(X, tmp_path):
    for model in (Corex(2, n_init=1, random_state=0), HierarchicalCorex((2, 1), n_init=1, random_state=0)):
        model.fit(X).report(tmp_path / "report.html", X)
        assert f"{len(X)} samples" in (tmp_path / "report.html").read_text()
        model._repr_html_()


def test_long_names_are_cut_and_many_links_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("hicorex.report.map.MOST_LINKS", 10)
    X, _ = make_latent_tree(200, 30, 3, random_state=0)
    model = Corex(3, n_init=1, random_state=0).fit(pd.DataFrame(X, columns=[f"{i} {'long ' * 50}" for i in range(30)]))
    model.report(tmp_path / "report.html")
    drawn = data_of(tmp_path / "report.html")["map"]
    weights = np.sort((model.alpha_ * model.mutual_information_).ravel())
    assert_allclose(sorted(drawn["weight"]), weights[-10:], rtol=1e-3)
    assert max(map(len, drawn["names"])) == 80
    assert "the 10 strongest are shown" in (tmp_path / "report.html").read_text()


def test_bad_requests_leave_nothing_behind(tree, tmp_path):
    model, frame, _ = tree
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


def test_dates_are_called_what_the_picture_calls_them(tree, tmp_path):
    model, frame, _ = tree
    frame.set_axis(pd.to_datetime(frame.index)).pipe(lambda own: model.report(tmp_path / "report.html", own))
    text = (tmp_path / "report.html").read_text()
    assert "1991-06" in text
    assert "00:00:00" not in text


def test_the_style_of_the_user_does_not_matter(tree, tree_page, tmp_path):
    model, frame, groups = tree
    with plt.rc_context({"axes.grid": True, "savefig.bbox": "tight", "font.size": 30, "text.usetex": True}):
        model.report(tmp_path / "again.html", frame, groups=groups, title="A tree of genes")
        assert plt.rcParams["font.size"] == 30
    assert (tmp_path / "again.html").read_bytes() == tree_page.read_bytes()


def test_names_like_colours_stay_names():
    names = ["#332288", "#000000", "stroke: #ffffff", "#010203"]
    X, _ = make_latent_tree(100, 4, 1, flip=(0.05, 0.05), random_state=0)
    html = Corex(1, n_init=1, random_state=0).fit(pd.DataFrame(X, columns=names))._repr_html_()
    picture = html[html.index("<svg class") :]
    for name in names:
        assert f">{name}<" in picture


def test_names_in_pictures_are_text(tmp_path):
    X = make_latent_tree(60, 6, 1, random_state=0)[0]
    model = Corex(1, n_init=1, random_state=0).fit(X)
    model.report(tmp_path / "report.html", X, row_names=[f"日本{i}" for i in range(60)])
    assert len(re.findall(r"<text[^>]*>日本\d+</text>", (tmp_path / "report.html").read_text("utf-8"))) > 5


def test_notebooks_show_the_report_in_small(tree):
    model, _, _ = tree
    html = model._repr_html_()
    assert "300 samples, 40 variables" in html
    assert "<svg" in html
    assert "gene" in html
    assert "300 samples" not in HierarchicalCorex()._repr_html_()
    assert model._repr_mimebundle_()["text/html"]


def test_hostile_names_in_notebooks_are_text():
    table = named_table(HOSTILE_PAGE)
    html = Corex(2, n_init=1, random_state=0).fit(table)._repr_html_()
    ours = html[html.index('<div class="hicorex"') :]
    assert not {"img", "script", "b"} & {tag for tag, _ in Elements(ours).found}


# What happens in a browser


def n_shown(page):
    return int(page.locator("#links-shown").inner_text().split()[0].replace(",", ""))


def test_a_page_loads_and_draws(visit, tree_page):
    page = visit(tree_page)
    assert page.title() == "A tree of genes"
    colours = page.evaluate(
        "() => { const c = document.getElementById('map');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const s = new Set();"
        "for (let i = 0; i < d.length; i += 4) if (d[i + 3] == 255) s.add([d[i], d[i + 1], d[i + 2]].join());"
        "return [...s]; }"
    )
    assert {"51,34,136", "204,102,119", "17,119,51"} <= set(colours)  # variables of three groups
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    n_variables = data_of(tree_page)["map"]["level"].count(0)
    assert len(set(page.evaluate("hicorex.state.named"))) == n_variables  # there is room for every name


def test_names_keep_apart(visit, tmp_path):
    """Also at the top of the ring, where its two ends meet, and as many as there is room for."""
    X, _ = make_latent_tree(100, 900, 20, random_state=0)
    Corex(20, n_init=1, structure="tree", random_state=0).fit(X).report(tmp_path / "report.html")
    page = visit(tmp_path / "report.html")
    place = np.sort(np.array(data_of(tmp_path / "report.html")["map"]["place"])[page.evaluate("hicorex.state.named")])
    gaps = np.diff([*place, place[0] + 1]) * 2 * np.pi * page.evaluate("hicorex.state.scale")
    assert gaps.min() > 9.5  # pixels, for letters of 9
    assert np.median(gaps) < 20


def test_search_finds_a_variable(visit, tree_page):
    page = visit(tree_page)
    page.fill("#search", "GENE7")
    assert page.locator("#found button").all_inner_texts() == ["gene7"]
    page.press("#search", "Enter")
    assert page.locator("#panel h3").inner_text() == "gene7"
    box = page.locator("#map").bounding_box()
    x, y = page.evaluate("hicorex.locate('gene7')")
    assert box["x"] < x < box["x"] + box["width"]
    assert box["y"] < y < box["y"] + box["height"]
    page.fill("#search", "no such thing")
    assert "nothing of this name" in page.locator("#found").inner_text()


def test_the_slider_changes_the_links_shown(visit, tree, tree_page):
    page = visit(tree_page)
    weights = np.array(data_of(tree_page)["map"]["weight"])
    assert n_shown(page) == weights.size
    counts = []
    for value in ("300", "600", "900", "1000"):
        page.locator("#threshold").evaluate("(s, v) => { s.value = v; s.dispatchEvent(new Event('input')); }", value)
        least = page.evaluate("hicorex.state.threshold")
        assert n_shown(page) == np.count_nonzero(weights >= least)
        counts.append(n_shown(page))
    assert weights.size >= counts[0] > counts[1] > counts[2] >= counts[3] == 1
    page.fill("#search", "gene7")  # what is looked for is shown again
    page.press("#search", "Enter")
    assert n_shown(page) == weights.size
    page.locator("#threshold").evaluate("s => { s.value = 1000; s.dispatchEvent(new Event('input')); }")
    page.locator("#factors button[data-factor]").last.click()
    assert n_shown(page) == weights.size


def test_a_click_on_a_factor_opens_its_panel(visit, tree, tree_page):
    model, frame, groups = tree
    page = visit(tree_page)
    page.locator("#map").scroll_into_view_if_needed()
    page.mouse.click(*page.evaluate("hicorex.locate('layer1_factor2')"))
    assert page.locator("#panel h3").inner_text() == "layer1_factor2"
    counts = np.bincount(model.transform(frame)[:, 2], minlength=2)
    for state, n in enumerate(counts):
        assert f"state {state} {n} samples" in page.locator("#panel").inner_text()
    model_weights = model.layers_[0].alpha_ * model.layers_[0].mutual_information_
    weights = model_weights[:, 2]
    led_by = page.locator("#panel tbody").first.locator("button").all_inner_texts()
    assert led_by == [frame.columns[i] for i in np.argsort(-weights, kind="stable") if weights[i] > 0][:30]
    widths = page.locator("#panel .bar span").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.width))")
    assert_allclose(widths, 100 * counts / counts.sum(), rtol=1e-3)
    lost = model.bounds_.factors[2].contribution
    assert f"would lose {lost:.3g}".rstrip("0") in page.locator("#panel").inner_text()
    own = (weights > 0) & (weights == model_weights.max(axis=1))
    members = [groups[name] for name in frame.columns[own]]
    commonest = max(set(members), key=members.count)
    assert f"group: {commonest} ({members.count(commonest)})" in page.locator("#panel").inner_text()
    page.locator("#panel tbody button").first.click()
    assert page.locator("#panel h3").inner_text() == led_by[0]
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()


def test_the_table_sorts_and_filters(visit, tree, tree_page):
    model, _, _ = tree
    page = visit(tree_page)
    rows = page.locator("#factors tbody tr")
    explains = np.concatenate([layer.tcs_ for layer in model.layers_])
    names = model.get_feature_names_out()
    page.click("#factors th button >> text=explains")
    found = page.locator("#factors tbody tr td:first-child").all_inner_texts()
    assert_array_equal([explains[list(names).index(name)] for name in found], -np.sort(-explains))
    page.click("#factors th button >> text=explains")
    assert page.locator("#factors tbody tr td:first-child").all_inner_texts() != found
    assert page.locator("#factors th >> nth=3").get_attribute("aria-sort") == "ascending"
    page.click("#factors th button >> text=factor")
    assert page.locator("#factors tbody tr td:first-child").all_inner_texts() == list(names)
    page.fill("#filter", "layer2_factor1")
    assert [row.is_visible() for row in rows.all()].count(True) == 1 + list(names).count("layer3_factor0")
    page.fill("#filter", "layer2_factor1 layer3_factor0")
    assert page.locator("#factors-shown").inner_text() == "1 of 9 factors"
    page.fill("#filter", "")
    assert page.locator("#factors-shown").inner_text() == "9 factors"


def test_zoom_pan_and_hover(visit, tree_page):
    page = visit(tree_page)
    page.locator("#map").scroll_into_view_if_needed()
    before = page.evaluate("hicorex.state.scale")
    x, y = page.evaluate("hicorex.locate('layer1_factor0')")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 20)
    page.mouse.up()
    assert page.locator("#panel").is_hidden()
    assert page.evaluate("hicorex.locate('layer1_factor0')") == pytest.approx([x + 40, y + 20])
    page.mouse.click(x + 40, y + 20, button="right")
    assert page.locator("#panel").is_hidden()
    page.click("#zoom-fit")
    page.click("#zoom-in")
    assert page.evaluate("hicorex.state.scale") == pytest.approx(1.4 * before)
    page.focus("#map")
    x, _ = page.evaluate("hicorex.locate('gene1')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("hicorex.locate('gene1')")[0] == pytest.approx(x - 60)
    page.keyboard.press("Home")
    assert page.evaluate("hicorex.state.scale") == pytest.approx(before)
    page.mouse.move(*page.evaluate("hicorex.locate('gene1')"))
    assert page.locator("#tip strong").inner_text() == "gene1"
    assert "pathway" in page.locator("#tip").inner_text()
    scale = page.evaluate("hicorex.state.scale")
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"hicorex.state.scale > {scale}")


def test_colour_by_group_and_by_factor(visit, tree, tree_page):
    _, _, groups = tree
    page = visit(tree_page)
    texts = page.locator("#legend button").all_inner_texts()
    assert {re.sub(r"^\W*(.*) \(\d+\)$", r"\1", text) for text in texts} == set(groups.values())
    page.locator("#legend button").first.click()
    assert page.evaluate("hicorex.state.group") == 0
    page.select_option("#colour", "-1")
    assert page.locator("#legend button").count() == 0
    page.select_option("#layout", "layered")
    assert page.evaluate("hicorex.locate('layer3_factor0')[1] < hicorex.locate('layer1_factor0')[1]")
    assert page.evaluate("hicorex.locate('layer1_factor0')[1] < hicorex.locate('gene0')[1]")


def test_everything_is_reached_by_keyboard(visit, tree_page):
    page = visit(tree_page)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert {"theme", "search", "threshold", "colour", "layout", "zoom-in", "map", "filter"} <= reached
    assert "layer1_factor0" in reached
    page.locator("#factors button[data-factor]").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H3"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.factor") is not None


def test_a_click_beside_the_nodes_leaves_the_page_where_it_is(visit, tree_page):
    page = visit(tree_page)
    page.locator("#factors button[data-factor]").last.click()
    page.locator("#map").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    box = page.locator("#map").bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    assert page.locator("#panel").is_hidden()
    assert page.evaluate("scrollY") == pytest.approx(before, abs=2)


def test_the_map_is_saved_as_a_picture(visit, tree_page, tmp_path):
    page = visit(tree_page)
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"


def test_a_model_without_links_says_so(visit, tmp_path):
    Corex(1, n_init=1, random_state=0).fit(np.ones((9, 3))).report(tmp_path / "report.html")
    page = visit(tmp_path / "report.html")
    assert n_shown(page) == 0
    assert "Nothing is explained" in page.locator("#summary").inner_text()
    assert "None is 2 standard deviations" in page.locator("#samples").inner_text()


def test_hostile_names_are_shown_as_text(visit, hostile_page):
    page = visit(hostile_page)
    assert page.title() == shown(HOSTILE_PAGE[13])
    assert page.locator("img:not(.pixels)").count() == 0
    assert page.locator("script").count() == 2
    names = [name for name in data_of(hostile_page)["map"]["names"] if not re.fullmatch(r"layer\d_factor\d", name)]
    assert shown(HOSTILE_PAGE[12]) in names
    assert shown(HOSTILE_PAGE[13]) in names
    for name in names:
        page.fill("#search", name[:30])
        page.press("#search", "Enter")
        assert page.locator("#panel h3").text_content().strip().startswith(name[:20].strip())
    for button in page.locator("#factors button[data-factor]").all():
        button.click()
        assert page.locator("#panel").is_visible()
    assert page.title() == shown(HOSTILE_PAGE[13])
    assert "<img src=x" in page.locator("#legend").inner_text()


def test_dark_and_light(visit, tree_page):
    page = visit(tree_page, color_scheme="dark")
    ink = "getComputedStyle(document.body).color"
    assert page.evaluate(ink) == "rgb(232, 232, 230)"
    page.click("#theme")
    assert page.evaluate(ink) == "rgb(34, 34, 34)"
    assert page.evaluate("getComputedStyle(document.querySelector('svg.figure text')).fill") == "rgb(34, 34, 34)"


def test_paper_has_everything_on_it(visit, tree_page, tmp_path):
    page = visit(tree_page, color_scheme="dark")
    before = page.evaluate("[hicorex.state.scale, hicorex.state.x, hicorex.state.y]")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#map").evaluate("map => [map.width, map.height]") == [1920, 1920]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("[hicorex.state.scale, hicorex.state.x, hicorex.state.y]") == before
    page.emulate_media(media="print")
    assert page.locator(".tools").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(34, 34, 34)"
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000


def test_a_narrow_screen(visit, tree_page):
    page = visit(tree_page)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.fill("#search", "layer1_factor0")
    page.press("#search", "Enter")
    assert page.locator("#panel").is_visible()


@pytest.mark.slow
def test_twenty_thousand_variables(visit, tmp_path):
    X, _ = make_latent_tree(100, 20_000, 50, random_state=0)
    model = Corex(50, n_init=1, max_iter=4, random_state=0)
    with pytest.warns(match="max_iter"):
        model.fit(X)
    path = tmp_path / "report.html"
    model.report(path)
    assert path.stat().st_size < 15e6
    page = visit(path)
    assert n_shown(page) == min(np.count_nonzero(model.alpha_), 100_000)
    page.fill("#search", "x12345")
    page.press("#search", "Enter")
    assert page.locator("#panel h3").inner_text() == "x12345"
