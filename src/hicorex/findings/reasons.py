"""Decisions of a fit in words: why a layer has its size, why there is no further layer, and no upper bound."""

from hicorex.bounds.result import NoUpper, NoUpperReason
from hicorex.fitted.model import FittedModel, StopReason
from hicorex.selection.sizing import SizeReason, Sizing


def why_this_size(sizing: Sizing) -> str:
    """Why a layer has as many factors as it has."""
    size, chosen = sizing.n_factors, sizing.chosen
    if sizing.reason is SizeReason.CHANCE:
        return (
            f"{size} factor{'s explain' if size > 1 else ' explains'} {chosen.lower:.3g} +- {chosen.lower_stderr:.2g} "
            "nats on held-out samples, no more than chance"
        )
    if sizing.reason is SizeReason.FEW_COLUMNS:
        return f"there are too few columns for more than {size} factor{'s' if size > 1 else ''}"
    added = f"on held-out samples {sizing.larger} factors add {sizing.gain:.3g}"
    if sizing.gain_stderr is None or sizing.least_gain is None:
        return f"{added} nats to the {chosen.lower:.4g} of {size}, which is not enough"
    return (
        f"{added} +- {sizing.gain_stderr:.2g} nats to the {chosen.lower:.4g} of {size}, "
        f"and would have to add {sizing.least_gain:.3g}"
    )


def why_no_further_layer(fitted: FittedModel) -> str | None:
    """Why a stack has no further layer, with the numbers of the layer that explains too little; None for one layer."""
    sizing, layer = fitted.next_sizing, len(fitted.layers) + 1
    if fitted.stop_reason is StopReason.NOTHING:
        sizing, layer = fitted.layers[0].sizing, 1
    if sizing is not None:
        return f"in layer {layer}, {why_this_size(sizing)}"
    return None if fitted.stop_reason is None else str(fitted.stop_reason)


def why_no_upper(no_upper: NoUpper | None) -> str:
    """Why there is no upper bound; nothing if there is one.

    >>> why_no_upper(NoUpper(NoUpperReason.NOT_DISCRETE, "'age'"))
    "column 'age' is not discrete"
    """
    if no_upper is None:
        return ""
    if no_upper.reason is NoUpperReason.NOT_DISCRETE:
        return f"column {no_upper.column} is not discrete"
    if no_upper.reason is NoUpperReason.GAPS:
        return f"column {no_upper.column} has missing values or categories that the fit has not seen"
    return "equal samples have different labels, which then are no function of X"
