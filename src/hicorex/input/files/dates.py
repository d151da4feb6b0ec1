"""Dates among texts, as people write them: 2007-11-11, 11.11.2007, Jun 12 1998, with a time or without."""

import re
from collections.abc import Callable
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<name>{'|'.join(MONTHS)})[a-z]*\.?"
_TIME = (
    r"([T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(:(?P<second>\d{2})(?P<part>[.,]\d+)?)?( ?(?P<half>[ap]m))?"
    r"( ?(z|[+-]\d{2}:?\d{2}))?)?$"
)
ISO = re.compile(r"^(?P<year>\d{4})[./-](?P<month>\d{1,2})[./-](?P<day>\d{1,2})" + _TIME, re.IGNORECASE)
LOCAL = re.compile(r"^(?P<one>\d{1,2})(?P<sign>[./-])(?P<two>\d{1,2})[./-](?P<year>\d{4}|\d{2})" + _TIME, re.IGNORECASE)
NAMED = (
    re.compile(rf"^{_MONTH}[ -]+(?P<day>\d{{1,2}})(st|nd|rd|th)?,?[ -]+(?P<year>\d{{4}})" + _TIME, re.IGNORECASE),
    re.compile(
        rf"^(?P<day>\d{{1,2}})(st|nd|rd|th)?[ .-]+{_MONTH},?[ -]+(?P<year>\d{{4}}|\d{{2}})" + _TIME, re.IGNORECASE
    ),
)
# Any of them, as far as pyarrow's expressions can tell.
LOOKS = (
    r"(?i)^(\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})"
    rf"|({'|'.join(MONTHS)})[a-z]*\.?[ -]+\d{{1,2}}(st|nd|rd|th)?,?[ -]+\d{{4}}"
    rf"|\d{{1,2}}(st|nd|rd|th)?[ .-]+({'|'.join(MONTHS)})[a-z]*\.?,?[ -]+(\d{{4}}|\d{{2}}))"
    r"([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?( ?(z|[+-]\d{2}:?\d{2}))?)?$"
)


def are_mostly_dates(texts: pa.Array) -> bool:
    """Whether all but a few of the texts look like dates."""
    match: Callable[..., pa.Array] = pc.match_substring_regex
    return all(pc.sum(match(some, LOOKS)).as_py() >= len(some) - min(3, len(some) // 2) for some in (texts[:50], texts))


def day_first(texts: pa.Array) -> bool:
    """Whether 3.4.2020 is in April: if a first number is beyond 12, or all have points and no second one is."""
    found = [match for match in map(LOCAL.match, texts.to_pylist()) if match]
    if any(int(match["one"]) > 12 for match in found):
        return True
    return all(match["sign"] == "." and int(match["two"]) <= 12 for match in found) if found else False


def days_in(texts: pa.Array, by_day: bool) -> np.ndarray:
    """Dates as days since the first of January 1970, NaN for what is none; ``by_day`` as of day_first.

    >>> days_in(pa.array(["1970-01-02", "Jan 3 1970", "04/01/70", "no date"]), True).tolist()
    [1.0, 2.0, 3.0, nan]
    """
    try:
        return np.array(texts.to_pylist(), "datetime64[ms]").astype(float) / 86_400_000
    except ValueError:  # they are not all written as the standard has it
        return np.array([_days(text, by_day) for text in texts.to_pylist()], float)


def _days(text: str, by_day: bool) -> float:
    match = ISO.match(text) or LOCAL.match(text) or NAMED[0].match(text) or NAMED[1].match(text)
    if not match:
        return np.nan
    part = match.groupdict()
    if "one" in part:
        month, day = (part["two"], part["one"]) if by_day else (part["one"], part["two"])
    else:
        month, day = part.get("month") or str(MONTHS.index(part["name"].lower()) + 1), part["day"]
    year = int(part["year"]) + (0 if len(part["year"]) == 4 else 1900 if int(part["year"]) >= 69 else 2000)
    hour = int(part["hour"] or 0)
    if part["half"]:
        hour = hour % 12 + 12 * (part["half"].lower() == "pm")
    try:
        at = datetime(year, int(month), int(day), hour, int(part["minute"] or 0), int(part["second"] or 0))
    except ValueError:  # such as the 31st of February
        return np.nan
    return (at - datetime(1970, 1, 1)).total_seconds() / 86_400
