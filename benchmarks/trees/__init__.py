"""Trees and ensembles: boosting, forests, one exact tree, AdaBoost, prediction."""

from __future__ import annotations

from benchmarks.trees import boosting, ensembles, prediction, quality

WORKLOADS = (*boosting.WORKLOADS, *ensembles.WORKLOADS, *prediction.WORKLOADS)
CHECKS = (*prediction.CHECKS, *quality.CHECKS)
