"""What ``--metric`` can be, by task: apart from the metrics, as help reads it without scikit-learn."""

from __future__ import annotations

METRIC_NAMES: dict[str, tuple[str, ...]] = {
    "classification": ("log-loss", "auc", "accuracy", "balanced-accuracy", "f1", "brier"),
    "regression": ("rmse", "mae", "r2"),
}
