"""How likely chance would explain as much as each layer of a model does, and each factor."""

from typing import TYPE_CHECKING

import numpy as np

from hicorex.engine import LocalEngine
from hicorex.estimators.learning import seed_of
from hicorex.exceptions import HicorexError
from hicorex.input.sources import Source, source_of
from hicorex.layer.held import Held
from hicorex.layer.one_pass import run_pass
from hicorex.layer.options import FitOptions
from hicorex.layer.state import used_only
from hicorex.layer.structure import RULES
from hicorex.selection.permutation import Significance, Tested, compare_with_chance

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator


def significance_of(
    model: "LayeredEstimator", table: Source, sample_weight: np.ndarray | None, n_permutations: int
) -> Significance:
    """How likely chance would explain as much of the samples of the fit as each layer does."""
    rows = list[Tested]()
    entropy = seed_of(model.random_state).entropy
    for k, layer in enumerate(model.fitted_.layers, start=1):
        with LocalEngine(model.n_jobs) as engine:
            data = layer.encode(table, engine, sample_weight, dtype=None)
            again = used_only(run_pass(layer.state, data, engine).log_z)
            # Where anchors count twice, factors explain less than their log Z.
            known = [layer.tcs, used_only(layer.usual.log_z[0])]
            is_known = any(np.allclose(again, of_fit, 1e-3, 1e-3) for of_fit in known)
            if data.n_samples != layer.bounds.n_samples or not is_known:
                raise HicorexError(
                    f"X, of {data.n_samples} samples, is not what the model was fitted to, "
                    f"{layer.bounds.n_samples} samples; give the samples of the fit."
                )
            rows += compare_with_chance(
                k,
                layer.tcs,
                data,
                RULES[model.structure],
                engine,
                n_permutations=n_permutations,
                seed=np.random.SeedSequence(entropy, spawn_key=(k,)),
                options=FitOptions(
                    layer.n_factors, layer.n_states, model.n_init, model.max_iter, model.tol, held=Held(layer.anchors)
                ),
            )
        table = source_of(layer.label(table, model.n_jobs))
    return Significance(rows)
