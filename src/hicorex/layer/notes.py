"""What a fit notes on its way, so that one that was stopped can go on where it was."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.marginals.base import Block

if TYPE_CHECKING:
    from hicorex.layer.loop import Run


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

    def conclude(self, key: str, value: Any, instead_of: tuple[str, ...]) -> None:
        """Note what makes other notes needless, and save at once."""

    def recall_run(
        self, name: str, blocks: Sequence[Block], n_starts: int, n_factors: int, n_states: int
    ) -> "Run | None":
        """The run of this name to these blocks, if one was noted."""

    def recall_sizes(self, fold_sizes: Sequence[int]) -> dict[int, list[tuple[np.ndarray, int]]]:
        """What sizes explain of the held-out samples of folds of these sizes, as far as noted."""
        return {}
