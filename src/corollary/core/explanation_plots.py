"""Pictures of Shapley values: all rows as dots, their mean size as bars, one row as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.core.drawing import BLUE, ORANGE, PALETTE, axes
from corollary.core.types import Array

if TYPE_CHECKING:
    from corollary.core.explanation import Explanation

GREY = "0.6"
_MOST_DOTS = 2000  # rows beyond which dots only hide each other


def _axes(ax: Any, bars: int) -> Any:
    ax = axes(ax, (7.5, 1.3 + 0.36 * bars))
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _largest(sizes: Array, top: int) -> Array:
    """The columns with the largest sizes, largest first; columns that do nothing are left out."""
    order = np.argsort(-sizes, kind="stable")[:top]
    return order[sizes[order] > 0] if sizes.any() else order[:1]


def plot_dots(explanation: Explanation, output: Any, top: int, ax: Any) -> Any:
    """One dot for each row in the line of each column."""
    from matplotlib.colors import LinearSegmentedColormap

    values = explanation._of(output)
    columns = _largest(explanation.importances(output), top)
    rows = np.unique(np.linspace(0, len(values) - 1, _MOST_DOTS).astype(int))
    ax = _axes(ax, len(columns))
    colours = LinearSegmentedColormap.from_list("low to high", [BLUE, "#b9b4c7", ORANGE])
    ax.axvline(0, color="0.4", lw=0.8, zorder=0)
    reach = float(np.abs(values[:, columns]).max(initial=1e-300))
    grey_dots = False
    for line, f in enumerate(columns[::-1]):
        x, level = values[rows, f], _levels(explanation.column(int(f))[rows], int(f) in explanation.categories)
        y = line + _heights(x, reach)
        grey = np.isnan(level)
        grey_dots |= bool(grey.any())
        ax.scatter(x[grey], y[grey], s=9, color=GREY, lw=0, alpha=0.8, rasterized=True)
        ax.scatter(x[~grey], y[~grey], s=9, c=level[~grey], cmap=colours, vmin=0, vmax=1, lw=0, alpha=0.9,
                   rasterized=True)  # fmt: skip
    ax.set_yticks(range(len(columns)), [explanation.feature_names[f] for f in columns[::-1]])
    ax.set(xlabel=f"Shapley value: added to the {explanation.label(output)}", ylim=(-0.6, len(columns) - 0.4))
    _key(ax, colours, grey_dots)
    return ax


def _key(ax: Any, colours: Any, grey: bool) -> None:
    """A small legend of the colours, in the corner that the least important columns leave free."""
    from matplotlib.lines import Line2D

    entries = [("high value", colours(1.0)), ("low value", colours(0.0))]
    if grey:
        entries.append(("missing or a category", GREY))
    handles = [Line2D([], [], ls="", marker="o", ms=5, color=colour, label=text) for text, colour in entries]
    ax.legend(handles=handles, frameon=False, fontsize="small", loc="lower right", handletextpad=0.1, labelspacing=0.3,
              borderaxespad=0.2)  # fmt: skip


def _levels(column: Array, categorical: bool) -> Array:
    """The rank of each value between 0 and 1; NaN where it is missing or has no order."""
    out = np.full(len(column), np.nan)
    present = ~np.isnan(column)
    if categorical or not present.any():
        return out
    distinct, place = np.unique(column[present], return_inverse=True)
    counts = np.bincount(place)
    middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    low, high = middle[0], middle[-1]
    out[present] = ((middle - low) / (high - low))[place] if len(distinct) > 1 else 0.5
    return out


def _heights(x: Array, reach: float) -> Array:
    """Where dots go so that those of about the same value stand above and below each other."""
    cells = np.round(x / reach * 60).astype(int)
    order = np.argsort(cells, kind="stable")
    _, start, counts = np.unique(cells[order], return_index=True, return_counts=True)
    rank = np.arange(len(x)) - np.repeat(start, counts)
    side = np.where(rank % 2 == 0, 1, -1) * ((rank + 1) // 2)
    out = np.empty(len(x))
    out[order] = side
    return out * min(0.06, 0.8 / max(1, int(counts.max())))


def plot_bars(explanation: Explanation, output: Any, top: int, ax: Any) -> Any:
    """Mean sizes; of several outputs one behind the other, so that the whole is their sum."""
    columns = _largest(explanation.importances(output), top)[::-1]
    ax = _axes(ax, len(columns))
    names = [explanation.feature_names[f] for f in columns]
    sizes = np.abs(explanation._of(output)).mean(axis=0)[columns]
    sizes = sizes[:, None] if sizes.ndim == 1 else sizes
    start = np.zeros(len(columns))
    for k in range(sizes.shape[1]):
        label = explanation.output_names[k] if sizes.shape[1] > 1 else None
        ax.barh(names, sizes[:, k], left=start, height=0.62, color=PALETTE[k % len(PALETTE)], label=label)
        start += sizes[:, k]
    if sizes.shape[1] == 1:
        for line, size in enumerate(start):
            ax.annotate(f"{size:.3g}", (size, line), xytext=(4, 0), textcoords="offset points", va="center",
                        fontsize="small", color="0.3")  # fmt: skip
    else:
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    together = f", {explanation.outputs} added up" if sizes.shape[1] > 1 else ""
    ax.set(xlabel=f"mean size of the Shapley values ({explanation.label(output)}){together}")
    ax.margins(x=0.1)
    return ax


def plot_steps(explanation: Explanation, row: int, output: Any, top: int, ax: Any) -> Any:
    """From the base at the bottom to the prediction at the top, the largest steps last."""
    values = explanation._of(output)[row]
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:top], order[top:]
    labels = [f"{explanation.feature_names[f]} = {explanation.shown(row, int(f))}" for f in shown]
    sizes = values[shown]
    if len(rest):
        labels, sizes = (
            [*labels, f"{len(rest)} other column{'s' * (len(rest) > 1)}"],
            np.append(sizes, values[rest].sum()),
        )
    labels, sizes = labels[::-1], sizes[::-1]
    base = explanation.base(output)
    ends = base + np.cumsum(sizes)
    starts = ends - sizes
    ax = _axes(ax, len(labels) + 1)
    lines = np.arange(len(labels))
    colours = np.where(sizes >= 0, BLUE, ORANGE)
    ax.barh(lines, sizes, left=starts, height=0.62, color=colours)
    for line in lines[:-1]:
        ax.plot([ends[line]] * 2, [line + 0.31, line + 0.69], color="0.5", lw=0.8)
    for line, (start, end) in enumerate(zip(starts, ends, strict=True)):
        right = end >= start
        ax.annotate(f"{end - start:+.3g}".replace("-", "−"), (end, line), xytext=(5 if right else -5, 0),
                    textcoords="offset points", ha="left" if right else "right", va="center", fontsize="small",
                    color=BLUE if right else ORANGE,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
    ax.set_yticks(lines, labels)
    ax.axvline(base, color="0.6", lw=0.9, ls="--", zorder=0)
    ax.axvline(ends[-1], color="0.3", lw=0.9, zorder=0)
    low, high = min(ends.min(), starts.min()), max(ends.max(), starts.max())
    room = 0.16 * max(high - low, 1e-12)  # for the numbers beside the bars
    ax.set(xlabel=explanation.label(output), ylim=(-0.6, len(labels) - 0.4), xlim=(low - room, high + room))
    _ends(ax, base, float(ends[-1]))
    return ax


def _ends(ax: Any, base: float, prediction: float) -> None:
    """Name the two lines above the bars, away from each other."""
    left, right = (base, prediction) if base <= prediction else (prediction, base)
    for value, side in ((left, "right"), (right, "left")):
        text = f"base {value:.4g}" if value == base else f"prediction {value:.4g}"
        ax.annotate(text.replace("-", "−"), (value, 1.0), xycoords=("data", "axes fraction"),
                    xytext=(-3 if side == "right" else 3, 3), textcoords="offset points", ha=side, va="bottom",
                    fontsize="small", color="0.35" if value == base else "0.1")  # fmt: skip
