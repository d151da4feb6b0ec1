"""Missing values filled in, in the table as it came."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from hicorex.estimators.training import has_rows_here
from hicorex.exceptions import HicorexError
from hicorex.fitted.imputation import Imputer

if TYPE_CHECKING:
    from hicorex.fitted.model import FittedModel
    from hicorex.input.sources import Source


class Imputing:
    """What an estimator makes of missing values."""

    fitted_: "FittedModel"
    n_jobs: int | None

    @abstractmethod
    def _new(self, X: Any) -> "Source":
        """New samples, of the columns of the fit."""

    def impute(self, X: Any, return_std: bool = False, means: bool = False) -> Any:
        """The table with its missing values filled in, by what the other values tell of the factors of each.

        A missing number becomes the mean, a missing category the most likely one, of the mixture over the states of the
        factors that its variable belongs to, by the posteriors of the sample. Categories that the fit has not seen are
        not missing, and stay.

        Parameters
        ----------
        X : array-like or data frame (pandas, polars, pyarrow) of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to give the uncertainty as well.
        means : bool, default=False
            Fill categories that are numbers, such as answers from 1 to 5, with their mean instead of the most likely of
            them; whole numbers are rounded to what their column can hold.

        Returns
        -------
        X : of the type that was given
        std : ndarray of shape (n_samples, n_features)
            If ``return_std``: the standard deviation of each number that was filled in, of a category the probability
            that it is another one; 0 where a value is there.

        Examples
        --------
        >>> import numpy as np
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, flip=(0.01, 0.05), random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
        >>> gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
        >>> filled, std = model.impute(gaps, return_std=True)
        >>> bool(np.mean((filled == X)[np.isnan(gaps)]) > 0.9), bool(std.max() < 0.6)
        (True, True)
        """
        check_is_fitted(self)
        if issparse(X) or not has_rows_here(X):
            kind = "sparse" if issparse(X) else "not in memory"
            raise HicorexError(f"X is of type {type(X).__name__}, {kind}; pass rows as an array or a data frame.")
        layer = self.fitted_.layers[0]
        values, uncertainty = layer.map(self._new(X), Imputer(layer, means), self.n_jobs)
        columns = {}
        std = np.zeros(values.shape)
        for i in np.flatnonzero(~np.isnan(values).all(axis=0)).tolist():
            rows = np.flatnonzero(~np.isnan(values[:, i]))
            told = values[rows, i]
            categories = layer.encoder.categories.get(i)
            if categories is not None and not (means and categories.dtype.kind in "iuf"):
                told = categories[told.astype(int)]
            columns[i] = rows, told
            std[rows, i] = uncertainty[rows, i]
        filled, kept = filled_in(X, columns)
        for i, rows in kept.items():
            std[rows, i] = 0
        return (filled, std) if return_std else filled


def filled_in(X: Any, columns: dict[int, tuple[np.ndarray, np.ndarray]]) -> tuple[Any, dict[int, np.ndarray]]:
    """A table with values put into some rows of columns, where nothing is; and the rows that hold something."""
    kept = {}
    frame = None if isinstance(X, np.ndarray) else nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        table = np.array(X)
        for i, (rows, told) in columns.items():
            lacks = _lacks(table[rows, i].tolist())
            table[rows[lacks], i] = told[lacks]
            kept[i] = rows[~lacks]
        return table, kept
    filled = []
    for i, (rows, told) in columns.items():
        column = frame[:, i]
        lacks = np.asarray(column.is_null().to_numpy(), bool)[rows]
        if column.dtype.is_float():
            lacks |= np.asarray(column.is_nan().fill_null(True).to_numpy(), bool)[rows]
        kept[i] = rows[~lacks]
        told = np.rint(told).astype(int) if column.dtype.is_integer() and told.dtype.kind == "f" else told
        filled.append(column.scatter(rows[lacks].tolist(), told[lacks].tolist()))
    return frame.with_columns(*filled).to_native(), kept


def _lacks(cells: list[Any]) -> np.ndarray:
    """Which cells of an array hold no value: None or NaN."""
    return np.array([cell is None or bool(cell != cell) for cell in cells])
