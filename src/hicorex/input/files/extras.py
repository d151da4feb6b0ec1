"""Libraries for file formats that not everybody has: imported when they are needed, and named if they are missing."""

from importlib import import_module
from typing import Any

from hicorex.exceptions import HicorexError


def library(module: str, extra: str, what: str) -> Any:
    """A module of an extra; ``what`` is what needs it, as messages begin.

    >>> library("json", "excel", "table.xlsx is a workbook").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise HicorexError(
            f'{what}, which {error.name or module} reads: pip install "hicorex[{extra}]", or save it as CSV.'
        ) from None
