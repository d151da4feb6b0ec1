"""The classes that files hold: the stored name of each, which stays, and the fields that make up an object."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from hicorex.bounds.pairs.decoder import PairDecoder
from hicorex.bounds.result import Bounds, FactorBounds, LayerBounds, NoUpper, NoUpperReason
from hicorex.input.encoder import Encoder
from hicorex.layer.batches import FadingSums
from hicorex.layer.race import Best, Run
from hicorex.layer.search import Stage
from hicorex.layer.state import State
from hicorex.layer.stream import Stream
from hicorex.marginals import categorical, gaussian
from hicorex.marginals.base import Questions
from hicorex.marginals.joint import Joint
from hicorex.selection.sizing import Sizing
from hicorex.selection.stability import LayerStability, Stability
from hicorex.selection.trials import Tried
from hicorex.storage.records import COREX_FIELDS, HIERARCHY_FIELDS, CorexRecord, HierarchyRecord


class Stored(NamedTuple):
    """A class that files may hold: the fields that make up an object, and how it is made of them."""

    cls: type
    fields: tuple[str, ...]
    make: Callable[..., Any]


def _of_fields(cls: Any) -> Stored:
    """A named tuple or a data class, by all of its fields."""
    return Stored(cls, getattr(cls, "_fields", None) or tuple(cls.__dataclass_fields__), cls)


def _sizing(n_factors: int, tried: tuple[Tried, ...], reason: str = "", **compared: Any) -> Sizing:
    """A choice of size. Its reason follows from the sizes tried; early files hold the reason in words, and no gain."""
    sizing = Sizing(n_factors, tried, **compared)
    larger = [size for size in tried if size.n_factors > n_factors]
    if compared or not larger or not sizing.chosen.explains:
        return sizing
    best = max(larger, key=lambda size: size.lower)
    return sizing._replace(larger=best.n_factors, gain=best.lower - sizing.chosen.lower)


def _bounds(no_upper: NoUpper | str | None, **held: Any) -> Bounds:
    """Bounds. Early files say in words why there is no upper bound."""
    return Bounds(no_upper=_of_words(no_upper) if isinstance(no_upper, str) else no_upper, **held)


def _of_words(no_upper: str) -> NoUpper | None:
    if not no_upper:
        return None
    words = re.fullmatch(r"column (.*) (is not discrete|has missing values or categories .*)", no_upper, re.DOTALL)
    if words is None:
        return NoUpper(NoUpperReason.NOT_A_FUNCTION)
    return NoUpper(NoUpperReason.NOT_DISCRETE if words[2] == "is not discrete" else NoUpperReason.GAPS, words[1])


def _no_upper(reason: str, column: str | None) -> NoUpper:
    return NoUpper(NoUpperReason(reason), column)


SCHEMA = ("n_columns", "kinds", "size", "centre", "spread", "informative", "ranks", "categories", "parts")

STORED = {
    "state": _of_fields(State),
    "best": _of_fields(Best),
    "run": _of_fields(Run),
    "stage": _of_fields(Stage),
    "running": _of_fields(FadingSums),
    "stream": _of_fields(Stream),
    "joint": _of_fields(Joint),
    "questions": _of_fields(Questions),
    "categorical": _of_fields(categorical.Parameters),
    "gaussian": _of_fields(gaussian.Parameters),
    "tried": _of_fields(Tried),
    "sizing": Stored(Sizing, ("reason", *Sizing._fields), _sizing),
    "factor bounds": _of_fields(FactorBounds),
    "layer bounds": _of_fields(LayerBounds),
    "no upper": Stored(NoUpper, NoUpper._fields, _no_upper),
    "bounds": Stored(Bounds, tuple(Bounds.__dataclass_fields__), _bounds),
    "pairs": _of_fields(PairDecoder),
    "stability": _of_fields(Stability),
    "layer stability": _of_fields(LayerStability),
    "schema": Stored(Encoder, SCHEMA, Encoder),
    "corex": Stored(CorexRecord, COREX_FIELDS, CorexRecord),
    "hierarchy": Stored(HierarchyRecord, HIERARCHY_FIELDS, HierarchyRecord),
}
