"""The table of figures in README, kept equal to the page: ``python -m benchmarks.readme`` writes it anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.results import Race, Record
from benchmarks.table import duration

ROOT = Path(__file__).resolve().parents[1]
HEADER = "| workload | ours | best peer | ratio |\n|---|---|---|---|\n"

LABELS = {
    "ols": "least squares, 1 000 000 × 100",
    "ridge": "ridge, 1 000 000 × 100",
    "lasso-dense": "lasso, dense 1 000 × 10 000",
    "lasso-sparse": "lasso, sparse 20 000 × 50 000",
    "lasso-path-dense": "lasso path, 100 points, dense",
    "lasso-path-sparse": "lasso path, 100 points, sparse",
    "logistic-l2": "logistic, L2, 500 000 × 50",
    "softmax": "softmax, 10 classes, 100 000 × 64",
    "logistic-l1-text": "logistic, L1, sparse text",
    "boosting-binary": "boosting, 2 classes, 500 000 × 28, 100 trees",
    "boosting-7-classes": "boosting, 7 classes, 100 000 × 54, 100 rounds",
    "boosting-regression": "boosting, regression, 200 000 × 50, 100 trees",
    "boosting-predict": "boosting, predicting 500 000 rows",
    "random-forest": "random forest, 200 000 × 28, 100 trees",
    "exact-tree": "one exact tree, 200 000 × 30",
    "adaboost": "AdaBoost, 200 stumps, 50 000 × 50",
    "k-means-64": "k-means, 200 000 × 32, k = 64",
    "k-means-256": "k-means, 50 000 × 128, k = 256",
    "neighbors-8": "10 nearest of 100 000, 20 000 queries, 8 columns",
    "neighbors-64": "10 nearest of 100 000, 20 000 queries, 64 columns",
    "k-medoids": "k-medoids, 5 000 points, k = 20",
    "linkage-single": "single linkage, 15 000 × 10",
    "linkage-ward": "Ward's linkage, 15 000 × 10",
    "linkage-complete": "complete linkage, 15 000 × 10",
    "gaussian-mixture-full": "Gaussian mixture, full, 100 000 × 32, k = 8, 20 iterations",
    "gaussian-mixture-diag": "Gaussian mixture, diagonal, the same",
    "pca-tall": "PCA, 200 000 × 200 → 20",
    "pca-wide": "PCA, 20 000 × 2 000 → 20",
    "spectral-neighbours": "spectral clustering, 5 000 points, 10 neighbours",
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
