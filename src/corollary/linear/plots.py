"""Pictures of linear models, with matplotlib: validation curves, coefficient paths, coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.drawing import BLUE, ORANGE, axes, colours
from corollary.core.types import Array


def plot_validation_curve(alphas: Array, errors: Array, chosen: float, ax: Any = None) -> Any:
    """Mean held-out error ± one standard error against strength; one line per mix when there are several."""
    ax = axes(ax)
    every = errors.reshape(-1, *errors.shape[-2:])
    grids = np.broadcast_to(alphas, every.shape[:2])  # several mixes may share one grid
    for grid, error, colour in zip(grids, every, colours(len(grids)), strict=True):
        mean, spread = error.mean(axis=1), error.std(axis=1) / np.sqrt(error.shape[1])
        ax.plot(grid, mean, color=colour)
        ax.fill_between(grid, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
    ax.axvline(chosen, color="0.3", ls="--", lw=1)
    ax.annotate(f"chosen: {chosen:.3g}", (chosen, 0.97), xycoords=("data", "axes fraction"), va="top", xytext=(4, 0),
                textcoords="offset points")  # fmt: skip
    ax.set(xscale="log", xlabel="strength of the penalty", ylabel="held-out mean squared error")
    return ax


def plot_path(alphas: Array, coefs: Array, names: Any = None, ax: Any = None, labels: int = 8) -> Any:
    """Coefficients (d, m) against strength, strongest penalty on the right; the largest few are named."""
    ax = axes(ax)
    largest = set(np.argsort(-np.abs(coefs).max(axis=1))[:labels])
    for j, line in enumerate(coefs):
        if not line.any():
            continue
        name = None if j not in largest else (str(names[j]) if names is not None else f"x{j}")
        ax.plot(alphas, line, label=name, lw=1.6 if name else 0.8, color=None if name else "0.75")
    ax.axhline(0, color="0.4", lw=0.8)
    ax.set(xscale="log", xlabel="strength of the penalty", ylabel="coefficient")
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def plot_coefficients(coef: Array, names: Any = None, top: int = 20, ax: Any = None) -> Any:
    """Horizontal bars of the largest coefficients (d,), by size."""
    ax = axes(ax)
    order = np.argsort(-np.abs(coef))[:top][::-1]
    ax.barh(
        [str(names[j]) if names is not None else f"x{j}" for j in order],
        coef[order],
        color=np.where(coef[order] > 0, BLUE, ORANGE),
    )
    ax.axvline(0, color="0.4", lw=0.8)
    ax.set(xlabel="coefficient")
    return ax
