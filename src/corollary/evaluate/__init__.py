"""Judging models on a table: folds, scores with intervals, leaderboards, clusters and how they differ."""
