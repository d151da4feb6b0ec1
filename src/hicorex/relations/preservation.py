"""Whether the factors of a model are there in other samples too, against these samples with every column shuffled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.exceptions import HicorexError
from hicorex.fitted.model import FittedModel
from hicorex.input.sources import Source
from hicorex.layer.data import Data
from hicorex.layer.one_pass import run_pass
from hicorex.relations.associations import known_q_values
from hicorex.support.compatibility import check_pandas_support

# A factor is called preserved at this false discovery rate, if it explains anything of the new samples.
LEVEL = 0.05


class PreservedFactor(NamedTuple):
    """How far one factor is there in other samples.

    factor : its name
    explains : E[log Z_j] of the other samples, in nats
    explains_in_fit : the same of the samples of the fit
    by_chance : its mean over the other samples with every column shuffled
    z : how far explains is above that, in standard deviations of the shuffled ones
    p_value : the share of shuffled samples that explain as much, these samples among them
    q_value : the least false discovery rate, over all factors, at which this would be called significant
    preserved : whether q_value is 0.05 or less, and explains positive
    """

    factor: str
    explains: float
    explains_in_fit: float
    by_chance: float
    z: float
    p_value: float
    q_value: float
    preserved: bool


@dataclass(frozen=True, repr=False)
class Preservation:
    """A row for each factor that explains anything of the samples of its fit.

    rows : tuple of PreservedFactor
    n_samples, n_permutations : the number of other samples, and how often they were shuffled
    """

    rows: tuple[PreservedFactor, ...]
    n_samples: int
    n_permutations: int

    def __repr__(self) -> str:
        lines = [f"{'':<18}{'in the fit':>12}{'here':>10}{'by chance':>11}{'z':>9}{'q-value':>10}"]
        lines += [
            f"{row.factor:<18}{row.explains_in_fit:>12.4g}{row.explains:>10.4g}{row.by_chance:>11.3g}{row.z:>9.3g}"
            f"{row.q_value:>10.2g}"
            for row in self.rows
        ]
        n_preserved = sum(row.preserved for row in self.rows)
        lines.append(f"factors that are there in these {self.n_samples} samples too: {n_preserved} of {len(self.rows)}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The rows as a table (needs pandas)."""
        pd = check_pandas_support("to_frame")
        return pd.DataFrame(list(self.rows), columns=PreservedFactor._fields)


def preservation_of(
    fitted: FittedModel,
    names: Sequence[str],
    table: Source,
    n_permutations: int,
    rng: np.random.Generator,
    engine: Engine,
) -> Preservation:
    """How far each factor of all layers, by these names, is there in other samples, which are in memory.

    The columns of each layer's own input are shuffled: those of a further layer are the labels of the one below.
    """
    data = fitted.layers[0].encode(table, engine)
    if data.n_samples < 2:
        raise HicorexError("X has one sample, which cannot be shuffled; give more.")
    numbers = []
    for k, layer in enumerate(fitted.layers):
        if k:
            data = layer.encode(fitted.layers[k - 1].label_table(data, engine), engine)
        explains, by_chance = _against_chance(layer.state, data, n_permutations, rng, engine)
        numbers.append(
            np.stack(
                [
                    layer.tcs,
                    explains,
                    by_chance.mean(axis=0),
                    by_chance.std(axis=0, ddof=1),
                    1 + (by_chance >= explains).sum(axis=0),
                ]
            )
        )
    in_fit, explains, chance, spread, as_good = np.concatenate(numbers, axis=1)
    used = np.flatnonzero(in_fit > 0)
    p_values = (as_good / (n_permutations + 1))[used]
    rows = []
    for j, p, q in zip(used.tolist(), p_values.tolist(), known_q_values(p_values).tolist(), strict=True):
        z = (explains[j] - chance[j]) / max(spread[j], 1e-12)
        here, there, by = float(explains[j]), float(in_fit[j]), float(chance[j])
        rows.append(PreservedFactor(names[j], here, there, by, float(z), p, q, bool(q <= LEVEL and here > 0)))
    return Preservation(tuple(rows), data.n_samples, n_permutations)


def _against_chance(
    state: Any, data: Data, n_permutations: int, rng: np.random.Generator, engine: Engine
) -> tuple[np.ndarray, np.ndarray]:
    """E[log Z_j] of samples, (m,), and of the same with shuffled columns, (n_permutations, m)."""
    explains = run_pass(state, data, engine).log_z
    return explains, np.stack([run_pass(state, data.shuffled(rng), engine).log_z for _ in range(n_permutations)])
