"""The result: which pairs of variables factors leave dependent, and what the lower bound gains by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from hicorex.bounds.pairs.decoder import PairDecoder
from hicorex.bounds.result import Bounds
from hicorex.support.compatibility import check_pandas_support
from hicorex.support.printing import printable

# Pairs that a text shows.
SHOWN = 10


class PairKind(StrEnum):
    """What there is to say of two variables."""

    REPEATS = "repeats"
    DEPENDS_ON = "depends on"


_KINDS = {True: PairKind.REPEATS, False: PairKind.DEPENDS_ON}


class ResidualPair(NamedTuple):
    """A variable and the one other that still tells most about it once the factors are known.

    variable, other : their names
    kind : "repeats" if the two tell nearly the same, else "depends on"
    information : I(X_i:X_other | Y_S) in nats, corrected for its bias
    gain : what the lower bound gains by the pair, in nats, of samples that it was not learned from
    """

    variable: str
    other: str
    kind: PairKind
    information: float
    gain: float

    def __str__(self) -> str:
        return f"{self.variable} {self.kind} {self.other}"


@dataclass(frozen=True, repr=False)
class ResidualPairs:
    """What variables tell of each other beyond the factors.

    Attributes
    ----------
    pairs : tuple of ResidualPair
        Those that gain most first. Each variable is the first of one pair at most, and they make no circle.
    with_factors : bool
        Whether the factors decode too. Where pairs alone explain more, as of a chain, they stand alone.
    lower, lower_stderr : float
        The lower bound of the factors alone, and its standard error.
    lower_with_pairs, lower_with_pairs_stderr : float
        The lower bound of factors and pairs.
    """

    pairs: tuple[ResidualPair, ...]
    with_factors: bool
    lower: float
    lower_stderr: float
    lower_with_pairs: float
    lower_with_pairs_stderr: float

    @classmethod
    def of(cls, decoder: PairDecoder, bounds: Bounds, names: Sequence[str]) -> "ResidualPairs":
        """The pairs of a decoder, and bounds of samples."""
        assert bounds.lower_with_pairs is not None
        assert bounds.lower_with_pairs_stderr is not None
        paired = bounds.lower_with_pairs, bounds.lower_with_pairs_stderr
        return cls(
            tuple(residual_pairs_of(decoder, names)), decoder.factors, bounds.lower, bounds.lower_stderr, *paired
        )

    @property
    def gain(self) -> float:
        """How much the lower bound gains by the pairs, in nats."""
        return self.lower_with_pairs - self.lower

    def __repr__(self) -> str:
        lines = [f"{len(self.pairs)} pairs; the lower bound rises from {self.lower:.4g} to {self.lower_with_pairs:.4g}"]
        if not self.with_factors:
            lines.append("pairs alone explain more than with factors")
        width = max((len(printable(str(pair))) for pair in self.pairs[:SHOWN]), default=0)
        lines += [f"{printable(str(pair)):<{width}}  {pair.gain:.4g} nats" for pair in self.pairs[:SHOWN]]
        if len(self.pairs) > SHOWN:
            lines.append(f"and {len(self.pairs) - SHOWN:,} more")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """A row for each pair (needs pandas)."""
        pd = check_pandas_support("to_frame")
        rows = [pair._asdict() | {"kind": str(pair.kind)} for pair in self.pairs]
        return pd.DataFrame(rows, columns=list(ResidualPair._fields))


def residual_pairs_of(decoder: PairDecoder, names: Sequence[str]) -> list[ResidualPair]:
    """The pairs of a decoder of columns of these names, those that gain most first."""
    numbers = (*decoder.pairs.tolist(), decoder.repeats.tolist(), decoder.information.tolist(), decoder.gain.tolist())
    rows = [
        ResidualPair(names[child], names[parent], _KINDS[repeats], information, gain)
        for child, parent, repeats, information, gain in zip(*numbers, strict=True)
    ]
    return sorted(rows, key=lambda pair: -pair.gain)
