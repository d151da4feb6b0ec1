"""Checkpoints: a fit saves what it has done to a file, and goes on from there if it was stopped."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hicorex
from hicorex.exceptions import ClusterLostError, HicorexError, UnsoundError, warn_caller
from hicorex.fitted.layer import FittedLayer
from hicorex.input.encoder import Encoder
from hicorex.layer.notes import Notes
from hicorex.layer.options import FitOptions
from hicorex.layer.search import Stage
from hicorex.marginals.base import Block
from hicorex.storage.archive import read_archive, write_archive
from hicorex.storage.layer_checks import check_sizes, check_stage
from hicorex.storage.model_checks import check_layer
from hicorex.storage.records import layer_entries, layer_of
from hicorex.storage.soundness import checking, is_a, known, texts, whole

VERSION = "version of hicorex"
# What a fit notes, of itself and of its layers.
NOTED = {
    VERSION: str,
    "parameters": dict,
    "data": str,
    "random_state": int,
    "sizes": dict,
    "stage": tuple,
    "fitted": dict,
}


@dataclass(frozen=True)
class Checkpoint:
    """A file in which a fit keeps what it has done: after each layer, and every minute or as often as is asked.

    ``fit(X, checkpoint=path)`` is short for ``fit(X, checkpoint=Checkpoint(path))``. If the file is there, the fit
    goes on from it, to the same bits as without a break; a checkpoint of other data or parameters is refused.

    Parameters
    ----------
    path : str or path
    every : float, default=60
        Seconds between two savings of a layer on its way.

    Examples
    --------
    >>> import os, tempfile
    >>> from hicorex import Checkpoint, Corex
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(200, 12, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(os.path.join(folder, "night.checkpoint"), every=600)
    ...     first = Corex(2, n_states=2, n_init=1, random_state=0).fit(X, checkpoint=checkpoint)
    ...     again = Corex(2, n_states=2, n_init=1, random_state=0).fit(X, checkpoint=checkpoint)  # from the file
    >>> again.tc_ == first.tc_
    True
    """

    path: Any
    every: float = 60.0


class _Saved(Notes):
    """Notes in a file."""

    kept = True

    def __init__(self, checkpoint: Checkpoint):
        self.path, self._every = Path(checkpoint.path), checkpoint.every
        if not os.access(self.path.parent, os.W_OK | os.X_OK):
            raise HicorexError(f"No checkpoint can be written to the folder {self.path.parent}; choose another.")
        if self.path.is_dir():
            raise HicorexError(f"The checkpoint {self.path} is a folder; give the name of a file.")
        self._notes: dict[str, Any] = {}
        if self.path.exists():
            self._notes = read_archive(self.path, "checkpoint", _checked)
        self._saved_at = time.monotonic()

    def within(self, part: str) -> Notes:
        return _Part(self, part)

    def check(self, key: str, value: Any) -> None:
        begun = self._notes.setdefault(key, value)
        if begun != value:
            what = key.rpartition(".")[2]
            if isinstance(value, dict):
                what = ", ".join(k for k, v in value.items() if begun.get(k) != v) or what
            raise HicorexError(
                f"The checkpoint {self.path} is of a fit with other {what}; delete it to start anew, or name another."
            )

    def recall(self, key: str) -> Any:
        return self._notes.get(key)

    def note(self, key: str, value: Any) -> None:
        self._notes[key] = value
        if time.monotonic() - self._saved_at >= self._every:
            self.save()

    def conclude(self, key: str, value: Any, instead_of: tuple[str, ...]) -> None:
        """Note what makes other notes needless, and save at once."""
        self._notes[key] = value
        for old in instead_of:
            self._notes.pop(old, None)
        self.save()

    def save(self) -> None:
        """Save all notes. If that fails, warn: a full disk is no reason to give up a night's work."""
        try:
            write_archive(self.path, "checkpoint", self._notes)
        except HicorexError as error:
            warn_caller(f"{error} The fit goes on without a new checkpoint.")
        self._saved_at = time.monotonic()


class _Part(Notes):
    """Notes of one part of a fit among those of the whole."""

    kept = True

    def __init__(self, whole: _Saved, part: str):
        self._whole, self._part = whole, part

    def check(self, key: str, value: Any) -> None:
        self._whole.check(f"{self._part}.{key}", value)

    def recall(self, key: str) -> Any:
        return self._whole.recall(f"{self._part}.{key}")

    def recall_stage(self, name: str, blocks: Sequence[Block], options: FitOptions) -> Stage | None:
        begun = self.recall("stage")
        if begun is None or is_a(tuple, begun, "the fit")[0] != name:
            return None
        _, stage = begun
        check_stage(stage, blocks, options.n_factors, options.n_states)
        return stage

    def recall_sizes(self, fold_sizes: Sequence[int]) -> dict[tuple[int, int], list[tuple[np.ndarray, ...]]]:
        sizes = self.recall("sizes") or {}
        check_sizes(sizes, fold_sizes)
        return sizes

    def note(self, key: str, value: Any) -> None:
        self._whole.note(f"{self._part}.{key}", value)

    def recall_layer(self, encoder: Encoder) -> FittedLayer | None:
        entries = self.recall("fitted")
        if entries is None:
            return None
        with checking():
            layer = layer_of(is_a(dict, entries, "the layer"), encoder)
            check_layer(layer)
        return layer

    def conclude_layer(self, layer: FittedLayer) -> None:
        entries = layer_entries(layer)
        del entries["_schema"]  # it is learned from the table anew
        replaced = tuple(f"{self._part}.{old}" for old in ("sizes", "stage"))
        self._whole.conclude(f"{self._part}.fitted", entries, replaced)


def _checked(notes: Any) -> dict[str, Any]:
    """Notes whose keys and types are those of a fit; their contents are checked where they are used."""
    for key, value in is_a(dict, notes, "the checkpoint").items():
        what = is_a(str, key, "an entry").rpartition(".")[2] if key != VERSION else key
        known([what], NOTED)
        is_a(NOTED[what], value, what)
        if what == "random_state":
            whole(value, what, 0, 2**128)
        if what == "parameters":
            texts(list(value.values()), what)
    return notes


@contextmanager
def noting(checkpoint: Any, parameters: dict[str, Any]) -> Iterator[Notes]:
    """The notes of a fit with these parameters; ``checkpoint`` is a path, a Checkpoint or None.

    The notes are saved if the fit is interrupted or loses its cluster.
    """
    if checkpoint is None:
        yield Notes()
        return
    notes = _Saved(checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint))
    notes.check(VERSION, hicorex.__version__)
    notes.check("parameters", parameters)
    try:
        yield notes
    except (KeyboardInterrupt, ClusterLostError):
        notes.save()
        raise
    except UnsoundError as error:
        raise HicorexError(f"{notes.path} does not hold together ({error}); delete it to start anew.") from error
