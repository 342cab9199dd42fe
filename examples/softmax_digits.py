"""Handwritten digits with softmax regression: ten templates, few pixels, and probabilities that mean something.

An L1 penalty chosen by cross-validated log-loss leaves a few pixels per digit. The picture shows them, and whether a
probability of 80 % is right in 80 % of the cases.

Run: python examples/softmax_digits.py --out softmax_digits.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from corollary import LogisticRegressionCV
from corollary.core.drawing import BLUE

EDGES = np.array([0.0, 0.6, 0.8, 0.9, 0.97, 1.0])


def reliability(probabilities: Any, correct: Any) -> tuple[Any, Any, Any]:
    """Mean stated probability, share of right answers and number of rows, by bin of the stated probability."""
    stated = probabilities.max(axis=1)
    bins = np.clip(np.searchsorted(EDGES, stated, side="right") - 1, 0, len(EDGES) - 2)
    counts = np.bincount(bins, minlength=len(EDGES) - 1)
    keep = counts > 0
    sums = (np.bincount(bins, weights=values, minlength=len(counts))[keep] for values in (stated, correct))
    mean, share = (total / counts[keep] for total in sums)
    return mean, share, counts[keep]


def draw(model: Any, curve: tuple[Any, Any, Any], out: Path) -> None:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 3.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.6, 1))
    limit = np.quantile(np.abs(model.coef_), 0.995)
    for digit, ax in enumerate(left.subplots(2, 5).flat):
        ax.imshow(model.coef_[digit].reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{digit}: {np.count_nonzero(model.coef_[digit])} pixels", fontsize="medium")
    left.suptitle("Ink that speaks for (red) and against (blue) each digit", fontsize="medium")
    mean, share, counts = curve
    ax = right.subplots()
    ax.plot([0.4, 1], [0.4, 1], color="0.6", lw=1, ls="--")
    ax.plot(mean, share, color=BLUE, lw=1.2)
    ax.scatter(mean, share, s=8 + 120 * np.sqrt(counts / counts.max()), color=BLUE, zorder=3)
    ax.set(xlabel="stated probability", ylabel="share of right answers", xlim=(0.4, 1.03), ylim=(0.4, 1.03))
    ax.set_title("Held-out rows: stated and true", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("softmax_digits.png"), help="the picture")
    out = parser.parse_args().out
    X, y = load_digits(return_X_y=True)
    train, test, labels, truth = train_test_split(X / 16, y, test_size=0.4, random_state=0, stratify=y)
    model = LogisticRegressionCV(
        Cs=[0.1, 1.0, 10.0], l1_ratios=[1.0], cv=3, scoring="neg_log_loss", use_legacy_attributes=False
    ).fit(train, labels)
    print(f"{len(labels)} images of 64 pixels, {len(truth)} held out")
    print(f"of C = {model.Cs_}, {model.C_:g} has the best cross-validated log-loss")
    print(model.evidence_)
    probabilities, predicted = model.predict_proba(test), model.predict(test)
    used = np.count_nonzero(model.coef_)
    print(f"accuracy {np.mean(predicted == truth):.3f} with {used} of {model.coef_.size} coefficients")
    print(
        f"predict is the argmax of predict_proba: {(model.classes_[probabilities.argmax(axis=1)] == predicted).all()}"
    )
    curve = reliability(probabilities, predicted == truth)
    for mean, share, count in zip(*curve, strict=True):
        print(f"  said {mean:6.1%}, right in {share:6.1%} of {count}")
    draw(model, curve, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
