"""The door of ``evidence_.verify``: what is not the data of the fit is refused in words, before anything is judged."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_classifier, is_regressor

from corollary import (
    PCA,
    AdaBoostClassifier,
    BaggingRegressor,
    Blocks,
    DecisionTreeClassifier,
    GaussianMixture,
    GradientBoostingRegressor,
    KMeans,
    KNeighborsRegressor,
    Lasso,
    LinearModel,
    LogisticRegression,
    Mixture,
    RandomForestRegressor,
    Ridge,
    StackingRegressor,
    VotingRegressor,
)
from corollary.referee.verdict import Verification

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
NUMBERS = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=60)
LABELS = (NUMBERS > 0).astype(int)
MEMBERS = [("a", Ridge()), ("b", Lasso(alpha=0.1))]
MODELS = [
    Ridge(),
    LinearModel("absolute"),
    LogisticRegression(),
    DecisionTreeClassifier(),
    RandomForestRegressor(n_estimators=5),
    GradientBoostingRegressor(n_estimators=5),
    AdaBoostClassifier(n_estimators=5),
    VotingRegressor(MEMBERS),
    StackingRegressor(MEMBERS),
    KNeighborsRegressor(),
    KMeans(2, random_state=0),
    GaussianMixture(2, random_state=0),
    Mixture("gaussian", 2, random_state=0),
    PCA(),
]
SUPERVISED = [model for model in MODELS if is_classifier(model) or is_regressor(model)]
VECTOR = {
    "too short": NUMBERS[:5],
    "a generator": (value for value in NUMBERS),
    "ragged": [[1.0], [1.0, 2.0]] * 30,
    "two columns": np.c_[LABELS, LABELS],
    "three dimensions": np.zeros((60, 1, 1)),
    "lazy": pl.LazyFrame({"y": NUMBERS}),
    "None": [None] * 60,
    "NaN": np.full(60, np.nan),
    "texts": np.array(["p", "q"])[LABELS],
    "dates": np.arange(60).astype("M8[D]").astype(object),
}
TABLE = {
    "too narrow": X[:, :2],
    "one column as a vector": X[:, 0],
    "three dimensions": X[None],
    "None": None,
    "text": "rows",
    "a dictionary": {"a": [1.0]},
    "ragged": [[1.0, 2.0], [1.0]] * 30,
    "lazy": pl.LazyFrame(X),
}


def fitted(model, X=X):
    target = LABELS if is_classifier(model) else NUMBERS if is_regressor(model) else None
    return model.fit(X, target).evidence_, target


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_rows_and_weights_that_are_not_are_refused_for_every_family(model):
    evidence, y = fitted(model)
    for name, table in TABLE.items():
        with pytest.raises(ValueError):  # noqa: PT011 - in words of this library's or scikit-learn's
            pytest.fail(f"{name}: {evidence.verify(table, y)}")
    for parts in (Blocks([X[:30], X[30:]]), [X[:30], X[30:]], (row for row in X)):
        with pytest.raises(ValueError, match=r"takes the rows as one array: pass np\.vstack of the blocks"):
            evidence.verify(parts, y)
    with pytest.raises(ValueError, match=r"sample_weight.shape == .*, expected \(60,\): one entry for each row of X"):
        evidence.verify(X, y, np.ones(5))
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        evidence.verify(X, y, np.full(60, -1.0))
    with pytest.raises(ValueError, match="sample_weight must be one number for each row of X"):
        evidence.verify(X, y, ["heavy"] * 60)


@pytest.mark.parametrize("model", SUPERVISED, ids=repr)
def test_targets_that_are_not_are_refused_for_every_family(model):
    evidence, _ = fitted(model)
    for name, y in VECTOR.items():
        with pytest.raises(ValueError, match=r"\by\b"):
            pytest.fail(f"{name}: {evidence.verify(X, y)}")
    with pytest.raises(ValueError, match="Leave out the rows whose answer is not known"):
        evidence.verify(X, VECTOR["NaN"])


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_data_of_the_fit_pass_in_any_form(model):
    evidence, y = fitted(model)
    for table in (X.tolist(), pd.DataFrame(X), pl.DataFrame(X)):
        assert evidence.verify(table, y).stands is not False
    if y is not None:
        for target in (y.tolist(), y[:, None], pd.Series(y), pl.Series(y)):
            assert evidence.verify(X, target).stands is not False


def test_another_number_of_rows_is_refused_where_the_model_knows_it():
    weights = np.where(np.arange(60) < 7, 0.0, 1.0)
    for model in (KMeans(2, random_state=0), PCA()):
        with pytest.raises(ValueError, match="rows of the fit"):
            model.fit(X).evidence_.verify(X[:30])
        assert model.fit(X, sample_weight=weights).evidence_.verify(X, sample_weight=weights)


def test_parameters_that_cannot_be_are_refused():
    model = LinearModel("absolute").fit(X, NUMBERS)
    with pytest.raises(ValueError, match="foo"):
        model.set_params(loss="foo").evidence_.verify(X, NUMBERS)


def test_evidence_of_an_earlier_fit_does_not_judge_the_later():
    model = Lasso(alpha=0.1).fit(X, NUMBERS)
    earlier = model.evidence_
    model.fit(X, -NUMBERS)
    with pytest.raises(ValueError, match="fitted again since"):
        earlier.verify(X, NUMBERS)
    assert model.evidence_.verify(X, -NUMBERS)


def test_only_what_stands_is_true_and_a_refutation_says_on_what_it_rests():
    assert [bool(Verification(stands, "words")) for stands in (True, False, None)] == [True, False, False]
    model = Lasso(alpha=0.1).fit(X, NUMBERS)
    assert model.evidence_.verify(X, NUMBERS)
    refuted = model.set_params(alpha=0.2).evidence_.verify(X, NUMBERS)
    assert not refuted
    assert str(refuted).endswith("(if X, y, weights and parameters are those of the fit).")


def test_what_would_take_minutes_is_not_decided_at_once():
    many = np.random.default_rng(1).normal(size=(1800, 64))
    y = np.arange(1800) % 10
    found = LogisticRegression().fit(many, y).evidence_.verify(many, y)
    assert found.stands is None
    assert "1,800 rows of 64 columns and 10 classes are too large for the referee" in found.words


def test_frames_are_judged_without_words_about_names() -> None:
    """Members are asked with arrays, after the names of the frame were compared with those of the fit."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    y = X["a"] + rng.normal(size=40)
    for model in (GradientBoostingRegressor(n_estimators=3), BaggingRegressor(n_estimators=2, random_state=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.fit(X, y).evidence_.verify(X, y).stands
