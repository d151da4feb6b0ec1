"""What a fit has done so far, in a file, so that one that was stopped goes on where it was."""

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hicorex.archive import read_archive, write_archive
from hicorex.exceptions import HicorexError


class Notes:
    """What a fit may note on its way; these are kept nowhere."""

    kept = False

    @contextmanager
    def open(self, parameters: dict[str, Any]) -> Iterator[None]:
        """Begin, or go on with, a fit of these parameters."""
        yield

    def within(self, part: str) -> "Notes":
        """The notes of one part of the fit."""
        return self

    def check(self, key: str, value: Any) -> None:
        """Refuse to go on if the fit was begun with another value."""

    def recall(self, key: str) -> Any:
        """What was noted, or None."""

    def note(self, key: str, value: Any, at_once: bool = False) -> None:
        """Note something."""

    def forget(self, key: str) -> None:
        """Drop a note that is no longer needed."""


class Checkpoint(Notes):
    """A file in which a fit keeps what it has done: after each layer, and every so many seconds.

    ``fit(X, checkpoint=path)`` is short for ``fit(X, checkpoint=Checkpoint(path))``. If the file is there, the fit
    goes on from it, to the same bits as without a break; a checkpoint of other data or parameters is refused.

    Parameters
    ----------
    path : str or path
    every : float, default=60
        Seconds between two savings of a layer on its way.
    """

    kept = True

    def __init__(self, path: Any, every: float = 60.0):
        self.path = Path(path)
        self.every = every
        self._content: dict[str, Any] | None = None
        self._within = ""
        self._saved_at = [time.monotonic()]  # shared by all parts

    @contextmanager
    def open(self, parameters: dict[str, Any]) -> Iterator[None]:
        """Read what is there, if it is of a fit with these parameters; on an interrupt, save what there is."""
        if not os.access(self.path.parent, os.W_OK | os.X_OK):
            raise HicorexError(f"No checkpoint can be written to the folder {self.path.parent}; choose another.")
        for draft in self.path.parent.glob(f".{self.path.name[:100]}.*.draft"):  # of a process that was killed
            draft.unlink(missing_ok=True)
        self._content = read_archive(self.path, "checkpoint") if self.path.exists() else {}
        self.check("parameters", parameters)
        self._saved_at[0] = time.monotonic()
        try:
            yield
        except KeyboardInterrupt:
            self._save()
            raise

    def within(self, part: str) -> "Checkpoint":
        """The notes of one part of the fit, in the same file."""
        inner = Checkpoint(self.path, self.every)
        inner._content, inner._saved_at, inner._within = self._content, self._saved_at, f"{self._within}{part}."
        return inner

    def check(self, key: str, value: Any) -> None:
        """Refuse to go on if the file was begun with another value."""
        begun = self.recall(key)
        if begun is not None and begun != value:
            changed = (k for k, v in value.items() if begun.get(k) != v) if isinstance(value, dict) else ()
            what = ", ".join(changed) or key
            raise HicorexError(
                f"The checkpoint {self.path} is of a fit with other {what}; delete it to start anew, or name another."
            )
        self._notes[self._within + key] = value

    def recall(self, key: str) -> Any:
        """What was noted, or None."""
        return self._notes.get(self._within + key)

    def note(self, key: str, value: Any, at_once: bool = False) -> None:
        """Note something, and save all notes if it is time."""
        self._notes[self._within + key] = value
        if at_once or time.monotonic() - self._saved_at[0] >= self.every:
            try:
                self._save()
            except HicorexError as error:  # a full disk is no reason to give up a night's work
                self._saved_at[0] = time.monotonic()
                warnings.warn(f"{error} The fit goes on without a new checkpoint.", stacklevel=2)

    def forget(self, key: str) -> None:
        """Drop a note that is no longer needed."""
        self._notes.pop(self._within + key, None)

    @property
    def _notes(self) -> dict[str, Any]:
        if self._content is None:
            raise RuntimeError("the checkpoint is not open")
        return self._content

    def _save(self) -> None:
        write_archive(self.path, "checkpoint", self._notes)
        self._saved_at[0] = time.monotonic()


def notes_of(checkpoint: Any) -> Notes:
    """What fit makes of its argument: a path, a checkpoint or None."""
    if checkpoint is None:
        return Notes()
    return checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
