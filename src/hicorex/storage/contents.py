"""What files hold: classes by names that stay, and the fields that make up an object of each."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hicorex.bounds.result import Bounds, FactorBounds, LayerBounds
from hicorex.input.encoder import Encoder
from hicorex.layer.batches import FadingSums
from hicorex.layer.race import Best, Run
from hicorex.layer.state import State
from hicorex.layer.stream import Stream
from hicorex.marginals import categorical, gaussian
from hicorex.marginals.base import Joint, Questions
from hicorex.selection.sizing import Sizing, Tried


class Stored(NamedTuple):
    """A class that files may hold: the fields that make up an object, and how it is made of them."""

    cls: type
    fields: tuple[str, ...]
    make: Callable[..., Any]


def _of_fields(cls: Any) -> Stored:
    """A named tuple or a data class, by all of its fields."""
    return Stored(cls, getattr(cls, "_fields", None) or tuple(cls.__dataclass_fields__), cls)


SCHEMA = ("n_columns", "kinds", "size", "centre", "spread", "informative", "ranks", "categories", "parts")

STORED = {
    "state": _of_fields(State),
    "best": _of_fields(Best),
    "run": _of_fields(Run),
    "running": _of_fields(FadingSums),
    "stream": _of_fields(Stream),
    "joint": _of_fields(Joint),
    "questions": _of_fields(Questions),
    "categorical": _of_fields(categorical.Parameters),
    "gaussian": _of_fields(gaussian.Parameters),
    "tried": _of_fields(Tried),
    "sizing": _of_fields(Sizing),
    "factor bounds": _of_fields(FactorBounds),
    "layer bounds": _of_fields(LayerBounds),
    "bounds": _of_fields(Bounds),
    "schema": Stored(Encoder, SCHEMA, Encoder),
}
