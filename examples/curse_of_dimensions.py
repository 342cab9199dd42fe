"""Why neighbours are far away in many dimensions, and what that does to a classifier by neighbours.

1. How long the side of a cube must be to hold a tenth of points that fill a larger cube evenly.
2. How far the nearest of 500 points is from the middle of a ball that they fill: formula and simulation.
3. Two columns tell two classes apart. Each column of noise that is added blurs who is near; a linear model minds less.

Run: python examples/curse_of_dimensions.py --out curse_of_dimensions.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from corollary import KNeighborsClassifier, LogisticRegression, NearestNeighbors
from corollary.core.drawing import BLUE, ORANGE, PALETTE, SOFT

DIMENSIONS = np.arange(1, 31)


def side(d: Any, share: float) -> Any:
    """Of a cube that holds ``share`` of the unit cube in d dimensions."""
    return share ** (1 / d)


def nearest(d: Any, n: int) -> Any:
    """The median distance from the middle of the unit ball to the nearest of n points in it."""
    return (1 - 0.5 ** (1 / n)) ** (1 / d)


def simulated(d: int, n: int, rng: Any, times: int = 200) -> float:
    """The same, measured: by draws of n points, and neighbours of the middle."""
    found = []
    for _ in range(times):
        direction = rng.normal(size=(n, d))
        points = direction / np.linalg.norm(direction, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / d)
        distance, _ = NearestNeighbors(n_neighbors=1).fit(points).kneighbors(np.zeros((1, d)))
        found.append(distance[0, 0])
    return float(np.median(found))


def noisy(columns: int, rng: Any) -> tuple[Any, Any, Any, Any]:
    """Moons with columns of noise: 300 rows to learn from, 2000 to be judged by."""
    X, y = make_moons(2300, noise=0.25, random_state=0)
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), rng.normal(size=(len(X), columns))])
    return X[:300], y[:300], X[300:], y[300:]


def accuracies(noise: list[int], rng: Any) -> dict[str, list[float]]:
    models = {
        "1 neighbour": KNeighborsClassifier(1),
        "15 neighbours": KNeighborsClassifier(15),
        "logistic regression": LogisticRegression(),
    }
    found: dict[str, list[float]] = {name: [] for name in models}
    for columns in noise:
        X, y, X_new, y_new = noisy(columns, rng)
        for name, model in models.items():
            found[name].append(float(model.fit(X, y).score(X_new, y_new)))
    return found


def draw(measured: dict[int, float], noise: list[int], found: dict[str, list[float]], out: Path) -> None:
    import matplotlib.pyplot as plt

    figure, (cube, ball, classes) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for share, colour in zip((0.01, 0.1, 0.3), (SOFT, BLUE, ORANGE), strict=True):
        cube.plot(DIMENSIONS, side(DIMENSIONS, share), color=colour, label=f"{share:.0%} of the points")
    cube.set(xlabel="dimensions", ylabel="side of the small cube", ylim=(0, 1))
    cube.set_title("A part of a cube is nearly all of it", loc="left", fontsize="medium", fontweight="bold")
    ball.plot(DIMENSIONS, nearest(DIMENSIONS, 500), color=BLUE, label="formula")
    ball.plot(list(measured), list(measured.values()), "o", color=ORANGE, label="200 draws of 500 points")
    ball.set(xlabel="dimensions", ylabel="distance of the nearest", ylim=(0, 1))
    ball.set_title("Nearest to the middle, near the edge", loc="left", fontsize="medium", fontweight="bold")
    for (name, values), colour in zip(found.items(), PALETTE, strict=False):
        classes.plot(noise, values, "o-", color=colour, ms=4, label=name)
    classes.set(xlabel="columns of noise", ylabel="right, of 2000 new rows", xscale="symlog", ylim=(0.5, 1))
    classes.set_title("What noise does to neighbours", loc="left", fontsize="medium", fontweight="bold")
    for ax in (cube, ball, classes):
        ax.legend(frameon=False, fontsize="small", loc="lower right" if ax is not classes else "lower left")
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("curse_of_dimensions.png"), help="the picture")
    out = parser.parse_args().out
    rng = np.random.default_rng(0)
    for d in (2, 10):
        print(f"in {d} dimensions a tenth of the points is in a cube of side {side(d, 0.1):.2f}")
    measured = {d: simulated(d, 500, rng) for d in (1, 2, 5, 10, 20, 30)}
    print(f"the nearest of 500 points in 10 dimensions is at {nearest(10, 500):.2f}, measured {measured[10]:.2f}")
    noise = [0, 1, 3, 10, 30, 100, 300]
    found = accuracies(noise, rng)
    for name, values in found.items():
        shown = ", ".join(f"{value:.2f}" for value in values)
        print(f"{name + ':':21}{shown} with {', '.join(map(str, noise))} columns of noise")
    draw(measured, noise, found, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
