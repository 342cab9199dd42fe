"""A small chart writer: scales, axes and marks as inline SVG that follows the page's light or dark colours.

Colours are CSS classes (``s0`` … ``s9`` for series, ``grid``, ``axis``, ``soft``), so a chart needs no script and no
second version for dark pages. Every text from outside is escaped here, in one place.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corollary.tabular.messages import shortened

_STEERING = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufffe\\uffff]")


def escaped(text: object) -> str:
    """Text that is safe inside HTML and SVG; characters that steer (control, direction, half pairs) become �."""
    return html.escape(_STEERING.sub("�", str(text)), quote=True)


def nice_step(span: float, about: int) -> float:
    """A step of 1, 2 or 5 times a power of ten that gives ``about`` steps in ``span``."""
    raw = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)


def tick_text(value: float, step: float) -> str:
    """A tick label: thousands as ``20k``, millions as ``3M``, otherwise the decimals of the step."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if step >= size / 10 and abs(value) >= size:
            return f"{value / size:g}{letter}".replace("-", "−")
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    if decimals > 5:
        return f"{value:.1e}".replace("-", "−")
    return f"{0.0 if value == 0 else value:,.{decimals}f}".replace("-", "−")


def compact(value: float, largest: float) -> str:
    """A signed number beside a bar: three digits of the largest, thousands as ``k``."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:+.3g}{letter}".replace("-", "−")
    digits = math.floor(math.log10(largest)) if largest > 0 else 0
    text = f"{value:+.{min(max(2 - digits, 0), 6)}f}" if digits > -5 else f"{value:+.2e}"
    return text.replace("-", "−")


@dataclass(frozen=True)
class Scale:
    """Maps values to positions along an axis, linearly or by logarithm."""

    low: float
    high: float
    log: bool = False
    whole: bool = False  # ticks at whole numbers only

    @classmethod
    def around(cls, values: ArrayLike, *, log: bool = False, pad: float = 0.04) -> Scale:
        """A scale that holds every finite value with a little room."""
        found = np.asarray(values, dtype=float)
        found = found[np.isfinite(found) & ((found > 0) | (not log))]
        low, high = (float(found.min()), float(found.max())) if found.size else (1.0, 10.0)
        if log:
            first = math.floor(math.log10(low))
            return cls(10.0**first, 10.0 ** max(math.ceil(math.log10(high)), first + 1), True)
        room = (high - low) * pad or abs(high) * pad or 1.0
        return cls(low - room, high + room)

    def place(self, values: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Positions in [0, 1]; values outside are clipped."""
        found = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            found, low, high = np.log10(np.maximum(found, self.low)), math.log10(low), math.log10(high)
        return np.clip((found - low) / (high - low), 0.0, 1.0)

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Round values on the scale and how they are written."""
        if self.log:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            every = max(1, math.ceil((last - first) / about))
            return [(10.0**power, _power_text(power)) for power in range(first, last + 1, every)]
        step = nice_step(self.high - self.low, about)
        step = max(step, 1.0) if self.whole else step
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(index * step, tick_text(index * step, step)) for index in range(first, last + 1)]


def _power_text(power: int) -> str:
    if 0 <= power <= 3:
        return f"{10**power:,}"
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


class Chart:
    """A plot area with two axes; marks are added in data coordinates and ``svg()`` is the drawing."""

    def __init__(
        self, x: Scale, y: Scale, *, title: str, description: str, x_label: str = "", y_label: str = "",
        width: int = 440, height: int = 320,
    ) -> None:  # fmt: skip
        self.x, self.y, self.title, self.description = x, y, title, description
        self.width, self.height = width, height
        longest = max((len(words) for _, words in y.ticks()), default=0)
        self.left, self.right, self.top, self.bottom = max(58, round(28 + 7.4 * longest)), 16, 12, 46
        self._x_label, self._y_label = x_label, y_label
        self._marks: list[str] = []

    def at(self, x: ArrayLike, y: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Positions on the drawing, one row for each point."""
        across = self.left + self.x.place(x) * (self.width - self.left - self.right)
        down = self.height - self.bottom - self.y.place(y) * (self.height - self.top - self.bottom)
        return np.column_stack(np.broadcast_arrays(np.atleast_1d(across), np.atleast_1d(down)))

    def line(self, x: ArrayLike, y: ArrayLike, style: str = "s0", dashed: bool = False) -> None:
        """A polyline."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in self.at(x, y))
        self._marks.append(f'<polyline class="line {style}{" dash" if dashed else ""}" points="{points}"/>')

    def points(self, x: ArrayLike, y: ArrayLike, style: str = "s0", radius: float = 2.5) -> None:
        """Filled circles."""
        circles = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius:g}"/>' for a, b in self.at(x, y))
        self._marks.append(f'<g class="fill {style}">{circles}</g>')

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, style: str = "s0") -> None:
        """The area between two curves, shaded."""
        there, back = self.at(x, high), self.at(x, low)[::-1]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in [*there, *back])
        self._marks.append(f'<polygon class="fill {style} band" points="{points}"/>')

    def box(self, x: tuple[float, float], y: tuple[float, float], style: str = "s0", opacity: float = 1.0) -> None:
        """A filled rectangle between two corners."""
        (a, b), (c, d) = self.at(x, y)
        faint = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        self._marks.append(
            f'<rect class="fill {style}" x="{min(a, c):.1f}" y="{min(b, d):.1f}" width="{abs(c - a):.1f}" '
            f'height="{abs(d - b):.1f}"{faint}/>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "start", nudge: tuple[float, float] = (0, 0)) -> None:
        """A short label at a point, moved by ``nudge``."""
        ((a, b),) = self.at([x], [y])
        a, b = a + nudge[0], b + nudge[1]
        self._marks.append(f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">{escaped(words)}</text>')

    def _axes(self, about_x: int = 5, about_y: int = 5) -> Iterable[str]:
        bottom, right = self.height - self.bottom, self.width - self.right
        for value, words in self.y.ticks(about_y):
            ((_, b),) = self.at([self.x.low], [value])
            yield f'<line class="grid" x1="{self.left}" x2="{right}" y1="{b:.1f}" y2="{b:.1f}"/>'
            yield f'<text x="{self.left - 7}" y="{b + 3.5:.1f}" text-anchor="end">{words}</text>'
        for value, words in self.x.ticks(about_x):
            ((a, _),) = self.at([value], [self.y.low])
            yield f'<line class="axis" x1="{a:.1f}" x2="{a:.1f}" y1="{bottom}" y2="{bottom + 4}"/>'
            yield f'<text x="{a:.1f}" y="{bottom + 17}" text-anchor="middle">{words}</text>'
        yield f'<line class="axis" x1="{self.left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>'
        middle = (self.left + right) / 2
        below, height = self.height - 8, (self.top + bottom) / 2
        words = escaped(self._x_label)
        yield f'<text class="label" x="{middle:.0f}" y="{below}" text-anchor="middle">{words}</text>'
        turned = f'transform="translate(13 {height:.0f}) rotate(-90)"'
        yield f'<text class="label" {turned} text-anchor="middle">{escaped(self._y_label)}</text>'

    def svg(self) -> str:
        """The drawing."""
        return drawing(self.width, self.height, self.title, self.description, [*self._axes(), *self._marks])


def drawing(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """An ``<svg>`` with a title and a description for those who listen to the page."""
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">'
        f"<title>{escaped(title)}</title><desc>{escaped(description)}</desc>{''.join(parts)}</svg>"
    )


def thinned(x: ArrayLike, y: ArrayLike, most: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """A polyline with at most about ``most`` corners: the corners that lie farthest along the curve from each other."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(a) <= most:
        return a, b
    spread = [np.ptp(v) or 1.0 for v in (a, b)]
    length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(a) / spread[0], np.diff(b) / spread[1]))])
    keep = np.unique(np.searchsorted(length, np.linspace(0.0, length[-1], most)).clip(0, len(a) - 1))
    return a[keep], b[keep]


