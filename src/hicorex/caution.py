"""Warnings that name the line of whoever called hicorex."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Frames of these packages lie between hicorex and its caller: wrappers of methods, pipelines, grid searches.
BETWEEN = frozenset({"hicorex", "sklearn", "joblib"})

_QUIET = ContextVar("quiet", default=False)


def caution(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, from the nearest line of the program that is none of hicorex or scikit-learn."""
    if _QUIET.get():
        return
    # warnings.warn can skip packages by itself only from Python 3.12 on.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out what hicorex would warn of, in this thread alone: warnings.catch_warnings is for all of them."""
    before = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(before)
