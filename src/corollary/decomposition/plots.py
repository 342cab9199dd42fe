"""Pictures of principal components: scree plot and biplot."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array

BARS, LINE, ARROWS = "#2b6cb0", "#c05621", "#c05621"
NAMED = 12  # arrows that get a name


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_scree(ratio: Array, ax: Any = None) -> Any:
    """Bars: the share of the variance of each component. Line: the sum so far."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    ax = _axes(ax, (6.5, 4))
    number = np.arange(1, len(ratio) + 1)
    ax.bar(number, ratio, color=BARS, width=0.8, label="each")
    ax.plot(number, np.cumsum(ratio), color=LINE, marker="o", ms=3, lw=1.4, label="together")
    ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.03))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend(frameon=False, loc="center right")
    return ax


def plot_biplot(
    scores: Array, components: Array, ratio: Array, which: list[int], names: Any = None, y: Any = None, ax: Any = None
) -> Any:
    """Scores (n × 2) as points and the columns' entries in two components (2 × d) as arrows, the longest ones named."""
    from matplotlib.patheffects import withStroke

    ax = _axes(ax, (6.5, 5.5))
    if y is None:
        ax.scatter(*scores.T, s=10, color="0.6", alpha=0.6, lw=0)
    else:
        _coloured(ax, scores, np.asarray(y))
    length = np.hypot(*components)
    reach = 0.85 * float(np.abs(scores).max(initial=0.0)) / (float(length.max(initial=0.0)) or 1.0)
    named = set(np.argsort(-length)[:NAMED].tolist())
    for j, (a, b) in enumerate(reach * components.T):
        ax.annotate("", (a, b), (0, 0), arrowprops={"arrowstyle": "->", "color": ARROWS, "lw": 1.2, "alpha": 0.8})
        if j in named:
            side = "left" if a >= 0 else "right"
            name = f"x{j}" if names is None else str(names[j])
            place = {"xytext": (4 if a >= 0 else -4, 0), "textcoords": "offset points", "ha": side, "va": "center"}
            label = ax.annotate(name, (a, b), color=ARROWS, fontsize="small", **place)
            label.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    ax.axhline(0, color="0.85", lw=0.8, zorder=0)
    ax.axvline(0, color="0.85", lw=0.8, zorder=0)
    title = [f"component {j + 1} ({share:.1%})" for j, share in zip(which, ratio, strict=True)]
    ax.set(xlabel=title[0], ylabel=title[1])
    return ax


def _coloured(ax: Any, scores: Array, y: Array) -> None:
    """Points by class, or by number where y has many values."""
    labels = np.unique(y)
    if len(labels) > 10:
        points = ax.scatter(*scores.T, c=y.astype(float), s=10, alpha=0.7, lw=0, cmap="viridis")
        ax.figure.colorbar(points, ax=ax, shrink=0.8)
        return
    for label in labels:
        ax.scatter(*scores[y == label].T, s=10, alpha=0.7, lw=0, label=str(label))
    ax.legend(frameon=False, fontsize="small", markerscale=1.5)
