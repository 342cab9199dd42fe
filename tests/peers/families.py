"""Which of scikit-learn's test files judge which family of ours."""

from __future__ import annotations

from corollary.patch import MODULES

_FILES = {
    "linear": "base ridge coordinate_descent huber logistic",
    "tree": "tree",
    "ensemble": "forest bagging weight_boosting stacking voting gradient_boosting",
    "neighbors": "neighbors",
    "cluster": "k_means hierarchical spectral",
    "mixture": "gaussian_mixture",
    "decomposition": "pca",
}

# family -> modules of tests, as ``pytest --pyargs`` takes them
FAMILIES: dict[str, list[str]] = {
    family: [f"sklearn.{MODULES[family]}.tests.test_{file}" for file in files.split()]
    for family, files in _FILES.items()
}
