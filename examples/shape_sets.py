"""Five ways to find clusters, on shapes that are hard for some of them: moons, rings, spirals, a bridge, unequal sizes.

k-means and Ward's method look for compact groups, a Gaussian mixture for ellipses; single linkage and spectral
clustering follow chains of neighbours. The adjusted Rand score is 1 for the true groups and about 0 for random ones.

Run: python examples/shape_sets.py --out shape_sets.png
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from corollary import AgglomerativeClustering, GaussianMixture, KMeans, SpectralClustering
from corollary.core.drawing import PALETTE

METHODS: dict[str, Callable[[int], Any]] = {
    "k-means": lambda k: KMeans(k, n_init=10, random_state=0),
    "Gaussian mixture": lambda k: GaussianMixture(k, n_init=5, random_state=0),
    "Ward": lambda k: AgglomerativeClustering(k, linkage="ward"),
    "single linkage": lambda k: AgglomerativeClustering(k, linkage="single"),
    "spectral": lambda k: SpectralClustering(k, affinity="nearest_neighbors", n_neighbors=10, random_state=0),
}


def sets() -> dict[str, tuple[Any, Any]]:
    """Six sets of points with their true groups; the same at every call."""
    rng = np.random.default_rng(0)
    turn = np.sort(rng.uniform(0.6, 3.2, 150)) * np.pi
    arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) + rng.normal(scale=0.25, size=(150, 2))
    left, right = rng.normal(size=(120, 2)), rng.normal([8, 0], size=(120, 2))
    bridge = np.column_stack([np.linspace(1, 7, 24), rng.normal(scale=0.15, size=24)])
    layers = rng.normal(size=(300, 2)) * [2.2, 0.4] + np.repeat([[0, 0], [0, 2.5], [0, 5]], 100, axis=0)
    return {
        "moons": make_moons(300, noise=0.06, random_state=0),
        "rings": make_circles(300, factor=0.45, noise=0.05, random_state=0),
        "spirals": (np.vstack([arm, -arm]), np.repeat([0, 1], 150)),
        "bridge": (np.vstack([left, right, bridge]), np.repeat([0, 1, 0, 1], [120, 120, 12, 12])),
        "slanted": (layers @ np.array([[0.9, 0.4], [-0.4, 0.9]]), np.repeat([0, 1, 2], 100)),
        "unequal": make_blobs([30, 200, 90], cluster_std=[0.5, 2.0, 1.0], random_state=3),
    }


def scores(data: dict[str, tuple[Any, Any]]) -> dict[str, dict[str, tuple[Any, float]]]:
    """Labels and adjusted Rand score of every method on every set, given the true number of groups."""
    found: dict[str, dict[str, tuple[Any, float]]] = {}
    for method, make in METHODS.items():
        found[method] = {}
        for name, (X, y) in data.items():
            labels = make(len(np.unique(y))).fit_predict(X)
            found[method][name] = (labels, round(float(adjusted_rand_score(y, labels)), 2) + 0.0)
    return found


def show(data: dict[str, tuple[Any, Any]], found: dict[str, dict[str, tuple[Any, float]]]) -> None:
    print("adjusted Rand score" + "".join(f"{name:>13}" for name in data))
    for method, row in found.items():
        print(f"{method:<19}" + "".join(f"{row[name][1]:>13.2f}" for name in data))
    for name in data:
        best = max(METHODS, key=lambda method: found[method][name][1])
        print(f"  {name}: {best} comes closest, {found[best][name][1]:.2f}")


def draw(data: dict[str, tuple[Any, Any]], found: dict[str, dict[str, tuple[Any, float]]]) -> Any:
    import matplotlib.pyplot as plt

    colours = np.array(PALETTE)
    figure, axes = plt.subplots(
        len(METHODS), len(data), figsize=(max(9.1, 1.55 * len(data)), 1.6 * len(METHODS)), layout="constrained"
    )
    for i, method in enumerate(METHODS):
        for j, (name, (X, _)) in enumerate(data.items()):
            labels, score = found[method][name]
            ax = axes[i, j]
            ax.scatter(X[:, 0], X[:, 1], s=2, c=colours[labels % 10], lw=0, antialiased=False)
            ax.set(xticks=[], yticks=[], aspect="equal")
            ax.set_xlabel(f"{score:.2f}", fontsize=8, labelpad=2, fontweight="bold" if score > 0.95 else "normal")
            ax.spines[:].set_color("0.85")
            if i == 0:
                ax.set_title(name, fontsize=9)
            if j == 0:
                ax.set_ylabel(method, fontsize=9)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("shape_sets.png"), help="the picture")
    out = parser.parse_args().out
    data = sets()
    found = scores(data)
    show(data, found)
    draw(data, found).savefig(out, dpi=90, pil_kwargs={"optimize": True})
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
