"""What a fit notes on its way, so that one that was stopped can go on where it was."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.layer.options import FitOptions
from hicorex.marginals.base import Block

if TYPE_CHECKING:
    from hicorex.fitted.layer import FittedLayer
    from hicorex.input.encoder import Encoder
    from hicorex.layer.search import Stage


class Notes:
    """What a fit notes on its way; these are kept nowhere."""

    kept = False

    def within(self, part: str) -> "Notes":
        """The notes of one part of the fit."""
        return self

    def check(self, key: str, value: Any) -> None:
        """Refuse to go on if the fit was begun with another value."""

    def recall(self, key: str) -> Any:
        """What was noted, or None."""

    def note(self, key: str, value: Any) -> None:
        """Note something, and save all notes if it is time."""

    def recall_layer(self, encoder: "Encoder") -> "FittedLayer | None":
        """The layer that was noted, which reads its samples by this encoder, if it was finished."""
        return None

    def conclude_layer(self, layer: "FittedLayer") -> None:
        """Note a finished layer, which makes the notes on its way needless, and save at once."""

    def note_stage(self, name: str, stage: "Stage") -> None:
        """Note where a fit is, under this name."""
        self.note("stage", (name, stage))

    def recall_stage(self, name: str, blocks: Sequence[Block], options: FitOptions) -> "Stage | None":
        """Where the fit of this name is, to these blocks with these options, if it was noted."""
        return None

    def recall_sizes(self, fold_sizes: Sequence[int]) -> dict[tuple[int, int], list[tuple[np.ndarray, ...]]]:
        """What became of sizes, factors and states, on folds of these numbers of held-out samples, as far as noted."""
        return {}


# For a fit that nobody stops.
NO_NOTES = Notes()
