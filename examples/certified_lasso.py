"""A lasso whose answer is shown to be optimal, and the bound that shows it computed again by hand.

1. Fit 1000 columns of which 8 matter, and read the evidence.
2. Recompute the duality gap with nothing but NumPy: a lower bound on every possible objective value.
3. Hold a fit that stopped on another rule against the same bound.
4. Draw the whole path, and how the gap closed.

Run: python examples/certified_lasso.py --out certified_lasso.png
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as SklearnLasso

from corollary import Lasso, LassoCV, lasso_path

SIGNAL = [3.0, -2.5, 2.0, -1.5, 1.2, 1.0, -0.8, 0.6]


def make_data(n: int = 200, d: int = 1000, seed: int = 0) -> tuple[Any, Any, Any]:
    """Neighbouring columns are correlated (0.7), eight columns far apart carry the signal."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.7**2) * X[:, j]
    beta = np.zeros(d)
    beta[:: d // len(SIGNAL)][: len(SIGNAL)] = SIGNAL
    y = X @ beta + rng.standard_normal(n)
    return X - X.mean(axis=0), y - y.mean(), beta


def objective(X: Any, y: Any, coef: Any, alpha: float) -> float:
    return float(np.sum((y - X @ coef) ** 2) / (2 * len(y)) + alpha * np.abs(coef).sum())


def lower_bound(X: Any, y: Any, coef: Any, alpha: float) -> float:
    """The lasso's dual objective at the residual of ``coef``, shrunk until no column correlates with it too much.

    No coefficients whatever have an objective below this number; only X, y and alpha decide whether it is valid.
    """
    n = len(y)
    theta = y - X @ coef
    theta = theta * min(1.0, n * alpha / float(np.abs(X.T @ theta).max()))
    return float((y @ y - (y - theta) @ (y - theta)) / (2 * n))


def read_evidence(X: Any, y: Any, alpha: float) -> Any:
    model = Lasso(alpha=alpha).fit(X, y)
    print(f"corollary.Lasso(alpha={alpha:.3g}): {np.count_nonzero(model.coef_)} of {X.shape[1]} coefficients are used")
    print(f"  {model.evidence_}")
    value, bound = objective(X, y, model.coef_, alpha), lower_bound(X, y, model.coef_, alpha)
    print(
        f"  by hand: objective {value:.12f}, nothing is below {bound:.12f}, relative gap {(value - bound) / value:.1e}"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = SklearnLasso(alpha=alpha).fit(X, y)
    excess = (objective(X, y, peer.coef_, alpha) - bound) / bound
    print(f"scikit-learn's Lasso at its default tol: at most {excess:.1e} above the optimum, by the same bound")
    return model


def draw(X: Any, y: Any, beta: Any, chosen: float, evidence: Any, out: Path) -> None:
    import matplotlib.pyplot as plt

    alphas, coefs, _ = lasso_path(X, y, alphas=50, eps=0.02)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(1.7, 1), layout="constrained")
    for j in np.flatnonzero(coefs.any(axis=1) & (beta == 0)):
        left.plot(alphas, coefs[j], color="0.8", lw=0.7)
    for j in np.flatnonzero(beta):
        (line,) = left.plot(alphas, coefs[j], lw=2)
        left.plot(alphas[-1] * 0.88, beta[j], marker="<", color=line.get_color(), ms=6, clip_on=False)
    left.axvline(chosen, color="0.3", ls="--", lw=1)
    left.annotate(
        "chosen by\ncross-validation", (chosen, 0.24), xycoords=("data", "axes fraction"), xytext=(6, 0),
        textcoords="offset points", va="top", fontsize="small",
    )  # fmt: skip
    left.set(xscale="log", xlabel="alpha", ylabel="coefficient", title="50 lasso fits, each optimal")
    left.text(
        0.98, 0.97, "grey: columns without signal;  ◂: true value", transform=left.transAxes, ha="right", va="top",
        fontsize="small", color="0.35",
    )  # fmt: skip
    evidence.plot(right)
    right.set_title("One fit: how the gap closed")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("certified_lasso.png"), help="the picture")
    out = parser.parse_args().out
    X, y, beta = make_data()
    search = LassoCV(alphas=20, eps=0.02, cv=3).fit(X, y)
    model = read_evidence(X, y, search.alpha_)
    missed = np.setdiff1d(np.flatnonzero(beta), np.flatnonzero(model.coef_))
    print(f"columns that carry signal: {np.count_nonzero(beta)}, of which missed: {len(missed)}")
    draw(X, y, beta, search.alpha_, model.evidence_, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
