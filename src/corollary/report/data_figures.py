"""What the data look like: one small picture for each column, with the target in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from corollary.evaluate.comparison import Comparison
from corollary.report.charts import escaped, key_of_colours
from corollary.tabular.messages import count, shortened
from corollary.tabular.roles import Column, Role
from corollary.tabular.target import Target
from corollary.tabular.values import dates, labels, numbers

MOST_COLUMNS = 24
MOST_ROWS = 20_000
_BINS = 20
_BARS = 7
_FEW = 5  # rows, below which a part's shares say nothing
_COLOURS = 6  # classes with a colour of their own; the last colour is shared by the rest
_WIDTH, _HEIGHT, _STRIP = 200.0, 54.0, 26.0


@dataclass(frozen=True)
class Binned:
    """A column cut into parts: the part of each row (−1: missing), and how the parts or their ends are called."""

    part: NDArray[np.intp]
    names: tuple[str, ...]
    ordered: bool  # parts of a range, or values by their number of rows

    @property
    def n_parts(self) -> int:
        return int(self.part.max(initial=-1)) + 1 if self.ordered else len(self.names)


def data_section(comparison: Comparison) -> tuple[str, str]:
    """The pictures, and a sentence that says what they are."""
    columns = [column for column in comparison.facts.used if column.name in comparison.features.columns]
    rows = np.random.default_rng(0).permutation(len(comparison.features))[:MOST_ROWS]
    groups = _Groups(comparison.target, rows)
    shown = columns[:MOST_COLUMNS]
    cards = [groups.card_of_target(), *(groups.card(comparison.features[each.name], each) for each in shown)]
    lead = groups.lead
    if len(columns) > len(shown):
        lead += f" The first {len(shown)} of {len(columns):,} columns are drawn."
    if len(rows) < len(comparison.features):
        lead += f" Drawn from {len(rows):,} rows, chosen at random."
    return f'{groups.key}<div class="cards">{"".join(cards)}</div>', lead


class _Groups:
    """The target as the pictures show it: a colour for each class, or the mean of a number in each part."""

    def __init__(self, target: Target, rows: NDArray[np.intp]) -> None:
        self.target, self.rows = target, rows
        self.values = target.values[rows]
        self.key, self.names = "", [""]
        self.codes: NDArray[np.intp] = np.zeros(len(rows), dtype=np.intp)
        if target.classes is None:
            self.lead = f"Bars count rows; the line below them is the mean of {shortened(target.name, 40)}."
            return
        counts = np.array([(target.values == value).sum() for value in target.classes])
        order = np.argsort(-counts, kind="stable") if len(counts) > _COLOURS else np.arange(len(counts))
        own = len(counts) if len(counts) <= _COLOURS else _COLOURS - 1
        place = np.empty(len(counts), dtype=np.intp)
        place[order] = np.minimum(np.arange(len(counts)), own)
        self.codes = place[np.searchsorted(target.classes, self.values)]
        self.names = [str(target.classes[each]) for each in order[:own]]
        if own < len(counts):
            self.names.append(f"{len(counts) - own} other classes")
        self.key = key_of_colours(self.names)
        self.lead = f"Bars count rows; the strip below them has the shares of {shortened(target.name, 40)} in each bar."

    def card_of_target(self) -> str:
        """The target's own distribution."""
        if self.target.classes is not None:
            binned = by_value(self.values.astype(str))
            facts = count(len(self.target.classes), "class", "classes")
        else:
            binned, facts = by_range(self.values.astype(float)), f"mean {_short(float(self.values.mean()))}"
        return _card(self.target.name, f"target · {facts}", self._picture(binned, own=True))

    def card(self, series: Any, column: Column) -> str:
        """One column: what it is, how its values lie, and the target in each part of it."""
        missing = f" · {column.missing / len(series):.1%} missing" if column.missing else ""
        facts = f"{column.role.value}{missing} · {column.distinct:,} distinct"
        return _card(column.name, facts, self._picture(binned_column(series.iloc[self.rows], column)))

    def _picture(self, binned: Binned, own: bool = False) -> str:
        parts = binned.n_parts
        if not parts:
            return ""
        here = binned.part >= 0
        counts = np.zeros((parts, len(self.names)))
        np.add.at(counts, (binned.part[here], self.codes[here]), 1)
        means = None
        if self.target.classes is None and not own:
            sums = np.bincount(binned.part[here], self.values[here].astype(float), minlength=parts)
            means = sums / np.where(counts.sum(axis=1) > 0, counts.sum(axis=1), np.nan)
        if not binned.ordered:
            return _value_rows(binned, counts, means)
        below = "" if own else _mean_line(means) if means is not None else _shares(counts)
        drawn = _histogram(counts) + below
        height = _HEIGHT + (_STRIP if below else 0)
        words = f"{parts} parts from {binned.names[0]} to {binned.names[-1]}; rows in each: {_listing(counts)}"
        ends = "".join(f"<span>{escaped(name)}</span>" for name in binned.names)
        said = ""
        if means is not None:
            said = f'<p class="why">mean target {_short(np.nanmin(means))} to {_short(np.nanmax(means))}</p>'
        return _mini(height, words, drawn) + f'<div class="ends">{ends}</div>{said}'


