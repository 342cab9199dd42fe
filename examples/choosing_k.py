"""How many clusters are in there? Five criteria, on points in seven groups and on points in none.

A criterion compares fits with different k. Most of them assume that there are at least two clusters, and find a best k
in anything; only the gap statistic and BIC can say that there is one. The verdict is what most criteria name.

Run: python examples/choosing_k.py --out choosing_k.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from corollary import choose_k
from corollary.core.drawing import PALETTE, SOFT

CENTRES = [[0, 0], [5, 1], [10, 0], [2, 5], [8, 5], [0, 10], [6, 10]]


def clouds() -> dict[str, Any]:
    """Seven round groups of unequal size, and a square filled evenly."""
    groups, _ = make_blobs([60, 90, 40, 120, 60, 80, 50], centers=CENTRES, cluster_std=0.7, random_state=0)
    return {"seven groups": groups, "no groups": np.random.default_rng(0).uniform(0, 10, (500, 2))}


def draw(points: dict[str, Any], choices: dict[str, Any], out: Path) -> None:
    import matplotlib.pyplot as plt

    colours = np.array(PALETTE)
    figure = plt.figure(figsize=(11, 5.4), layout="constrained")
    for row, (name, X) in zip(figure.subfigures(2, 1), points.items(), strict=True):
        choice = choices[name]
        axes = row.subplots(1, 1 + len(choice.best), width_ratios=(1.3, *[1] * len(choice.best)))
        labels = choice.model.predict(X)
        axes[0].scatter(*X.T, s=4, c=colours[labels % len(colours)], lw=0)
        axes[0].set(xticks=[], yticks=[], aspect="equal")
        axes[0].set_title(f"{name}: k = {choice.k}", loc="left", fontsize="medium", fontweight="bold")
        choice.plot(axes[1:])
        for ax in axes[1:]:
            ax.tick_params(labelsize=7, colors=SOFT)
            ax.title.set_fontsize("small")
            ax.set_xlabel("k", fontsize=7)
    figure.savefig(out, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("choosing_k.png"), help="the picture")
    out = parser.parse_args().out
    points = clouds()
    choices = {name: choose_k(X, 10, random_state=0) for name, X in points.items()}
    for name, choice in choices.items():
        print(f"{name}: {choice.reason}")
        silhouette = choice.to_frame()["silhouette"]
        print(f"  best silhouette {silhouette.max():.2f}, at k = {silhouette.idxmax()}")
    draw(points, choices, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
