"""The names of layers, factors and columns, the same everywhere."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator


def layer_name(layer: int) -> str:
    """The name of a layer; the first one is 1.

    >>> layer_name(1)
    'layer1'
    """
    return f"layer{layer}"


def factor_name(layer: int, factor: int) -> str:
    """The name of a factor: its layer, from 1, and its number in the layer, from 0.

    >>> factor_name(1, 0)
    'layer1_factor0'
    """
    return f"{layer_name(layer)}_factor{factor}"


def number_of(name: str) -> str:
    """The number in the name of a factor; any other name stays whole.

    >>> number_of("layer1_factor12")
    '12'
    """
    found = re.fullmatch(r"layer\d+_factor(\d+)", name)
    return name if found is None else found[1]


def layer_factor_names(layer: int, n_factors: int) -> list[str]:
    """The names of all factors of a layer."""
    return [factor_name(layer, j) for j in range(n_factors)]


def column_name(column: int) -> str:
    """The name of a column that has none, by its number from 0.

    >>> column_name(0)
    'x0'
    """
    return f"x{column}"


def names_of(model: "LayeredEstimator") -> list[list[str]]:
    """The names of the variables, and of the factors of each layer: those that they were given, or their numbers."""
    layers = enumerate(model.fitted_.layers, start=1)
    factors = ([layer.factor_names.get(j, factor_name(k, j)) for j in range(layer.n_factors)] for k, layer in layers)
    return [model.fitted_.variable_names(), *factors]


def titles_of(model: "LayeredEstimator") -> list[str]:
    """The titles of factors in tables that hicorex knows again by them: number and name."""
    titles = []
    for k, (names, layer) in enumerate(zip(names_of(model)[1:], model.fitted_.layers, strict=True), start=1):
        numbered = layer_factor_names(k, layer.n_factors)
        titles += [
            called if name == called else f"{called} {name}" for called, name in zip(numbered, names, strict=True)
        ]
    return titles


def factor_names(model: "LayeredEstimator") -> list[str]:
    """The names of the factors of all layers, in the order of ``transform``."""
    return [name for names in names_of(model)[1:] for name in names]
