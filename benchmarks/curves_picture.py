"""A picture of the curves, and the page that shows it: ``python -m benchmarks.curves_picture``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import curves, results
from benchmarks.curves import Curve
from benchmarks.page import page
from benchmarks.workload import OURS

ACROSS = 4  # panels


def draw(found: Sequence[Curve], path: Path) -> None:
    """A panel a workload, both axes in powers of two; ours is the heavy line, ideal gain the dotted one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = -(-len(found) // ACROSS)
    figure, panels = plt.subplots(rows, ACROSS, figsize=(3.1 * ACROSS, 2.7 * rows), squeeze=False, layout="constrained")
    for panel, curve in zip(panels.flat, found, strict=False):
        for who, seconds in sorted(curve.seconds.items(), key=lambda item: item[0] == OURS):
            threads = sorted(seconds)
            style = {"color": "#b3261e", "linewidth": 2.4} if who == OURS else {"linewidth": 1.1}
            panel.plot(threads, [seconds[t] for t in threads], marker="o", markersize=3, label=who, **style)
        if 1 in curve.ours:
            threads = sorted(curve.ours)
            panel.plot(threads, [curve.ours[1] / t for t in threads], ":", color="#b3261e", linewidth=0.8)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log", base=2)
        panel.set_xticks(sorted(curve.ours), [str(t) for t in sorted(curve.ours)])
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:.3g} s")
        panel.set_title(curve.name, fontsize=9)
        panel.tick_params(labelsize=7)
        panel.legend(fontsize=6, frameon=False)
    for panel in panels.flat[len(found) :]:
        panel.set_axis_off()
    figure.supxlabel("threads (dotted: our time on one, divided by them)", fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Draw what is stored and write the page anew from what it is stored beside."""
    docs = curves.STORE.parent
    here, found = curves.read()
    draw(found, docs / "images" / "threads.svg")
    there, records = results.read(docs / "benchmarks.json")
    (docs / "benchmarks.md").write_text(page(there, records, (here, found)), encoding="utf-8")


if __name__ == "__main__":
    main()
