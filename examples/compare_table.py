"""Which model predicts this column best, and how sure is that? A table goes in, a leaderboard with intervals comes out.

400 fruit, made up by docs/data/fruit.py, with gaps in their records: what does one weigh, given its kind, orchard,
skin, sugar, length and width? Columns are read and prepared inside the folds, every model has its few settings tried,
and what cannot be told apart is said to be so. The best model is fitted to every row, and can be saved.

Run: python examples/compare_table.py --out compare_table.png
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import corollary
from corollary.core.drawing import BLUE, ORANGE, SOFT

FRUIT = Path(__file__).resolve().parents[1] / "docs" / "data" / "fruit.py"


def draw_board(result: Any, ax: Any) -> None:
    """Means and 95 % intervals of the models, best on top; those that the data cannot tell from the best in blue."""
    rows = [row for row in result.rows if not row.error][::-1]
    for place, row in enumerate(rows):
        score = row.scores[result.metric.name]
        colour = BLUE if row.tied or row.model == result.best else SOFT if row.baseline else ORANGE
        ax.plot([score.low, score.high], [place, place], color=colour, lw=2, solid_capstyle="round")
        ax.plot(score.mean, place, "o", color=colour, ms=7)
    ax.set_yticks(range(len(rows)), [row.model for row in rows])
    ax.set_xlabel(f"{result.metric.label} in grams, mean and 95 % interval over the folds")
    ax.set_title("Blue: cannot be told from the best", loc="left", fontweight="bold")


def draw_predictions(result: Any, ax: Any) -> None:
    """What the best model said of each fruit while it was held out."""
    said = result.out_of_fold[result.best].values
    ends = [result.truth.min(), result.truth.max()]
    ax.plot(ends, ends, color=SOFT, lw=1)
    ax.scatter(result.truth, said, s=10, color=BLUE, alpha=0.6, lw=0)
    ax.set(xlabel="true weight", ylabel="predicted, while held out", aspect="equal")
    ax.set_title(result.best, loc="left", fontweight="bold")


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("compare_table.png"), help="the picture")
    out = parser.parse_args().out
    fruit = pd.DataFrame(runpy.run_path(str(FRUIT))["table"]())
    result = corollary.compare(fruit, "weight_g", drop_missing_target=True)
    print(result)
    if result.bias is not None:
        print(result.bias)
    pear = pd.DataFrame({"kind": ["pear"], "orchard": ["hill"], "length_mm": [110.0]})
    unknown = [name for name in result.features.columns if name not in pear]
    said = result.best_.predict(pear.assign(**dict.fromkeys(unknown, np.nan)))
    print(f"A pear of 110 mm from the hill and nothing else known: {said[0]:.0f} g")
    figure, (board, predictions) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(1.4, 1), layout="constrained")
    draw_board(result, board)
    draw_predictions(result, predictions)
    for ax in (board, predictions):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=100)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
