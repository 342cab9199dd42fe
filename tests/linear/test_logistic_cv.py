"""Cross-validated logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from corollary import LogisticRegression, LogisticRegressionCV

CANCER = load_breast_cancer()
X, Y = scale(CANCER.data), CANCER.target
IRIS = load_iris(return_X_y=True)
PLAIN: dict[str, Any] = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}


def test_scores_are_those_of_separate_fits() -> None:
    splits = list(StratifiedKFold(3).split(X, Y))
    model = LogisticRegressionCV(Cs=[0.01, 1.0], cv=splits, **(PLAIN | {"l1_ratios": (0.0, 1.0)})).fit(X, Y)
    assert model.scores_.shape == (3, 2, 2)
    for k, (train, test) in enumerate(splits):
        for m, mix in enumerate((0.0, 1.0)):
            for c, C in enumerate((0.01, 1.0)):
                alone = LogisticRegression(C=C, l1_ratio=mix).fit(X[train], Y[train])
                expected = -log_loss(Y[test], alone.predict_proba(X[test]))
                assert model.scores_[k, m, c] == pytest.approx(expected, rel=5e-2)
    best = np.unravel_index(model.scores_.mean(axis=0).argmax(), (2, 2))
    assert (model.l1_ratio_, model.C_) == ((0.0, 1.0)[best[0]], (0.01, 1.0)[best[1]])
    final = LogisticRegression(C=model.C_, l1_ratio=model.l1_ratio_).fit(X, Y)
    np.testing.assert_allclose(model.coef_, final.coef_, atol=1e-4)
    assert model.evidence_.facts["cross-validated fits"] == 12


def test_grid_and_scoring() -> None:
    model = LogisticRegressionCV(Cs=4, cv=3, **(PLAIN | {"scoring": "accuracy"})).fit(X, Y)
    np.testing.assert_allclose(model.Cs_, np.geomspace(1e-4, 1e4, 4))
    assert ((model.scores_ > 0.5) & (model.scores_ <= 1)).all()
    assert model.score(X, Y) > 0.95


def test_three_classes_and_class_weights() -> None:
    model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, class_weight="balanced", **PLAIN)
    model.fit(*IRIS)
    assert model.coef_.shape == (3, 4)
    assert model.evidence_.holds
    assert (model.predict(IRIS[0]) == IRIS[1]).mean() > 0.9


def test_weights_count_in_the_scores() -> None:
    """A fold without weight has no say."""
    splits = list(StratifiedKFold(3).split(X, Y))
    weights = np.ones(len(Y))
    weights[splits[0][1]] = 1e-12
    model = LogisticRegressionCV(Cs=[1e-4, 1.0], cv=splits, **PLAIN).fit(X, Y, sample_weight=weights)
    assert model.Cs_[model.scores_[1:].mean(axis=0).argmax()] == model.C_
