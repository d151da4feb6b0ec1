"""Models of given sizes fitted anew to some of the samples, quickly: what cross-fitting and stability are made of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.entropy import marginal_surprisals
from hicorex.bounds.evaluation import LayerEvaluator
from hicorex.bounds.evidence import Evidence, StackedLayer, gather
from hicorex.bounds.pairs.decoder import PairEvaluator
from hicorex.bounds.pairs.learning import learn_pairs
from hicorex.engine import Engine
from hicorex.estimators.learning import Shown, in_order
from hicorex.input.encoder import Encoder, label_data
from hicorex.layer.data import Data
from hicorex.layer.held import Held
from hicorex.layer.labels import harden, labels_by
from hicorex.layer.loop import fit_layer
from hicorex.layer.options import FitOptions
from hicorex.layer.structure import RULES, Rule
from hicorex.selection.trials import Size, places_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# The search is the same for every seed.
SEED = np.random.SeedSequence(0)
# Six starts that are not run to the end explain as much of held-out samples as a whole fit within some 2%.
N_STARTS, TOL = 6, 1e-3


class Refitted(NamedTuple):
    """A layer that was fitted anew: what it learned, the samples that it learned from, and others as it reads them."""

    shown: Shown
    training: Data
    others: Data


@dataclass(frozen=True)
class Refitter:
    """Fits stacks of layers of some sizes from a few starts, without rounds that improve the best one.

    rule : of the structure
    sizes : of the layers, from the bottom up
    max_iter, tol, n_starts : of each fit; fewer starts of many factors
    held : of each layer, the factors that are anchored
    """

    rule: Rule
    sizes: Sequence[Size]
    max_iter: int
    tol: float
    n_starts: int
    held: Sequence[Held]

    @classmethod
    def of(cls, model: "LayeredEstimator") -> Self:
        """Fits stacks of the sizes of a model, by its rule."""
        sizes = tuple(Size(layer.n_factors, layer.n_states) for layer in model.fitted_.layers)
        most = N_STARTS if model.n_init == "auto" else min(N_STARTS, int(model.n_init))
        held = [Held(layer.anchors) for layer in model.fitted_.layers]
        return cls(RULES[model.structure], sizes, model.max_iter, max(model.tol, TOL), most, held)

    def layers(self, training: Data, others: Data, engine: Engine) -> Iterator[Refitted]:
        """Fit the layers to samples in memory, from the bottom up, and read other samples by them."""
        for k, (size, held) in enumerate(zip(self.sizes, self.held, strict=True), start=1):
            options = FitOptions(*size, "auto", self.max_iter, self.tol, improve=False, held=held)
            options = replace(
                options, n_starts=min(self.n_starts, options.starts(training.n_samples, training.n_columns))
            )
            fit = fit_layer(training, self.rule, engine, options, SEED)
            shown, _ = in_order(fit, training, engine, False, held, self.rule)
            yield Refitted(shown, training, others)
            if k < len(self.sizes):
                training, others = (
                    label_data(labels_by(shown.state, data, engine), size.n_states, data.sample_weight, engine)
                    for data in (training, others)
                )

    def evidence(
        self,
        training: Data,
        held_out: Data,
        engine: Engine,
        name: Callable[[int], str] = str,
        factors: bool | None = None,
    ) -> tuple[Evidence, bool]:
        """What a stack fitted to some samples says about others; it counts as many layers as for its own samples.

        ``factors`` says whether factors decode beside pairs of variables, where that is known; it is returned, too.
        """
        seen, new = list[StackedLayer](), list[StackedLayer]()
        read, links = None, list[np.ndarray]()
        for size, (shown, own, others) in zip(self.sizes, self.layers(training, held_out, engine), strict=True):
            soft = LayerEvaluator.of(shown.state, shown.links, others, engine, shown.evaluator.smoothed)
            soft = replace(soft, excess=shown.evaluator.excess)
            feeding, feeding_new = None, None
            if len(seen) + 1 < len(self.sizes):
                feeding = LayerEvaluator.of(shown.state, shown.links, own, engine, relabel=harden)
                feeding_new = LayerEvaluator.of(shown.state, shown.links, others, engine, feeding.smoothed, harden)
            links = links or shown.links
            seen.append(StackedLayer(shown.evaluator, feeding, read))
            new.append(StackedLayer(soft, feeding_new, read))
            read = Encoder.of_labels(*size).encode_labels
        in_sample = bounds_of([gather(training, seen, engine)])
        decoder = learn_pairs(
            training, seen[0].counted(in_sample.depth), links, in_sample.lower, places_of(training), engine, factors
        )
        counted = new[0].counted(in_sample.depth)
        pairs = PairEvaluator.of(decoder, counted, links, in_sample.depth, held_out, engine, new=True)
        evidence = gather(held_out, new, engine, marginal_surprisals(training), in_sample.depth, name, pairs)
        return evidence, decoder.factors
