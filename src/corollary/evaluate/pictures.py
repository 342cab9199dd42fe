"""Pictures of judged models. Each returns the matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.core.drawing import BLUE, ORANGE, PALETTE, SOFT, axes

if TYPE_CHECKING:
    from corollary.evaluate.bias_variance import BiasVariance
    from corollary.evaluate.calibration import Calibration
    from corollary.evaluate.curve import Curve
    from corollary.evaluate.models_compared import ModelsCompared
    from corollary.evaluate.nested import Nested
    from corollary.evaluate.threshold import Threshold

GREEN = PALETTE[2]


def plot_nested(found: Nested, ax: Any = None) -> Any:
    """What the search reports in each fold, and what its choice gets on rows that it has not seen."""
    ax = axes(ax)
    folds = np.arange(1, len(found.score.folds) + 1)
    low, high = found.interval
    ax.axhspan(low, high, color=BLUE, alpha=0.12, lw=0)
    ax.axhline(found.score.mean, color=BLUE, lw=1)
    ax.vlines(folds, found.score.folds, found.inner_scores, color="0.8", lw=1, zorder=1)
    ax.plot(folds, found.inner_scores, "o", color=ORANGE, label="best score of the search")
    ax.plot(folds, found.score.folds, "o", color=BLUE, label="on rows it has not seen (band: mean, 95 %)")
    ax.set(xlabel="outer fold", ylabel=found.scoring.name)
    if len(folds) <= 20:
        ax.set_xticks(folds)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_bias_variance(found: BiasVariance, ax: Any = None) -> Any:
    """What the loss is made of, as one bar. Net variance below zero goes to the left."""
    ax = axes(ax, (6.5, 1.8))
    first = "bias²" if found.loss == "squared" else "bias"
    parts = [
        (first if found.noise_known else f"{first} and noise", found.bias, BLUE),
        ("variance", found.variance, ORANGE),
    ]
    parts += [("noise", found.noise, SOFT)] if found.noise_known else []
    right = left = 0.0
    for name, value, colour in parts:
        ax.barh([0], [value], left=right if value >= 0 else left, color=colour, height=0.5, label=f"{name} {value:.3g}")
        right, left = right + max(value, 0.0), left + min(value, 0.0)
    ax.axvline(found.total, color="black", lw=1, ls=":")
    ax.set(yticks=[], xlabel=f"{found.loss} loss, in all {found.total:.3g}", ylim=(-0.4, 0.75))
    ax.spines["left"].set_visible(False)
    ax.legend(frameon=False, ncols=3, loc="upper left", fontsize="small")
    return ax


def plot_curve(curve: Curve, ax: Any = None) -> Any:
    """Scores of training and test rows with 95 % bands; a log scale where the values call for it."""
    ax = axes(ax)
    numbers = all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in curve.values)
    places = np.array(curve.values, dtype=np.float64) if numbers else np.arange(len(curve.values))
    for scores, colour, name in ((curve.train, ORANGE, "training rows"), (curve.test, BLUE, "test rows")):
        bands = np.array([curve.scoring.interval(score) for score in scores])
        ax.fill_between(places, bands[:, 0], bands[:, 1], color=colour, alpha=0.15, lw=0)
        ax.plot(places, [score.mean for score in scores], "o-", color=colour, ms=4, label=name)
    if numbers and len(places) > 2 and places.min() > 0 and places.max() / places.min() > 50:
        ax.set_xscale("log")
    elif not numbers:
        ax.set_xticks(places, [str(value) for value in curve.values])
    if curve.name != "training rows":
        ax.axvline(places[curve.values.index(curve.best)], color=SOFT, lw=1, ls=":")
    ax.set(xlabel=curve.name, ylabel=curve.scoring.name)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_models(found: ModelsCompared, ax: Any = None) -> Any:
    """How far each model is behind the best, with the 95 % interval of the difference."""
    others = [name for name in found.scores if name != found.best]
    ax = axes(ax, (6.5, 1.2 + 0.4 * len(others)))
    ax.axvline(0, color=SOFT, lw=1)
    for place, name in enumerate(reversed(others)):
        test = found.tests[found.best, name]
        colour = SOFT if name in found.tied else BLUE
        low, high = -test.interval[1], -test.interval[0]
        ax.plot([low, high], [place, place], color=colour, lw=2, solid_capstyle="butt")
        ax.plot([-test.difference], [place], "o", color=colour)
    ax.set_yticks(range(len(others)), others[::-1])
    ax.set(
        xlabel=f"{found.scoring.name} less that of {found.best} (grey: cannot be told apart)",
        ylim=(-0.6, len(others) - 0.4),
    )
    return ax


def plot_calibration(found: Calibration, ax: Any = None) -> Any:
    """The reliability diagram: observed shares with Wilson's intervals against mean probabilities."""
    ax = axes(ax, (5, 5))
    top = min(1.0, 1.08 * max(float(found.predicted.max()), float(found.high.max())))
    ax.plot([0, top], [0, top], color=SOFT, lw=1, ls="--", label="as it should be")
    ax.vlines(found.predicted, found.low, found.high, color=BLUE, lw=1.5)
    size = 18 + 60 * np.sqrt(found.rows / found.rows.max())
    ax.scatter(found.predicted, found.observed, s=size, color=BLUE, zorder=3, label="bins (95 % interval)")
    what = "most likely class" if found.label is None else f"class {found.label}"
    ax.set(xlabel=f"mean probability of {what}", ylabel="share of rows that have it", xlim=(-0.02 * top, top),
           ylim=(-0.02 * top, top))  # fmt: skip
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return ax


def plot_threshold(found: Threshold, ax: Any = None) -> Any:
    """Precision and recall against the threshold, and the cost on a scale of its own."""
    ax = axes(ax)
    cut = found.table["threshold"]
    ax.axvspan(*found.interval, color=SOFT, alpha=0.12, lw=0)
    ax.axvline(found.value, color="black", lw=1)
    for name, colour in (("precision", BLUE), ("recall", ORANGE)):
        ax.plot(cut, found.table[name], color=colour, lw=1.6, label=name)
    lines = ax.get_lines()[1:]
    if found.by in ("f", "youden"):
        name = "F" if found.by == "f" else "recall − false positive rate"
        lines += ax.plot(cut, found.table[found.by], color=GREEN, lw=1.6, label=name)
    elif found.by == "cost":
        right = ax.twinx()
        lines += right.plot(cut, found.table["cost"], color=GREEN, lw=1.6, label="cost a row (right)")
        right.spines["top"].set_visible(False)
        right.set_ylim(bottom=0)
    ax.legend(handles=list(lines), frameon=False, fontsize="small")
    ax.set(xlabel="threshold", ylim=(0, 1.02))
    return ax


def plot_roc(found: Threshold, ax: Any = None) -> Any:
    """Recall against the rate of false positives: lowering the threshold walks up along it."""
    ax = axes(ax, (5, 5))
    ax.plot([0, 1], [0, 1], color=SOFT, lw=1, ls="--")
    ax.plot(found.table["fpr"], found.table["recall"], color=BLUE, lw=1.8)
    usual = 0.5 if found.probabilities else 0
    ax.plot(found.usual["fpr"], found.usual["recall"], "o", color=SOFT, label=f"threshold {usual}")
    ax.plot(found.at["fpr"], found.at["recall"], "o", color=ORANGE, ms=8, label=f"threshold {found.value:.3g}")
    ax.set(xlabel="false positive rate", ylabel="recall", xlim=(-0.01, 1), ylim=(0, 1.01))
    ax.set_aspect("equal")
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax
