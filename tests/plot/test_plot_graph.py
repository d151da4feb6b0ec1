"""The picture of the hierarchy: what is drawn is what the model found, and its names can be read."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import HOSTILE, named_table
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.findings.graph import graph_of
from hicorex.plot import graph
from hicorex.plot.canvas import GREY, PALETTE, style_of
from hicorex.plot.graph import DISC, SMALLEST, _that_fit


@pytest.fixture(scope="module")
def model():
    X, _ = make_latent_tree(500, 60, (6, 2), root_flip=0.15, random_state=0)
    X[:, ::10] = 2 * X[:, ::10] + X[:, 55::-10]  # some variables follow two factors
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(60)])
    return HierarchicalCorex((8, 3, 1), n_states=2, n_init=2, random_state=0).fit(frame)


def names_in(ax):
    """What is written beside variables, not on factors."""
    return [text for text in ax.texts if not text.get_text().isdigit()]


def links_of(ax):
    (links,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return links


def discs_of(ax):
    return next(c for c in ax.collections if isinstance(c, PathCollection) and to_hex(c.get_facecolor()[0]) == DISC)


def overlaps(ax, texts):
    """Pairs of texts that lie on each other, by the corners of their turned boxes."""
    renderer = ax.get_figure().canvas.get_renderer()
    boxes = []
    for text in texts:
        turn = np.radians(text.get_rotation())
        angle, text_rotation = turn, text.get_rotation()
        text.set_rotation(0)
        box = text.get_window_extent(renderer)
        text.set_rotation(text_rotation)
        # Without ascenders and descenders, which letters of neighbouring lines rarely both have.
        x, y = text.get_transform().transform(text.get_position())
        width, height = box.width, 0.7 * text.get_fontsize() * ax.get_figure().dpi / 72
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        start = {"left": 0, "right": -width, "center": -width / 2}[text.get_ha()]
        centre = np.array([x, y]) + along * (start + width / 2)
        boxes.append((centre, along, across, width / 2, height / 2))
    pairs = 0
    for i, (c, a, b, w, h) in enumerate(boxes):
        for d, e, f, v, g in boxes[i + 1 :]:
            apart = any(
                abs((d - c) @ axis) > w * abs(a @ axis) + h * abs(b @ axis) + v * abs(e @ axis) + g * abs(f @ axis)
                for axis in (a, b, e, f)
            )
            pairs += not apart
    return pairs


@pytest.mark.parametrize("layout", ["radial", "layered"])
def test_every_link_is_drawn_from_its_factor_to_its_variable(model, layout):
    ax = graph(model, layout=layout)
    edges = sorted(graph_of(model).edges, key=lambda edge: edge.weight)
    links = links_of(ax)
    assert len(links.get_segments()) == len(edges)
    widths = np.asarray(links.get_linewidths())
    weights = np.array([edge.weight for edge in edges])
    wide = widths > widths.min()
    assert wide.sum() > 20
    assert_allclose(widths[wide] / weights[wide], widths.max() / weights.max())
    whole = graph_of(model).select(0)
    home = {node.id: max(e.weight for e in edges if e.below == node.id) for node in whole.nodes if node.layer < 3}
    strong = [edge.weight == home[edge.below] for edge in edges]
    assert 0 < sum(strong) < len(edges)
    assert len(set(links.get_alpha()[strong])) == 1
    assert max(links.get_alpha()) in links.get_alpha()[strong]
    assert max(links.get_alpha()[~np.array(strong)]) < max(links.get_alpha())
    ends = {tuple(np.round(segment[-1], 9)) for segment in links.get_segments()}
    starts = {tuple(np.round(segment[0], 9)) for segment in links.get_segments()}
    assert starts <= {tuple(np.round(point, 9)) for point in discs_of(ax).get_offsets()}
    nodes = np.concatenate([c.get_offsets() for c in ax.collections if isinstance(c, PathCollection)])
    assert ends <= {tuple(np.round(point, 9)) for point in nodes}
    assert len(nodes) == len(graph_of(model).select(0).nodes)


def test_factors_are_as_large_as_what_they_explain(model):
    ax = graph(model)
    explains = np.array([node.information for node in graph_of(model).select(0).nodes if node.layer])
    area = discs_of(ax).get_sizes()
    large = area > area.min()
    assert_allclose(area[large] / explains[large], area.max() / explains.max(), rtol=1e-6)
    numbers = [text.get_text() for text in ax.texts if text.get_text().isdigit()]
    assert sorted(numbers) == sorted(
        node.name.rpartition("factor")[2] for node in graph_of(model).select(0).nodes if node.layer
    )


def test_a_threshold_leaves_out_weak_links_and_what_they_connect(model):
    whole = graph_of(model)
    threshold = float(np.median([edge.weight for edge in whole.edges]))
    ax = graph(model, threshold=threshold)
    left = whole.select(threshold)
    assert len(links_of(ax).get_segments()) == len(left.edges) < len(whole.edges)
    assert {text.get_text() for text in names_in(ax)} == {node.name for node in left.nodes if not node.layer}


def test_groups_colour_variables_and_their_links(model):
    groups = {f"gene{i}": "even" if i % 2 == 0 else "odd" for i in range(59)}
    ax = graph(model, groups=groups)
    nodes = [node for node in graph_of(model).select(0).nodes if not node.layer]
    expected = {"even": PALETTE[0], "odd": PALETTE[1]}
    (variables,) = [c for c in ax.collections if isinstance(c, PathCollection) and c is not discs_of(ax)]
    found = [to_hex(colour) for colour in variables.get_edgecolor()]
    assert found == [expected.get(groups.get(node.name), GREY) for node in nodes]
    legend = {
        text.get_text(): to_hex(line.get_color())
        for text, line in zip(ax.get_legend().get_texts(), ax.get_legend().get_lines(), strict=True)
    }
    assert legend == {
        f"even ({found.count(PALETTE[0])})": PALETTE[0],
        f"odd ({found.count(PALETTE[1])})": PALETTE[1],
        **({"no group (1)": GREY} if "gene59" in {node.name for node in nodes} else {}),
    }
    assert ax.get_legend().get_title().get_text() == "group"


def test_many_groups_have_shapes_of_their_own():
    styles = [style_of(i) for i in range(len(PALETTE) * 3)]
    assert len(set(styles)) == len(styles)


def test_four_hundred_names_can_be_read():
    """All are written, no two on each other, within the picture, and not too small."""
    X, _ = make_latent_tree(100, 400, 20, random_state=0)
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 4)) + str(i) for i in range(400)]
    model = Corex(20, n_states=2, n_init=1, structure="tree", random_state=0).fit(pd.DataFrame(X, columns=names))
    ax = graph(model, groups={name: name[0] for name in names})
    written = names_in(ax)
    ax.get_figure().draw_without_rendering()
    linked = {node.name for node in graph_of(model).select(0).nodes if not node.layer}
    assert len(linked) > 380
    assert {text.get_text() for text in written} == linked
    assert written[0].get_fontsize() >= SMALLEST
    assert overlaps(ax, written) == 0
    page = ax.get_figure().bbox
    for text in written:
        box = text.get_window_extent()
        assert page.x0 < box.x0 < box.x1 < page.x1
        assert page.y0 < box.y0 < box.y1 < page.y1
    legend = ax.get_legend().get_window_extent()
    assert legend.x1 <= page.x1
    assert not any(legend.overlaps(text.get_window_extent()) for text in written)


@pytest.mark.parametrize("layout", ["radial", "layered"])
def test_where_names_do_not_fit_those_of_the_strongest_are_written(layout):
    X, _ = make_latent_tree(100, 900, 20, random_state=0)
    model = Corex(20, n_states=2, n_init=1, structure="tree", random_state=0).fit(X)
    _, ax = plt.subplots(figsize=(5, 5))
    assert graph(model, layout=layout, ax=ax) is ax
    written = names_in(ax)
    assert 50 < len(written) < 850
    known = {f"x{i}": value for i, value in enumerate(model.mutual_information_.max(axis=1))}
    chosen = np.mean([known[text.get_text()] for text in written])
    assert chosen > np.mean(list(known.values()))
    ax.get_figure().draw_without_rendering()
    if layout == "radial":
        assert overlaps(ax, written) == 0


def test_without_labels_there_are_none(model):
    assert names_in(graph(model, labels=False)) == []


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("layout", ["radial", "layered"])
@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_hostile_names_are_drawn(layout, form, tmp_path):
    model = Corex(2, n_states=2, n_init=1, random_state=0).fit(
        named_table([*HOSTILE, "$\\frac{$", "a $x$ b", "y" * 500])
    )
    ax = graph(model, layout=layout, groups={name: name for name in HOSTILE})
    ax.get_figure().savefig(tmp_path / f"graph.{form}")
    assert (tmp_path / f"graph.{form}").stat().st_size > 1000


def test_one_layer_has_its_factors_on_a_ring(model):
    X, _ = make_latent_tree(200, 20, 3, random_state=0)
    ax = graph(Corex(3, n_states=2, n_init=1, random_state=0).fit(X))
    radius = np.hypot(*np.asarray(discs_of(ax).get_offsets()).T)
    assert_allclose(radius, radius[0])
    assert radius[0] > 0.3


def test_what_cannot_be_drawn_is_told(model):
    with pytest.raises(HicorexError, match=r"No link has a weight of 100 nats or more; the largest is 0\.678"):
        graph(model, threshold=100)
    with pytest.raises(HicorexError, match='layout is \'force\'; give "radial" or "layered"'):
        graph(model, layout="force")
    with pytest.raises(HicorexError, match="none of the model's variables"):
        graph(model, groups={"x": 1})
    for wrong in (-1, "a", None, np.nan):
        with pytest.raises(HicorexError, match=r"threshold is .*; give a number of nats, 0 or more"):
            graph(model, threshold=wrong)
    with pytest.raises(HicorexError, match="model is of type DataFrame; give a fitted Corex"):
        graph(pd.DataFrame())
    with pytest.raises(HicorexError, match="ax is of type Figure; give one Axes"):
        graph(model, ax=plt.figure())
    with pytest.raises(HicorexError, match="There are no links, so that nothing is explained"):
        graph(Corex(1, n_states=2, n_init=1).fit(np.ones((9, 3))))
    with pytest.raises(NotFittedError):
        graph(Corex())


def test_a_graph_is_drawn_as_its_model_is(model):
    groups = {f"gene{i}": f"group {i % 3}" for i in range(60)}
    one, other = (links_of(graph(own, groups=groups)) for own in (model, graph_of(model)))
    assert_array_equal(one.get_segments(), other.get_segments())
    assert_array_equal(one.get_colors(), other.get_colors())


def test_variables_without_a_significant_link_are_hollow():
    rng = np.random.default_rng(1)
    X = np.hstack([make_latent_tree(100, 10, 1, flip=(0.05, 0.1), random_state=0)[0], rng.integers(2, size=(100, 10))])
    model = Corex(3, n_states=2, n_init=2, random_state=0).fit(X)
    ax = graph(model)
    (variables,) = [c for c in ax.collections if isinstance(c, PathCollection) and c is not discs_of(ax)]
    hollow = np.all(variables.get_facecolor()[:, :3] == 1, axis=1)
    drawn = [int(node.name[1:]) for node in graph_of(model).select(0).nodes if not node.layer]
    assert_array_equal(hollow, model.clusters_[drawn] == -1)
    assert 0 < hollow.sum() < hollow.size


def test_names_at_both_ends_of_the_ring_keep_apart():
    place = np.array([0.0, 0.3, 0.99])
    assert _that_fit(place, [3, 2, 1], 0.05, around=True) == [0, 1]
    assert _that_fit(place, [3, 2, 1], 0.05, around=False) == [0, 1, 2]


def test_sectors_of_the_sp500_lie_together(real_data):
    """The sectors can be told at a glance: neighbours on the ring mostly have the same colour."""
    returns = pd.read_csv(real_data / "sp500" / "monthly_returns.csv.gz", index_col=0)
    model = HierarchicalCorex((20, 3, 1), n_states=3, marginals="rank", random_state=0).fit(returns)
    ax = graph(model, groups=real_data / "sp500" / "sectors.csv", threshold=0.16)
    variables = [c for c in ax.collections if isinstance(c, PathCollection) and c is not discs_of(ax)]
    points = np.concatenate([c.get_offsets() for c in variables])
    colours = np.concatenate([[to_hex(colour) for colour in c.get_edgecolor()] for c in variables])
    around = colours[np.argsort(np.arctan2(*points.T))]
    same = np.mean(around == np.roll(around, 1))
    assert same > 0.75
    assert 9 <= len(ax.get_legend().get_texts()) <= 10
