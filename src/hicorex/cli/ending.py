"""How a run ends: exit codes, and what is said of an error."""

import sys
from typing import Any, NoReturn

from hicorex.exceptions import HicorexError
from hicorex.printing import printable

# Exit codes after Ctrl-C and after SIGTERM.
INTERRUPTED, TERMINATED = 130, 143


class Settings:
    """What holds for the whole run."""

    debug = False
    stop_code = INTERRUPTED


class Stopped(Exception):
    """Somebody has stopped the run; in words, what is left of it."""


def terminate(*_: Any) -> NoReturn:
    """End as Ctrl-C does, with the exit code of SIGTERM."""
    Settings.stop_code = TERMINATED
    raise KeyboardInterrupt


def tell(error: Exception) -> int:
    """One line about an error, and the exit code."""
    if hasattr(error, "format_message"):  # of the options
        line, code = f"{one_line(error.format_message()).rstrip('.')}; see hicorex --help.", 2
    elif isinstance(error, HicorexError | ValueError):
        line, code = one_line(error), 2
    elif isinstance(error, OSError):
        line, code = f"{error.filename or 'a file'}: {(error.strerror or str(error)).lower()}.", 2
    elif isinstance(error, MemoryError):
        line, code = "there is not enough memory; use fewer columns, rows or --starts.", 2
    else:
        line, code = f"unexpected {type(error).__name__}: {one_line(error)} (--debug shows where; please report it)", 1
    say(line)
    return code


def say(line: Any) -> None:
    """One line on standard error."""
    print(f"hicorex: {printable(line)}", file=sys.stderr, flush=True)


def one_line(text: Any) -> str:
    """Words without line breaks."""
    return " ".join(str(text).split())
