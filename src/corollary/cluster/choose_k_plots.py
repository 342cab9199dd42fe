"""The picture of a choice of k: one small chart for each criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.cluster.k_criteria import CRITERIA

if TYPE_CHECKING:
    from corollary.cluster.choose_k import KChoice

_COLOUR, _CHOSEN = "#2b6cb0", "#dd6b20"


def plot_choice(choice: KChoice, axes: Any = None) -> Any:
    """Each criterion against k; the k that it speaks for is marked. Returns the axes, one for each criterion."""
    import matplotlib.pyplot as plt

    names = [name for name in choice.columns if name in CRITERIA]
    if axes is None:
        _, axes = plt.subplots(1, len(names), figsize=(2.7 * len(names), 2.7), layout="constrained", squeeze=False)
    axes = np.ravel(axes)
    if len(axes) != len(names):
        raise ValueError(f"axes must be {len(names)}, one for each criterion, but there are {len(axes)}.")
    for ax, name in zip(axes, names, strict=True):
        _draw(ax, choice, name)
    return axes


def _draw(ax: Any, choice: KChoice, name: str) -> None:
    values = np.asarray(choice.columns["within_share"] if name == "elbow" else choice.columns[name])
    if name == "gap":
        ax.errorbar(choice.ks, values, yerr=choice.columns["gap_error"], color=_COLOUR, lw=1.5, capsize=2)
    else:
        ax.plot(choice.ks, values, color=_COLOUR, lw=1.5)
    ax.plot(choice.ks, values, "o", color=_COLOUR, ms=3.5)
    if name == "elbow":
        ends = [0, -1]
        ax.plot(choice.ks[ends], values[ends], color="0.6", lw=1, ls="--")
    if name in choice.best:
        place = int(np.flatnonzero(choice.ks == choice.best[name])[0])
        ax.plot(choice.ks[place], values[place], "o", color=_CHOSEN, ms=8)
    said = f"{CRITERIA[name].title}: {choice.best.get(name, '–')}"
    ax.set(xlabel="k", title=f"{said}{' (sum of squares)' if name == 'elbow' else ''}")
    ax.title.set_fontsize(10)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
