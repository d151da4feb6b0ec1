"""A stack of layers on its way: each is learned from the labels of the one below."""

from dataclasses import replace

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.evidence import Evidence, StackedLayer, gather
from hicorex.engine import Engine
from hicorex.estimators.learning import Learned
from hicorex.fitted.layer import FittedLayer
from hicorex.fitted.model import FittedModel, StopReason
from hicorex.fitted.surprise import Usual
from hicorex.input.sources import Source
from hicorex.selection.sizing import Sizing


class Stack:
    """The layers learned so far, each from the labels of the one below, and what evaluates their samples."""

    def __init__(self) -> None:
        self.learned: list[Learned] = []
        self.stacked: list[StackedLayer] = []

    @property
    def layers(self) -> tuple[FittedLayer, ...]:
        """The layers, from the bottom up."""
        return tuple(learned.layer for learned in self.learned)

    def labels(self, engine: Engine) -> Source:
        """The most likely labels of the top layer: the table of the next one."""
        top = self.learned[-1]
        return top.layer.label_table(top.data, engine)

    def add(self, learned: Learned, engine: Engine) -> None:
        """Put a layer on top; the one below feeds it."""
        if self.learned:
            below, evaluator = self.learned[-1].feeding(engine)
            self.learned[-1] = self.learned[-1]._replace(layer=below)
            self.stacked[-1] = self.stacked[-1]._replace(feeding=evaluator)
        read = learned.layer.encoder.encode_labels if self.learned else None
        self.stacked.append(StackedLayer(learned.evaluator, read=read))
        self.learned.append(learned)

    def against(self, sizing: Sizing | None) -> StopReason | None:
        """Why a layer whose size was chosen is not worth its place on top; None if it is.

        A layer that feeds another one explains by its most likely states alone. All layers together must explain more
        of held-out samples than the first one does alone.
        """
        if sizing is None or not sizing.chosen.explains:
            return StopReason.NOTHING_MORE
        sizings = [layer.sizing for layer in self.layers[1:] if layer.sizing]
        gained = sum(each.chosen.lower for each in (*sizings, sizing))
        lost = sum(layer.sizing.chosen.lost or 0.0 for layer in self.layers if layer.sizing)
        return StopReason.ADDS_NOTHING if gained <= lost else None

    def drop(self, depth: int) -> None:
        """Keep the layers up to this depth alone; the top one then feeds nothing."""
        self.learned, self.stacked = self.learned[:depth], self.stacked[:depth]
        top = self.learned[-1]
        self.learned[-1] = top._replace(layer=replace(top.layer, feeding_joints=None))
        self.stacked[-1] = self.stacked[-1]._replace(feeding=None)

    def evidence(self, model: FittedModel, engine: Engine) -> Evidence:
        """What the layers say about the samples; ``model`` knows the names of the columns."""
        return gather(self.learned[0].data, self.stacked, engine, name=model.column_name)

    def told_of(self, model: FittedModel, engine: Engine) -> FittedModel:
        """A model with these layers in the place of its own; what was measured of those is forgotten."""
        evidence = self.evidence(model, engine)
        return replace(
            model,
            layers=self.layers,
            bounds=bounds_of([evidence]),
            usual=Usual.of(evidence),
            next_sizing=None,
            cross_fitted=None,
            stability=None,
            pairs=None,
        )