def binned_column(series: Any, column: Column) -> Binned:
    """A column cut into at most twenty parts of its range, or into its commonest values."""
    if column.role is Role.NUMBER:
        return by_range(numbers(series))
    if column.role is Role.DATE:
        when = dates(series, column.date_format)
        days = ((when - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(float, na_value=np.nan)
        names = (when.min(), when.max())
        return by_range(days, tuple("" if pd.isna(each) else str(each.date()) for each in names))
    if column.role.name == "TEXT":
        lengths = np.array([math.nan if text is None else text.count(" ") + 1 for text in labels(series)])
        found = by_range(lengths)
        return Binned(found.part, tuple(f"{name} words" for name in found.names), found.ordered)
    return by_value(labels(series))


def by_range(values: NDArray[np.float64], names: tuple[str, ...] = ()) -> Binned:
    """Equal parts of the range; what lies far beyond the rest is counted in the part at the end."""
    known = values[np.isfinite(values)]
    if not known.size:
        return Binned(np.full(len(values), -1), (), True)
    low, high = float(known.min()), float(known.max())
    inner = np.quantile(known, [0.005, 0.995])
    if not names and high - low > 2 * (inner[1] - inner[0]) > 0:
        low, high = max(low, float(inner[0])), min(high, float(inner[1]))
    bins, step = _BINS, ((high - low) or 1.0) / (_BINS - 1e-9)
    if high - low < _BINS and np.array_equal(known, np.floor(known)):  # whole numbers: a bar for each
        bins, step = int(high - low) + 1, 1.0
    part = np.where(np.isfinite(values), np.clip(np.floor((np.nan_to_num(values) - low) / step), 0, bins - 1), -1)
    beyond = (
        f"{_short(low)} …" if low > known.min() else _short(low),
        (f"… {_short(high)}" if high < known.max() else _short(high)),
    )
    return Binned(part.astype(np.intp), names or beyond, True)


def by_value(texts: Any) -> Binned:
    """The commonest values, and all others together."""
    codes, distinct = pd.factorize(pd.Series(texts, dtype=object))
    sizes = np.bincount(codes[codes >= 0], minlength=len(distinct))
    order = np.argsort(-sizes, kind="stable")
    own = len(order) if len(order) <= _BARS else _BARS - 1
    place = np.empty(len(order) + 1, dtype=np.intp)
    place[order] = np.minimum(np.arange(len(order)), own)
    place[-1] = -1  # what is missing
    names = [str(distinct[each]) for each in order[:own]]
    if own < len(order):
        names.append(f"{len(order) - own:,} others")
    return Binned(place[codes], tuple(names), False)


def _card(name: str, facts: str, picture: str) -> str:
    words = escaped(shortened(name, 40))
    return f'<figure class="card"><h3>{words}</h3><p class="why">{escaped(facts)}</p>{picture}</figure>'


def _mini(height: float, words: str, drawn: str) -> str:
    """A drawing without text, which may be stretched."""
    return (
        f'<svg class="mini" role="img" viewBox="0 0 {_WIDTH:g} {height:g}" preserveAspectRatio="none" '
        f'style="height:{height:g}px"><title>How the values lie</title><desc>{escaped(words)}</desc>{drawn}</svg>'
    )


def _boxes(left: NDArray[Any], top: NDArray[Any], width: float, height: NDArray[Any], style: str) -> str:
    """Rectangles of one colour as one path."""
    found = "".join(
        f"M{x:.1f} {y:.1f}h{width:.1f}v{h:.1f}h{-width:.1f}z"
        for x, y, h in zip(left, top, height, strict=True)
        if h > 0
    )
    return f'<path class="fill {style}" d="{found}"/>' if found else ""


def _histogram(counts: NDArray[np.float64]) -> str:
    """Bars, one colour on another."""
    parts, step = len(counts), _WIDTH / len(counts)
    heights = counts / max(float(counts.sum(axis=1).max()), 1.0) * (_HEIGHT - 2)
    top = np.full(parts, _HEIGHT)
    drawn = []
    for code in range(counts.shape[1]):
        top = top - heights[:, code]
        drawn.append(_boxes(np.arange(parts) * step, top, max(step - 0.8, 0.5), heights[:, code], f"s{code}"))
    return "".join(drawn)


def _shares(counts: NDArray[np.float64]) -> str:
    """A strip in which every part has full height, shared out among the classes; a part of few rows stays empty."""
    parts, step = len(counts), _WIDTH / len(counts)
    enough = counts.sum(axis=1, keepdims=True) >= (_FEW if counts.sum() > 100 * _FEW else 1)
    shares = np.where(enough, counts, 0.0) / np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * (_STRIP - 5)
    top = np.full(parts, _HEIGHT + _STRIP)
    drawn = []
    for code in range(counts.shape[1]):
        top = top - shares[:, code]
        drawn.append(_boxes(np.arange(parts) * step, top, max(step - 0.8, 0.5), shares[:, code], f"s{code}"))
    return "".join(drawn)


def _mean_line(means: NDArray[np.float64]) -> str:
    """The mean of the target in each part, as a line; parts without rows are passed over."""
    known = np.flatnonzero(np.isfinite(means))
    low, span = float(np.nanmin(means)), float(np.ptp(means[known])) or 1.0
    step = _WIDTH / len(means)
    places = [((each + 0.5) * step, _HEIGHT + _STRIP - 3 - (means[each] - low) / span * (_STRIP - 8)) for each in known]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline class="line s1 even" points="{points}"/>'


def _value_rows(binned: Binned, counts: NDArray[np.float64], means: NDArray[np.float64] | None) -> str:
    """The commonest values: their names, bars shared out among the classes, and their share or the target's mean."""
    total, largest = max(float(counts.sum()), 1.0), max(float(counts.sum(axis=1).max()), 1.0)
    lines = []
    for index, name in enumerate(binned.names):
        rows = counts[index].sum()
        inside = "".join(
            f'<i class="s{code}" style="width:{share / largest:.1%}"></i>' for code, share in enumerate(counts[index])
            if share
        )  # fmt: skip
        number = f"{rows / total:.0%}" if means is None else _short(means[index])
        lines.append(
            f'<tr><th scope="row">{escaped(shortened(name, 22))}</th><td class="bar">{inside}</td>'
            f'<td class="n">{number}</td></tr>'
        )
    said = "" if means is None else '<p class="why">right: mean target</p>'
    return f'<table class="values"><tbody>{"".join(lines)}</tbody></table>{said}'


def _listing(counts: NDArray[np.float64]) -> str:
    return ", ".join(f"{value:g}" for value in counts.sum(axis=1))


def _short(value: float) -> str:
    """A number in few characters: ``12.3k``, ``0.042``."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−") if abs(value) < 1000 else f"{value:,.0f}".replace("-", "−")
