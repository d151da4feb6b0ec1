"""Data with known truth: the paper's two examples and latent trees; and the paper's stock prices, from your copy."""

import re
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import Bunch, check_random_state

from hicorex.exceptions import HicorexError
from hicorex.findings.groups import groupings_of
from hicorex.information import sample_entropy

# In a folder, a table of monthly returns and the groups of companies, which take the place of prices.
RETURNS, SECTORS = "monthly_returns.csv.gz", "sectors.csv"


def make_independent_clusters(
    n_samples: int = 100, n_clusters: int = 4, cluster_size: int = 100, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, Bunch]:
    """The paper's example 1: groups of noisy copies of independent fair coins, columns shuffled.

    Returns
    -------
    X : ndarray of shape (n_samples, n_clusters * cluster_size)
    truth : Bunch
        factors (n_samples, n_clusters), clusters (n_columns,), total_correlation: that of the
        frequencies in the sample, the noise being too small to matter.

    Examples
    --------
    >>> X, truth = make_independent_clusters(random_state=0)
    >>> X.shape
    (100, 400)
    """
    rng = check_random_state(random_state)
    coins = rng.randint(2, size=(n_samples, n_clusters))
    return _noisy_copies(coins, coins, cluster_size, noise, rng)


def make_overlapping_clusters(
    n_samples: int = 100, cluster_size: int = 100, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, Bunch]:
    """The paper's example 2: as example 1 with four groups, but the last one copies the sum of the first two coins.

    Returns
    -------
    X : ndarray of shape (n_samples, 4 * cluster_size)
    truth : Bunch
        factors (n_samples, 3), clusters (n_columns,), of which 3 belongs to factors 0 and 1, total_correlation.

    Examples
    --------
    >>> X, truth = make_overlapping_clusters(random_state=0)
    >>> truth.factors.shape
    (100, 3)
    """
    rng = check_random_state(random_state)
    coins = rng.randint(2, size=(n_samples, 3))
    return _noisy_copies(coins, np.column_stack([coins, coins[:, 0] + coins[:, 1]]), cluster_size, noise, rng)


def _noisy_copies(
    factors: np.ndarray, groups: np.ndarray, cluster_size: int, noise: float, rng: np.random.RandomState
) -> tuple[np.ndarray, Bunch]:
    """Columns that copy the groups (n_samples, n_groups) with noise, shuffled, and their truth."""
    order = rng.permutation(groups.shape[1] * cluster_size)
    clusters = np.repeat(np.arange(groups.shape[1]), cluster_size)[order]
    X = groups[:, clusters] + noise * rng.standard_normal((len(groups), clusters.size))
    entropies = sum(sample_entropy(column) for column in groups.T)
    truth = cluster_size * entropies - sample_entropy(*groups.T)
    return X, Bunch(factors=factors, clusters=clusters, total_correlation=truth)


