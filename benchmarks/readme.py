"""The short table of figures in README, kept equal to the page: ``python -m benchmarks.readme`` writes it anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.results import Race, Record
from benchmarks.table import duration

ROOT = Path(__file__).resolve().parents[1]
HEADER = "| workload | ours | best peer | ratio |\n|---|---|---|---|\n"

# eight, one of each kind; the page has them all
LABELS = {
    "ols": "least squares, 1 000 000 × 100",
    "lasso-sparse": "lasso, sparse 20 000 × 50 000",
    "logistic-l2": "logistic, L2, 500 000 × 50",
    "boosting-binary": "boosting, 2 classes, 500 000 × 28, 100 trees",
    "random-forest": "random forest, 200 000 × 28, 100 trees",
    "k-means-64": "k-means, 200 000 × 32, k = 64",
    "neighbors-64": "10 nearest of 100 000, 20 000 queries, 64 columns",
    "gaussian-mixture-full": "Gaussian mixture, full, 100 000 × 32, k = 8, 20 iterations",
}


def table(records: Sequence[Record]) -> str:
    """One line a workload, in the order above."""
    races = {record.name: record for record in records if isinstance(record, Race)}
    lines = []
    for name, label in LABELS.items():
        race = races[name]
        ours, peer, ratio = race.ours, race.best_peer, race.ratio
        assert ours is not None
        assert peer is not None
        assert ratio is not None
        shown = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
        lines.append(f"| {label} | {duration(ours.best)} | {duration(peer.best)} ({peer.name}) | {shown} |\n")
    return HEADER + "".join(lines)


def updated(text: str, records: Sequence[Record]) -> str:
    """README with its table replaced."""
    start = text.index(HEADER)
    stop = text.index("\n\n", start) + 1
    return text[:start] + table(records) + text[stop:]


def main() -> None:
    path = ROOT / "README.md"
    _, records = results.read(ROOT / "docs" / "benchmarks.json")
    path.write_text(updated(path.read_text(encoding="utf-8"), records), encoding="utf-8")


if __name__ == "__main__":
    main()
