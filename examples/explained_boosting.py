"""Gradient boosting that stops by itself, and says what it learnt.

Hourly bicycle rentals, generated so that the truth is known: an effect of the hour that differs between working days
and weekends, of the temperature (sometimes missing) and of the weather (a category), and two columns of nothing.

1. Fit with rows that only judge when to stop.
2. Ask which columns matter, in four ways; only two of them see through the column of random numbers.
3. Share out predictions as Shapley values, and hold what they say about the hour against the truth.

Run: python examples/explained_boosting.py --out explained_boosting.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from corollary import GradientBoostingRegressor
from corollary.core.drawing import BLUE, ORANGE
from corollary.tree.importances import importances
from corollary.tree.shap import shap_values

WEATHER = {"sun": 40.0, "clouds": 10.0, "rain": -70.0, "snow": -110.0}
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def hour_effect(hour: Any, weekend: Any) -> Any:
    """Two rush hours on working days, one long afternoon on weekends."""
    work = 130 * np.exp(-(((hour - 8) / 1.4) ** 2)) + 150 * np.exp(-(((hour - 17.5) / 2) ** 2))
    free = 120 * np.exp(-(((hour - 14.5) / 4) ** 2))
    return np.where(weekend, free, work)


def true_values(weekend: bool) -> Any:
    """The true Shapley values of the hours: half the effect on such days, half the effect on all days."""
    hours = np.arange(24)
    own, both = hour_effect(hours, weekend), 2 / 7 * hour_effect(hours, True) + 5 / 7 * hour_effect(hours, False)
    return 0.5 * (own - own.mean()) + 0.5 * (both - both.mean())


def make_data(n: int = 6000, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "hour": rng.integers(0, 24, n),
            "day": pd.Categorical(rng.choice(DAYS, n), categories=DAYS),
            "temperature": np.round(rng.normal(14, 8, n), 1),
            "weather": pd.Categorical(rng.choice(list(WEATHER), n, p=[0.5, 0.3, 0.15, 0.05])),
            "wind": np.round(rng.gamma(4, 4, n)),
            "random number": rng.random(n),
            "random day": pd.Categorical(rng.choice(DAYS, n)),
        }
    )
    y = 150 + hour_effect(X["hour"], X["day"].isin(["Sat", "Sun"])) + X["weather"].map(WEATHER).astype(float)
    y += 60 * np.tanh((X["temperature"] - 12) / 8) - 1.0 * X["wind"] + rng.normal(scale=45, size=n)
    X.loc[rng.random(n) < 0.1, "temperature"] = np.nan
    return X, y.to_numpy()


def fit(X: pd.DataFrame, y: Any) -> tuple[GradientBoostingRegressor, slice]:
    """Half of the rows teach, a quarter judges, the last quarter is never seen."""
    n = len(y)
    teach, judge, unseen = slice(0, n // 2), slice(n // 2, 3 * n // 4), slice(3 * n // 4, n)
    model = GradientBoostingRegressor(learning_rate=0.08, n_estimators=400, max_leaf_nodes=16)
    model.fit(X[teach], y[teach], X_val=X[judge], y_val=y[judge])
    print(f"{len(X.columns)} columns, {n // 2} rows to learn from; no column was encoded, filled in or scaled")
    print(f"  {model.evidence_}")
    print(f"  R² on rows that nobody has seen: {model.score(X[unseen], y[unseen]):.3f}")
    return model, unseen


def report(found: Any) -> None:
    print("which columns matter, most important first:")
    for measure in found.measures:
        print(f"  {measure:12} {', '.join(found.feature_names[f] for f in found.ranking(measure))}")


def draw_hours(explanation: Any, ax: Any) -> None:
    """Shapley values of the hour, working days and weekends, with the true effect as lines."""
    hour = explanation.column(0)
    names = explanation.categories[1][explanation.column(1).astype(int)]
    weekend = np.isin(names, ["Sat", "Sun"])
    rng = np.random.default_rng(0)
    for at, colour, label in ((~weekend, BLUE, "working days"), (weekend, ORANGE, "weekends")):
        places = hour[at] + rng.uniform(-0.25, 0.25, at.sum())
        ax.scatter(places, explanation.values[at, 0], s=6, color=colour, alpha=0.35, lw=0)
        ax.plot(range(24), true_values(label == "weekends"), color=colour, lw=1.8, label=label)
    ax.axhline(0, color="0.4", lw=0.8, zorder=0)
    ax.set(xlabel="hour", ylabel="Shapley value of the hour", xticks=range(0, 25, 6))
    ax.set_title("The hour: dots found, lines true", loc="left", fontweight="bold")
    ax.legend(frameon=False, fontsize="small", loc="upper left")


def draw(model: Any, explanation: Any, found: Any, out: Path) -> None:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 7.6), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.1, 1), hspace=0.05)
    curve, dots = upper.subplots(1, 2, width_ratios=(1, 1.5))
    model.plot(curve)
    curve.set_title("")
    curve.set_title("Learning, and when to stop", loc="left", fontweight="bold")
    explanation.plot(ax=dots)
    dots.set_title("What moves predictions", loc="left", fontweight="bold")
    hours, rest = lower.subfigures(1, 2, width_ratios=(1, 1.5))
    axes = rest.subplots(1, len(found.measures), sharey=True)
    found.plot(axes=axes)
    ax = hours.subplots()
    draw_hours(explanation, ax)
    for each in (curve, ax):
        each.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("explained_boosting.png"), help="the picture")
    out = parser.parse_args().out
    X, y = make_data()
    model, unseen = fit(X, y)
    found = importances(model, X[unseen], y[unseen])
    report(found)
    explanation = shap_values(model, X[unseen])
    print(f"Shapley values of {len(explanation.values)} rows: {explanation.certificate}")
    draw(model, explanation, found, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
