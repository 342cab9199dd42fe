"""Honest comparison of models on a table: column roles, preparation inside the folds, scores with intervals."""
