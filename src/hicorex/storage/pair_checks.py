"""Checks of what a file holds of residual pairs."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hicorex.bounds.pairs.decoder import PairDecoder, links_of_columns
from hicorex.bounds.pairs.levels import MOST_LEVELS, CellReader
from hicorex.fitted.layer import FittedLayer
from hicorex.storage.soundness import agree, array_of, is_a

# A log-ratio of a table beyond this no samples can have; exponentials stay finite.
LARGEST_LOG_RATIO = 100.0


def check_pairs(decoder: Any, layer: FittedLayer) -> None:
    """Refuse pairs that are no forest over the columns of a checked layer, or tables that do not fit them."""
    is_a(PairDecoder, decoder, "the residual pairs")
    encoder = layer.encoder
    n_columns = encoder.n_columns
    pairs = array_of(decoder.pairs, "the residual pairs", "i", (2, None), 0, n_columns - 1)
    n_pairs = pairs.shape[1]
    graph = coo_array((np.ones(n_pairs), tuple(pairs)), (n_columns, n_columns))
    n_trees, _ = connected_components(graph, directed=False)
    no_circle = n_trees == n_columns - n_pairs and np.unique(pairs[0]).size == n_pairs
    agree(no_circle, "the residual pairs", "a forest of them")
    is_a(bool, decoder.factors, "whether factors decode")
    wide = {i: known.size for i, known in encoder.categories.items() if known.size > MOST_LEVELS}
    agree(set(is_a(dict, decoder.rare, "the levels of categories")) == set(wide), "the levels", "the categories")
    for i, size in wide.items():
        array_of(decoder.rare[i], "the levels of categories", "i", (size,), 0, MOST_LEVELS - 1)
    blocks = encoder.blocks(np.ones(n_columns, bool), np.float64, sparse=False)
    reader = CellReader.of(blocks, encoder.parts, decoder.rare)
    links = links_of_columns(layer.links, encoder.parts, decoder.factors)
    layout = decoder.layout(reader, links, layer.n_states)
    shape = (2, int(layout.states[-1]))
    array_of(decoder.centre, "the levels of numbers", "f", shape)
    array_of(decoder.scale, "the width of levels", "f", shape, np.finfo(float).tiny)
    tables = int(layout.joint[-1])
    array_of(decoder.log_ratio, "the tables of pairs", "f", (tables,), -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    array_of(decoder.information, "the information of pairs", "f", (n_pairs,))
    array_of(decoder.gain, "the gain of pairs", "f", (n_pairs,))
    array_of(decoder.repeats, "which pairs repeat", "b", (n_pairs,))
