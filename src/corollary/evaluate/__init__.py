"""Judging models: what a search found by luck, bias and variance, curves, paired tests, calibration, thresholds,
theory; and whole tables: folds, scores with intervals, leaderboards, clusters. Names are those of the registry."""

from corollary.registry import lazy_family

__all__, __getattr__ = lazy_family("evaluate", "theory")
