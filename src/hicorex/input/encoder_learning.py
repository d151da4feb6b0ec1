"""What an encoder learns from a survey: scales, normal scores and the columns of each block."""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from hicorex.exceptions import warn_caller
from hicorex.input.column_kinds import CODED, MOST_CODES
from hicorex.input.readers import column_name
from hicorex.input.survey import Scale, Survey, scale_of

# Blocks depend on the shape of the table alone, so that results do not depend on the threads.
BLOCK_COLUMNS = 10000
HALF_OF_LARGEST = np.finfo(float).max / 2
# By column of rank marginals, its values in the fit, rising, and their normal scores.
Ranks = dict[int, tuple[np.ndarray, np.ndarray]]


class Scales(NamedTuple):
    """The numbers by which columns are standardised, (n_columns,) each.

    size, centre, spread : a value becomes (value / size - centre) / spread
    informative : whether a column varies at all
    """

    size: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    informative: np.ndarray

    @classmethod
    def neutral(cls, n_columns: int) -> Self:
        """Columns that stay as they are."""
        return cls(np.ones(n_columns), np.zeros(n_columns), np.ones(n_columns), np.ones(n_columns, bool))

    def keep(self, columns: np.ndarray, scale: Scale) -> None:
        """Take over the scale of some columns."""
        spread = np.sqrt(scale.square / np.maximum(scale.total, 1e-300))
        varies = (scale.least < scale.most) & (spread > 0)
        self.size[columns] = np.where(scale.size > 0, scale.size, 1)
        self.centre[columns] = scale.centre
        self.spread[columns] = np.where(varies, spread, 1)
        self.informative[columns] = varies


def scales_of(survey: Survey, ranks: Ranks, n_columns: int) -> Scales:
    """The scales of all columns, those of rank marginals by their normal scores."""
    scales = Scales.neutral(n_columns)
    scales.keep(survey.numeric, survey.scale)
    if ranks:
        # In place of the values, which may take much memory and which nothing needs any more.
        to_scores(ranks, survey.values, survey.ranked)
        scales.keep(survey.ranked, scale_of(survey.values, survey.weight))
    for i, categories in survey.categories.items():
        scales.informative[i] = categories.size > 1
    return scales


def normal_scores(survey: Survey) -> Ranks:
    """The normal scores of the values of columns of rank marginals."""
    columns = zip(survey.ranked.tolist(), survey.values.T, strict=True)
    return {i: _scores_of(values, survey.weight) for i, values in columns}


def to_scores(ranks: Ranks, numbers: np.ndarray, columns: np.ndarray) -> None:
    """Map columns of rank marginals to their normal scores, in place."""
    for at, i in enumerate(columns.tolist()):
        if i in ranks:
            values, scores = ranks[i]
            # Halved where the difference of two might be infinite.
            unit = 0.5 if np.abs(values[[0, -1]]).max() > HALF_OF_LARGEST else 1.0
            numbers[:, at] = np.interp(unit * numbers[:, at], unit * values, scores)


def _scores_of(values: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, rising, and the normal quantile of the middle rank of each."""
    observed = ~np.isnan(values)
    if not observed.any():
        return np.zeros(1), np.zeros(1)
    distinct, where = np.unique(values[observed], return_inverse=True)
    value_weight = np.bincount(where, weight[observed])
    middle = (np.cumsum(value_weight) - value_weight / 2) / value_weight.sum()
    # Weights may be so uneven that a rank rounds to the very end, whose score is infinite.
    return distinct, ndtri(np.clip(middle, np.finfo(float).tiny, np.nextafter(1, 0)))


def blocks_of_columns(kinds: list[str], survey: Survey, sparse: bool) -> list[np.ndarray]:
    """The columns of each block.

    Blocks of numbers come first, then those of two categories without gaps, then those of other categories, then
    those of ordered ones.
    """
    numeric = np.array([i for i, kind in enumerate(kinds) if kind not in CODED], int)
    coded, ordered = (
        np.array([i for i in survey.categories if (kinds[i] == "ordered") == in_order], int)
        for in_order in (False, True)
    )
    # Cells of a sparse table that are not stored hold 0, the first of two categories in a product.
    two = {i for i, known in survey.categories.items() if known.size == 2 and (known[0] == 0 or not sparse)}
    binary = np.array([i in two and not survey.gaps[i] for i in coded.tolist()], bool)
    return [*chunks(numeric), *chunks(coded[binary]), *chunks(coded[~binary]), *chunks(ordered)]


def chunks(columns: np.ndarray) -> list[np.ndarray]:
    """Columns in parts of equal size.

    The parts are few, since each costs time; many columns make two at least, one for each of two threads.
    """
    n_parts = max(-(-columns.size // BLOCK_COLUMNS), 2 if columns.size >= 1000 else 1)
    return np.array_split(columns, n_parts) if columns.size else []


def warn_of_many_categories(survey: Survey, names: list[str] | None) -> None:
    """Warn of columns of text of which every second row or more has another."""
    many = [
        column_name(names, i)
        for i, categories in survey.categories.items()
        if categories.dtype.kind in "US" and categories.size > max(MOST_CODES, survey.weight_sum / 2)
    ]
    if many:
        warn_caller(
            f"Column {', '.join(many[:5])}{' and others' if len(many) > 5 else ''} has another text in nearly every "
            "row, as names, identifiers and remarks do, and tells little; leave it out, as hicorex.read_table does."
        )
