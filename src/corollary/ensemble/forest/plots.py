"""A picture of a forest: the out-of-bag error as trees are added."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from corollary.ensemble.plots import BLUE, _axes


def plot_oob(model: Any, ax: Any = None) -> Any:
    """Out-of-bag error against the number of trees, with the standard error of the last."""
    history = model.evidence_.history
    if "OOB error" not in history or not history["iteration"]:
        raise ValueError("plot needs the out-of-bag error of each tree; fit with bootstrap=True, oob_score=True.")
    ax = _axes(ax)
    trees, error = np.asarray(history["iteration"]), np.asarray(history["OOB error"])
    last, width = float(error[-1]), model.evidence_.facts["standard error"]
    ax.axhspan(last - width, last + width, color=BLUE, alpha=0.12, lw=0)
    ax.plot(trees, error, color=BLUE, lw=1.6)
    ax.text(0.98, 0.95, f"{trees[-1]:.0f} trees: {last:.4g} ± {width:.2g}", ha="right", va="top", color=BLUE,
            transform=ax.transAxes)  # fmt: skip
    kind = "share of rows misclassified" if is_classifier(model) else "mean squared error"
    ax.set(xlabel="trees", ylabel=f"out-of-bag {kind}", title=f"{type(model).__name__}: error on rows a tree never saw")
    return ax
