"""The page of a report in a browser: the map, the panel, tables, keys, paper, and hostile names."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pages import HOSTILE_PAGE, data_of, n_shown

from hicorex import Corex
from hicorex.datasets import make_latent_tree
from hicorex.report.markup import shown


def test_a_page_loads_and_draws(visit, gene_page):
    page = visit(gene_page)
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
    n_variables = data_of(gene_page)["map"]["level"].count(0)
    assert len(set(page.evaluate("hicorex.state.named"))) == n_variables  # there is room for every name


def test_names_keep_apart(visit, tmp_path):
    """Also at the top of the ring, where its two ends meet, and as many as there is room for."""
    X, _ = make_latent_tree(100, 900, 20, random_state=0)
    Corex(20, n_states=2, n_init=1, structure="tree", random_state=0).fit(X).report(tmp_path / "report.html")
    page = visit(tmp_path / "report.html")
    place = np.sort(np.array(data_of(tmp_path / "report.html")["map"]["place"])[page.evaluate("hicorex.state.named")])
    gaps = np.diff([*place, place[0] + 1]) * 2 * np.pi * page.evaluate("hicorex.state.scale")
    assert gaps.min() > 9.5  # pixels, for letters of 9
    assert np.median(gaps) < 20


def test_search_finds_a_variable(visit, gene_page):
    page = visit(gene_page)
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


def test_the_slider_changes_the_links_shown(visit, gene_fit, gene_page):
    page = visit(gene_page)
    weights = np.array(data_of(gene_page)["map"]["weight"])
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


def test_a_click_on_a_sample_shows_its_values(visit, gene_fit, gene_page):
    model, frame, _ = gene_fit
    page = visit(gene_page)
    row = page.locator("#unusual tbody tr").first
    name = row.locator("summary").inner_text()
    assert not row.locator("li").first.is_visible()
    row.locator("summary").click()
    sample = frame.index.get_loc(name)
    expected = [
        f"{reason.name}: {frame[reason.name].iloc[sample]} {reason.nats:+.2f} nats"
        for reason in model.explain(frame.iloc[[sample]]).top(0, 5)
    ]
    assert row.locator("li").all_inner_texts() == expected
    assert row.locator("li").first.is_visible()
    row.locator("summary").press("Enter")
    assert not row.locator("li").first.is_visible()


def test_a_click_on_a_factor_opens_its_panel(visit, gene_fit, gene_page):
    model, frame, groups = gene_fit
    page = visit(gene_page)
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


def test_names_are_typed_and_saved(visit, gene_fit, gene_page, tmp_path):
    model, _, _ = gene_fit
    page = visit(gene_page)
    page.fill('input[data-name="layer1_factor1"]', ' growth, "fast" ')
    page.fill('input[data-name="layer2_factor0"]', "\u00e9nergie")
    with page.expect_download() as download:
        page.click("#save-names")
    assert download.value.suggested_filename == "names.csv"
    download.value.save_as(tmp_path / "names.csv")
    named = model.rename(tmp_path / "names.csv")
    found = dict(zip(model.get_feature_names_out(), named.get_feature_names_out(), strict=True))
    assert found["layer1_factor1"] == 'growth, "fast"'
    assert found["layer2_factor0"] == "\u00e9nergie"
    assert sum(old != new for old, new in found.items()) == 2


def test_the_table_sorts_and_filters(visit, gene_fit, gene_page):
    model, _, _ = gene_fit
    page = visit(gene_page)
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


def test_the_map_zooms_moves_and_tells_what_is_under_the_pointer(visit, gene_page):
    page = visit(gene_page)
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


def test_variables_are_coloured_by_group_or_by_factor(visit, gene_fit, gene_page):
    _, _, groups = gene_fit
    page = visit(gene_page)
    texts = page.locator("#legend button").all_inner_texts()
    assert {re.sub(r"^\W*(.*) \(\d+\)$", r"\1", text) for text in texts} == set(groups.values())
    page.locator("#legend button").first.click()
    assert page.evaluate("hicorex.state.group") == 0
    page.select_option("#colour", "-1")
    assert page.locator("#legend button").count() == 0
    page.select_option("#layout", "layered")
    assert page.evaluate("hicorex.locate('layer3_factor0')[1] < hicorex.locate('layer1_factor0')[1]")
    assert page.evaluate("hicorex.locate('layer1_factor0')[1] < hicorex.locate('gene0')[1]")


def test_everything_is_reached_by_keyboard(visit, gene_page):
    page = visit(gene_page)
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


def test_a_click_beside_the_nodes_leaves_the_page_where_it_is(visit, gene_page):
    page = visit(gene_page)
    page.locator("#factors button[data-factor]").last.click()
    page.locator("#map").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    box = page.locator("#map").bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    assert page.locator("#panel").is_hidden()
    assert page.evaluate("scrollY") == pytest.approx(before, abs=2)


def test_the_map_is_saved_as_a_picture(visit, gene_page, tmp_path):
    page = visit(gene_page)
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"


def test_a_model_without_links_says_so(visit, tmp_path):
    Corex(1, n_states=2, n_init=1, random_state=0).fit(np.ones((9, 3))).report(tmp_path / "report.html")
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


def test_the_page_is_dark_or_light(visit, gene_page):
    page = visit(gene_page, color_scheme="dark")
    ink = "getComputedStyle(document.body).color"
    assert page.evaluate(ink) == "rgb(232, 232, 230)"
    page.click("#theme")
    assert page.evaluate(ink) == "rgb(34, 34, 34)"
    assert page.evaluate("getComputedStyle(document.querySelector('svg.figure text')).fill") == "rgb(34, 34, 34)"


def test_paper_has_everything_on_it(visit, gene_page, tmp_path):
    page = visit(gene_page, color_scheme="dark")
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


def test_a_narrow_screen_is_wide_enough(visit, gene_page):
    page = visit(gene_page)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.fill("#search", "layer1_factor0")
    page.press("#search", "Enter")
    assert page.locator("#panel").is_visible()


@pytest.mark.slow
def test_twenty_thousand_variables_are_shown(visit, tmp_path):
    X, _ = make_latent_tree(100, 20_000, 50, random_state=0)
    model = Corex(50, n_states=2, n_init=1, max_iter=4, random_state=0)
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
