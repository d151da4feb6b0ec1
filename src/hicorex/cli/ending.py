"""How a run ends: exit codes, and what is said of an error."""

import signal
import sys
import threading
from contextlib import suppress
from typing import Any, NoReturn

from hicorex.exceptions import HicorexError
from hicorex.support.printing import printable

# The exit code after Ctrl-C, by itself and in general after a signal.
INTERRUPTED, SIGNALLED = 130, 128
# Seconds after which somebody who has stopped a run is told what it is still at.
PATIENCE = 0.4


class Settings:
    """What holds for the whole run."""

    debug = False
    stop_code = INTERRUPTED
    last_work = "ending"  # what is done after a stop


class Stopped(Exception):
    """Somebody has stopped the run; in words, what is left of it."""


def listen() -> None:
    """Have Ctrl-C, SIGTERM and SIGHUP, that of a terminal which is closed, stop the run in good order."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup would have it
            signal.signal(number, _stop)


def say(line: Any) -> None:
    """A line on standard error, if there still is one."""
    with suppress(OSError, AttributeError, ValueError):
        print(f"hicorex: {printable(line)}", file=sys.stderr, flush=True)


def _stop(number: int, _: Any) -> NoReturn:
    Settings.stop_code = SIGNALLED + number
    told = threading.Timer(PATIENCE, lambda: say(f"stopped; {Settings.last_work}, a moment ..."))
    told.daemon = True
    told.start()
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


def one_line(text: Any) -> str:
    """Words without line breaks."""
    return " ".join(str(text).split())
