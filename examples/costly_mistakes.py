"""Probabilities that mean what they say, and a threshold for mistakes that do not cost the same.

Six measurements of 3000 patients, generated: one in eight is ill, the measurements move together, and to miss an
illness costs ten times as much as a false alarm. Held-out probabilities are first held against what happened (naive
Bayes takes what moves together for separate news, and is too sure of itself); then the threshold of least cost is
chosen, with how firm that choice is and what to expect on new rows.

Run: python examples/costly_mistakes.py --out costly_mistakes.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_predict

from corollary import GaussianNB, LogisticRegression
from corollary.evaluate import calibration, threshold

MISSED, ALARM = 10.0, 1.0


def patients(n: int = 3000) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    ill = (rng.random(n) < 1 / 8).astype(int)
    shared = rng.normal(size=(n, 1))
    return ill[:, None] * [1.2, 1.0, 0.8, 1.0, 0.6, 0.9] + shared + rng.normal(scale=0.7, size=(n, 6)), ill


def held_out(X: Any, y: Any) -> dict[str, Any]:
    """What two models say of each row while it is held out: the probability of being ill."""
    models = {"logistic regression": LogisticRegression(), "naive Bayes": GaussianNB()}
    return {name: cross_val_predict(model, X, y, method="predict_proba")[:, 1] for name, model in models.items()}


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("costly_mistakes.png"), help="the picture")
    out = parser.parse_args().out
    X, y = patients()
    said = held_out(X, y)
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.6), layout="constrained")
    axes = axes.ravel()
    for (name, p), ax in zip(said.items(), axes, strict=False):
        judged = calibration(y, p)
        print(f"{name}: {judged}")
        judged.plot(ax)
        ax.set_title(name, loc="left", fontweight="bold")
    chosen = threshold(y, said["logistic regression"], false_negative=MISSED, false_positive=ALARM)
    print(chosen)
    print(f"with probabilities that are right it would be {ALARM / (ALARM + MISSED):.3f}")
    chosen.plot(axes[2])
    axes[2].set_title("From where on to call it ill", loc="left", fontweight="bold")
    chosen.plot_roc(axes[3])
    axes[3].set_title("The same, on the ROC curve", loc="left", fontweight="bold")
    for ax in axes:
        ax.spines["top"].set_visible(False)
    figure.savefig(out, dpi=100)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
