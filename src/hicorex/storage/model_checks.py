"""Checks of what a file holds of a fitted model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hicorex.bounds.result import Bounds, FactorBounds, LayerBounds, NoUpper, NoUpperReason
from hicorex.fitted.layer import FittedLayer
from hicorex.fitted.model import FittedModel, StopReason
from hicorex.fitted.naming import check_names
from hicorex.input.column_kinds import CODED, KINDS, Written
from hicorex.input.encoder import FAMILIES, Encoder
from hicorex.input.survey import MOST_CATEGORIES
from hicorex.layer.stream import Stream
from hicorex.layer.structure import most_links
from hicorex.marginals import joint_marginals
from hicorex.marginals.base import Block, Questions
from hicorex.marginals.joint import Joint
from hicorex.selection.sizing import Sizing
from hicorex.selection.stability import LayerStability, Stability
from hicorex.selection.trials import Tried
from hicorex.storage.layer_checks import MOST_STATES, check_parameters, check_state, check_sums
from hicorex.storage.pair_checks import check_pairs
from hicorex.storage.soundness import (
    ROUNDING,
    agree,
    array_of,
    checking,
    is_a,
    known,
    list_of,
    number,
    texts,
    whole,
    whole_list,
)
from hicorex.support.names import layer_factor_names, layer_name


@checking()
def check_model(fitted: FittedModel) -> None:
    """Refuse what a model has learned if it does not hold together."""
    layers = is_a(tuple, fitted.layers, "the layers")
    for k, layer in enumerate(layers):
        check_layer(layer, feeds=k + 1 < len(layers))
        if k:
            _check_input(layer, layers[k - 1])
    sizes = [layer.n_factors for layer in layers]
    _check_bounds(fitted.bounds, sizes)
    if fitted.cross_fitted is not None:
        _check_bounds(fitted.cross_fitted, sizes, "cross_fitted_")
    if fitted.stability is not None:
        _check_stability(fitted.stability, layers)
    if fitted.pairs is not None:
        check_pairs(fitted.pairs, layers[0])
    _check_usual(fitted.usual, sum(sizes))
    if fitted.names is not None:
        for name in array_of(fitted.names, "feature_names_in_", "O", (fitted.n_columns,)):
            is_a(str, name, "a name in feature_names_in_")
    check_names([name for layer in layers for name in layer.factor_names.values()], fitted.variable_names())
    if fitted.stop_reason is not None:
        is_a(StopReason, fitted.stop_reason, "stop_reason_")
    if fitted.next_sizing is not None:
        _check_sizing(fitted.next_sizing)
    _check_reading(fitted.reading, fitted.n_columns)


def check_output(output: Any) -> None:
    """Refuse what is no setting of ``set_output``."""
    for key, value in is_a(dict, output, "the output that is set").items():
        agree(key == "transform" and value in (None, "default", "pandas", "polars"), "set_output", "scikit-learn")


def _check_usual(usual: Any, n_factors: int) -> None:
    (mean, spread), (means, spreads) = usual
    number(mean, "the usual score")
    number(spread, "its spread", 0)
    array_of(means, "the usual log Z", "f", (n_factors,))
    array_of(spreads, "their spreads", "f", (n_factors,), 0)


def _check_reading(reading: Any, n_columns: int) -> None:
    """Refuse what does not say how a file was read."""
    known(is_a(dict, reading, "how the file was read"), ("missing", "row_names", "words", "forms", "names"))
    texts(reading.get("missing", []), "the texts that stand for missing values")
    for name, words in is_a(dict, reading.get("words", {}), "the words in columns of numbers").items():
        is_a(str, name, "a column with words")
        texts(words, "the words in columns of numbers")
    for name, form in is_a(dict, reading.get("forms", {}), "how cells are written").items():
        is_a(str, name, "a column of cells written otherwise")
        agree(len(texts(form, "how cells are written")) == 2, "how cells are written", "a form and a unit")
        known(form[:1], list(Written))
    if reading.get("row_names") is not None:
        is_a(str, reading["row_names"], "the column of row names")
    if reading.get("names") is not None:
        names = texts(reading["names"], "the names of the columns")
        agree(len(names) == n_columns, "the number of names", "n_features_in_")


@checking()
def check_layer(layer: FittedLayer, feeds: bool = False) -> None:
    """Refuse a layer that does not hold together; ``feeds`` says that it feeds a layer above."""
    encoder = is_a(Encoder, layer.encoder, "the encoder")
    n_columns, n_factors = whole(encoder.n_columns, "n_features_in_", 1), whole(layer.n_factors, "n_factors_", 1)
    _check_encoder(encoder, n_columns)
    blocks = encoder.blocks(np.ones(n_columns, bool), np.float64, sparse=False)
    check_state(layer.state, blocks, None, n_factors, 1)
    agree(layer.state.questions == [Questions()] * len(blocks), "what the next pass asks", "a finished fit")
    _check_findings(layer, n_columns)
    if layer.sizing is not None:
        _check_sizing(layer.sizing)
    is_a(bool, layer.reads_labels, "whether the layer reads labels")
    _check_bounds(layer.bounds, [n_factors])
    _check_usual(layer.usual, n_factors)
    _check_links(layer.links, blocks, n_factors, layer.n_states)
    agree(layer.feeding_joints is not None or not feeds, "joints", "the layers")
    for joints in (layer.joints, layer.feeding_joints):
        if joints is not None:
            list_of(list, joints, "joints", len(blocks))
            for block, links, of_block in zip(blocks, layer.links, joints, strict=True):
                _check_joints(of_block, block, links[0], layer.n_states)
    for block, given in zip(blocks, list_of(np.ndarray, layer.surprisals, "surprisals", len(blocks)), strict=True):
        discrete = hasattr(block, "is_category")
        array_of(given, "the surprisals", "f", (block.offsets[-1],) if discrete else (0,), -ROUNDING)
    _check_anchors(layer, n_columns)
    if layer.stream is not None:
        stream = is_a(Stream, layer.stream, "the stream")
        check_state(stream.state, blocks, layer.n_states, n_factors, 1)
        if stream.sums is not None:
            check_sums(stream.sums, len(blocks), layer.n_states, n_factors)


def _check_anchors(layer: FittedLayer, n_columns: int) -> None:
    """Refuse anchors and names that are not of this layer."""
    for j, columns in is_a(dict, layer.anchors, "the anchors").items():
        whole(j, "an anchored factor", 0, layer.n_factors - 1)
        given = whole_list(list(is_a(tuple, columns, "the anchors of a factor")), "an anchor", 0, n_columns - 1)
        agree(0 < len(given) == len(set(given)), "the anchors of a factor", "one another")
    for j in is_a(dict, layer.factor_names, "the names of factors"):
        whole(j, "a factor with a name", 0, layer.n_factors - 1)
    check_names(texts(list(layer.factor_names.values()), "the names of factors"), [])


def _check_findings(layer: FittedLayer, n_columns: int) -> None:
    """Refuse a structure or histories that do not agree with the state of the layer."""
    shape = (n_columns, layer.n_factors)
    alpha = np.empty(shape)
    for block_alpha, columns in zip(layer.state.alpha, layer.encoder.parts, strict=True):
        alpha[columns] = block_alpha.T
    array_of(layer.alpha, "alpha_", "f", shape)
    agree(np.array_equal(layer.alpha, alpha), "alpha_", "the state")
    array_of(layer.mutual_information, "mutual_information_", "f", shape, -ROUNDING)
    array_of(layer.tcs, "tcs_", "f", (layer.n_factors,), 0)
    if not (is_a(np.ndarray, layer.link_pvalues, "link_pvalues_").shape == shape and _all_missing(layer.link_pvalues)):
        array_of(layer.link_pvalues, "link_pvalues_", "f", shape, 0, 1)
    array_of(layer.clusters, "clusters_", "i", (n_columns,), -1, layer.n_factors - 1)
    array_of(layer.history, "history_", "f", (None,))
    for history in is_a(list, layer.histories, "histories_"):
        array_of(history, "a history", "f", (None,))
    agree(any(np.array_equal(layer.history, history) for history in layer.histories), "history_", "histories_")


def _all_missing(array: np.ndarray) -> bool:
    """Whether nothing was measured, as in files of early versions."""
    return array.dtype == float and bool(np.isnan(array).all())


def _check_input(layer: FittedLayer, below: FittedLayer) -> None:
    """Refuse a layer whose input is not the labels of the one below."""
    agree(layer.encoder.n_columns == below.n_factors, "the number of columns of a layer", "the factors below it")
    agree(set(layer.encoder.kinds) == {"categorical"}, "the kinds of an inner layer", "labels")
    for categories in layer.encoder.categories.values():
        array_of(categories, "the states of a factor below", "iu", (None,), 0, below.n_states - 1)


def _check_encoder(encoder: Encoder, n_columns: int) -> None:
    agree(encoder.n_columns == n_columns, "the number of columns", "n_features_in_")
    kinds = texts(encoder.kinds, "kinds")
    agree(len(kinds) == n_columns and set(kinds) <= set(KINDS), "kinds", "the columns")
    tiny, large = np.nextafter(0, 1), np.finfo(float).max
    array_of(encoder.size, "size", "f", (n_columns,), tiny, large)
    array_of(encoder.centre, "centre", "f", (n_columns,))
    array_of(encoder.spread, "spread", "f", (n_columns,), tiny)
    array_of(encoder.informative, "informative", "b", (n_columns,))
    ranked, coded = ({i for i, kind in enumerate(kinds) if kind in wanted} for wanted in (("rank",), CODED))
    agree(set(is_a(dict, encoder.ranks, "ranks")) == ranked, "ranks", "kinds")
    for values, scores in encoder.ranks.values():
        array_of(values, "the values of ranks", "f", (None,), -large, large)
        array_of(scores, "the scores of ranks", "f", values.shape)
        agree(values.size > 0 and (values[1:] > values[:-1]).all(), "the values of ranks", "their order")
    agree(set(is_a(dict, encoder.categories, "categories")) == coded, "categories", "kinds")
    for i, categories in encoder.categories.items():
        agree(kinds[i] != "ordered" or categories.dtype.kind not in "US", "ordered categories", "numbers")
        wide = categories.astype(float) if categories.dtype == np.float16 else categories
        array_of(wide, "categories", "biufUS", (None,), -large, large)
        in_order = bool((categories[1:] > categories[:-1]).all())
        agree(categories.size <= MOST_CATEGORIES and in_order, "categories", "their order")
    parts = list_of(np.ndarray, encoder.parts, "the blocks of columns")
    for part in parts:
        array_of(part, "a block of columns", "i", (None,), 0, n_columns - 1)
        families = {FAMILIES[kinds[i]] for i in part.tolist()}
        agree(len(families) == 1, "a block of columns", "one kind")
    agree(np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_columns)), "the blocks of columns", "the table")


def _check_links(all_links: Any, blocks: Sequence[Block], n_factors: int, n_states: int) -> None:
    """Refuse links that do not list the factors of each variable best first, and none twice."""
    depth = min(n_factors, most_links(n_states))
    for block, links in zip(blocks, list_of(np.ndarray, all_links, "links", len(blocks)), strict=True):
        array_of(links, "links", "i", (1, depth, block.n_columns), -1, n_factors - 1)
        there = links[0] >= 0
        agree((there[1:] <= there[:-1]).all(), "links", "their order")
        inside = np.sort(np.where(there, links[0], -1 - np.arange(depth)[:, None]), axis=0)
        agree((inside[1:] != inside[:-1]).all(), "links", "one another")


def _check_joints(joints: list, block: Block, links: np.ndarray, n_states: int) -> None:
    """Refuse joint marginals that do not follow the links (D, n): one Joint for each number of linked factors."""
    n_linked = (links >= 0).sum(axis=0)
    depths = [depth for depth in range(1, len(links) + 1) if (n_linked == depth).any()]
    neutral = block.neutral(1, 1)
    for depth, joint in zip(depths, list_of(Joint, joints, "joints", len(depths)), strict=True):
        columns = np.flatnonzero(n_linked == depth)
        for given, expected in ((joint.columns, columns), (joint.factors, links[:depth, columns])):
            array_of(given, "the columns of joints", "i", expected.shape)
            agree(np.array_equal(given, expected), "joints", "links")
        array_of(joint.probability, "the probability of joint states", "f", (n_states**depth, columns.size), 0, 2)
        width = joint_marginals(block).of_pairs(neutral, np.zeros_like(columns), columns)[0].shape[1]
        check_parameters(joint.parameters, neutral, (n_states**depth, width))


def _check_sizing(sizing: Any) -> None:
    is_a(Sizing, sizing, "sizing_")
    for tried in is_a(tuple, sizing.tried, "the sizes tried"):
        is_a(Tried, tried, "a size tried")
        whole(tried.n_factors, "a number of factors", 1)
        whole(tried.used, "a number of factors in use", 0)
        number(tried.lower, "a bound")
        number(tried.lower_stderr, "a standard error", 0, missing=True)
        if tried.n_states is not None:  # files of early versions have none
            whole(tried.n_states, "a number of states", 2, MOST_STATES)
        if tried.reproducibility is not None or tried.lost is not None:  # on all folds
            number(tried.reproducibility, "a reproducibility", 0)
            number(tried.lost, "what is lost by most likely states")
    sizes = [(tried.n_factors, tried.n_states) for tried in sizing.tried]
    agree((sizing.n_factors, sizing.n_states) in sizes, "the size chosen", "those tried")
    if sizing.parsimony is not None:
        number(sizing.parsimony, "parsimony", 0)
    is_a(bool, sizing.given, "whether the factors were given")
    if sizing.larger is not None:
        agree((sizing.larger, sizing.n_states) in sizes, "the larger size", "those tried")
        agree(sizing.larger > sizing.n_factors, "the larger size", "the one chosen")
        number(sizing.gain, "a gain")
        for name in ("gain_stderr", "least_gain"):  # files of an early version have none
            if getattr(sizing, name) is not None:
                number(getattr(sizing, name), name, 0, missing=True)


def _check_stability(stability: Any, layers: Sequence[FittedLayer]) -> None:
    """Refuse what is no stability of layers of these shapes."""
    is_a(Stability, stability, "stability_")
    whole(stability.n_resamples, "n_resamples", 2)
    given = is_a(tuple, stability.layers, "the layers of stability_")
    agree(len(given) == len(layers), "the layers of stability_", "the model")
    for of_layer, layer in zip(given, layers, strict=True):
        is_a(LayerStability, of_layer, "a layer of stability_")
        array_of(of_layer.factors, "the reproducibility of factors", "f", (layer.n_factors,), 0, 1 + ROUNDING)
        array_of(of_layer.links, "the stability of links", "f", layer.alpha.shape, 0, 1 + ROUNDING)


def _check_bounds(bounds: Any, sizes: list[int], what: str = "bounds_") -> None:
    """Refuse bounds that are not of layers of these sizes; cross-fitted ones have no factors."""
    is_a(Bounds, bounds, what)
    whole(bounds.n_samples, "n_samples", 1)
    whole(bounds.depth, "depth", 1, len(sizes))
    if bounds.no_upper is not None:
        is_a(NoUpper, bounds.no_upper, "no_upper")
        is_a(NoUpperReason, bounds.no_upper.reason, "the reason for no upper bound")
        if bounds.no_upper.column is not None:
            is_a(str, bounds.no_upper.column, "a column without an upper bound")
    _check_numbers(bounds, ("lower", "lower_stderr", "objective"))
    if bounds.lower_with_pairs is not None or bounds.lower_with_pairs_stderr is not None:
        _check_numbers(bounds, ("lower_with_pairs", "lower_with_pairs_stderr"))
    if bounds.lower_gaussian is not None or bounds.lower_gaussian_stderr is not None:
        _check_numbers(bounds, ("lower_gaussian", "lower_gaussian_stderr"))
    upper = ("upper", "upper_stderr", "entropy_lower", "entropy_upper")
    if bounds.no_upper is not None:
        agree(all(getattr(bounds, name) is None for name in (*upper, "upper_theorem")), "upper bounds", "no_upper")
    else:
        _check_numbers(bounds, upper if bounds.upper_theorem is None else (*upper, "upper_theorem"))
    names = [layer_name(k) for k in range(1, len(sizes) + 1)]
    agree([layer.name for layer in _all(LayerBounds, bounds.layers)] == names, f"the layers of {what}", "the model")
    agree([layer.n_factors for layer in bounds.layers] == sizes, f"the sizes in {what}", "the model")
    for layer in bounds.layers:
        left = () if layer.conditional_entropy is None else ("conditional_entropy",)
        _check_numbers(layer, ("objective", "contribution", "contribution_stderr", "lower", *left))
    of_layers = [layer_factor_names(k, size) for k, size in enumerate(sizes, start=1)]
    names = [name for of_layer in of_layers for name in of_layer] if what == "bounds_" else []
    agree(
        [factor.name for factor in _all(FactorBounds, bounds.factors)] == names, f"the factors of {what}", "the model"
    )
    for factor in bounds.factors:
        _check_numbers(factor, FactorBounds._fields[1:])


def _check_numbers(holder: Any, names: Sequence[str]) -> None:
    for name in names:
        number(getattr(holder, name), f"{name} in bounds_", missing=name.endswith("stderr"))


def _all(kind: type, values: Any) -> Any:
    for value in is_a(tuple, values, "a part of bounds_"):
        is_a(kind, value, "a part of bounds_")
    return values
