"""Pictures of ensembles: the rounds of a booster, the weights of a blend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corollary.core.drawing import BLUE, ORANGE, axes
from corollary.core.types import Array


def plot_rounds(history: Mapping[str, Sequence[float]], ax: Any = None) -> Any:
    """Training error, its bound and the learners' weighted errors against rounds, on a log scale."""
    ax = axes(ax)
    rounds, error, bound = (np.asarray(history[name]) for name in ("iteration", "training error", "bound"))
    ax.plot(rounds, history["weighted error"], color="0.65", lw=1, label="weighted error of the learner")
    ax.plot(rounds, np.where(bound > 0, bound, np.nan), color=ORANGE, ls="--", label="bound of the training error")
    ax.plot(rounds, np.where(error > 0, error, np.nan), color=BLUE, lw=1.8, label="training error")
    ax.set(yscale="log", xlabel="round", ylabel="share of the rows' weight")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    low, high = ax.get_ylim()
    few = high < 50 * low  # few powers of ten: label numbers between them too
    ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if few and f"{value:.0e}"[0] in "2346" else "")
    clean = np.flatnonzero(error == 0)
    if clean.size:  # a log scale has no zero
        first = rounds[clean[0]]
        ax.axvline(first, color=BLUE, lw=0.8, ls=":")
        ax.annotate("no training error", (first, 0.03), xycoords=("data", "axes fraction"), xytext=(4, 0),
                    textcoords="offset points", color=BLUE)  # fmt: skip
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_weights(names: Sequence[str], weights: Array, scores: Mapping[str, float], ax: Any = None) -> Any:
    """One bar for each member, as long as its weight, with the member's own score beside it where it is known."""
    ax = axes(ax, (6.5, 1.2 + 0.4 * len(names)))
    ax.barh(list(names)[::-1], np.asarray(weights)[::-1], color=BLUE, height=0.6)
    for place, (name, weight) in enumerate(zip(list(names)[::-1], np.asarray(weights)[::-1], strict=True)):
        score = f"   score {scores[name]:.4g}" if name in scores else ""
        ax.annotate(f"{weight:.3g}{score}", (weight, place), xytext=(4, 0), textcoords="offset points", va="center")
    ax.set(xlabel="weight", xlim=(0, 1.35 * max(float(np.max(weights, initial=0.0)), 1e-12)))
    return ax
