"""Warnings that name the line of whoever called hicorex."""

import sys
import warnings

# Frames of these packages lie between hicorex and its caller: wrappers of methods, pipelines, grid searches.
BETWEEN = frozenset({"hicorex", "sklearn", "joblib"})


def caution(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, from the nearest line of the program that is none of hicorex or scikit-learn."""
    # warnings.warn can skip packages by itself only from Python 3.12 on.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
