"""Regression when squared error is the wrong question: spoilt points, and noise that grows.

Left: y = 1 + 2x, but thirty of two hundred points were recorded wrongly. Squared, Huber and absolute error are fitted
to all of them. Right: clean data whose noise grows with x; quantile fits give a band instead of one line.

Run: python examples/robust_regression.py --out robust_regression.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from corollary import HuberRegressor, LinearModel, LinearRegression

TRUTH = (1.0, 2.0)
QUANTILES = (0.1, 0.5, 0.9)
COLOURS = ("#b00020", "#2b6cb0", "#2f855a")


def spoilt_data(n: int = 200, bad: int = 30, seed: int = 1) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    y = TRUTH[0] + TRUTH[1] * x + rng.normal(size=n)
    spoilt = np.zeros(n, dtype=bool)
    spoilt[np.argsort(x + rng.normal(scale=2, size=n))[-bad:]] = True  # mostly on the right
    y[spoilt] -= rng.uniform(10, 22, bad)
    return x[:, None], y, spoilt


def spreading_data(n: int = 400, seed: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return x[:, None], TRUTH[0] + TRUTH[1] * x + (0.3 + 0.5 * x) * rng.normal(size=n)


def robust_fits(X: Any, y: Any, spoilt: Any) -> dict[str, Any]:
    models: dict[str, Any] = {
        "squared": LinearRegression(),
        "Huber": HuberRegressor(),
        "absolute": LinearModel("absolute", "none"),
    }
    print(f"truth: intercept {TRUTH[0]:.2f}, slope {TRUTH[1]:.2f}; {spoilt.sum()} of {len(y)} points are spoilt")
    for name, model in models.items():
        model.fit(X, y)
        line = f"intercept {float(model.intercept_):.2f}, slope {model.coef_[0]:.2f}"
        print(f"  {name:9} {line}   {model.evidence_.claim.lower()}, by {model.evidence_.solver}")
    flagged = models["Huber"].outliers_
    print(f"Huber marks {flagged.sum()} outliers; {np.sum(flagged & spoilt)} of the {spoilt.sum()} are among them")
    return models


def quantile_fits(X: Any, y: Any) -> list[Any]:
    fits = [LinearModel("quantile", "none", quantile=q).fit(X, y) for q in QUANTILES]
    shares = ", ".join(
        f"{np.mean(y <= f.predict(X)):.1%} below the {q:.0%} line" for q, f in zip(QUANTILES, fits, strict=True)
    )
    print(f"quantile fits: {shares}")
    return fits


def draw(spoilt_set: tuple[Any, Any, Any], fits: dict[str, Any], band_set: tuple[Any, Any], band: list[Any]) -> Any:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    X, y, spoilt = spoilt_set
    ends = np.array([[0.0], [10.0]])
    left.scatter(X[~spoilt], y[~spoilt], s=11, color="0.6", label="good points")
    left.scatter(X[spoilt], y[spoilt], s=18, color="#dd6b20", marker="x", lw=1.2, label="spoilt points")
    left.axline((0, TRUTH[0]), slope=TRUTH[1], color="black", lw=7, alpha=0.12, label="truth")
    for (name, model), colour in zip(fits.items(), COLOURS, strict=True):
        left.plot(ends, model.predict(ends), color=colour, lw=2, ls="--" if name == "absolute" else "-", label=name)
    left.set(xlabel="x", ylabel="y", xlim=(0, 10), ylim=(-13, 24), title="Spoilt points: three losses")
    left.legend(frameon=False, fontsize="small", loc="lower left")
    X, y = band_set
    low, middle, high = (fit.predict(ends) for fit in band)
    right.scatter(X, y, s=9, color="0.65")
    right.fill_between(ends[:, 0], low, high, color="#2b6cb0", alpha=0.15, lw=0)
    for values, quantile in ((low, "10 %"), (middle, "50 %"), (high, "90 %")):
        right.plot(ends, values, color="#2b6cb0", lw=2)
        right.annotate(
            quantile, (10, values[1]), xytext=(5, 0), textcoords="offset points", va="center", color="#2b6cb0"
        )
    right.set(xlabel="x", xlim=(0, 10), title="Growing noise: three quantiles")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("robust_regression.png"), help="the picture")
    out = parser.parse_args().out
    spoilt_set, band_set = spoilt_data(), spreading_data()
    figure = draw(spoilt_set, robust_fits(*spoilt_set), band_set, quantile_fits(*band_set))
    figure.savefig(out, dpi=130)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
