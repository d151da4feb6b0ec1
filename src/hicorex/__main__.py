"""``python -m hicorex``, the same as ``hicorex``."""

from hicorex.cli import main

main()
