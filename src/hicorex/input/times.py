"""Dates and times as amounts: days since the first of January 1970, fractions for the time of day.

Times of day and lengths of time are days as well: half a day is 0.5.
"""

from typing import Any

import numpy as np

# What one day has of each unit of Arrow's times.
IN_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def days_of(column: Any) -> np.ndarray:
    """An Arrow column of dates or times, (N,), as days; NaN where missing.

    >>> import datetime
    >>> import pyarrow as pa
    >>> days_of(pa.array([datetime.date(1970, 1, 2), None, datetime.date(2007, 11, 11)])).tolist()
    [1.0, nan, 13828.0]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_date32(kind):
        whole, per_day = column.cast(pa.int32()), 1
    elif pa.types.is_date64(kind):
        whole, per_day = column.cast(pa.int64()), IN_A_DAY["ms"]
    else:
        whole, per_day = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()), IN_A_DAY[kind.unit]
    numbers = pc.cast(whole, pa.float64(), safe=False)
    return (
        numbers.to_numpy(zero_copy_only=False) / per_day
        if isinstance(numbers, pa.Array)
        else numbers.to_numpy() / per_day
    )
