"""The picture of bounds: bars that add up, and notes on what they do not show."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from pictures import boxes_of, check_savable

from hicorex import plot
from hicorex.bounds.result import Bounds, LayerBounds, NoUpper, NoUpperReason
from hicorex.plot.bounds import layer_parts


def widths_of(ax):
    return [patch.get_width() for patch in ax.patches]


def fake_bounds(added, depth, upper=None, theorem=None):
    """Bounds to which each layer adds so much."""
    reached = np.cumsum(added).tolist()
    layers = tuple(LayerBounds(f"layer{k}", 1, 0.5, 0.5, 0.1, lower, None) for k, lower in enumerate(reached, 1))
    lower = reached[depth - 1]
    why = None if upper is not None else NoUpper(NoUpperReason.NOT_DISCRETE, "'a$b$'")
    error = None if upper is None else 0.3
    return Bounds(lower, 0.2, depth, 1.0, upper, error, theorem, None, None, why, layers, (), 100)


def test_bars_of_layers_add_up_to_the_lower_bound(tree_fit):
    model, _ = tree_fit
    for own in (model.bounds_, model.layers_[0].bounds_, model.bounds(cv=2)):
        ax = plot.bounds(own)
        *layers, upper = widths_of(ax)
        assert len(layers) == own.depth
        assert_allclose(sum(layers), own.lower, rtol=1e-12)
        assert_allclose(np.cumsum(layers), [row.lower for row in own.layers[: own.depth]])
        assert_allclose(upper, own.upper)
        assert [tick.get_text().split("\n")[0] for tick in ax.get_yticklabels()] == ["lower bound", "upper bound"]
        for container, value, stderr in zip(
            ax.containers[-2:], (own.lower, own.upper), (own.lower_stderr, own.upper_stderr), strict=True
        ):
            assert_allclose(container.lines[0].get_xdata().astype(float), value)
            assert_allclose(container.lines[2][0].get_segments()[0][:, 0], [value - stderr, value + stderr])
    assert widths_of(plot.bounds(model)) == widths_of(plot.bounds(model.bounds_))


def test_layers_that_do_not_count_are_left_out_and_named(tree_fit):
    own = tree_fit[0].bounds_
    assert_allclose(sum(layer_parts(own)), own.layers[own.depth - 1].lower)
    shallow = fake_bounds([4.6, -0.5], 1)
    assert layer_parts(shallow) == [4.6]
    ax = plot.bounds(shallow)
    assert widths_of(ax) == [4.6]
    (note,) = ax.texts
    assert note.get_text() == (
        "no upper bound: column 'a\\$b\\$' is not discrete\nnot counted, since nothing is added: layer2"
    )
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["lower bound\n4.6 ± 0.2"]


def test_layers_that_take_away_lie_left_of_zero():
    ax = plot.bounds(fake_bounds([3.0, -1.0, 2.5], 3, upper=900.0, theorem=1200.0))
    *layers, _ = ax.patches
    spans = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in layers]
    assert_allclose(spans, [(0, 3), (0, -1), (3, 5.5)])
    assert ax.get_xlim()[0] < -1
    assert ax.get_xlim()[1] > 1200
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["layer1: 3", "layer2: -1", "layer3: 2.5", "paper's upper bound: 1,200"]
    assert_array_equal(ax.lines[0].get_xdata(), 1200)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["lower bound\n4.5 ± 0.2", "upper bound\n900 ± 0.3"]
    boxes_of(ax.get_yticklabels())
    check_savable(ax)


def test_nothing_explained_is_said():
    ax = plot.bounds(fake_bounds([-0.5], 1, upper=2.0))
    assert widths_of(ax) == [-0.5, 2]
    assert ax.texts[0].get_text().startswith("nothing is explained")
    assert ax.get_xlim()[0] < -0.5


def test_a_column_that_is_not_discrete_is_named(mixed_fit):
    model, _ = mixed_fit
    ax = plot.bounds(model)
    assert_allclose(sum(widths_of(ax)), model.bounds_.lower)
    assert ax.texts[0].get_text() == f"no upper bound: column {model.bounds_.no_upper.column} is not discrete"
