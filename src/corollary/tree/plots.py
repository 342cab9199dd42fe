"""A picture of a tree: questions in boxes, branches as wide as the rows that take them, answers as bars of classes."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from corollary.core.drawing import INK, PALETTE, SOFT
from corollary.core.types import Array
from corollary.tree.questions import Words

_BRANCH = "#c9ccd2"
_ROW = 0.34  # height of a leaf's slot, in inches
_LEVEL = 2.15  # width of a level, in inches


def plot_tree(model: Any, ax: Any = None, max_depth: int = 6) -> Any:
    """Draw a fitted decision tree from left to right, down to ``max_depth``; returns the matplotlib axes.

    Up is yes and down is no. Each leaf has a line of its own, so nothing overlaps however deep the tree is; the figure
    grows with the number of leaves. A branch is as wide as its share of the weight. A leaf shows the shares of the
    classes, or where its value lies between the smallest and the largest of the tree. A subtree that is cut off shows
    how much of it there is.
    """
    words = Words.of(model)
    shown, ends, place = _layout(words, max_depth)
    depths = words.trees.node_depths()
    deepest = int(depths[shown].max())
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=figure_size(deepest, len(ends)), layout="constrained")
    colours = _Colours(words)
    for t in shown:
        if t not in ends:
            _draw_branches(ax, words, depths, place, t)
    for t in shown:
        if t in ends:
            _draw_end(ax, words, colours, int(depths[t]), place[t], t)
        else:
            _draw_question(ax, words, colours, int(depths[t]), place[t], t)
    ax.set_xlim(-0.05, deepest + 1.0)
    ax.set_ylim(len(ends) - 0.3, -0.8)
    ax.axis("off")
    leaves = int(words.trees.is_leaf.sum())
    ax.set_title(
        f"{type(model).__name__}: {leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {int(depths.max())}; "
        "up is yes, down is no", loc="left", fontsize=10, color=INK,
    )  # fmt: skip
    if words.classes is not None:
        colours.legend(ax, words.classes)
    return ax


def figure_size(depth: int, ends: int) -> tuple[float, float]:
    """Inches for a tree of that depth with so many ends drawn."""
    return max(5.0, _LEVEL * (depth + 1)), max(2.0, _ROW * (ends + 3))


def export_svg(model: Any, path: str | os.PathLike[str] | None = None, max_depth: int = 6) -> str:
    """The picture of :func:`plot_tree` as the text of an SVG file, which is also written to ``path`` if given."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    words = Words.of(model)
    shown, ends, _ = _layout(words, max_depth)
    size = figure_size(int(words.trees.node_depths()[shown].max()), len(ends))
    held = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "corollary"}):
        figure = Figure(figsize=size, layout="constrained")  # not pyplot's, which would keep and show it
        plot_tree(model, ax=figure.add_subplot(), max_depth=max_depth)
        figure.savefig(held, format="svg", metadata={"Date": None})
    text = held.getvalue()
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text


def _layout(words: Words, max_depth: int) -> tuple[list[int], set[int], dict[int, float]]:
    """(nodes to draw, parents first; those without children here; height of each).

    An end takes the next line; a parent stands between its children.
    """
    trees, depths = words.trees, words.trees.node_depths()
    shown, stack, ends = [], [0], []
    while stack:
        t = stack.pop()
        shown.append(t)
        if trees.feature[t] < 0 or depths[t] >= max_depth:
            ends.append(t)
        else:
            stack += [int(trees.left[t]) + 1, int(trees.left[t])]
    place = {t: float(line) for line, t in enumerate(ends)}
    for t in reversed(shown):
        if t not in place:
            place[t] = 0.5 * (place[int(trees.left[t])] + place[int(trees.left[t]) + 1])
    return shown, set(ends), place


