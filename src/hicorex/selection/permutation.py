"""Whether a layer and its factors explain more than they would of columns without any dependence."""

from typing import Any, NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.data import Data
from hicorex.layer.loop import fit_layer
from hicorex.layer.one_pass import run_pass
from hicorex.layer.options import FitOptions
from hicorex.layer.state import used_only
from hicorex.layer.structure import Rule, beyond_chance
from hicorex.support.compatibility import check_pandas_support
from hicorex.support.names import layer_factor_names, layer_name

# A test ends early once chance has done as well this many times (Besag and Clifford).
ENOUGH = 10


class Tested(NamedTuple):
    """How likely chance is to explain as much as a layer or a factor does.

    name : layer1, layer1_factor0, ...
    explains : sum_j E[log Z_j] of the layer or E[log Z_j] of the factor, in nats
    p_value : the share of permutations that explain as much; a factor is held against the best factor of each
        permutation, so that the p-values of all factors of a layer may be read together
    n_permutations : how many were drawn before the answer was clear
    """

    name: str
    explains: float
    p_value: float
    n_permutations: int


class Significance(tuple[Tested, ...]):
    """A row for each layer and factor.

    Examples
    --------
    >>> from hicorex import Corex
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(200, 12, 2, root_flip=0.5, random_state=0)
    >>> rows = Corex(2, n_states=2, n_init=1, random_state=0).fit(X).significance(n_permutations=9)
    >>> rows[0].name, round(rows[0].p_value, 3)
    ('layer1', 0.1)
    """

    def __repr__(self) -> str:
        lines = [f"{'':<18}{'nats':>10}{'p-value':>10}{'permutations':>14}"]
        lines += [f"{row.name:<18}{row.explains:>10.4g}{row.p_value:>10.3g}{row.n_permutations:>14}" for row in self]
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a table (needs pandas)."""
        pd = check_pandas_support("to_frame")

        return pd.DataFrame(list(self)).set_index("name")


def compare_with_chance(
    layer: int,
    explains: np.ndarray,
    data: Data,
    rule: Rule,
    engine: Engine,
    *,
    n_permutations: int,
    seed: np.random.SeedSequence,
    options: FitOptions,
) -> list[Tested]:
    """Fit a layer to data whose columns are shuffled, again and again, and compare what it explains.

    ``explains`` (m,) is E[log Z_j] of the layer under test; ``options`` are those of its fit.
    """
    observed = np.array([explains.sum(), *explains])
    as_good, drawn = np.zeros((2, observed.size))
    for of_permutation in seed.spawn(n_permutations):
        shuffled = data.shuffled(np.random.default_rng(of_permutation))
        state = fit_layer(shuffled, rule, engine, options, of_permutation).state
        log_z = run_pass(state, shuffled, engine).log_z
        # As in a fit, what is no more than chance is nothing.
        by_chance = np.where(beyond_chance(log_z, state, shuffled), used_only(log_z), 0)
        open_yet = as_good < ENOUGH
        drawn += open_yet
        as_good += open_yet & (np.array([by_chance.sum(), *np.full(explains.size, by_chance.max())]) >= observed)
        if np.all(as_good >= ENOUGH):
            break
    # Stopped early, the share itself is right; otherwise the data count as one more permutation.
    p_values = np.where(as_good >= ENOUGH, as_good / drawn, (as_good + 1) / (drawn + 1))
    names = [layer_name(layer), *layer_factor_names(layer, explains.size)]
    return [
        Tested(*row)
        for row in zip(names, observed.tolist(), p_values.tolist(), drawn.astype(int).tolist(), strict=True)
    ]
