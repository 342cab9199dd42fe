"""Learning and validation curves: scikit-learn's numbers, corrected bands, and sentences that are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.model_selection import validation_curve as peer

from corollary import DecisionTreeClassifier, GaussianNB, KNeighborsClassifier, LinearRegression, Ridge
from corollary.evaluate import learning_curve, validation_curve
from corollary.evaluate.curve import Curve
from corollary.evaluate.metrics import Score
from corollary.evaluate.scoring import scorer_of

X, Y = make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=0)


def test_validation_curve_agrees_with_scikit_learn() -> None:
    depths = [1, 3, 9]
    curve = validation_curve(DecisionTreeClassifier(random_state=0), X, Y, "max_depth", depths, cv=3, scoring="roc_auc")
    train, test = peer(
        DecisionTreeClassifier(random_state=0),
        X,
        Y,
        param_name="max_depth",
        param_range=depths,
        cv=3,
        scoring="roc_auc",
    )
    np.testing.assert_allclose([score.folds for score in curve.train], train)
    np.testing.assert_allclose([score.folds for score in curve.test], test)
    assert curve.best == depths[int(test.mean(axis=1).argmax())]
    frame = curve.to_frame()
    assert frame.index.tolist() == depths
    assert (frame["test_high"] <= 1).all()
    assert curve.test[0].test_share == 50 / 100


def test_learning_curve_ends_with_cross_validation() -> None:
    A, b = make_regression(80, 3, noise=10.0, random_state=0)
    folds = KFold(4, shuffle=True, random_state=0)
    curve = learning_curve(LinearRegression(), A, b, cv=folds, train_sizes=[10, 30, 60])
    assert curve.values == (10, 30, 60)
    for (train, test), score in zip(folds.split(A), curve.test[-1].folds, strict=True):
        np.testing.assert_allclose(score, LinearRegression().fit(A[train], b[train]).score(A[test], b[test]))
    assert learning_curve(LinearRegression(), A, b, cv=folds, seed=1) == learning_curve(
        LinearRegression(), A, b, cv=folds, seed=1
    )


def test_few_rows_have_every_class_and_time_goes_forward() -> None:
    y = np.r_[np.zeros(140, dtype=int), np.ones(10, dtype=int)]
    curve = learning_curve(GaussianNB(), X, y, train_sizes=[3, 40], cv=3)
    assert np.isfinite([score.mean for score in curve.test]).all()
    seen: list[Any] = []

    class Noting(Ridge):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(np.sort(X[:, 0]))
            return super().fit(X, y)

    rows = np.arange(40.0)[:, None]
    learning_curve(Noting(), rows, rows[:, 0], train_sizes=[5], cv=TimeSeriesSplit(3, max_train_size=10))
    assert [part.tolist() for part in seen] == [list(range(end - 5, end)) for end in (10, 20, 30)]  # the latest rows


def test_what_learning_curves_say() -> None:
    def said(train: list[float], test: list[float]) -> str:
        noise = np.array([-0.001, 0.001, 0.0, 0.001, -0.001])
        scores = [
            [Score(tuple(mean + noise * (i + 1)), 0.25) for i, mean in enumerate(means)] for means in (train, test)
        ]
        return Curve("training rows", (50, 100, 200), tuple(scores[0]), tuple(scores[1]),
                     scorer_of(GaussianNB(), None)).advice  # fmt: skip

    assert "more data would help" in said([0.99, 0.98, 0.97], [0.70, 0.78, 0.86])
    assert "simpler or more regularised" in said([0.99, 0.99, 0.99], [0.80, 0.80, 0.80])
    assert "underfits" in said([0.71, 0.70, 0.70], [0.69, 0.70, 0.70])
    assert (
        said([0.86, 0.86, 0.86], [0.70, 0.78, 0.855])
        == "The test score still rises with the rows: more data would help."
    )


def test_what_validation_curves_say() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(400, 2))
    b = (A[:, 0] + A[:, 1] + rng.normal(0, 0.6, 400) > 0).astype(int)
    curve = validation_curve(KNeighborsClassifier(), A, b, "n_neighbors", [1, 15, 315], cv=5)
    assert str(curve).startswith(f"accuracy {curve.test[1].mean:.2f}"[:12])
    assert "earlier than that fit the training rows better and new rows no better: they overfit" in curve.advice
    edge = validation_curve(KNeighborsClassifier(), A, b, "n_neighbors", [315, 15], cv=5)
    assert edge.advice == "The best value of n_neighbors lies at the edge: look further."
    same = validation_curve(KNeighborsClassifier(), A, b, "leaf_size", [10, 30], cv=3)
    assert same.advice == "No value of leaf_size can be told apart from it."


def test_pictures() -> None:
    curve = learning_curve(GaussianNB(), X, Y, train_sizes=[0.2, 1.0], cv=3)
    ax = curve.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("training rows", "accuracy")
    words = validation_curve(KNeighborsClassifier(), X, Y, "weights", ["uniform", "distance"], cv=3).plot()
    assert [text.get_text() for text in words.get_xticklabels()] == ["uniform", "distance"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: learning_curve(GaussianNB(), X, Y, train_sizes=[500], cv=3),
            r"train_sizes must be .* up to 100, but they",
        ),
        (lambda: learning_curve(GaussianNB(), X, Y, train_sizes=[0.0]), "train_sizes must be shares in"),
        (
            lambda: validation_curve(GaussianNB(), X, Y, "depth", [1]),
            "param_name 'depth' is no parameter of GaussianNB",
        ),
        (lambda: validation_curve(GaussianNB(), X, Y, "var_smoothing", []), "at least one value of var_smoothing"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