class _Colours:
    """Colours of nodes: by class and purity, or by value."""

    def __init__(self, words: Words) -> None:
        self.words = words
        value = words.trees.value[:, 0]
        self.low, self.high = float(value.min()), float(value.max())

    def of_class(self, k: int) -> str:
        return PALETTE[k % len(PALETTE)]

    def share(self, t: int) -> float:
        """Where a value lies between the smallest and the largest of the tree."""
        value = float(self.words.trees.value[t, 0])
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def of(self, t: int) -> Any:
        """The colour of a node: paler where it is less sure."""
        from matplotlib import colormaps
        from matplotlib.colors import to_rgb

        if self.words.classes is None:
            return colormaps["viridis"](0.08 + 0.8 * self.share(t))
        value = self.words.trees.value[t]
        most, k = float(value.max()), len(value)
        strength = 0.25 + 0.75 * max(0.0, (most - 1 / k) / (1 - 1 / k))
        return tuple(1 - strength * (1 - part) for part in to_rgb(self.of_class(int(value.argmax()))))

    def legend(self, ax: Any, classes: Sequence[str]) -> None:
        from matplotlib.patches import Patch

        patches = [Patch(color=self.of_class(k), label=_short(name, 24)) for k, name in enumerate(classes[:12])]
        ax.legend(
            handles=patches, loc="upper right", frameon=False, fontsize=8, ncols=min(6, len(patches)),
            bbox_to_anchor=(1.0, -0.0), borderaxespad=0.2, handlelength=1.0,
        )  # fmt: skip


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _draw_branches(ax: Any, words: Words, depths: Array, place: dict[int, float], t: int) -> None:
    """Two curves, as wide as their shares of all rows."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x = float(depths[t])
    for child in (int(words.trees.left[t]), int(words.trees.left[t]) + 1):
        share = float(words.trees.weight[child] / words.trees.weight[0])
        points = [(x + 0.1, place[t]), (x + 0.85, place[t]), (x + 0.6, place[child]), (x + 1.02, place[child])]
        curve = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        ax.add_patch(PathPatch(curve, fill=False, lw=0.8 + 9 * share, color=_BRANCH, capstyle="butt", zorder=1))


def _draw_question(ax: Any, words: Words, colours: _Colours, depth: int, y: float, t: int) -> None:
    """A box with the question, tinted by what the node would answer."""
    asked = words.question(t)
    rows = f"{int(words.trees.count[t]):,}".replace(",", "\u2009")
    ax.text(
        depth, y, f"{_short(asked.feature, 22)}\n{_short(asked.left, 22)}  ({rows})", ha="left", va="center",
        fontsize=7.5, color=INK, linespacing=1.15, zorder=3,
        bbox={"boxstyle": "round,pad=0.28", "fc": "white", "ec": colours.of(t), "lw": 1.8},
    )  # fmt: skip


def _draw_end(ax: Any, words: Words, colours: _Colours, depth: int, y: float, t: int) -> None:
    """A leaf: bar of class shares or place of the value, then the answer and its rows."""
    from matplotlib.patches import Rectangle

    x, width, height = depth + 0.02, 0.26, 0.5
    value = words.trees.value[t]
    if words.classes is not None:
        start = x
        for k in map(int, np.flatnonzero(value > 0)):
            part = width * float(value[k])
            ax.add_patch(Rectangle((start, y - height / 2), part, height, fc=colours.of_class(k), ec="none", zorder=3))
            start += part
    else:
        ax.add_patch(Rectangle((x, y - height / 2), width, height, fc="#eef0f3", ec="none", zorder=3))
        part = max(0.01, width * colours.share(t))
        ax.add_patch(Rectangle((x, y - height / 2), part, height, fc=colours.of(t), ec="none", zorder=4))
    rows = f"{int(words.trees.count[t]):,}".replace(",", "\u2009")
    hidden = "" if words.trees.feature[t] < 0 else " …"
    ax.text(x + width + 0.03, y, _short(words.answer(t), 18) + hidden, ha="left", va="center", fontsize=8, color=INK,
            zorder=3)  # fmt: skip
    ax.annotate(f"({rows})", (1.0, 0.5), xycoords=ax.texts[-1], xytext=(4, 0), textcoords="offset points", ha="left",
                va="center", fontsize=7, color=SOFT)  # fmt: skip