def make_latent_tree(
    n_samples: int = 2000,
    n_columns: int = 2000,
    n_clusters: int | tuple[int, ...] = 20,
    root_flip: float = 0.35,
    flip: tuple[float, float] = (0.1, 0.3),
    random_state: Any = None,
) -> tuple[np.ndarray, Bunch]:
    """Binary variables on a tree: a fair coin at the root, copies of it as factors, copies of these as columns.

    Parameters
    ----------
    n_clusters : int or tuple of int
        Number of factors; a tuple gives those of several layers below the root, from the bottom up.
    root_flip : float
        Probability that a factor differs from the one above it.
    flip : tuple of float
        Range from which each column's probability to differ from its factor is drawn.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns), of 0 and 1, columns shuffled
    truth : Bunch
        root (n_samples,); factors (n_samples, n_clusters) of the lowest layer; clusters (n_columns,), the
        factor of each column; parents, for each layer but the last the node above each of its factors;
        total_correlation: the mean over the samples of the exact log p(x) / prod_i p(x_i).

    Examples
    --------
    >>> X, truth = make_latent_tree(200, 30, (6, 2), random_state=0)
    >>> X.shape, truth.factors.shape, truth.parents[0].shape
    ((200, 30), (200, 6), (6,))
    """
    rng = check_random_state(random_state)
    sizes = [n_clusters] if isinstance(n_clusters, int) else list(n_clusters)
    root = rng.randint(2, size=n_samples)
    factors = root[:, None]
    parents: list[np.ndarray] = []
    for n_above, size in pairwise([1, *reversed(sizes)]):
        parents.insert(0, np.arange(size) % n_above)
        factors = factors[:, parents[0]] ^ (rng.uniform(size=(n_samples, size)) < root_flip)
    clusters = rng.permutation(np.arange(n_columns) % sizes[0])
    rates = rng.uniform(*flip, size=n_columns)
    X = factors[:, clusters] ^ (rng.uniform(size=(n_samples, n_columns)) < rates)
    # Messages from the leaves to the root; every p(x_i) is one half.
    with np.errstate(divide="ignore"):  # never to differ is allowed
        message = np.stack([np.where(y == X, np.log(1 - rates), np.log(rates)) for y in (0, 1)])
        turn = np.log([[1 - root_flip, root_flip], [root_flip, 1 - root_flip]])[:, :, None, None]
    for parent, size in zip((clusters, *parents), (*sizes, 1), strict=True):
        upward = np.stack([message[:, :, parent == above].sum(axis=2) for above in range(size)], axis=2)
        message = logsumexp(turn + upward, axis=1)
    log_p = logsumexp(upward, axis=0)[:, 0] - np.log(2)
    truth = float(log_p.mean() + n_columns * np.log(2))
    return X.astype(np.int8), Bunch(
        root=root, factors=factors, clusters=clusters, parents=parents[:-1], total_correlation=truth
    )


def load_quantquote(path: str | PathLike, sectors: Any = None) -> Bunch:
    """Monthly returns of stocks from the free QuantQuote archive of daily prices, which the paper uses.

    Companies count that have a price in every month of the whole period. A return is the last close of a month over
    that of the month before, minus 1; the last month of the archive may be part of one.

    Parameters
    ----------
    path : path
        The zip file, or a folder, with daily/table_<ticker>.csv: no header, and the columns date (YYYYMMDD), time,
        open, high, low, close, volume. Or a ready table: a CSV file (.csv, .csv.gz) of monthly returns with months
        in the first column and tickers in the header, or a folder with monthly_returns.csv.gz.
    sectors : mapping, path or None, default=None
        The group of each company by its ticker, or a CSV file of such; by default sectors.csv in the folder or
        beside the file, if it is there.

    Returns
    -------
    returns : Bunch
        data (n_months, n_companies); feature_names, the tickers in capitals, sorted; months, such as "1998-02";
        sectors, the group of each company, None for those that have none; None if there are no groups.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder, "returns.csv")
    ...     _ = table.write_text("month,ibm,aa\\n1998-02,0.05,-0.04\\n1998-03,0.01,-0.06\\n")
    ...     returns = load_quantquote(table, sectors={"AA": "Materials", "IBM": "Information Technology"})
    >>> returns.feature_names, returns.sectors
    (['AA', 'IBM'], ['Materials', 'Information Technology'])
    >>> returns.data.tolist()
    [[-0.04, 0.05], [-0.06, 0.01]]
    """
    path = Path(path)
    if not path.exists():
        raise HicorexError(f"{path} is not there; check its name and folder.")
    beside = (path if path.is_dir() else path.parent) / SECTORS
    if sectors is None and beside.exists():
        sectors = beside
    if path.is_dir() and (path / RETURNS).exists():
        path = path / RETURNS
    ready = path.is_file() and path.name.endswith((".csv", ".csv.gz"))
    tickers, months, data = _returns_of_table(path) if ready else _returns_of_prices(path)
    tickers = [ticker.upper() for ticker in tickers]
    twice = sorted({ticker for ticker in tickers if tickers.count(ticker) > 1})
    if twice:
        raise HicorexError(f"{path} has {twice[0]} twice; keep one of them.")
    order = np.argsort(tickers)
    tickers = [tickers[i] for i in order]
    groups = None if sectors is None else groupings_of(tickers, sectors)[0].of_variables()
    return Bunch(data=np.ascontiguousarray(data[:, order]), feature_names=tickers, months=months, sectors=groups)


