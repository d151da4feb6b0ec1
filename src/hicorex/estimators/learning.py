"""Learning one layer from a table, or from one more batch of a stream: samples and options in, a FittedLayer out."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.entropy import marginal_surprisals
from hicorex.bounds.evaluation import LayerEvaluator, links_of
from hicorex.bounds.evidence import StackedLayer, gather
from hicorex.engine import Engine
from hicorex.exceptions import HicorexError, warn_caller
from hicorex.fitted.layer import FittedLayer
from hicorex.fitted.surprise import Usual
from hicorex.input.encoder import Encoder, label_data
from hicorex.input.sources import Source
from hicorex.layer.data import Data
from hicorex.layer.directions import asking
from hicorex.layer.held import NOTHING_HELD, Held
from hicorex.layer.labels import harden
from hicorex.layer.loop import Fit, fit_layer
from hicorex.layer.notes import Notes
from hicorex.layer.one_pass import run_pass
from hicorex.layer.options import FitOptions
from hicorex.layer.progress import Progress
from hicorex.layer.state import State, all_information, clear, used_only
from hicorex.layer.step import update
from hicorex.layer.stream import Stream, advance
from hicorex.layer.structure import RULES, Rule, beyond_chance
from hicorex.marginals.base import Questions
from hicorex.selection.significance import LEVEL, Links, held_out_probabilities, link_probabilities, q_values
from hicorex.selection.sizing import STATES, Search, Sizing
from hicorex.selection.trials import Size, Trials

# How much a factor may exceed the one before it, as a part of the largest total correlation, by rounding.
ROUNDING = 1e-6


class LayerOptions(NamedTuple):
    """How a layer is learned; see ``Corex``.

    number : from 1, which one of several layers it is
    held : the factors that have a place of their own
    factor_names : by the number of a factor, the name that it was given
    """

    n_factors: int | Literal["auto"]
    n_states: int | Literal["auto"]
    marginals: Any
    structure: str
    n_init: int | Literal["auto"]
    max_iter: int
    tol: float
    batch_size: int | None
    random_state: Any
    parsimony: float
    number: int | None = None
    held: Held = NOTHING_HELD
    factor_names: Mapping[int, str] = {}

    @property
    def reads_labels(self) -> bool:
        """Whether its table is the labels of a layer below."""
        return self.number is not None and self.number > 1

    @property
    def is_sized(self) -> bool:
        """Whether the size is to be chosen, or a part of it."""
        return "auto" in (self.n_factors, self.n_states)

    def of_size(self, size: Size) -> FitOptions:
        """How a layer of a size is fitted."""
        return FitOptions(*size, self.n_init, self.max_iter, self.tol, self.batch_size, held=self.held)


class Learned(NamedTuple):
    """A layer that was learned, its samples as they were read, and what evaluates them."""

    layer: FittedLayer
    data: Data
    evaluator: LayerEvaluator

    def feeding(self, engine: Engine) -> tuple[FittedLayer, LayerEvaluator]:
        """The layer with its joints for a layer above, and what evaluates its samples by the most likely labels."""
        evaluator = LayerEvaluator.of(self.layer.state, self.layer.links, self.data, engine, relabel=harden)
        return replace(self.layer, feeding_joints=evaluator.smoothed), evaluator


class StillGrowingWarning(ConvergenceWarning):
    """A fit of a layer that max_iter stopped; ``on_command_line`` says the same by the option that there is."""

    def __init__(self, layer: int | None, max_iter: int):
        super().__init__(layer, max_iter)

    def __str__(self) -> str:
        return f"{self._words}, its max_iter; give a larger max_iter= or tol=."

    @property
    def on_command_line(self) -> str:
        """What it says to those who gave options."""
        return f"{self._words}; give a larger --max-iter."

    @property
    def _words(self) -> str:
        layer, max_iter = self.args
        return f"The objective{'' if layer is None else f' of layer {layer}'} still grew after {max_iter} iterations"


class Shown(NamedTuple):
    """What follows from a state and samples alone."""

    state: State
    links: list[np.ndarray]
    evaluator: LayerEvaluator
    alpha: np.ndarray
    mutual_information: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        """What each link counts, alpha x mutual information, (n, m)."""
        return self.alpha * self.mutual_information

    def clusters(self, link_pvalues: np.ndarray) -> np.ndarray:
        """The factor that each variable belongs to most, -1 where all of its links (n, m) may be chance, (n,)."""
        linked = (q_values(link_pvalues) <= LEVEL).any(axis=1) & self.alpha.any(axis=1)
        return np.where(linked, self.weight.argmax(axis=1), -1)


def seed_of(random_state: Any, begun: int | None = None) -> np.random.SeedSequence:
    """The seed of a fit. Without a random_state it is ``begun``, that of the fit to go on with, or a fresh one."""
    # None draws fresh entropy, so that numpy's global generator is left alone.
    drawn = begun if random_state is None else check_random_state(random_state).randint(2**31 - 1)
    return np.random.SeedSequence(drawn)


class Sized(NamedTuple):
    """A table as its layer reads it, and the size of the layer.

    seed : of the fit
    sizing : None if the size was given
    noted : the layer, if notes of an earlier fit hold it
    """

    encoder: Encoder
    data: Data
    seed: np.random.SeedSequence
    size: Size
    sizing: Sizing | None
    noted: FittedLayer | None


def learn_layer(
    table: Source,
    sample_weight: np.ndarray | None,
    options: LayerOptions,
    engine: Engine,
    notes: Notes,
    progress: Progress,
) -> Learned:
    """Learn a layer from samples, or go on from the notes of an earlier fit."""
    sized = size_layer(table, sample_weight, options, engine, notes, progress)
    return learn_sized(sized, table.column_name, options, engine, notes, progress)


def size_layer(
    table: Source,
    sample_weight: np.ndarray | None,
    options: LayerOptions,
    engine: Engine,
    notes: Notes,
    progress: Progress,
) -> Sized:
    """Read the samples, and choose the size of their layer if it is not given."""
    encoder = Encoder.learn(table, options.marginals, sample_weight, engine)
    data, _ = encoder.encode(table, sample_weight, engine, gaps=encoder.gaps)
    if notes.kept:
        notes.check("data", encoder.fingerprint(table.names, data, engine))
    seed = seed_of(options.random_state, notes.recall("random_state"))
    notes.check("random_state", seed.entropy)
    check_anchors(options.held, options.factor_names, data, table.column_name)
    noted = notes.recall_layer(encoder)
    if noted is not None:
        return Sized(encoder, data, seed, Size(noted.n_factors, noted.n_states), noted.sizing, noted)
    sizing = _choose_size(data, options, engine, notes, progress) if options.is_sized else None
    return Sized(encoder, data, seed, _size_of(options) if sizing is None else sizing.size, sizing, None)


def learn_sized(
    sized: Sized,
    column_name: Callable[[int], str],
    options: LayerOptions,
    engine: Engine,
    notes: Notes,
    progress: Progress,
) -> Learned:
    """Learn a layer whose size is known."""
    _, data, seed, size, _, noted = sized
    if noted is not None:
        return Learned(noted, data, LayerEvaluator.of(noted.state, noted.links, data, engine))
    fit = _fit(data, options, size, engine, seed, notes, progress)
    shown, tcs = in_order(fit, data, engine, options.n_factors == "auto", options.held, RULES[options.structure])
    layer = layer_of(sized, fit, shown, tcs, column_name, options, engine)
    notes.conclude_layer(layer)
    return Learned(layer, data, shown.evaluator)


def layer_of(
    sized: Sized,
    fit: Fit,
    shown: Shown,
    tcs: np.ndarray,
    column_name: Callable[[int], str],
    options: LayerOptions,
    engine: Engine,
) -> FittedLayer:
    """The layer of a fit, with its links put to the test, and its bounds."""
    encoder, data, seed, _, sizing, _ = sized
    # Empty factors at the end would only make the fits to halves harder.
    n_used = max(1, options.held.anchored.least_factors, 1 + int(np.flatnonzero(tcs).max(initial=0)))
    links = Links(shown.state, min(n_used, tcs.size), shown.weight, options.held.anchored)
    link_pvalues = link_probabilities(links, data, RULES[options.structure], engine, seed)
    evidence = gather(data, [StackedLayer(shown.evaluator)], engine, name=column_name)
    return FittedLayer(
        encoder=encoder,
        state=shown.state,
        links=shown.links,
        joints=shown.evaluator.smoothed,
        surprisals=marginal_surprisals(data),
        usual=Usual.of(evidence),
        bounds=bounds_of([evidence]),
        alpha=shown.alpha,
        mutual_information=shown.mutual_information,
        tcs=tcs,
        link_pvalues=link_pvalues,
        clusters=shown.clusters(link_pvalues),
        history=fit.history,
        histories=fit.histories,
        reads_labels=options.reads_labels,
        sizing=sizing,
        anchors=dict(options.held.anchors),
        factor_names=dict(options.factor_names),
    )


def learn_more(
    layer: FittedLayer, table: Source, sample_weight: np.ndarray | None, structure: str, engine: Engine
) -> Learned:
    """Learn from one more batch of a stream. The first batch after a fit only makes the layer ready for others."""
    anywhere = np.ones(table.shape[1], bool)  # any column may lack values, now or later
    data, unseen = layer.encoder.encode(table, sample_weight, engine, dtype=np.float32, gaps=anywhere)
    rule = Held(layer.anchors).seen_in(data).rule(RULES[structure], data, layer.n_factors)
    if layer.stream is None:
        # The first update only asks what the next one needs.
        stream, _ = advance(Stream(layer.state, None), data, rule, engine)
        return Learned(replace(layer, stream=stream), data, LayerEvaluator.of(layer.state, layer.links, data, engine))
    layer.warn_of(unseen)
    # The samples are new to the factors, so that links may be tested on them as they are.
    link_pvalues = data.to_table(held_out_probabilities(layer.stream.state, data, engine)).T
    stream, log_z = advance(layer.stream, data, rule, engine)
    shown = show(stream.state, data, engine)
    history = np.append(layer.history, log_z.sum())
    layer = replace(
        layer,
        state=shown.state,
        links=shown.links,
        joints=shown.evaluator.smoothed,
        feeding_joints=None,
        alpha=shown.alpha,
        mutual_information=shown.mutual_information,
        tcs=used_only(shown.evaluator.log_z),
        link_pvalues=link_pvalues,
        clusters=shown.clusters(link_pvalues),
        history=history,
        histories=[history if np.array_equal(of_start, layer.history) else of_start for of_start in layer.histories],
        stream=stream,
    )
    return Learned(layer, data, shown.evaluator)


def check_anchors(held: Held, names: Mapping[int, str], data: Data, column_name: Callable[[int], str]) -> None:
    """Refuse factors whose anchors do not vary: nothing can begin with them."""
    for j in sorted(set(held.anchors) - set(held.seen_in(data).anchors)):
        columns = ", ".join(column_name(i) for i in held.anchors[j])
        raise HicorexError(
            f"The anchors of factor {names.get(j, j)!r} do not vary in these samples: column {columns}; "
            "give another variable."
        )


def _choose_size(
    data: Data,
    options: LayerOptions,
    engine: Engine,
    notes: Notes,
    progress: Progress,
) -> Sizing:
    """The size that held-out samples ask for."""
    least = options.held.least_factors
    trials = Trials(data, RULES[options.structure], engine, options.of_size(Size(least, 2)), label_data, notes)
    given = options.n_factors != "auto"
    factors = int(options.n_factors) if given else max(least, data.n_columns // 2)
    states = STATES if options.n_states == "auto" else (int(options.n_states),)
    return Search(trials, factors, given, states, options.parsimony, progress, least).choose()


def _size_of(options: LayerOptions) -> Size:
    """The size that was asked for."""
    return Size(int(options.n_factors), int(options.n_states))


def _fit(
    data: Data,
    options: LayerOptions,
    size: Size,
    engine: Engine,
    seed: np.random.SeedSequence,
    notes: Notes,
    progress: Progress,
) -> Fit:
    """Fit the factors to all samples, or go on with the run in the notes."""
    fit = fit_layer(data, RULES[options.structure], engine, options.of_size(size), seed, progress, notes)
    progress.layer_done()
    if not fit.converged:
        warn_caller(StillGrowingWarning(options.number, options.max_iter))
    return fit


def in_order(
    fit: Fit, data: Data, engine: Engine, drop_empty: bool, held: Held = NOTHING_HELD, rule: Rule = RULES["unique"]
) -> tuple[Shown, np.ndarray]:
    """The best state with its factors sorted by what they explain, most first, and how much each explains, (m,).

    Factors that are held keep their places, and what their alpha by ``rule`` counts twice is not explained.
    """
    state, log_z = fit.state, fit.log_z
    while True:
        explains = np.where(beyond_chance(log_z, state, data), used_only(log_z), 0)
        order = _order(explains, held.places, drop_empty)
        state = state.take_factors(order, [Questions() for _ in data.blocks])
        unused = explains[order] == 0
        unused[held.places] = False
        for factor in np.flatnonzero(unused):
            clear(state, data.blocks, int(factor))
        shown = show(state, data, engine)
        log_z, tcs = shown.evaluator.log_z, used_only(shown.evaluator.log_z)
        free = np.delete(tcs, held.places)
        # After batches the last update may have changed the order.
        if (np.diff(free) <= ROUNDING * free.max(initial=0)).all():
            break
    tcs[np.setdiff1d(np.arange(tcs.size), held.places)] = np.minimum.accumulate(free)
    return less_excess(shown, tcs, data, engine, held, rule) if held else (shown, tcs)


def less_excess(
    shown: Shown, tcs: np.ndarray, data: Data, engine: Engine, held: Held, rule: Rule
) -> tuple[Shown, np.ndarray]:
    """The same with what log Z_j count twice by the rule taken off what factors explain, (m,)."""
    excess = excess_of(shown.state, data, held.seen_in(data).rule(rule, data, tcs.size), engine)
    return show(shown.state, data, engine, float(excess.sum())), _without_excess(tcs, excess)


def _without_excess(tcs: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """What factors explain less what they count twice, (m,); what one counts beyond all of its own the others pay."""
    left = tcs - excess
    gained = np.maximum(left, 0)
    return gained * max(0.0, left.sum() / max(gained.sum(), 1e-12))


def _order(explains: np.ndarray, places: list[int], drop_empty: bool) -> np.ndarray:
    """The factors in a new order: those at ``places`` stay, the others follow by what they explain, most first.

    A size that was chosen leaves none of the others empty, unless one is needed before a factor that stays.
    """
    order = np.argsort(-explains, kind="stable")
    free = order[~np.isin(order, places)].tolist()
    n_used = int(np.count_nonzero(explains[free]))
    least = max(1, 1 + max(places, default=0))
    size = max(least, len(places) + n_used) if drop_empty else explains.size
    return np.array([j if j in places else free.pop(0) for j in range(size)])


def excess_of(state: State, data: Data, rule: Rule, engine: Engine) -> np.ndarray:
    """What the log Z_j of a state count twice by a rule, (m,)."""
    asked = asking(state, data, rule)
    return update(asked, run_pass(asked, data, engine), data.blocks, rule, engine)[1]


def show(state: State, data: Data, engine: Engine, excess: float = 0.0) -> Shown:
    """What follows from a state and samples alone; ``excess`` is what its log Z_j count twice."""
    state = replace(state, questions=[Questions() for _ in data.blocks])
    links = links_of(state, data)
    return Shown(
        state,
        links,
        replace(LayerEvaluator.of(state, links, data, engine), excess=excess),
        data.to_table(state.alpha).T,
        data.to_table(all_information(state, data)).T,
    )
