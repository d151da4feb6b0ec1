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
from hicorex.layer.race import PACE
from hicorex.layer.starts import primed_starts
from hicorex.layer.step import update
from hicorex.layer.structure import RULES
from hicorex.selection.likeness import likeness
from hicorex.selection.significance import LEVEL, q_values
from hicorex.selection.stability import STABLE

__all__ = [
    "LEVEL",
    "RULES",
    "STABLE",
    "LocalEngine",
    "encode",
    "iterate",
    "likeness",
    "pass_over",
    "q_values",
    "race_to_the_end",
    "read_table",
    "smoothed",
    "source_of",
    "traffic",
]


def encode(table: Any, engine: Any, marginals: str = "auto") -> Any:
    """The samples of a table as a fit sees them."""
    encoder = Encoder.learn(table, marginals, None, engine)
    return encoder.encode(table, None, engine, gaps=encoder.gaps)[0]


def race_to_the_end(data: Any, n_factors: int, n_states: int, first: int, n_starts: int, engine: Any) -> float:
    """The best objective of starts that are primed by variables, all run until they grow no more."""
    state, rule = primed_starts(data, n_factors, n_states, n_starts, engine, first), RULES["unique"]
    histories: list[list[float]] = [[] for _ in range(n_starts)]
    for _ in range(400):
        sums = run_pass(state, data, engine)
        state, excess = update(state, sums, data.blocks, rule, engine)
        objective = (sums.log_z - excess).reshape(n_starts, -1).sum(axis=1)
        for history, value in zip(histories, objective.tolist(), strict=True):
            history.append(value)
        if all(PACE.finished(history, 1e-5) for history in histories):
            break
    return max(max(history[2:]) for history in histories)


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
