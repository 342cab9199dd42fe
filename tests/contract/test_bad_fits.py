"""Bad input gets a sentence that names the thing, and leaves the model as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pytest
from instances import CASES, FIRST, Case, assert_same, every, outputs
from scipy import sparse
from sklearn.exceptions import NotFittedError

Change = Callable[[Any, Any], tuple[Any, ...]]


def spoiled(X: Any, value: Any) -> Any:
    X = X.copy()
    X[3, 1] = value
    return X


# name -> (what to do to X and y, what the message must say)
BAD_DATA: dict[str, tuple[Change, str]] = {
    "NaN in X": (lambda X, y: (spoiled(X, np.nan), y), "X contains NaN"),
    "inf in X": (lambda X, y: (spoiled(X, np.inf), y), "X contains infinity"),
    "NaN in y": (lambda X, y: (X, np.where(np.arange(len(y)) == 3, np.nan, y)), "y contains NaN"),
    "X too short": (lambda X, y: (X[:-1], y), "inconsistent numbers of samples"),
    "y too short": (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
    "X one-dimensional": (lambda X, y: (X[:, 0], y), "Expected 2D array"),
    "X three-dimensional": (lambda X, y: (X[None], y), "dim 3"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "text in X": (lambda X, y: (spoiled(X.astype(object), "five"), y), "five"),
    "complex X": (lambda X, y: (X + 0j, y), "Complex data"),
    "no y": (lambda X, y: (X, None), "requires y"),
}

BAD_WEIGHTS: dict[str, tuple[Callable[[int], Any], str]] = {
    "negative": (lambda n: np.where(np.arange(n) == 2, -1.0, 1.0), "sample_weight"),
    "all zero": (lambda n: np.zeros(n), "sample_weight is zero for every row"),
    "NaN": (lambda n: np.where(np.arange(n) == 2, np.nan, 1.0), "sample_weight contains NaN"),
    "inf": (lambda n: np.where(np.arange(n) == 2, np.inf, 1.0), "sample_weight contains infinity"),
    "too short": (lambda n: np.ones(n - 1), r"sample_weight.shape == .*: one entry for each row"),
    "two-dimensional": (lambda n: np.ones((n, 2)), "sample_weight has shape"),
}

# sent for every parameter that does not allow them
BAD_VALUES = [object(), -1, -0.5, float("nan"), float("inf"), "no such choice", None, True]


def refuses(case: Case, message: str, *data: Any, **changes: Any) -> None:
    """A fitted model refuses and stays the same to the last bit; a fresh one refuses and stays unfitted."""
    fit_changes = {key: changes.pop(key) for key in ("sample_weight",) if key in changes}
    model, X, _ = case.fitted()
    before, good = outputs(model, X), {name: model.get_params()[name] for name in changes}
    model.set_params(**changes)
    state = joblib.hash(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(*data, **fit_changes)
    assert joblib.hash(vars(model)) == state
    assert_same(outputs(model.set_params(**good), X), before)
    fresh = case.make().set_params(**changes)
    with pytest.raises(ValueError, match=message):
        fresh.fit(*data, **fit_changes)
    assert vars(fresh).keys() == vars(case.make()).keys()
    with pytest.raises(NotFittedError):
        fresh.set_params(**good).predict(X)


@pytest.mark.parametrize("what", BAD_DATA)
@every(FIRST)
def test_bad_data(case: Case, what: str) -> None:
    if what == "NaN in X" and case.missing:
        return
    change, message = BAD_DATA[what]
    refuses(case, message, *change(*case.data()))


@every([case for case in FIRST if case.sparse])
def test_bad_sparse_data(case: Case) -> None:
    X, y = case.data()
    bad, message = (np.inf, "X contains infinity") if case.missing else (np.nan, "X contains NaN")
    refuses(case, message, sparse.csr_array(spoiled(X, bad)), y)


@pytest.mark.parametrize("what", BAD_WEIGHTS)
@every([case for case in FIRST if case.weighted])
def test_bad_weights(case: Case, what: str) -> None:
    X, y = case.data()
    make, message = BAD_WEIGHTS[what]
    refuses(case, message, X, y, sample_weight=make(len(y)))


@every(FIRST)
def test_bad_parameters(case: Case) -> None:
    X, y = case.data()
    for name, limit in type(case.make()).limits.items():
        refused = [value for value in BAD_VALUES if not limit.accepts(value)]
        for value in refused:
            message = re.escape(f"{case.name}: {name} must be {limit}, but it is {value!r}.")
            model = case.make()
            with pytest.raises(ValueError, match=message):
                model.set_params(**{name: value}).fit(X, y)
        if refused:
            refuses(case, f"{case.name}: {name} must be", X, y, **{name: refused[0]})


NAIVE = {"GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB", "MixedNB"}
CONSTANT = {"AdaBoostClassifier", "BaggingClassifier", *NAIVE}  # as in scikit-learn: one class is always predicted


@every([case for case in FIRST if case.classifier])
def test_bad_labels(case: Case) -> None:
    X, y = case.data()
    refuses(case, "Unknown label type: continuous", X, y + 0.5)
    if case.tags.target_tags.multi_output:  # several targets are fine, and so is one class: a tree of one leaf
        return
    constant = case.name in CONSTANT
    if not constant:
        refuses(case, "only one class", X, np.zeros(len(y), dtype=int))
    refuses(case, "y", X, np.column_stack([y, y]))
    if case.weighted and not constant:
        refuses(case, "class", X, y, sample_weight=(y == 1).astype(float))
    if "class_weight" in case.make().get_params():
        refuses(case, "class_weight names classes that are not in y: \\[7\\]", X, y, class_weight={7: 2.0})


@every([case for case in CASES if case.tags.target_tags.positive_only])
def test_targets_that_must_not_be_negative(case: Case) -> None:
    X, y = case.data()
    refuses(case, "negative", X, y - 10.0)


@every(FIRST)
def test_prediction_of_the_wrong_shape(case: Case) -> None:
    model, X, _ = case.fitted()
    before = joblib.hash(vars(model))
    with pytest.raises(ValueError, match=f"X has {X.shape[1] - 1} features, but {case.name} is expecting"):
        model.predict(X[:, :-1])
    bad, message = (np.inf, "X contains infinity") if case.missing else (np.nan, "X contains NaN")
    with pytest.raises(ValueError, match=message):
        model.predict(spoiled(X, bad))
    assert joblib.hash(vars(model)) == before
