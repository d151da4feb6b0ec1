"""The errors of hicorex: each names the column or the option, and the remedy."""

from hicorex.printing import printable_lines


class HicorexError(ValueError):
    """Something in the data or the options that hicorex cannot use as it is."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())  # names in it may be anything


class ClusterLostError(HicorexError):
    """A cluster that does not go on; what was done so far is in the checkpoint."""


class ColumnTypeError(HicorexError, TypeError):
    """A column whose values are not of one usable type."""


class UnsoundError(HicorexError):
    """Something in a file that no fit could have left there; in words, what and why."""
