"""Numbers as people write them: money, percent, thousands, a decimal comma, an accountant's brackets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from corollary.tabular.messages import shown

_GAP = "[ \u00a0\u202f]?"
_CODES = "USD EUR GBP CHF JPY CAD AUD NZD INR CNY SEK NOK DKK PLN CZK HUF BRL MXN ZAR kr zł"
_CURRENCY = rf"(?:US|CA|AU|NZ|HK|R)?[$€£¥₹₽₩₺₪฿₫₴₦]|{_CODES.replace(' ', '|')}"


def _pattern(decimal: str) -> re.Pattern[str]:
    group = "[,'’ \u00a0\u202f]" if decimal == "." else "[.'’ \u00a0\u202f]"
    point = re.escape(decimal)
    grouped = rf"[1-9]\d{{0,2}}(?P<group>{group})\d{{3}}(?:(?P=group)\d{{3}})*(?:{point}\d+)?"
    digits = rf"{grouped}|\d+(?:{point}\d*)?|{point}\d+"
    return re.compile(
        rf"(?P<open>\()?(?P<sign>[-−+])?(?:(?P<before>{_CURRENCY}){_GAP})?(?P<sign2>[-−+])?(?P<digits>{digits})"
        rf"(?:{_GAP}(?P<after>%|{_CURRENCY}))?(?P<close>\))?"
    )


_PATTERNS = {decimal: _pattern(decimal) for decimal in ".,"}
_NO_DIGITS = {decimal: re.compile(rf"[^\d{re.escape(decimal)}]") for decimal in ".,"}


@dataclass(frozen=True)
class Spelling:
    """How the numbers of a column are written: its decimal mark ("" if they are not such numbers), and what to say."""

    decimal: str = ""
    note: str = ""


def find_spelling(texts: NDArray[np.object_]) -> Spelling:
    """How these different texts spell numbers, if every one does and their signs agree.

    Money has no three decimals: ``€1.200`` are thousands. Other numbers that could be read in two ways are read with a
    decimal point. The note always gives an example, and the other reading if there is one.
    """
    fitting = [decimal for decimal in ".," if _all_fit(texts[:200], decimal) and _all_fit(texts, decimal)]
    if not fitting:
        return Spelling()
    matches = {decimal: [_match(text, decimal) for text in texts] for decimal in fitting}
    if reason := _disagreement(matches[fitting[0]]):
        return Spelling(note=reason)
    money = any(match["before"] or match["after"] not in (None, "%") for match in matches[fitting[0]] if match)
    grouped = [decimal for decimal in fitting if any(match["group"] for match in matches[decimal] if match)]
    decimal = (grouped if money and grouped else fitting)[0]
    telling = max(texts[:200], key=lambda text: (_marks(text, decimal), len(text)))
    note = f"read as numbers: {shown(telling)} is {written_number(telling, decimal):.12g}"
    if not money and len(fitting) == 2 and (other := _read_twice(texts)):
        values = [f"{written_number(other, mark):.12g}" for mark in ".,"]
        note += f" (if {shown(other)} is not {values[0]} but {values[1]}, write it so)"
    return Spelling(decimal, note)


def usual_decimals(texts: NDArray[np.object_]) -> list[str]:
    """The decimal marks with which more than half of the first texts are numbers."""
    head = texts[:200]
    return [decimal for decimal in ".," if 2 * sum(_match(text, decimal) is not None for text in head) > len(head)]


def _all_fit(texts: Sequence[str] | NDArray[np.object_], decimal: str) -> bool:
    return all(_match(text, decimal) for text in texts)


def _match(text: str, decimal: str) -> re.Match[str] | None:
    match = _PATTERNS[decimal].fullmatch(text)
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    signs = sum(match[name] is not None for name in ("open", "sign", "sign2"))
    currency = match["before"] is not None and match["after"] not in (None, "%")
    return None if signs > 1 or currency or (match["before"] and match["after"]) else match


def _marks(text: str, decimal: str) -> int:
    match = _match(text, decimal)
    return 0 if match is None else sum(match[name] is not None for name in ("open", "before", "after", "group"))


def _disagreement(found: list[re.Match[str] | None]) -> str:
    matches = [match for match in found if match is not None]
    percent = sum(match["after"] == "%" for match in matches)
    if 0 < percent < len(matches):
        return "not read as numbers: some values have a % sign and some have none"
    currencies = {match["before"] or match["after"] for match in matches} - {None, "%"}
    if len(currencies) > 1:
        return f"not read as numbers: different currencies ({', '.join(sorted(map(str, currencies))[:4])})"
    if all(match["open"] for match in matches):
        return "not read as numbers: every value is in brackets"
    return ""


def _read_twice(texts: NDArray[np.object_]) -> str:
    """A text that is one number with a decimal point and another with a decimal comma."""
    found = (text for text in texts if written_number(text, ".") != written_number(text, ","))
    return next(found, "")


def written_number(text: str, decimal: str) -> float:
    """The number that ``text`` spells, NaN if none; per cent are kept as they are written."""
    match = _match(text, decimal)
    if match is None:
        return float("nan")
    value = float(_NO_DIGITS[decimal].sub("", match["digits"]).replace(",", "."))
    return -value if match["open"] or "-" in (sign := (match["sign"] or match["sign2"] or "")) or "−" in sign else value


def written_numbers(texts: NDArray[np.object_], decimal: str) -> NDArray[np.float64]:
    """The numbers that ``texts`` spell, NaN where there is none; ``decimal`` is "" where nothing but digits is."""
    plain: NDArray[Any] = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(np.float64, copy=True)
    if not decimal:
        return plain
    codes, distinct = pd.factorize(texts)
    table = np.array([*(written_number(str(text), decimal) for text in distinct), np.nan])
    found: NDArray[np.float64] = table[codes]
    return np.where(np.isnan(found), plain, found)
