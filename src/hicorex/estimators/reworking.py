"""Models made of others: one layer is changed, and the layers above it are fitted anew to its labels."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.estimators.learning import (
    LayerOptions,
    Learned,
    Sized,
    in_order,
    layer_of,
    learn_sized,
    less_excess,
    seed_of,
    show,
    size_layer,
)
from hicorex.estimators.stack import Stack
from hicorex.estimators.training import Training
from hicorex.exceptions import HicorexError, quietly
from hicorex.fitted.layer import FittedLayer
from hicorex.input.sources import Source
from hicorex.layer.data import Data
from hicorex.layer.held import Held
from hicorex.layer.loop import Fit, fit_layer
from hicorex.layer.notes import Notes
from hicorex.layer.one_pass import run_pass
from hicorex.layer.progress import SILENT
from hicorex.layer.state import State, side_by_side, used_only
from hicorex.layer.structure import RULES, Rule
from hicorex.marginals.base import Questions
from hicorex.selection.significance import without_columns
from hicorex.selection.trials import Size
from hicorex.support.names import factor_name, names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# Names that a message shows.
MOST_SHOWN = 5


class Place(NamedTuple):
    """Where factors are: their layer, 0, 1, ..., and their numbers in it."""

    layer: int
    factors: list[int]


class Bench(NamedTuple):
    """What a layer is changed with: its samples, and how factors are fitted to them."""

    layer: FittedLayer
    data: Data
    engine: Engine
    rule: Rule
    options: LayerOptions
    seed: np.random.SeedSequence

    def fit(self, data: Data, n_factors: int, held: Held | None = None, begin: State | None = None) -> Fit:
        """Factors fitted to some samples, with the states of the layer."""
        options = replace(self.options.of_size(Size(n_factors, self.layer.n_states)), held=held or Held())
        return fit_layer(data, self.rule, self.engine, options, self.seed, begin=begin)

    def alone(self, columns: np.ndarray, n_factors: int) -> State:
        """Factors fitted to some columns (n,) alone."""
        return self.fit(without_columns(self.data, ~columns), n_factors).state

    def as_is(self, state: State) -> Fit:
        """A state that nothing was fitted to."""
        log_z = run_pass(state, self.data, self.engine).log_z
        history = np.array([log_z.sum()])
        return Fit(state, log_z, history, [history], True)

    def taken(self, factors: Sequence[int]) -> State:
        """The state of some factors of the layer."""
        return self.layer.state.take_factors(np.array(factors, int), [Questions() for _ in self.data.blocks])


class Change(NamedTuple):
    """What a layer becomes.

    fit : its new state
    anchors, names : of the new factors, by their number
    ordered : whether free factors are still to be put in order, after those that are held
    held : these
    """

    fit: Fit
    anchors: dict[int, tuple[int, ...]] = {}
    names: dict[int, str] = {}
    ordered: bool = True
    held: Held = Held()


def places_of(model: Any, keys: Any, what: str) -> Place:
    """Where the factors are that are named or, in a model of one layer, numbered; all of one layer."""
    given = [keys] if isinstance(keys, str | Integral) else list(keys)
    if not given:
        raise HicorexError(f"{what} names no factor; give one or more.")
    found = [place_of(model, key) for key in given]
    layers = {k for k, _ in found}
    if len(layers) > 1:
        raise HicorexError(f"{what} names factors of several layers; give those of one.")
    factors = [j for _, j in found]
    if len(set(factors)) < len(factors):
        raise HicorexError(f"{what} names a factor twice; give each once.")
    return Place(layers.pop(), factors)


def place_of(model: Any, key: Any) -> tuple[int, int]:
    """The layer, 0, 1, ..., and the number of one factor."""
    names = names_of(model)[1:]
    if isinstance(key, Integral) and not isinstance(key, bool):
        if len(names) > 1:
            raise HicorexError(
                f"A model of several layers has no factor {key}; give its name, such as {names[0][0]!r}."
            )
        if not 0 <= int(key) < len(names[0]):
            raise HicorexError(
                f"This model has no factor {key}; its factors are numbered from 0 to {len(names[0]) - 1}."
            )
        return 0, int(key)
    numbered = [[factor_name(k, j) for j in range(len(of_layer))] for k, of_layer in enumerate(names, start=1)]
    for known in (names, numbered):
        for k, of_layer in enumerate(known):
            if key in of_layer:
                return k, of_layer.index(key)
    every = [name for of_layer in names for name in of_layer]
    close = get_close_matches(str(key), every, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its factors are {', '.join(every[:MOST_SHOWN])}, ..."
    raise HicorexError(f"This model has no factor {key!r}; {hint}")


def reworked(
    model: Any,
    table: Source,
    training: Training | None,
    k: int,
    change: Callable[[Bench], Change],
) -> Any:
    """A new model in which a layer is changed, evaluated on these samples; the old one stays as it is.

    The layers above are fitted anew, of the sizes that they had, but not larger than the layer below them.
    """
    rule, fitted = RULES[model.structure], model.fitted_
    sample_weight = None if training is None else training.sample_weight
    with quietly(), table.engine(model.n_jobs) as engine:
        stack = Stack()
        for at, layer in enumerate(fitted.layers):
            below = stack.labels(engine) if at else table
            options = _options(model, layer, at)
            if at > k:
                stack.add(_anew(layer, below, sample_weight, options, engine), engine)
            else:
                data = layer.encode(below, engine, sample_weight, dtype=None)
                bench = Bench(layer, data, engine, rule, options, seed_of(model.random_state))
                stack.add(_changed(bench, change(bench), below) if at == k else _as_it_was(bench), engine)
            if stack.learned[-1].layer.n_factors == 1:
                break
        told = stack.told_of(fitted, engine)
    return model.of_fitted(told, training)


def _options(model: "LayeredEstimator", layer: FittedLayer, at: int) -> LayerOptions:
    """How a layer of this size is learned."""
    return LayerOptions(
        n_factors=layer.n_factors,
        n_states=layer.n_states,
        marginals="categorical",
        structure=model.structure,
        n_init=model.n_init,
        max_iter=model.max_iter,
        tol=model.tol,
        batch_size=model.batch_size,
        random_state=model.random_state,
        parsimony=model.parsimony,
        number=at + 1,
    )


def _as_it_was(bench: Bench) -> Learned:
    """A layer below the one that is changed."""
    return Learned(bench.layer, bench.data, show(bench.layer.state, bench.data, bench.engine).evaluator)


def _anew(
    layer: FittedLayer, below: Source, sample_weight: np.ndarray | None, options: LayerOptions, engine: Engine
) -> Learned:
    """A layer above, fitted to the labels of the one below it."""
    options = options._replace(n_factors=min(layer.n_factors, below.shape[1]))
    notes = Notes()
    sized = size_layer(below, sample_weight, options, engine, notes, SILENT)
    return learn_sized(sized, below.column_name, options, engine, notes, SILENT)


def _changed(bench: Bench, change: Change, below: Source) -> Learned:
    """The layer that is changed, with its links put to the test."""
    data, engine, size = bench.data, bench.engine, Size(change.fit.state.n_factors, bench.layer.n_states)
    if change.ordered:
        shown = show(change.fit.state, data, engine)
        shown, tcs = less_excess(
            shown, used_only(shown.evaluator.log_z), data, engine, Held(change.anchors), bench.rule
        )
    else:
        shown, tcs = in_order(change.fit, data, engine, False, change.held, bench.rule)
    held = Held(change.anchors)
    options = bench.options._replace(n_factors=size.n_factors, held=held, factor_names=change.names)
    sized = Sized(bench.layer.encoder, data, bench.seed, size, None, None)
    layer = layer_of(sized, change.fit, shown, tcs, below.column_name, options, engine)
    return Learned(layer, data, shown.evaluator)


def without(bench: Bench, factors: list[int]) -> Change:
    """The layer without some factors; the others stay as they are."""
    kept = [j for j in range(bench.layer.n_factors) if j not in factors]
    return _renumbered(bench, bench.as_is(bench.taken(kept)), list(kept))


def merged(bench: Bench, factors: list[int], name: str | None) -> Change:
    """The layer with one factor in the place of several, fitted to the variables of all of them."""
    columns: np.ndarray = np.any(bench.layer.alpha[:, factors] > 0, axis=1)
    place = min(factors)
    old: list[int | None] = [j for j in range(bench.layer.n_factors) if j not in factors or j == place]
    at = old.index(place)
    old[at] = None
    anchors = [bench.layer.anchors[j] for j in factors if j in bench.layer.anchors]
    mine = {at: tuple(dict.fromkeys(i for of in anchors for i in of))} if anchors else {}
    fit = _beside(bench, bench.alone(columns, 1), old, mine)
    return _renumbered(bench, fit, old, mine, {} if name is None else {at: name})


def split(bench: Bench, factor: int, names: Sequence[str] | None, called: str) -> Change:
    """The layer with two factors in the place of one, fitted to its variables."""
    columns = np.asarray(bench.layer.alpha[:, factor] > 0)
    if columns.sum() < 2:
        raise HicorexError(f"{called} has {int(columns.sum())} variables, which cannot be split; split another factor.")
    old: list[int | None] = [*range(factor), None, None, *range(factor + 1, bench.layer.n_factors)]
    two = bench.alone(columns, 2)
    mine = _shared_out(bench, two, factor)
    fit = _beside(bench, two, old, mine)
    if (fit.log_z[[factor, factor + 1]] <= 0).any() or (used_only(fit.log_z)[[factor, factor + 1]] == 0).any():
        raise HicorexError(
            f"{called} does not split: one factor tells as much of its variables as two; leave it whole."
        )
    given = {} if names is None else dict(zip((factor, factor + 1), names, strict=True))
    return _renumbered(bench, fit, old, mine, given)


def frozen(bench: Bench, factors: list[int]) -> Change:
    """The layer with some factors as they are, and the others fitted anew."""
    layer = bench.layer
    free = {j: columns for j, columns in layer.anchors.items() if j not in factors}
    held = Held(free, {j: bench.taken([j]) for j in factors})
    fit = bench.fit(bench.data, layer.n_factors, held)
    names = {j: name for j, name in layer.factor_names.items() if j in factors or j in free}
    return Change(fit, dict(layer.anchors), names, ordered=False, held=held)


def _beside(bench: Bench, new: State, old: list[int | None], anchors: dict[int, tuple[int, ...]]) -> Fit:
    """New factors in the places where ``old`` has none, fitted beside those that stay as they are."""
    state = bench.layer.state
    both = side_by_side([bench.taken(range(state.n_factors)), new], n_starts=1)
    of_new = iter(range(state.n_factors, both.n_factors))
    order = np.array([next(of_new) if j is None else j for j in old])
    begin = both.take_factors(order, [Questions() for _ in bench.data.blocks])
    held = Held(anchors, {at: bench.taken([j]) for at, j in enumerate(old) if j is not None})
    return bench.fit(bench.data, len(old), held, begin)


def _shared_out(bench: Bench, two: State, factor: int) -> dict[int, tuple[int, ...]]:
    """The anchors of a factor, each with the one of its two parts that knows more of it."""
    known = bench.data.to_table(
        [block.dependence(p, two.prior) for block, p in zip(bench.data.blocks, two.parameters, strict=True)]
    )
    anchors = bench.layer.anchors.get(factor, ())
    parts = {factor + s: tuple(i for i in anchors if known[:, i].argmax() == s) for s in (0, 1)}
    return {j: columns for j, columns in parts.items() if columns}


def _renumbered(
    bench: Bench,
    fit: Fit,
    old: list[int | None],
    anchors: dict[int, tuple[int, ...]] | None = None,
    names: dict[int, str] | None = None,
) -> Change:
    """A change in which factors that were there keep their anchors and names under their new numbers."""
    layer = bench.layer
    kept_anchors = {at: layer.anchors[j] for at, j in enumerate(old) if j is not None and j in layer.anchors}
    kept_names = {at: layer.factor_names[j] for at, j in enumerate(old) if j is not None and j in layer.factor_names}
    return Change(fit, kept_anchors | (anchors or {}), kept_names | (names or {}))
