"""How many digits of the coefficients are right? Least squares on problems that punish rounding.

The problems follow NIST's reference sets: exact polynomials (Wampler's: every coefficient is known), and noisy ones far
from the origin (as Filip's), whose exact answer is found here in rational arithmetic. Powers of x go in as they are:
nobody scales or centres anything.

Run: python examples/nist_accuracy.py --out nist_accuracy.png
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression as SklearnLinearRegression

from corollary import LinearRegression
from corollary.core.drawing import BLUE, ORANGE, SOFT

Fit = Callable[[Any, Any], Any]


def powers(x: Any, degree: int) -> Any:
    return np.column_stack([x**k for k in range(1, degree + 1)])


def exact_fit(X: Any, y: Any) -> Any:
    """The least-squares coefficients (intercept first) of these very floats, by elimination on fractions."""
    rows = [[Fraction(1), *map(Fraction, row)] for row in X.tolist()]
    targets = [Fraction(value) for value in y.tolist()]
    size = len(rows[0])
    zero = Fraction(0)
    system = [
        [sum((r[i] * r[j] for r in rows), zero) for j in range(size)]
        + [sum((r[i] * t for r, t in zip(rows, targets, strict=True)), zero)]
        for i in range(size)
    ]
    for i in range(size):
        system[i] = [value / system[i][i] for value in system[i]]
        for k in set(range(size)) - {i}:
            system[k] = [a - system[k][i] * b for a, b in zip(system[k], system[i], strict=True)]
    return np.array([float(row[-1]) for row in system])


def problems() -> dict[str, tuple[Any, Any, Any]]:
    """Name → (X, y, exact coefficients)."""
    x, rng = np.arange(21.0), np.random.default_rng(0)
    X = powers(x, 5)
    found = {"Wampler1: 1 + x + … + x⁵": (X, 1 + X.sum(axis=1), np.ones(6))}
    shrinking = powers(x, 5), sum((x / 10) ** k for k in range(6))
    noisy = X, 1 + X.sum(axis=1) + 10_000 * (-1.0) ** np.arange(21)
    loads = powers(150_000 * np.arange(1.0, 21.0), 2)
    cell = loads, 7e-4 + loads @ [7.3e-7, -3.2e-15] + 2e-4 * rng.standard_normal(20)
    steep = powers(np.sort(rng.uniform(-9, -3, 82)), 10)
    wavy = steep, 0.85 + 0.08 * np.sin(1.3 * steep[:, 0]) + 0.003 * rng.standard_normal(82)
    for name, (columns, target) in {
        "like Wampler2: coefficients 10⁻ᵏ": shrinking,
        "like Wampler4: the same, heavy noise": noisy,
        "like Pontius: load cell, quadratic": cell,
        "like Filip: degree 10 on [−9, −3]": wavy,
    }.items():
        found[name] = columns, target, exact_fit(columns, target)
    return found


def estimator(cls: Any, **options: Any) -> Fit:
    def fit(X: Any, y: Any) -> Any:
        model = cls(**options).fit(X, y)
        return np.append(model.intercept_, model.coef_)

    return fit


# scikit-learn's default tol of 1e-6 takes columns for dependent that are not; 0 keeps them all
FITS: dict[str, Fit] = {
    "scikit-learn": estimator(SklearnLinearRegression),
    "scikit-learn, tol=0": estimator(SklearnLinearRegression, tol=0.0),
    "corollary": estimator(LinearRegression),
}
LOOKS = ((ORANGE, "s", 0.22), (SOFT, "D", 0.0), (BLUE, "o", -0.22))


def digits(found: Any, exact: Any) -> float:
    """−log₁₀ of the worst relative error, between 0 and 16."""
    worst = float(np.max(np.abs(found - exact) / np.abs(exact)))
    return float(np.clip(-np.log10(max(worst, 1e-16)), 0.0, 16.0))


def draw(table: dict[str, dict[str, float]], out: Path) -> None:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    places = np.arange(len(table))[::-1]
    for name, (colour, marker, shift) in zip(FITS, LOOKS, strict=True):
        values = [row[name] for row in table.values()]
        ax.hlines(places + shift, 0, values, color=colour, lw=1.5, alpha=0.5)
        ax.plot(values, places + shift, marker, color=colour, ms=7, label=name, clip_on=False)
    ax.set_yticks(places, list(table))
    ax.set(xlim=(0, 16), xlabel="correct digits of the worst coefficient")
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.4, 1.16), ncols=3)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("nist_accuracy.png"), help="the picture")
    out = parser.parse_args().out
    table = {
        problem: {name: digits(fit(X, y), exact) for name, fit in FITS.items()}
        for problem, (X, y, exact) in problems().items()
    }
    print(f"{'correct digits of the worst coefficient':42}" + "".join(f"{name:>21}" for name in FITS))
    for problem, row in table.items():
        print(f"{problem:42}" + "".join(f"{value:21.1f}" for value in row.values()))
    draw(table, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
