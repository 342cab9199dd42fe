"""How pictures look: one palette, one way to make axes. matplotlib is imported when something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array

PALETTE = ("#2b5f91", "#c2612c", "#3c8259", "#8a4f93", "#a58217", "#2a8c93", "#b5476b", "#6b7280", "#7c5b3a", "#5560b5")
BLUE, ORANGE = PALETTE[:2]
INK, SOFT = "#1d2129", "#666b75"  # of text, and of what should stay in the background


def axes(ax: Any = None, size: tuple[float, float] = (6.5, 4.0)) -> Any:
    """The axes to draw on, open at the top and on the right: those that are given, or new ones in our colours."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
        ax.set_prop_cycle(color=PALETTE)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def colours(k: int) -> Array:
    """k colours (k × 3) that differ: the palette, and beyond it a wheel."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    if k <= len(PALETTE):
        return np.array([to_rgb(colour) for colour in PALETTE[:k]]).reshape(k, 3)
    return np.asarray(colormaps["turbo"](np.linspace(0.04, 0.96, k)))[:, :3]
