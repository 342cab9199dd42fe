"""Pictures of cascades: boxes in an image, rates over the stages, the first features on a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corollary.core import drawing
from corollary.core.drawing import BLUE, ORANGE
from corollary.core.types import Array
from corollary.solvers.trees.cascade.features import SHAPES

OUTLINE = "#ffd500"


def draw_boxes(image: Any, boxes: Array, scores: Array, ax: Any = None) -> Any:
    """Draw boxes (left, top, width, height) over an image, more solid the higher their score."""
    from matplotlib.patches import Rectangle

    pixels = np.asarray(image)
    ax = drawing.axes(ax, (6.5, max(1.0, 6.5 * pixels.shape[0] / pixels.shape[1])))
    ax.imshow(pixels, cmap="gray" if pixels.ndim == 2 else None, interpolation="nearest")
    best = float(np.max(scores, initial=1e-300))
    for (left, top, width, height), score in zip(boxes, scores, strict=True):
        for colour, line, alpha in (("black", 3.2, 0.6), (OUTLINE, 1.6, 0.55 + 0.45 * float(score) / best)):
            corner = (left - 0.5, top - 0.5)
            ax.add_patch(Rectangle(corner, width, height, fill=False, lw=line, edgecolor=colour, alpha=alpha))
    ax.spines[:].set_visible(True)
    ax.set(xticks=[], yticks=[])
    return ax


def draw_rates(history: Mapping[str, Sequence[float]], ax: Any = None) -> Any:
    """Draw what remains of objects and of everything else after each stage, on a logarithmic scale."""
    ax = drawing.axes(ax)
    stages = np.concatenate([[0.0], history["iteration"]])
    for name, colour, label, above in (
        ("cumulative detection rate", BLUE, "objects that pass", 8),
        ("cumulative false positive rate", ORANGE, "other windows that pass", -16),
    ):
        rates = np.concatenate([[1.0], history[name]])
        shown = rates > 0  # a rate of zero was too small to measure
        ax.semilogy(stages[shown], rates[shown], color=colour, marker="o", ms=4, lw=1.8)
        place = (stages[shown][-1], rates[shown][-1])
        ax.annotate(f"{label}: {_percent(rates[-1])}", place, xytext=(0, above), textcoords="offset points", ha="right",
                    color=colour, fontsize="small")  # fmt: skip
    ax.set(xlabel="stage", ylabel="part that is left", xlim=(-0.3, stages[-1] + 0.3))
    ax.margins(y=0.3)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def draw_features(cascade: Any, background: Any, axes: Sequence[Any]) -> None:
    """Draw the first features of a fitted cascade over a window, one on each of ``axes``.

    White cells count as bright and black cells as dark, in the direction that speaks for the positive class.
    """
    from matplotlib.patches import Rectangle

    shapes = list(SHAPES.values())
    for ax, feature, left, right in zip(axes, cascade.features_, cascade.left_, cascade.right_, strict=False):
        shape, top, edge, height, width = map(int, feature)
        ax.imshow(np.asarray(background).reshape(cascade.window_), cmap="gray", interpolation="nearest")
        for (row, column), weight in np.ndenumerate(shapes[shape]):
            bright = (weight > 0) == (right > left)
            corner = (edge + column * width - 0.5, top + row * height - 0.5)
            ax.add_patch(Rectangle(corner, width, height, facecolor="white" if bright else "black",
                                   edgecolor=OUTLINE, lw=1.0, alpha=0.75))  # fmt: skip
        ax.set(xticks=[], yticks=[])


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %" if rate >= 0.001 else ("none seen" if rate == 0 else f"1 in {1 / rate:,.0f}")
