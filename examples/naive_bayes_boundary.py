"""What naive Bayes believes of the iris flowers: densities of each class, the boundary, and what unlabelled rows add.

Left: Gaussian naive Bayes with every label; the shades are the probability of the class that wins. Middle: 15 labels,
and 135 flowers that nobody named: EM averages over their classes. Right: the mean log-likelihood of its iterations,
which never falls, and the accuracy with and without the rows that have no label.

Run: python examples/naive_bayes_boundary.py --out naive_bayes_boundary.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.datasets import load_iris

from corollary import GaussianNB
from corollary.core.drawing import PALETTE

COLUMNS = [2, 3]  # length and width of the petals
UNKNOWN, LABELS = -1, 5  # labels that are left of each class


def few_labels(y: Any) -> Any:
    """All labels but five of each class taken away."""
    rng = np.random.default_rng(5)
    kept = np.concatenate([rng.choice(np.flatnonzero(y == k), LABELS, replace=False) for k in np.unique(y)])
    found = np.full(len(y), UNKNOWN)
    found[kept] = y[kept]
    return found


def shades(ax: Any, model: Any, X: Any) -> None:
    """Each place in the colour of its class, the stronger the surer; ellipses of one and two standard deviations."""
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    xs, ys = np.linspace(low[0], high[0], 300), np.linspace(low[1], high[1], 300)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    chances = model.predict_proba(grid)
    colours = np.array([to_rgb(PALETTE[k]) for k in range(chances.shape[1])])
    strength = (0.12 + 0.38 * (chances.max(axis=1, keepdims=True) - 1 / 3) * 1.5).clip(0, 1)
    picture = 1 - strength * (1 - colours[chances.argmax(axis=1)])
    extent = (low[0], high[0], low[1], high[1])
    ax.imshow(picture.reshape(300, 300, 3), origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
    winners = chances.argmax(axis=1).reshape(300, 300)
    ax.contour(xs, ys, winners, levels=[0.5, 1.5], colors="0.2", linewidths=1)
    angle = np.linspace(0, 2 * np.pi, 200)
    for k, (mean, variance) in enumerate(zip(model.theta_, model.var_, strict=True)):
        for size in (1, 2):
            x, y = (mean[j] + size * np.sqrt(variance[j]) * f(angle) for j, f in enumerate((np.cos, np.sin)))
            ax.plot(x, y, color=PALETTE[k], lw=1)


def draw(X: Any, y: Any, few: Any, models: dict[str, Any], path: Path, names: Any) -> None:
    fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for ax, (title, labels) in zip(axes, (("every label", y), ("15 labels, and 135 rows without", few)), strict=False):
        shades(ax, models[title], X)
        hidden = labels == UNKNOWN
        if hidden.any():
            ax.scatter(*X[hidden].T, s=14, facecolors="none", edgecolors="0.45", lw=0.7, label="no label")
        for k, name in enumerate(names):
            own = labels == k
            ax.scatter(*X[own].T, s=16 if not hidden.any() else 40, color=PALETTE[k], ec="white", lw=0.5, label=name)
        ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)", title=title)
        ax.legend(frameon=False, fontsize=8, loc="lower right")
    history = models["15 labels, and 135 rows without"].evidence_.history
    axes[2].plot(history["iteration"], -np.asarray(history["objective"]), marker="o", ms=3, color=PALETTE[0])
    axes[2].set(xlabel="iteration of EM", ylabel="mean log-likelihood", title="labels that are not known: EM")
    lines = [f"{title}: {100 * model.score(X, y):.1f} %" for title, model in models.items()]
    axes[2].text(0.97, 0.08, "accuracy\n" + "\n".join(lines), transform=axes[2].transAxes, ha="right", fontsize=9)
    fig.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("naive_bayes_boundary.png"), help="the picture")
    path = parser.parse_args().out
    iris = load_iris()
    X, y = iris.data[:, COLUMNS], iris.target
    few = few_labels(y)
    known = few != UNKNOWN
    models = {
        "every label": GaussianNB().fit(X, y),
        "15 labels, and 135 rows without": GaussianNB(unknown=UNKNOWN).fit(X, few),
        "15 labels alone": GaussianNB().fit(X[known], y[known]),
    }
    for title, model in models.items():
        print(f"{title}: {100 * model.score(X, y):.1f} % right. {model.evidence_}")
    draw(X, y, few, models, path, iris.target_names)
    print(f"Wrote {path}.")


if __name__ == "__main__":
    main()
