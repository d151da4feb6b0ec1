"""What ``transform`` gives: the states of the factors, their probabilities, or their log-odds, as columns."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hicorex.exceptions import HicorexError
from hicorex.fitted.layer import OfBatch, log_odds_columns_of, posterior_columns_of, states_of
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator
    from hicorex.fitted.model import FittedModel

Output = Literal["labels", "probabilities", "log_odds"]
# By what ``transform`` gives: its columns in one layer, and the first state that has a column of its own.
OUTPUTS: dict[str, tuple[OfBatch, int]] = {
    "labels": (states_of, 0),
    "probabilities": (posterior_columns_of, 0),
    "log_odds": (log_odds_columns_of, 1),
}


class Transforming:
    """How an estimator makes columns of samples."""

    fitted_: "FittedModel"
    output: Output

    @abstractmethod
    def _through(self, X: Any, function: OfBatch) -> Sequence[Sequence[np.ndarray]]:
        """What a function says of new samples, array by array, each for all layers from the bottom up."""

    def columns_of(self, X: Any, output: str) -> np.ndarray:
        """What ``transform`` gives by this ``output``, whatever the parameter says, (n_samples, n_columns)."""
        check_is_fitted(self)
        (layers,) = self._through(X, OUTPUTS[_known(output)][0])
        return layers[0] if len(layers) == 1 else np.hstack(layers)

    def column_names(self, output: str) -> list[str]:
        """The names of these columns: layer1_factor0, ..., or layer1_factor0_state0, ..., layer by layer."""
        first = OUTPUTS[_known(output)][1]
        names = []
        of_layers = names_of(cast("LayeredEstimator", self))[1:]
        for layer, factors in zip(self.fitted_.layers, of_layers, strict=True):
            for name in factors:
                states = [f"{name}_state{s}" for s in range(first, layer.n_states)]
                names += [name] if output == "labels" else states
        return names

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """layer1_factor0, ..., in the order of ``transform``; of other outputs layer1_factor0_state0, ..."""
        check_is_fitted(self)
        return np.array(self.column_names(self.output), dtype=object)


def _known(output: str) -> str:
    """An output, if there is one of that name."""
    if output not in OUTPUTS:
        raise HicorexError(f"output is {output!r}; it is one of {', '.join(map(repr, OUTPUTS))}.")
    return output
