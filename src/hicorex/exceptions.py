"""The errors of hicorex: each names the column or the option, and the remedy."""


class HicorexError(ValueError):
    """Something in the data or the options that hicorex cannot use as it is."""


class ColumnTypeError(HicorexError, TypeError):
    """A column whose values are not of one usable type."""
