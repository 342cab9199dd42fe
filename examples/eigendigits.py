"""Handwritten digits as sums of a few eigendigits: what each adds, how few suffice, and which digits do not fit.

1797 digits of 8 × 8 pixels are points in 64 dimensions. Principal components are the directions in which they differ
most. The mean and the first components, each as a picture, are the alphabet; a digit is spelt by its coordinates.

Run: python examples/eigendigits.py --out eigendigits.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from corollary import PCA, KNeighborsClassifier
from corollary.core.drawing import BLUE

SIDE = 8
SPELT = (0, 2, 8, 16, 32, 64)


def tile(rows: Any, columns: int) -> Any:
    """Pictures beside each other, each stretched over its own greys, with white between them."""
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    pictures = ((rows - low) / (high - low)).reshape(-1, columns, SIDE, SIDE)
    padded = np.pad(pictures, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=0.0)
    return padded.transpose(0, 2, 1, 3).reshape(-1, columns * (SIDE + 1))


def spelt(model: Any, digit: Any) -> Any:
    """One digit from the mean and more and more components."""
    scores = model.transform(digit[None])[0]
    return np.array([model.mean_ + scores[:k] @ model.components_[:k] for k in SPELT])


def draw(model: Any, X: Any, odd: Any, out: Path) -> None:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 6.2), layout="constrained")
    (first, scree), (steps, misfits) = figure.subplots(2, 2, width_ratios=(1.5, 1))
    panels = {
        first: (tile(np.vstack([model.mean_, model.components_[:11]]), 6), "The mean, and the first eleven components"),
        steps: (
            np.vstack([tile(spelt(model, X[number]), len(SPELT)) for number in (3, 5, 8)]),
            f"Three digits by {', '.join(map(str, SPELT))} components",
        ),
        misfits: (tile(X[odd[:8]], 4), "Farthest from the plane of 16"),
    }
    for ax, (picture, title) in panels.items():
        ax.imshow(picture, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        ax.axis("off")
        ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    share = np.cumsum(model.explained_variance_ratio_)
    scree.plot(np.arange(1, len(share) + 1), share, color=BLUE)
    scree.set(xlabel="components", ylim=(0, 1.02))
    scree.set_title("Share of the variance", loc="left", fontsize="medium", fontweight="bold")
    scree.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("eigendigits.png"), help="the picture")
    out = parser.parse_args().out
    X, y = load_digits(return_X_y=True)
    model = PCA().fit(X)
    print(model.evidence_)
    for share in (0.5, 0.9, 0.99):
        print(f"{share:.0%} of the variance is in {PCA(share).fit(X).n_components_} of {X.shape[1]} components")
    for k in (2, 8, 16):
        pipeline = make_pipeline(PCA(k), KNeighborsClassifier(3))
        print(f"three neighbours in {k} components: {cross_val_score(pipeline, X, y).mean():.1%} right")
    print(f"three neighbours in all 64 pixels: {cross_val_score(KNeighborsClassifier(3), X, y).mean():.1%} right")
    odd = PCA(16).fit(X).reconstruction_error(X).argsort()[::-1]
    draw(model, X, odd, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
