"""Errors that say what to do, and warnings that point at the line that called hicorex."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import currentframe
from types import FrameType

from hicorex.support.printing import printable_lines


class HicorexError(ValueError):
    """Data or an option that hicorex cannot use as it is.

    Examples
    --------
    >>> import hicorex
    >>> try:
    ...     hicorex.datasets.load_quantquote("prices.zip")
    ... except hicorex.HicorexError as error:
    ...     print(error)
    prices.zip is not there; check its name and folder.
    """

    def __str__(self) -> str:
        return printable_lines(super().__str__())  # names in it may be anything


class ClusterLostError(HicorexError):
    """A cluster that was lost; the checkpoint holds what was done so far."""


class ColumnTypeError(HicorexError, TypeError):
    """A column whose values are not of one usable type."""


class NotInPartsError(HicorexError):
    """A file that can only be read whole, not in parts."""


class NotWrittenError(HicorexError):
    """A file that cannot be written; what was there before is unchanged."""


class TooFewSamplesError(HicorexError):
    """Samples of which no part can be held out."""


class UnknownSamplesError(HicorexError, AttributeError):
    """Samples of a fit that the model no longer knows; it then lacks the attributes that are made of them."""


class UnsoundError(HicorexError):
    """Contents of a file that no fit could have written; the message says what and why."""


# Frames of these packages lie between hicorex and its caller: wrappers of methods, pipelines, grid searches.
BETWEEN = frozenset({"hicorex", "sklearn", "joblib"})

_QUIET = ContextVar("quiet", default=False)


def warn_caller(message: str | Warning) -> None:
    """Warn at the nearest calling line outside hicorex, scikit-learn and joblib."""
    if _QUIET.get():
        return
    # warnings.warn can skip packages by itself only from Python 3.12 on.
    frame, level = currentframe(), 1
    while frame and frame.f_back and _package(frame) in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out the warnings of hicorex in this thread; warnings.catch_warnings would do so in all threads."""
    before = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(before)
