"""From which probability on to say yes: what each threshold would have done on held-out rows of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.report.charts import Chart, Scale, escaped
from corollary.report.document import figure, table
from corollary.tabular.messages import shortened

_COSTS = (1, 5, 20)


@dataclass(frozen=True)
class Thresholds:
    """Right and wrong answers for every threshold, highest first: a row is called positive from ``values`` on."""

    values: NDArray[np.float64]
    found: NDArray[np.int64]  # true positives
    disturbed: NDArray[np.int64]  # false positives
    positives: int
    negatives: int

    @classmethod
    def of(cls, happened: NDArray[np.bool_], probability: NDArray[np.float64]) -> Thresholds:
        order = np.argsort(-probability, kind="stable")
        sorted_, right = probability[order], happened[order]
        last = np.append(np.flatnonzero(np.diff(sorted_)), len(sorted_) - 1)  # rows of equal probability go together
        found = np.cumsum(right)[last]
        return cls(sorted_[last], found, last + 1 - found, int(happened.sum()), int((~happened).sum()))

    @property
    def precision(self) -> NDArray[np.float64]:
        return self.found / np.maximum(self.found + self.disturbed, 1)

    @property
    def recall(self) -> NDArray[np.float64]:
        return self.found / max(self.positives, 1)

    @property
    def f1(self) -> NDArray[np.float64]:
        return 2 * self.found / (self.found + self.disturbed + self.positives)

    def cost(self, missed: float) -> NDArray[np.float64]:
        """False alarms at one each and misses at ``missed`` each, in all."""
        return self.disturbed + missed * (self.positives - self.found)

    def at(self, value: float) -> int:
        """The position of a threshold: the last one that is not below ``value``."""
        return int(max(np.searchsorted(-self.values, -value, side="right") - 1, 0))


def threshold_figures(happened: NDArray[np.bool_], probability: NDArray[np.float64], name: Any) -> list[str]:
    """Precision and recall against the threshold, and the thresholds that common aims call for."""
    found = Thresholds.of(happened, probability)
    return [_curves(found, str(name)), _aims(found, str(name))]


def _curves(found: Thresholds, name: str) -> str:
    chart = Chart(
        Scale(0.0, 1.0), Scale(0.0, 1.0), title="Precision, recall and F1 by threshold",
        description="Against the probability from which on a row is called positive.",
        x_label=f"threshold for {shortened(name, 30)}", y_label="share",
    )  # fmt: skip
    places = np.linspace(0.0, 1.0, 101)
    inside = places <= float(found.values[0])  # above the highest probability nothing is called positive
    which = np.array([found.at(each) for each in places[inside]])
    for style, values in (("s0", found.precision), ("s1", found.recall), ("s2", found.f1)):
        chart.line(places[inside], values[which], style)
    chart.line([0.5, 0.5], [0, 1], "soft", dashed=True)
    key = "".join(
        f'<li><i class="s{index}"></i>{word}</li>' for index, word in enumerate(("precision", "recall", "F1"))
    )
    caption = "On held-out rows. The dashed line is the usual threshold, 0.5."
    heading = f"Where to say {shortened(name, 24)}"
    return figure(chart.svg(), heading, caption, f'<ul class="legend">{key}</ul>')


def _aims(found: Thresholds, name: str) -> str:
    aims = [("usual, 0.5", found.at(0.5)), ("highest F1", int(np.argmax(found.f1)))]
    for missed in _COSTS[1:]:
        aims.append((f"a miss costs {missed} false alarms", int(np.argmin(found.cost(missed)))))
    aims.append(("a false alarm costs 5 misses", int(np.argmin(found.cost(0.2)))))
    for share in (0.9, 0.95):
        good = np.flatnonzero(found.precision >= share)
        if good.size and found.found[good[-1]] >= 10:
            aims.append((f"precision of {share:.0%}", int(good[-1])))
            break
    total = found.positives + found.negatives
    rows = []
    for words, at in aims:
        value = 0.5 if words.startswith("usual") else found.values[at]
        called = found.found[at] + found.disturbed[at] if value <= found.values[0] else 0
        numbers = (f"{value:.3f}", f"{found.precision[at]:.3f}" if called else "–",
                   f"{found.recall[at] if called else 0:.3f}", f"{found.f1[at] if called else 0:.3f}",
                   f"{called / total:.1%}")  # fmt: skip
        cells = "".join(f'<td class="n">{each}</td>' for each in numbers)
        rows.append(f'<tr><th scope="row">{escaped(words)}</th>{cells}</tr>')
    whole = table(("aim", ">threshold", ">precision", ">recall", ">F1", ">called"), rows, "classes")
    caption = (
        f"Called: the share of rows that would be called {shortened(name, 24)}. The thresholds were chosen on the rows "
        "they are judged by here, so expect a little less on new rows."
    )
    return figure(whole, "Thresholds for common aims", caption)
