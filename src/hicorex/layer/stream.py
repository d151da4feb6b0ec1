"""A layer that learns from one batch after another, as they come."""

from typing import NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.batches import FadingSums
from hicorex.layer.data import Data
from hicorex.layer.passes import run_batch
from hicorex.layer.state import State
from hicorex.layer.step import update
from hicorex.layer.structure import Rule


class Stream(NamedTuple):
    """What the next update of a layer follows from: its state, with what it asks, and sums over the batches so far."""

    state: State
    sums: FadingSums | None


def advance(stream: Stream, batch: Data, rule: Rule, engine: Engine) -> tuple[Stream, np.ndarray]:
    """One update by one more batch; also mean log Z_j of its samples before it, (m,)."""
    sums, fading = run_batch(stream.state, batch, stream.sums, engine)
    state, _ = update(stream.state, sums, fading.blocks(batch), rule, engine)
    return Stream(state, fading), sums.log_z
