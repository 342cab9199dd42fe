"""What rows are likely, and which group they came from: densities by mixtures, of numbers, of counts and with labels.

1. Waiting times and eruptions of a geyser, generated: two Gaussians, ellipses found by EM, rows that do not fit.
2. Goals in matches of two leagues: a mixture of Poisson distributions, held against one Poisson.
3. Ten labelled rows among a thousand: EM uses both kinds, and the boundary moves to where it belongs.

Run: python examples/mixture_densities.py --out mixture_densities.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import poisson

from corollary import GaussianMixture, Mixture
from corollary.core.drawing import BLUE, ORANGE, PALETTE, SOFT


def geyser(rng: Any) -> Any:
    """Minutes of an eruption, and until the next one: short after short ones, long after long ones."""
    short = rng.multivariate_normal([2.0, 54.0], [[0.07, 0.45], [0.45, 34.0]], 100)
    long = rng.multivariate_normal([4.3, 80.0], [[0.17, 0.95], [0.95, 36.0]], 175)
    return np.vstack([short, long])


def draw_geyser(rng: Any, ax: Any) -> None:
    X = geyser(rng)
    scores = {k: GaussianMixture(k, n_init=3, random_state=0).fit(X).bic(X) for k in (1, 2, 3)}
    model = GaussianMixture(min(scores, key=lambda k: scores[k]), n_init=3, random_state=0).fit(X)
    print(f"geyser: BIC is least for k = {model.n_components} among {', '.join(map(str, scores))}")
    print(f"  {model.evidence_}")
    x, y = np.meshgrid(np.linspace(1, 6, 120), np.linspace(35, 105, 120))
    density = model.score_samples(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    ax.contour(x, y, density, levels=np.linspace(-14, density.max(), 9), colors=SOFT, linewidths=0.6, linestyles="-")
    ax.scatter(*X.T, s=7, c=np.array(PALETTE)[model.predict(X)], lw=0)
    odd = model.score_samples(X).argsort()[:5]
    ax.scatter(*X[odd].T, s=60, facecolors="none", edgecolors="k", lw=0.9, label="five least likely rows")
    ax.set(xlabel="minutes of the eruption", ylabel="minutes until the next")
    ax.set_title("Two Gaussians", loc="left", fontweight="bold")
    ax.legend(frameon=False, fontsize="small", loc="upper left")


def draw_goals(rng: Any, ax: Any) -> None:
    goals = np.concatenate([rng.poisson(1.2, 600), rng.poisson(5.5, 250)])
    model = Mixture("poisson", 2, random_state=0, n_init=3, tol=1e-6, max_iter=1000).fit(goals[:, None].astype(float))
    rates = model.params_["rate"].ravel()
    order = rates.argsort()
    found = f"rates {rates[order].round(1)}, shares {model.weights_[order].round(2)}"
    print(f"goals: {found}; true rates [1.2 5.5], shares [0.71 0.29]")
    at = np.arange(goals.max() + 1)
    ax.hist(goals, bins=np.arange(-0.5, goals.max() + 1), color="0.85", density=True, label="matches")
    parts = [model.weights_[k] * poisson.pmf(at, rates[k]) for k in order]
    for part, colour in zip(parts, (BLUE, ORANGE), strict=True):
        ax.plot(at, part, ".-", color=colour, lw=1)
    ax.plot(at, sum(parts), "k.-", lw=1.2, label="mixture")
    ax.plot(at, poisson.pmf(at, goals.mean()), "--", color=SOFT, label="one Poisson")
    ax.set(xlabel="goals in a match", ylabel="share")
    ax.set_title("Two rates", loc="left", fontweight="bold")
    ax.legend(frameon=False, fontsize="small")


def draw_labels(rng: Any, ax: Any) -> None:
    truth = (np.arange(1000) < 500).astype(int)
    wide, tall = rng.normal(size=(1000, 2)) * [2.6, 0.7], rng.normal(size=(1000, 2)) * [0.7, 2.6] + [1.0, 0.0]
    X = np.where(truth[:, None] == 1, wide, tall)
    y = np.full(len(X), -1)
    known = rng.choice(len(X), 10, replace=False)
    y[known] = truth[known]
    few = GaussianMixture(2, covariance_type="diag", reg_covar=1e-2).fit(X[known], y[known])
    both = GaussianMixture(2, covariance_type="diag").fit(X, y)
    for name, model in (("10 labelled rows", few), ("and 990 unlabelled", both)):
        print(f"labels: {name}: {np.mean(model.predict(X) == truth):.1%} of the rows in the right group")
    ax.scatter(*X.T, s=3, c=np.array([ORANGE, BLUE])[both.predict(X)], lw=0, alpha=0.6)
    ax.scatter(*X[known].T, s=50, c=np.array([ORANGE, BLUE])[truth[known]], edgecolors="k", lw=1, label="labelled")
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.set_title("Ten labels among a thousand", loc="left", fontweight="bold")
    ax.legend(frameon=False, fontsize="small")


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("mixture_densities.png"), help="the picture")
    out = parser.parse_args().out
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    rng = np.random.default_rng(0)
    for draw, ax in zip((draw_geyser, draw_goals, draw_labels), axes, strict=True):
        draw(rng, ax)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=100)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
