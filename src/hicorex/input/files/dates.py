"""Dates and times among texts, as people write them: 2007-11-11, 11.11.2007, Jun 12 1998 14:30, 2:30 pm."""

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
    r"( ?(?P<zone>z|[+-]\d{2}:?\d{2}))?)?$"
)
ISO = re.compile(r"^(?P<year>\d{4})[./-](?P<month>\d{1,2})[./-](?P<day>\d{1,2})" + _TIME, re.IGNORECASE)
LOCAL = re.compile(r"^(?P<one>\d{1,2})(?P<sign>[./-])(?P<two>\d{1,2})[./-](?P<year>\d{4}|\d{2})" + _TIME, re.IGNORECASE)
NAMED = (
    re.compile(rf"^{_MONTH}[ -]+(?P<day>\d{{1,2}})(st|nd|rd|th)?,?[ -]+(?P<year>\d{{4}})" + _TIME, re.IGNORECASE),
    re.compile(
        rf"^(?P<day>\d{{1,2}})(st|nd|rd|th)?[ .-]+{_MONTH},?[ -]+(?P<year>\d{{4}}|\d{{2}})" + _TIME, re.IGNORECASE
    ),
)
CLOCK = re.compile(r"^(?P<hour>\d{1,2}):(?P<minute>\d{2})(:(?P<second>\d{2})([.,]\d+)?)?( ?(?P<half>[ap]m))?$", re.I)
# An offset from universal time, which numpy takes with a warning.
OFFSET = re.compile(r":\d{2}([.,]\d+)? ?[+-]\d{2}:?\d{2}$")
# Any of them, as far as pyarrow's expressions can tell.
LOOKS = (
    r"(?i)^(\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})"
    rf"|({'|'.join(MONTHS)})[a-z]*\.?[ -]+\d{{1,2}}(st|nd|rd|th)?,?[ -]+\d{{4}}"
    rf"|\d{{1,2}}(st|nd|rd|th)?[ .-]+({'|'.join(MONTHS)})[a-z]*\.?,?[ -]+(\d{{4}}|\d{{2}}))"
    r"([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?( ?(z|[+-]\d{2}:?\d{2}))?)?$"
)
LOOKS_LIKE_CLOCK = r"(?i)^([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?( ?[ap]m)?$"


def are_mostly_dates(texts: pa.Array) -> bool:
    """Whether all but a few of the texts look like dates."""
    return _mostly(texts, LOOKS)


def are_mostly_times(texts: pa.Array) -> bool:
    """Whether all but a few of the texts look like times of the day."""
    return _mostly(texts, LOOKS_LIKE_CLOCK)


def _mostly(texts: pa.Array, pattern: str) -> bool:
    match: Callable[..., pa.Array] = pc.match_substring_regex
    return all(
        pc.sum(match(some, pattern)).as_py() >= len(some) - min(3, len(some) // 2) for some in (texts[:50], texts)
    )


def day_first(texts: pa.Array) -> bool:
    """Whether 3.4.2020 is in April: if a first number is beyond 12, or all have points and no second one is."""
    found = [match for match in map(LOCAL.match, texts.to_pylist()) if match]
    if any(int(match["one"]) > 12 for match in found):
        return True
    return all(match["sign"] == "." and int(match["two"]) <= 12 for match in found) if found else False


def days_in(texts: pa.Array, by_day: bool) -> np.ndarray:
    """Dates as days since the first of January 1970, times as parts of a day, NaN for what is neither.

    ``by_day`` is as of day_first.

    >>> days_in(pa.array(["1970-01-02", "Jan 3 1970", "04/01/70", "6:00 pm", "no date"]), True).tolist()
    [1.0, 2.0, 3.0, 0.75, nan]
    """
    given = texts.to_pylist()
    if not any(map(OFFSET.search, given)):
        try:
            return np.array([text.removesuffix("Z") for text in given], "datetime64[ms]").astype(float) / 86_400_000
        except ValueError:  # they are not all written as the standard has it
            pass
    return np.array([_days(text, by_day) for text in given], float)


def _days(text: str, by_day: bool) -> float:
    patterns = (ISO, LOCAL, *NAMED, CLOCK)
    part = next((match.groupdict() for pattern in patterns if (match := pattern.match(text))), None)
    if part is None:
        return np.nan
    if "year" not in part:
        part |= {"year": "1970", "month": "1", "day": "1", "zone": None}
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
    return ((at - datetime(1970, 1, 1)).total_seconds() - 60 * _minutes_east(part["zone"])) / 86_400


def _minutes_east(zone: str | None) -> int:
    """How far a zone such as +02:00 is from universal time."""
    if not zone or zone in "zZ":
        return 0
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return minutes if zone[0] == "+" else -minutes
