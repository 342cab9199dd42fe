"""A model survives cloning, copying, pickling and saving: same parameters, same evidence, the same bits."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from instances import CASES, FIRST, Case, assert_same, every, outputs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import corollary


def saved(model: Any, path: Path) -> Any:
    model.save(path)
    return corollary.load(path)


COPIES: dict[str, Callable[[Any, Path], Any]] = {
    "copy": lambda model, path: copy.copy(model),
    "deepcopy": lambda model, path: copy.deepcopy(model),
    "pickle": lambda model, path: pickle.loads(pickle.dumps(model)),
    "joblib": lambda model, path: joblib.load(joblib.dump(model, path)[0]),
    "save and load": saved,
}


@every(CASES)
def test_copies_are_the_model(case: Case, tmp_path: Path) -> None:
    model, X, _ = case.fitted(classes=3)
    for way, make_copy in COPIES.items():
        twin = make_copy(model, tmp_path / "model")
        assert type(twin) is type(model)
        assert_same(outputs(twin, X), outputs(model, X))
        assert joblib.hash(twin.get_params()) == joblib.hash(model.get_params()), way
        assert twin.evidence_ == model.evidence_, way
        assert twin.__dict__.keys() == model.__dict__.keys(), way


@every([case for case in FIRST if case.classifier])
def test_classes_that_are_texts_are_read_back(case: Case, tmp_path: Path) -> None:
    X, y = case.data(classes=2)
    model = case.make().fit(X, np.array(["no", "yes"])[y])
    assert_same(outputs(saved(model, tmp_path / "model"), X), outputs(model, X))


@every(CASES)
def test_a_clone_is_unfitted_and_learns_the_same(case: Case) -> None:
    model, X, y = case.fitted()
    twin = clone(model)
    assert twin.get_params().keys() == model.get_params().keys()
    with pytest.raises(NotFittedError):
        twin.predict(X)
    assert_same(outputs(twin.fit(X, y), X), outputs(model, X))


@every(CASES)
def test_fitting_again_gives_the_same_bits(case: Case) -> None:
    model, X, y = case.fitted()
    first = outputs(model, X)
    assert_same(outputs(model.fit(X, y), X), first)


@every(CASES)
def test_a_copy_of_a_model_does_not_share_later_fits(case: Case) -> None:
    model, X, y = case.fitted()
    before, twin = outputs(model, X), copy.copy(model)
    twin.fit(X[:40] * 2, y[:40])
    assert_same(outputs(model, X), before)
