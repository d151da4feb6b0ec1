"""Amounts among texts, as people write them: $1,200, 12%, 170 cm, (1,200), 1.2M."""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa

MINUS = "-\u2212\u2013"
CURRENCIES = "$\u20ac\u00a3\u00a5"
SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "Mio": 1e6, "B": 1e9, "bn": 1e9, "T": 1e12}
_WORD = r"\u00b0?[A-Za-z\u00b5\u00b0\u03a9]{1,7}[\u00b2\u00b323]?(/[A-Za-z]{1,4}[\u00b2\u00b3]?)?"
_UNIT = rf"%|\u2030|[{CURRENCIES}]|{_WORD}"
WRITTEN = re.compile(
    rf"(?P<open>\(?)(?P<minus>[{MINUS}+]?)\s*(?P<before>[{CURRENCIES}]|USD|EUR|GBP)?\s*(?P<late>[{MINUS}]?)"
    rf"(?P<digits>\d[\d.,' \u00a0]*|[.,]\d+)\s*(?P<after>{_UNIT})?(?P<close>\)?)"
)
# The first texts end the search for amounts if more than this number of them are none.
FIRST, MOST_OTHERS = 50, 3


class Amounts(NamedTuple):
    """Texts as amounts.

    values : (n_texts,), NaN for what is none
    unit : what the numbers are of, such as $ or cm; "" if they have none
    """

    values: np.ndarray
    unit: str


def amounts_in(texts: pa.Array, decimal: str | None, unit: str | None = None) -> Amounts | None:
    """The amounts among texts, of this unit if one is given; None if most are none, or of several units.

    >>> amounts_in(pa.array(["$1,200", "($35.50)", "none"]), ".")
    Amounts(values=array([1200. ,  -35.5,    nan]), unit='$')
    >>> amounts_in(pa.array(["170 cm", "1.8 m"]), ".") is None
    True
    """
    read = _Reader(decimal or ".")
    first = [read.parse(text) for text in texts[:FIRST].to_pylist()]
    if sum(own is None for own in first) > MOST_OTHERS:
        return None
    found = first + [read.parse(text) for text in texts[FIRST:].to_pylist()]
    known = [own for own in found if own is not None]
    before, after = {own[1] for own in known} - {""}, {own[2] for own in known} - {""}
    scaled = bool(after) and after <= SCALES.keys() and not (after == {"m"} and not before)
    units = before if scaled else before | after
    if len(units) > 1 or not known or (unit is not None and units and units != {unit}):
        return None
    values = [np.nan if own is None else own[0] * (SCALES[own[2]] if scaled and own[2] else 1) for own in found]
    return Amounts(np.array(values, float), next(iter(units), ""))


class _Reader:
    """Reads numbers with this decimal sign and any other sign between thousands."""

    def __init__(self, decimal: str):
        fraction, others = re.escape(decimal), "".join(sign for sign in ".,' \u00a0" if sign != decimal)
        self._decimal = decimal
        self._number = re.compile(rf"(\d+|\d{{1,3}}([{re.escape(others)}])\d{{3}}(\2\d{{3}})*)?({fraction}\d*)?")

    def parse(self, text: str) -> tuple[float, str, str] | None:
        """The number, and what stands before and after it; None if the text is no amount."""
        match = WRITTEN.fullmatch(text)
        if not match or bool(match["open"]) != bool(match["close"]):
            return None
        digits = match["digits"].strip()
        if not self._number.fullmatch(digits):
            return None
        whole, _, fraction = digits.partition(self._decimal)
        number = float(f"{re.sub(r'[^0-9]', '', whole) or 0}.{fraction or 0}")
        negative = bool(match["open"]) != (match["minus"] in tuple(MINUS) or match["late"] in tuple(MINUS))
        before, after = match["before"] or "", match["after"] or ""
        if after and after in CURRENCIES:
            before, after = after, ""
        return (-number if negative else number), before, after
