"""What a fitted model is made of, and how it shows itself."""

from __future__ import annotations

import numbers
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
from instances import CASES, FIRST, Case, every
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from corollary.core.part import Part

PLAIN = (np.ndarray, np.generic, numbers.Number, str, bytes, type(None), Enum, slice)


def assert_plain(value: Any, where: str) -> None:
    """Arrays, numbers, strings, evidence, estimators, parts, and containers of these: nothing that runs."""
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            assert_plain(part, f"{where}[{key!r}]")
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            assert_plain(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, BaseEstimator):
        assert_plain(vars(value), where)
    elif isinstance(value, Part):  # it is what its parameters say
        assert_plain(value.parameters, where)
    elif isinstance(value, np.ndarray):
        assert value.dtype != object, f"{where} is an array of objects"
    else:
        assert isinstance(value, PLAIN) or sparse.issparse(value), f"{where} is a {type(value).__name__}"


@every(CASES)
def test_fitted_attributes_are_plain(case: Case) -> None:
    model, _, _ = case.fitted()
    parameters = model.get_params(deep=False)
    for name, value in vars(model).items():
        if name not in parameters:
            assert_plain(value, name)


@every(CASES)
def test_parameters_are_not_touched_by_fit(case: Case) -> None:
    model = case.make()
    before = {name: (id(value), repr(value)) for name, value in model.get_params(deep=False).items()}
    X, y = case.data()
    model.fit(X, y)
    assert {name: (id(value), repr(value)) for name, value in model.get_params(deep=False).items()} == before


@every(CASES)
def test_names_of_columns_are_kept(case: Case) -> None:
    X, y = case.data()
    names = [f"column {j}" for j in range(X.shape[1])]
    model = case.make().fit(pd.DataFrame(X, columns=names), y)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == X.shape[1]
    assert not hasattr(case.make().fit(X, y), "feature_names_in_")


@every(FIRST)
def test_pictures_in_notebooks(case: Case) -> None:
    model, _, _ = case.fitted()
    assert case.name in estimator_html_repr(model)
    assert case.name in estimator_html_repr(case.make())
    assert case.name in model._repr_html_()
    assert repr(model).startswith(case.name)


@every([case for case in CASES if case.classifier])
def test_the_prediction_is_the_most_probable_class(case: Case) -> None:
    for classes in (2, 4):
        model, X, _ = case.fitted(classes=classes)
        X = case.rows_like(np.concatenate([X, 1e3 * X, -1e3 * X]))
        for rows in (X, X.astype(np.float32)):
            predicted = model.predict(rows)
            scores = model.decision_function(rows) if hasattr(model, "decision_function") else None
            if scores is not None and classes == 2:
                np.testing.assert_array_equal(predicted, model.classes_[(scores > 0).astype(int)])
            elif scores is not None:
                np.testing.assert_array_equal(predicted, model.classes_[scores.argmax(axis=1)])
            if hasattr(model, "predict_proba"):
                p = model.predict_proba(rows)
                assert p.shape == (len(rows), classes)
                assert ((p >= 0) & (p <= 1)).all()
                np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-6)
                np.testing.assert_array_equal(predicted, model.classes_[p.argmax(axis=1)])


@every([case for case in CASES if case.classifier])
def test_labels_of_any_kind(case: Case) -> None:
    X, y = case.data()
    plain = case.make().fit(X, y).predict(X)
    for labels in (np.array(["no", "yes"]), np.array([False, True]), np.array([-5, 12]), np.array([2.0, 7.0])):
        model = case.make().fit(X, labels[y])
        assert model.classes_.dtype == labels.dtype
        np.testing.assert_array_equal(model.classes_, labels)
        np.testing.assert_array_equal(model.predict(X), labels[plain])
    text = case.make().fit(X, np.array(["no", "yes"], dtype=object)[y])
    assert text.predict(X).tolist() == np.array(["no", "yes"])[plain].tolist()
