"""The steps of a fit that have no public name: all that benchmarks know of the inside of hicorex."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hicorex.engine import LocalEngine
from hicorex.input.encoder import Encoder
from hicorex.input.files import read_table
from hicorex.input.sources import source_of
from hicorex.layer.one_pass import run_pass
from hicorex.layer.starts import primed_starts
from hicorex.layer.step import update
from hicorex.layer.structure import RULES

__all__ = ["RULES", "LocalEngine", "encode", "iterate", "pass_over", "read_table", "smoothed", "source_of", "traffic"]


def encode(table: Any, engine: Any) -> Any:
    """The samples of a table as a fit sees them."""
    return Encoder.learn(table, "auto", None, engine).encode(table, None, engine)[0]


def iterate(state: Any, data: Any, structure: str, engine: Any) -> Any:
    """One iteration of the loop."""
    return update(state, run_pass(state, data, engine), data.blocks, RULES[structure], engine)[0]


def settled(data: Any, n_factors: int, n_starts: int, structure: str, engine: Any) -> Any:
    """The state of several starts after six iterations."""
    state = primed_starts(data, n_factors, 2, n_starts, engine)
    for _ in range(6):
        state = iterate(state, data, structure, engine)
    return state


def pass_over(data: Any, n_factors: int, n_starts: int, engine: Any) -> Callable[[], Any]:
    """A pass over the samples, as in the middle of a fit."""
    state = settled(data, n_factors, n_starts, "unique", engine)
    return lambda: run_pass(state, data, engine)


def traffic(one_pass: Callable[[], Any], engine: Any) -> list[int]:
    """Bytes of the function that a pass maps over parts, and of its sums."""
    import pickle

    import cloudpickle

    sizes: list[int] = []
    add = engine.sum

    def weigh(function: Callable, parts: Any) -> Any:
        sums = add(function, parts)
        sizes.extend((len(cloudpickle.dumps(function)), len(pickle.dumps(sums))))
        return sums

    engine.sum = weigh
    try:
        one_pass()
    finally:
        del engine.sum
    return sizes[:2]


@contextmanager
def smoothed(strength: float) -> Iterator[None]:
    """Fits that give every state another number of samples of a column's marginal."""
    modules = [module for name, module in sys.modules.items() if name.startswith("hicorex.")]
    modules = [module for module in modules if hasattr(module, "PRIOR_SAMPLES")]
    before = [module.PRIOR_SAMPLES for module in modules]
    try:
        for module in modules:
            module.PRIOR_SAMPLES = strength
        yield
    finally:
        for module, value in zip(modules, before, strict=True):
            module.PRIOR_SAMPLES = value
