"""Why a sample is what it is: how much each of its variables adds to each factor's log Z, and to its surprisal.

The terms of a sum are those of the labels q = p(y_j | x): log Z_j(x) = sum_i alpha_ij E_q[log p(x_i | y_j) / p_j(x_i)]
- KL(q || p(y_j)), which is exact, since q is what eq:label_m makes of these terms (Z of eq:Z is their normaliser).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from hicorex.engine import Engine
from hicorex.exceptions import HicorexError
from hicorex.fitted.layer import FittedLayer
from hicorex.fitted.surprise import LARGEST_SQUARE, LOG_2_PI, surprisal_moments
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import add_scores, block_coefficients, labels_of
from hicorex.layer.state import State
from hicorex.marginals import Categorical, Gaussian
from hicorex.marginals.base import FamilyBlock, Parameters, Tile
from hicorex.support.compatibility import check_pandas_support
from hicorex.support.printing import printable

# What is less is rounding.
LEAST_NATS = 1e-9


class Links(NamedTuple):
    """What belongs to which factor: every pair of which alpha is above zero, (L,) each.

    variable : the variable, or where the factor is of a higher layer the factor of the layer below, as numbers among
        the variables and after them the factors of all layers
    factor : its number among the factors of all layers
    """

    variable: np.ndarray
    factor: np.ndarray


class Reason(NamedTuple):
    """A variable, or a factor, and what it adds in nats."""

    name: str
    nats: float

    def __str__(self) -> str:
        return f"{printable(self.name)} {self.nats:+.2f} nats"


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """How much each variable adds to each factor's log Z of each sample, and to the surprisal of the sample.

    Attributes
    ----------
    variables, factors : list of str
        Their names, the factors of all layers.
    links : Links
        Which pairs of a variable, or a factor of the layer below, and a factor ``terms`` are of.
    terms : ndarray of shape (n_samples, n_links)
        What the variable of each link adds to log Z of its factor, in nats: alpha times the mean over the factor's
        label of log p(x_i | y_j) / p_j(x_i); 0 where the value is missing.
    lost : ndarray of shape (n_samples, n_links)
        What log Z of its factor would lose if the variable's value were missing. These do not add up: where others
        tell the same, each of them is missed little.
    cost : ndarray of shape (n_samples, n_factors)
        What log Z of each factor pays for its label, KL(p(y_j | x) || p(y_j)).
    values : ndarray of shape (n_samples, n_variables)
        -log p(x_i) of each value, as in ``surprise``.
    usual : ndarray of shape (n_samples, n_variables)
        The surprisal that is usual of each variable when its factors are known, H(X_i) - sum_j alpha_ij I(Y_j:X_i);
        0 where the value is missing.
    """

    variables: list[str]
    factors: list[str]
    links: Links
    terms: np.ndarray
    lost: np.ndarray
    cost: np.ndarray
    values: np.ndarray
    usual: np.ndarray

    @property
    def log_z(self) -> np.ndarray:
        """log Z of each factor, the sum of its terms less its cost, (n_samples, n_factors)."""
        return _summed(self.terms, self.links.factor, len(self.factors)) - self.cost

    @property
    def surprisal_of_variables(self) -> np.ndarray:
        """What each variable adds to the surprisal of each sample, -log p(x_i) less its terms, (n_samples, n)."""
        return self.values - self.explained

    @property
    def surprisal_of_factors(self) -> np.ndarray:
        """What the label of each factor adds to it: its cost less what the layer above explains of it, (n_samples, m).

        Together with those of the variables they are the surprisal of the sample.
        """
        return self.cost - self._by_variable(self.terms)[:, len(self.variables) :]

    @property
    def surprisal(self) -> np.ndarray:
        """The surprisal of each sample, as ``surprise`` has it, (n_samples,)."""
        return self.surprisal_of_variables.sum(axis=1) + self.surprisal_of_factors.sum(axis=1)

    @property
    def odd(self) -> np.ndarray:
        """How much more surprising than usual each value is when the other values are known, (n_samples, n).

        The surprisal of the sample would lose this, and what is usual, if the value were missing: a wrong entry says
        itself which states are likely, so that by the terms other variables would take the blame.
        """
        return self.values - self._by_variable(self.lost)[:, : len(self.variables)] - self.usual

    @property
    def explained(self) -> np.ndarray:
        """How much the factors explain of each value, the sum of its terms, (n_samples, n_variables)."""
        return self._by_variable(self.terms)[:, : len(self.variables)]

    def of_factor(self, factor: str) -> dict[str, np.ndarray]:
        """What each variable of a factor, or factor of the layer below, adds to its log Z, (n_samples,), by name."""
        names = self.variables + self.factors
        own = np.flatnonzero(self.links.factor == self._number(factor))
        return {names[self.links.variable[at]]: self.terms[:, at] for at in own.tolist()}

    def top(self, sample: int, n: int = 5, factor: str | None = None) -> list[Reason]:
        """The variables that say most about a sample, by its position, most first.

        Without a factor those whose values are more surprising than usual, by how much; of a factor those that add
        most to its log Z or take most from it.
        """
        if not -len(self.terms) <= sample < len(self.terms):
            raise HicorexError(f"sample is {sample}; these are samples 0 to {len(self.terms) - 1}.")
        if factor is None:
            odd = self.odd[sample]
            largest = np.argsort(-odd, kind="stable")[:n]
            return [Reason(self.variables[i], float(odd[i])) for i in largest.tolist() if odd[i] > LEAST_NATS]
        nats = {name: float(terms[sample]) for name, terms in self.of_factor(factor).items()}
        return sorted((Reason(*each) for each in nats.items()), key=lambda reason: -abs(reason.nats))[:n]

    def to_frame(self) -> Any:
        """What each variable and each factor adds to the surprisal of each sample, a row each (needs pandas)."""
        pd = check_pandas_support("to_frame")
        table = np.hstack([self.surprisal_of_variables, self.surprisal_of_factors])
        return pd.DataFrame(table, columns=self.variables + self.factors)

    def __repr__(self) -> str:
        return f"Explanation of {len(self.terms)} samples by {len(self.variables)} variables"

    def _by_variable(self, of_links: np.ndarray) -> np.ndarray:
        """The sums over the links of each variable, and after these of each factor that is below others."""
        return _summed(of_links, self.links.variable, len(self.variables) + len(self.factors))

    def _number(self, factor: str) -> int:
        if factor not in self.factors:
            raise HicorexError(f"No factor is called {printable(repr(factor))}; they are {_some(self.factors)}.")
        return self.factors.index(factor)


def links_of_layers(layers: Sequence[FittedLayer]) -> Links:
    """The links of all layers, layer by layer, block by block and pair by pair, as ``explain_samples`` has them."""
    variable, factor = [np.empty(0, int)], [np.empty(0, int)]
    below, above = 0, 0
    for layer in layers:
        for columns, alpha in zip(layer.encoder.parts, layer.state.alpha, strict=True):
            factors, places = np.nonzero(alpha)
            variable.append(below + columns[places])
            factor.append(above + factors)
        below += layer.encoder.n_columns
        above += layer.n_factors
    return Links(np.concatenate(variable), np.concatenate(factor))


def explain_samples(state: State, data: Data, engine: Engine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the variable of each link adds to log Z, and what that would lose without it, and the cost of labels.

    The first two are (N, links), the last (N, m).
    """
    blocks, coefficients = data.blocks, block_coefficients(state, data, engine)
    log_prior = np.log(state.prior)[:, :, None]

    def of_tile(part: Part, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        tiles = part.tile(blocks, rows)
        scores = add_scores(blocks, tiles, coefficients).astype(float)
        labels, _ = labels_of(scores, state.prior)
        cost = (xlogy(labels, labels) - labels * log_prior).sum(axis=0)
        exponents = np.repeat(log_prior, labels.shape[2], axis=2)
        exponents[1:] += scores.reshape(exponents[1:].shape)
        of_blocks = zip(blocks, tiles, state.parameters, state.alpha, strict=True)
        found = [_terms(*of_block, log_prior, labels, exponents) for of_block in of_blocks]
        return *map(np.concatenate, zip(*found, strict=True)), cost

    arrays = zip(*engine.tiles(of_tile, data.parts), strict=True)
    terms, lost, cost = (np.concatenate(of_tiles, axis=1).T for of_tiles in arrays)
    return terms, lost, cost


def value_surprisals(
    surprisals: list[np.ndarray], known: np.ndarray, state: State, data: Data, engine: Engine
) -> tuple[np.ndarray, np.ndarray]:
    """-log p(x_i) of each value, and what is usual of it, both (N, n), by that of categories in the fit, by block.

    ``known`` (n,) is what the factors of each variable explain of it, in nats.
    """
    blocks = data.blocks
    moments = [
        surprisal_moments(block, table) if isinstance(block, Categorical) else ()
        for block, table in zip(blocks, surprisals, strict=True)
    ]

    def of_tile(part: Part, rows: slice) -> np.ndarray:
        told = np.zeros((2, data.n_columns, len(part.sample_weight[rows])))
        for block, columns, tables, tile in zip(blocks, data.columns, moments, part.tile(blocks, rows), strict=True):
            if isinstance(block, Categorical):
                entries = tile.codes + block.offsets[:-1, None]
                seen = block.is_category[entries]
                told[:, columns] = [table[entries] for table in tables[:2]]
            elif isinstance(block, Gaussian):
                seen = tile.observed(block.gaps) & block.informative[:, None]
                square = np.minimum(tile.square, LARGEST_SQUARE)
                told[0, columns] = (square + LOG_2_PI) / 2 * seen
                told[1, columns] = (1 + LOG_2_PI) / 2 * seen
            told[1, columns] -= known[columns, None] * seen
        return told

    values, usual = np.concatenate(list(engine.tiles(of_tile, data.parts)), axis=2)
    return values.T, usual.T


def _terms(
    block: FamilyBlock,
    tile: Tile,
    parameters: Parameters,
    alpha: np.ndarray,
    log_prior: np.ndarray,
    labels: np.ndarray,
    exponents: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """What the variable of each pair, of which alpha (J, n) is not 0, adds, and what is lost without it, (P, T).

    labels (k, J, T) are the exponents (k, J, T), normalised.
    """
    factors, columns = np.nonzero(alpha)
    terms, lost = np.empty((2, factors.size, labels.shape[2]))
    for at, (j, i) in enumerate(zip(factors.tolist(), columns.tolist(), strict=True)):
        log_p = _log_p(block, tile, parameters, j, i)
        log_p -= log_p[0].copy()
        mixture = alpha[j, i] * _log_sum(log_p + log_prior[:, j])
        log_p *= alpha[j, i]
        terms[at] = (labels[:, j] * log_p).sum(axis=0) - mixture
        lost[at] = _log_sum(exponents[:, j]) - _log_sum(exponents[:, j] - log_p) - mixture
    return terms, lost


def _log_p(block: FamilyBlock, tile: Tile, parameters: Parameters, j: int, i: int) -> np.ndarray:
    """log p(x_i | y_j) up to what is the same in every state, 0 where missing, (k, T), of one column."""
    if isinstance(block, Categorical):
        table = (
            parameters.log_p[:, j, block.offsets[i] : block.offsets[i + 1]]
            * block.is_category[block.offsets[i] : block.offsets[i + 1]]
        )
        return table.astype(float)[:, tile.codes[i]]
    mean, variance, log_variance = (array[:, j, i, None].astype(float) for array in parameters)
    log_p = -0.5 * (log_variance + (tile.x[i] - mean) ** 2 / variance)
    return log_p if block.gap_of[i] < 0 else log_p * tile.present[block.gap_of[i]]


def _log_sum(exponents: np.ndarray) -> np.ndarray:
    """log sum exp over the states, (T,), of exponents (k, T)."""
    largest = exponents.max(axis=0)
    return largest + np.log(np.exp(exponents - largest).sum(axis=0))


def _summed(terms: np.ndarray, places: np.ndarray, n_places: int) -> np.ndarray:
    """The sums of the terms (N, L) of each place, (N, n_places)."""
    sums = np.zeros((n_places, len(terms)))
    np.add.at(sums, places, terms.T)
    return sums.T


def _some(names: Sequence[str]) -> str:
    """The first and the last of names."""
    return printable(names[0]) if len(names) == 1 else f"{printable(names[0])} to {printable(names[-1])}"
