"""Which of scikit-learn's test files judge which family of ours."""

from __future__ import annotations

from corollary.patch import MODULES

_FILES = {
    "linear": "base ridge coordinate_descent huber logistic",
    "tree": "tree",
    "ensemble": "forest bagging weight_boosting stacking voting gradient_boosting",
    "bayes": "naive_bayes",
    "neighbors": "neighbors",
    "cluster": "k_means hierarchical spectral",
    "mixture": "gaussian_mixture",
    "decomposition": "pca",
}

# a module without a package of its own is tested beside the others
_PACKAGES = {"bayes": "sklearn"}

# family -> modules of tests, as ``pytest --pyargs`` takes them
FAMILIES: dict[str, list[str]] = {
    family: [f"{_PACKAGES.get(family, f'sklearn.{MODULES[family]}')}.tests.test_{file}" for file in files.split()]
    for family, files in _FILES.items()
}
