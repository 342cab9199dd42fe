"""How good is it really? Six ways to judge models, each with its picture.

What a search reports against rows it has not seen; bias, variance and noise from stiff to flexible; what more rows
would bring; whether probabilities can be believed; where to cut when errors differ in price; and why neighbours are
far away in many dimensions.

Run: python examples/judging_models.py --out judging_models.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_predict

from corollary import GaussianNB, KNeighborsClassifier, KNeighborsRegressor, LogisticRegression
from corollary.evaluate import bias_variance, calibration, learning_curve, nested, theory, threshold


def waves(rng: np.random.Generator) -> tuple[Any, Any]:
    """Sixty noisy points of a sine."""
    x = rng.uniform(0, 6, (60, 1))
    return x, np.sin(x[:, 0]) + rng.normal(0, 0.4, 60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("judging_models.png"), help="the picture")
    out = parser.parse_args().out
    figure, grid = plt.subplots(2, 3, figsize=(13, 7.6), layout="constrained")

    rng = np.random.default_rng(0)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": list(range(1, 22, 2))}, cv=5)
    outer = nested(search, rng.normal(size=(150, 3)), rng.integers(0, 2, 150), cv=10)
    outer.plot(grid[0, 0]).set(title="a search where nothing can be found")
    grid[0, 0].axhline(0.5, color="black", lw=0.8, ls=":")
    print(f"nested: {outer}")

    at = np.linspace(0, 6, 200)[:, None]
    ks = (1, 2, 4, 7, 12, 20, 35)
    parts = [
        bias_variance(KNeighborsRegressor(k), *waves(rng), at, truth=np.sin(at[:, 0]), noise=0.16, method=waves)
        for k in ks
    ]
    ax = grid[0, 1]
    ax.stackplot(
        ks,
        [part.noise for part in parts],
        [part.bias for part in parts],
        [part.variance for part in parts],
        labels=("noise", "bias²", "variance"),
        colors=("0.8", "#2b5f91", "#c2612c"),
    )
    ax.set(xscale="log", xlabel="neighbours", ylabel="squared loss", title="what the loss is made of")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.legend(frameon=False, loc="upper center")
    ax.spines[["top", "right"]].set_visible(False)
    print(f"seven neighbours: {parts[3]}")

    X, y = make_classification(1500, 12, n_informative=5, flip_y=0.05, weights=[0.85], random_state=0)
    curve = learning_curve(LogisticRegression(), X, y, scoring="roc_auc", train_sizes=[0.03, 0.06, 0.12, 0.25, 0.5, 1])
    curve.plot(grid[0, 2]).set(title="would more rows help?")
    print(f"learning curve: {curve}")

    p = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_proba")
    trusted = calibration(y, p)
    trusted.plot(grid[1, 0]).set(title="can probabilities be believed?")
    print(f"calibration: {trusted}")

    cut = threshold(y, p, false_positive=1, false_negative=8)
    cut.plot_roc(grid[1, 1]).set(title="a miss costs eight false alarms")
    print(f"threshold: {cut}")

    many = theory.curse_of_dimensionality()
    many.plot(grid[1, 2]).set(title="how wide a neighbourhood is")
    print(f"dimensions: {many}")
    figure.savefig(out, dpi=80)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
