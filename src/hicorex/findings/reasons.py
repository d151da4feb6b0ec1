"""Decisions of a fit in words: why a layer has its size, why there is no further layer, and no upper bound."""

from hicorex.bounds.result import NoUpper, NoUpperReason
from hicorex.fitted.model import FittedModel, StopReason
from hicorex.selection.sizing import SizeReason, Sizing


def why_this_size(sizing: Sizing) -> str:
    """Why a layer has as many factors as it has, and with how many states."""
    return why_these_factors(sizing) + why_these_states(sizing)


def why_these_states(sizing: Sizing) -> str:
    """What the best size that was tried would explain; nothing if that is the chosen one.

    >>> from hicorex.selection.trials import Tried
    >>> better = Tried(5, 9.2, 0.1, 5, 12, 0.6, 0.1)
    >>> why_these_states(Sizing(5, (Tried(5, 8.7, 0.1, 5, 4, 0.7, 0.1), better), n_states=4))
    '; 5 factors of 4 states explain 8.7 nats, 5 of 12 would explain 9.2'
    """
    chosen, best = sizing.chosen, sizing.best
    if not chosen.explains or best == chosen or best.n_states is None:
        return ""
    return (
        f"; {_factors(chosen.n_factors)} of {chosen.n_states} states explain{'s' if chosen.n_factors == 1 else ''} "
        f"{chosen.lower:.4g} nats, {best.n_factors} of {best.n_states} would explain {best.lower:.4g}"
    )


def why_these_factors(sizing: Sizing) -> str:
    """Why a layer has as many factors as it has."""
    size, chosen = sizing.n_factors, sizing.chosen
    if sizing.reason is SizeReason.CHANCE:
        return (
            f"{_factors(size)} explain{'s' if size == 1 else ''} {chosen.lower:.3g} \u00b1 {chosen.lower_stderr:.2g} "
            "nats on held-out samples, no more than chance"
        )
    if sizing.reason is SizeReason.FEW_COLUMNS:
        return f"there are too few columns for more than {_factors(size)}"
    if sizing.reason is SizeReason.AS_ASKED:
        return f"{_factors(size)} {'was' if size == 1 else 'were'} asked for"
    added = f"on held-out samples {sizing.larger} factors add {sizing.gain:.3g}"
    if sizing.gain_stderr is None or sizing.least_gain is None:
        return f"{added} nats to the {chosen.lower:.4g} of {size}, which is not enough"
    added += f" \u00b1 {sizing.gain_stderr:.2g} nats to the {chosen.lower:.4g} of {size}"
    if sizing.reason is SizeReason.NOT_FOUND_AGAIN:
        return f"{added}, but fits to other samples do not find the same ones"
    return f"{added}, and would have to add {sizing.least_gain:.3g}"


def why_no_further_layer(fitted: FittedModel) -> str | None:
    """Why a stack has no further layer, with the numbers of the layer that explains too little; None for one layer."""
    sizing, layer = fitted.next_sizing, len(fitted.layers) + 1
    if fitted.stop_reason is StopReason.NOTHING:
        sizing, layer = fitted.layers[0].sizing, 1
    if fitted.stop_reason is StopReason.ADDS_NOTHING:
        lost = [of_layer.sizing.chosen.lost for of_layer in fitted.layers if of_layer.sizing is not None]
        if sizing is None or not lost or lost[-1] is None or sizing.chosen.lower > lost[-1]:
            return str(fitted.stop_reason)
        return (
            f"layer {layer} would explain {sizing.chosen.lower:.3g} nats of held-out samples, and layer {layer - 1} "
            f"would explain {lost[-1]:.3g} less, since only its most likely states are passed on"
        )
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


def _factors(number: int) -> str:
    return f"{number} factor{'' if number == 1 else 's'}"
