"""Why a model errs: bias, variance and noise of neighbours, from one of them to half of the rows.

Training sets of 80 points are drawn anew from a source that is known, 200 times, so each part of the error can be
measured by itself. Few neighbours follow every point: no bias, much variance. Many neighbours average over what is not
alike. The noise is nobody's fault. The three parts add up to the error, to rounding.

Run: python examples/bias_variance.py --out bias_variance.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from corollary import KNeighborsRegressor
from corollary.core.drawing import BLUE, ORANGE, PALETTE, SOFT
from corollary.evaluate import bias_variance

NOISE = 0.4  # standard deviation
GRID = np.linspace(0, 6, 150)[:, None]
NEIGHBOURS = (1, 2, 4, 8, 16, 24, 32, 40)


def truth(x: Any) -> Any:
    return np.sin(1.5 * x[:, 0]) + 0.2 * x[:, 0]


def draw_rows(rng: Any) -> tuple[Any, Any]:
    x = rng.uniform(0, 6, (80, 1))
    return x, truth(x) + rng.normal(scale=NOISE, size=80)


def parts(k: int) -> Any:
    X, y = draw_rows(np.random.default_rng(0))
    known: dict[str, Any] = {"truth": truth(GRID), "noise": NOISE**2}
    return bias_variance(KNeighborsRegressor(k), X, y, GRID, method=draw_rows, draws=200, **known)


def draw_fits(k: int, ax: Any) -> None:
    """Twelve fits, each to rows of its own, and the truth."""
    rng = np.random.default_rng(1)
    for _ in range(12):
        ax.plot(GRID, KNeighborsRegressor(k).fit(*draw_rows(rng)).predict(GRID), color=BLUE, lw=0.6, alpha=0.6)
    ax.plot(GRID, truth(GRID), color="k", lw=1.5)
    ax.set_title(f"{k} neighbour{'s' * (k > 1)}", loc="left", fontweight="bold")
    ax.set(xticks=[], yticks=[], ylim=(-2.1, 3.2))


def draw_parts(found: dict[int, Any], ax: Any) -> None:
    """The error as a stack of its parts."""
    layers = [[getattr(each, name) for each in found.values()] for name in ("noise", "bias", "variance")]
    ax.stackplot(
        list(found), layers, labels=["noise", "bias²", "variance"], colors=[SOFT, ORANGE, PALETTE[5]], alpha=0.8
    )
    ax.set(xlabel="neighbours", xscale="log", ylabel="squared error on new rows")
    ax.set_xticks(NEIGHBOURS, map(str, NEIGHBOURS))
    ax.minorticks_off()
    ax.set_title("What the error is made of", loc="left", fontweight="bold")
    ax.legend(frameon=False, loc="upper center")


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("bias_variance.png"), help="the picture")
    out = parser.parse_args().out
    found = {k: parts(k) for k in NEIGHBOURS}
    for k in (1, 8, 40):
        print(f"{k} neighbour{'s' * (k > 1)}: {found[k]}")
    rest = max(abs(each.total - each.bias - each.variance - each.noise) for each in found.values())
    print(f"the parts add up to the error, within {rest:.0e}")
    print(f"least error: {min(found, key=lambda k: found[k].total)} neighbours")
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.6), width_ratios=(1, 1, 1, 1.7), layout="constrained")
    for k, ax in zip((1, 8, 40), axes, strict=False):
        draw_fits(k, ax)
    draw_parts(found, axes[-1])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=100)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
