"""A layer that learns from one batch after another, as they come."""

from typing import Any, NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.batches import FadingSums
from hicorex.layer.data import Data
from hicorex.layer.loop import State, run_batch, update


class Stream(NamedTuple):
    """What the next update of a layer follows from: its state, with what it asks, and sums over the batches so far."""

    state: State
    sums: FadingSums | None


def advance(stream: Stream, batch: Data, rule: Any, engine: Engine) -> tuple[Stream, np.ndarray]:
    """One update by one more batch; also mean log Z_j of its samples before it, (m,)."""
    found, sums = run_batch(stream.state, batch, stream.sums, engine)
    state, _ = update(stream.state, found, sums.blocks(batch), rule, engine)
    return Stream(state, sums), found.log_z
