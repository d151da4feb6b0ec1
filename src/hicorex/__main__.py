"""``python -m hicorex``, the same as ``hicorex``."""

import sys


def main() -> None:
    """Run the command line; an interrupt while it is imported ends it without a word."""
    try:
        from hicorex.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