def _returns_of_table(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Tickers, months and returns of a ready table."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        names = csv.open_csv(path).schema.names
        types = {names[0]: pa.string()} | dict.fromkeys(names[1:], pa.float64())
        options = csv.ConvertOptions(column_types=types)
        table = csv.read_csv(path, csv.ReadOptions(use_threads=False), convert_options=options)
    except (pa.ArrowException, OSError) as error:
        raise HicorexError(f"{path} is no table of monthly returns: {_line(error)}") from None
    if len(names) < 2 or not table.num_rows:
        raise HicorexError(f"{path} is empty; give months in the first column and a column for each company.")
    columns = [column.to_numpy() for column in table.columns[1:]]
    return names[1:], table.column(0).to_pylist(), np.column_stack(columns)


def _returns_of_prices(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Tickers, months and returns of the companies that have a price in every month of an archive."""
    closes = [(ticker, *_month_ends(name, content)) for ticker, name, content in _price_files(path)]
    if not closes:
        raise HicorexError(f"{path} has no daily/table_<ticker>.csv; give the QuantQuote archive of daily prices.")
    first, last = min(months[0] for _, months, _ in closes), max(months[-1] for _, months, _ in closes)
    names = [f"{month // 12}-{month % 12 + 1:02d}" for month in range(first, last + 1)]
    if len(names) < 2:
        raise HicorexError(f"{path} has prices of {names[0]} alone; returns take two months or more.")
    kept = [(ticker, prices) for ticker, months, prices in closes if len(months) == len(names)]
    if not kept:
        raise HicorexError(f"{path} has no company with a price in every month from {names[0]} to {names[-1]}.")
    prices = np.column_stack([prices for _, prices in kept])
    return [ticker for ticker, _ in kept], names[1:], prices[1:] / prices[:-1] - 1


def _price_files(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Ticker, name and content of each file of prices, in a folder or a zip file, at any depth."""
    form = re.compile(r"table_(.+)\.csv", re.IGNORECASE)
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if (match := form.fullmatch(file.name)) and file.is_file():
                yield match[1], str(file), file.read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                if match := form.fullmatch(PurePosixPath(member).name):
                    yield match[1], f"{member} in {path}", archive.read(member)
    except zipfile.BadZipFile:
        raise HicorexError(f"{path} is no zip file, or a broken one; give the QuantQuote archive.") from None


def _month_ends(name: str, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The months of a company, counted from year 0, and its last close of each."""
    import pyarrow as pa
    from pyarrow import csv

    titles = ["date", "time", "open", "high", "low", "close", "volume"]
    types = {"date": pa.int64(), "close": pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=titles, use_threads=False),
            convert_options=csv.ConvertOptions(include_columns=list(types), column_types=types, null_values=[]),
        )
    except pa.ArrowException as error:
        raise HicorexError(f"{name} is broken: {_line(error)}") from None
    dates, closes = (table.column(title).to_numpy() for title in types)
    wrong = (dates // 100 % 100 - 1) // 12 != 0
    wrong |= (dates < 1_000_00_00) | (dates > 9999_12_31) | ~(np.isfinite(closes) & (closes > 0))
    if wrong.any():
        line = int(wrong.argmax())
        raise HicorexError(
            f"{name} is broken: row {line} has date {dates[line]} and close {closes[line]:g}; "
            "dates are YYYYMMDD and prices above 0."
        )
    order = np.argsort(dates, kind="stable")
    months = dates[order] // 10000 * 12 + dates[order] // 100 % 100 - 1
    ends = np.append(np.flatnonzero(np.diff(months)), len(months) - 1)
    return months[ends], closes[order][ends]


def _line(error: BaseException) -> str:
    """What an error says, in one line with one full stop."""
    return " ".join(str(error).split()).rstrip(".") + "."
