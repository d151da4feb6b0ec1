"""What people write in the cells of a text: numbers, truth values, and nothing."""

import re
from collections.abc import Iterable

import numpy as np

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "<NA>")
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
BLANKS = " \t\r\n\u00a0"


def with_decimal(pattern: str, decimal: str) -> str:
    r"""A pattern of numbers that are written with another decimal sign.

    >>> with_decimal(r"\d+\.\d+", ",")
    '\\d+,\\d+'
    """
    return pattern.replace(r"\.", re.escape(decimal))


def numeric_markers(markers: Iterable[str]) -> np.ndarray:
    """Those of the markers of missing values that are numbers."""
    numbers = [marker.strip() for marker in markers if re.fullmatch(NUMBER, marker.strip())]
    return np.array([float(number) for number in numbers])