def density(chart: Chart, x: ArrayLike, y: ArrayLike, cells: int = 48) -> None:
    """Many points as shaded squares: darker where more of them lie."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    ranges = [(chart.x.low, chart.x.high), (chart.y.low, chart.y.high)]
    counts, across, up = np.histogram2d(np.clip(a, *ranges[0]), np.clip(b, *ranges[1]), bins=cells, range=ranges)
    shade = np.sqrt(counts / max(counts.max(), 1.0))
    for i, j in np.argwhere(counts > 0):
        chart.box((across[i], across[i + 1]), (up[j], up[j + 1]), opacity=0.08 + 0.92 * float(shade[i, j]))


def key_of_colours(names: Sequence[str]) -> str:
    """The names of several series beside their colours; nothing for one series."""
    if len(names) < 2:
        return ""
    items = "".join(
        f'<li><i class="s{index % 10}"></i>{escaped(shortened(name, 40))}</li>' for index, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def bars(names: Sequence[str], values: Sequence[float], *, title: str, errors: Sequence[float] | None = None) -> str:
    """Horizontal bars from zero, with their names before them and their values after them.

    A table rather than a drawing, so that its words keep their size on a phone.
    """
    low, high = min(0.0, *values), max(0.0, *values)
    span = (high - low) or 1.0
    largest = max(abs(value) for value in values)
    rows = []
    for index, (name, value) in enumerate(zip(names, values, strict=True)):
        left, width = (min(value, 0.0) - low) / span, abs(value) / span
        number = compact(value, largest)
        if errors is not None:
            number += f" ± {compact(errors[index], largest)[1:]}"
        bar = f'<i class="{"s0" if value >= 0 else "s1"}" style="margin-left:{left:.2%};width:{width:.2%}"></i>'
        rows.append(
            f'<tr><th scope="row">{escaped(shortened(name, 40))}</th><td class="bar">{bar}</td>'
            f'<td class="n">{number}</td></tr>'
        )
    return f'<table class="bars" aria-label="{escaped(title)}"><tbody>{"".join(rows)}</tbody></table>'
