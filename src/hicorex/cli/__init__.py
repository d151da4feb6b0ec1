"""The command line: hicorex fit, transform, score, report, describe and demo."""

from hicorex.cli.app import main

__all__ = ["main"]
