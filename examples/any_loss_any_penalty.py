"""One estimator, the same data, every regression loss with every penalty: what each pair makes of it.

Twelve columns in four groups of three; the first two groups carry the signal. A few targets are wildly wrong. Each
small picture is one fit; the short lines are the truth. A pair that no solver suits is refused with a sentence.

Run: python examples/any_loss_any_penalty.py --out any_loss_any_penalty.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from corollary import LinearModel

LOSSES = ("squared", "huber", "absolute", "epsilon_insensitive", "poisson")
STRENGTHS = {"none": 0.0, "l2": 0.5, "l1": 0.12, "elastic_net": 0.2, "group": 0.12, "l0": 0.03}
GROUPS = np.repeat(np.arange(4), 3)
TRUTH = np.array([0.9, -0.7, 0.5, 0.6, 0.6, -0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def make_data(n: int = 240, seed: int = 3) -> tuple[Any, Any, Any]:
    """X, a real target with twelve gross errors, and counts whose logarithm has the same coefficients."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 4))[:, GROUPS]
    X = 0.6 * shared + 0.8 * rng.standard_normal((n, 12))
    y = X @ TRUTH + 0.5 * rng.standard_normal(n)
    y[rng.choice(n, 12, replace=False)] += rng.choice([-8.0, 8.0], 12)
    counts = rng.poisson(np.exp(np.minimum(X @ TRUTH, 4.0))).astype(float)
    return X, y, counts


def fit_all(X: Any, y: Any, counts: Any) -> dict[tuple[str, str], Any]:
    """A fitted model, or the sentence with which the pair was refused."""
    found: dict[tuple[str, str], Any] = {}
    for loss in LOSSES:
        for penalty, alpha in STRENGTHS.items():
            model = LinearModel(loss, penalty, alpha=alpha, groups=GROUPS)
            try:
                found[loss, penalty] = model.fit(X, counts if loss == "poisson" else y)
            except ValueError as refusal:
                found[loss, penalty] = str(refusal)
    return found


def used(model: Any) -> int:
    """Interior points approach zero without reaching it, so what is a millionth of the largest counts as zero."""
    sizes = np.abs(model.coef_)
    return int(np.count_nonzero(sizes > 1e-6 * sizes.max()))


def report(found: dict[tuple[str, str], Any]) -> None:
    print(f"{'loss':21}{'penalty':13}{'used':>5}{'error':>8}   how")
    for (loss, penalty), model in found.items():
        if isinstance(model, str):
            print(f"{loss:21}{penalty:13}{'':13}   refused: {model}")
            continue
        error = np.linalg.norm(model.coef_ - TRUTH)
        evidence = model.evidence_
        print(f"{loss:21}{penalty:13}{used(model):5}{error:8.2f}   {evidence.claim.lower()}, {evidence.solver}")


def draw(found: dict[tuple[str, str], Any], out: Path) -> None:
    import matplotlib.pyplot as plt

    colours = np.array(["#2b6cb0", "#c05621", "#2f855a", "#6b46c1"])[GROUPS]
    figure, axes = plt.subplots(
        len(LOSSES), len(STRENGTHS), figsize=(10, 6.2), sharex=True, sharey=True, layout="constrained"
    )
    for (loss, penalty), ax in zip(found, axes.flat, strict=True):
        model = found[loss, penalty]
        ax.set(xticks=[], yticks=[], ylim=(-1.1, 1.2), xlim=(-0.8, 11.8))
        ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
        if isinstance(model, str):
            ax.text(0.5, 0.5, "refused:\nno solver\nsuits it", ha="center", va="center", color="0.5",
                    fontsize="small", transform=ax.transAxes)  # fmt: skip
            ax.set_facecolor("0.97")
            continue
        ax.hlines(TRUTH[:6], np.arange(6) - 0.45, np.arange(6) + 0.45, color="0.2", lw=1.2, zorder=3)
        ax.bar(np.arange(12), model.coef_, width=0.7, color=colours)
        ax.axhline(0, color="0.3", lw=0.6)
        ax.text(0.98, 0.96, f"{used(model)} of 12 used", ha="right", va="top", color="0.4",
                fontsize="x-small", transform=ax.transAxes)  # fmt: skip
    for ax, penalty in zip(axes[0], STRENGTHS, strict=True):
        ax.set_title(penalty, fontsize="medium")
    for ax, loss in zip(axes[:, 0], LOSSES, strict=True):
        ax.set_ylabel(loss.replace("_", "\n"), rotation=0, ha="right", va="center")
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("any_loss_any_penalty.png"), help="the picture")
    out = parser.parse_args().out
    found = fit_all(*make_data())
    report(found)
    draw(found, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
