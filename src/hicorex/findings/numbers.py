"""Numbers as a person would say them."""

import math

# What is smaller is a rounding error, in nats.
ROUNDING = 1e-9
# Numbers that are written without a power of ten.
LEAST_PLAIN, MOST_PLAIN = 1e-4, 1e9


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "sample"), count(2000, "sample")
    ('1 sample', '2,000 samples')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short(x: float | None, digits: int = 4) -> str:
    """A number as a person would say it, rounding errors as 0.

    >>> short(0.123456), short(1234.5), short(650.4, 2), short(1e-12), short(None)
    ('0.1235', '1,234', '650', '0', 'unknown')
    """
    if x is None or not math.isfinite(x):
        return "unknown"
    if abs(x) < ROUNDING:
        return "0"
    if not min(10**digits, 1000) - 0.5 <= abs(x) < MOST_PLAIN:
        return f"{x:.{digits}g}"
    return f"{x:,.0f}"


def mean_and_spread(mean: float, spread: float) -> str:
    """A mean and a standard deviation, both to the digit that the spread has second.

    >>> mean_and_spread(3837.2, 652.3), mean_and_spread(0.1234, 0.056), mean_and_spread(2.5e30, 1e28)
    ('3,837 \u00b1 652', '0.123 \u00b1 0.056', '2.5e+30 \u00b1 1e+28')
    """
    if not (LEAST_PLAIN <= spread < MOST_PLAIN and abs(mean) < MOST_PLAIN):
        return f"{short(mean, 3)} \u00b1 {short(spread, 2)}"
    decimals = max(0, 1 - math.floor(math.log10(spread)))
    return f"{mean:,.{decimals}f} \u00b1 {spread:,.{decimals}f}"
