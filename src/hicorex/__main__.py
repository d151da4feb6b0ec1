"""``python -m hicorex``, the same as ``hicorex``."""

import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line; an interrupt while it is imported ends it without a word."""
    try:
        from hicorex.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        run()
    except SystemExit as end:
        if not end.code:
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # closed, or never open
                stream.flush()
        # Threads that an error has left at work, such as a reader's, would abort an orderly end.
        os._exit(int(end.code))


if __name__ == "__main__":
    main()
