"""Every class declares what a fit leaves behind: nothing else is left, and what is declared accepts every fit."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from fuzz_subjects import subjects
from sklearn.base import clone

from corollary import PCA, GaussianMixture, LinearRegression, io
from corollary.core.fitted import Booleans, By, Count, Floats, Integers, Labels, ListOf, Maybe, Number, check_state
from corollary.registry import ESTIMATORS, TRANSFORMERS

# what only fits of a kind that the fuzzer does not fit leave behind
RARE = {"cv_results_", "feature_names_in_", "evidence_"}
OF_SIBLINGS = {"oob_score_", "oob_decision_function_", "oob_prediction_", "leaf_targets_", "classes_", "cpds_"}


@functools.cache
def models():
    return [subject.model for subject in subjects()]


def left_behind(model):
    cached = {name for name, value in vars(type(model)).items() if isinstance(value, functools.cached_property)}
    cached |= {"_search"}
    return set(vars(model)) - set(model.get_params(deep=False)) - cached


def test_nothing_undeclared_is_left_behind():
    for model in models():
        unknown = left_behind(model) - set(type(model).fitted)
        assert unknown <= {"_callback_fit_ctx", "_skl_callbacks"}, (type(model).__name__, unknown)


@pytest.mark.parametrize("name", [*ESTIMATORS, *TRANSFORMERS])
def test_what_is_declared_is_left_behind_by_some_fit(name):
    mine = [model for model in models() if type(model).__name__ == name]
    found = set().union(*(left_behind(model) for model in mine))
    assert set(type(mine[0]).fitted) - found <= RARE | OF_SIBLINGS
    needed = {key for key, what in type(mine[0]).fitted.items() if not what.optional}
    assert all(needed <= left_behind(model) for model in mine)


def test_declarations_accept_every_fit_and_an_unfitted_model():
    for model in models():
        check_state(type(model).fitted, vars(model))
        check_state(type(model).fitted, vars(clone(model)))


# ------------------------------------------------------------------------------------------------------- the language

FITTED = {
    "n": Count("d", low=1),
    "coef": Floats("*t", "d"),
    "start": Floats("*t"),
    "at": Maybe(Integers("?", below="d")),
}


def state(**changes):
    return {"n": 3, "coef": np.zeros((2, 3)), "start": np.zeros(2), "at": np.array([0, 2])} | changes


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"coef": np.zeros((2, 4))},
            r"coef must be finite numbers of shape \(\*t, d\), but its shape is \(2, 4\)",
        ),
        ({"coef": np.zeros(3)}, "start must be .* where .*t is absent"),
        ({"start": 0.5}, "start must be"),
        ({"start": np.zeros(3)}, r"its shape is \(3,\) where \*t is 2"),
        ({"coef": np.full((2, 3), np.nan)}, "some are NaN or infinite"),
        ({"coef": np.zeros((2, 3), dtype=">f8")}, "its type is >f8"),
        ({"coef": np.zeros((2, 3), dtype=int)}, "its type is int64"),
        ({"coef": [[0.0] * 3] * 2}, "but it is"),
        ({"at": np.array([3])}, "one is 3 where d is 3"),
        ({"n": 0}, "n must be a whole number ≥ 1, but it is 0"),
        ({"n": True}, "n must be a whole number"),
    ],
)
def test_what_is_refused(changes, reason):
    check_state(FITTED, state())
    with pytest.raises(ValueError, match=reason):
        check_state(FITTED, state(**changes))


def test_all_or_nothing():
    check_state(FITTED, {"alpha": 1.0})
    check_state(FITTED, {name: value for name, value in state().items() if name != "at"})
    with pytest.raises(ValueError, match="start is missing from what a fit leaves behind"):
        check_state(FITTED, {name: value for name, value in state().items() if name != "start"})


@pytest.mark.parametrize(
    ("what", "good", "bad"),
    [
        (Labels(), np.array(["a", "b"]), np.array(["b", "a"])),
        (Labels(), np.array([1, 5], dtype=object), np.array([1, "a"], dtype=object)),
        (Labels(), np.array([0.0, 1.0]), np.array([0.0, np.nan])),
        (Labels(high=2), np.array([0, 1]), np.array([0, 1, 2])),
        (By("kind", full=Floats("k", "k"), flat=Floats("k")), np.zeros((2, 2)), np.zeros(2)),
        (Floats("k", low=0, total=1), np.array([0.5, 0.5]), np.array([0.5, 0.6])),
        (Floats("k", low=0, above=True), np.ones(2), np.zeros(2)),
        (Integers("k", increasing=True), np.array([1, 3]), np.array([1, 1])),
        (Booleans("k"), np.array([True]), np.array([1])),
        (Number(low=0), 0.5, -0.5),
        (Number(finite=False), np.nan, "a"),
        (ListOf(Count(), "k", low=1), [1, 2], [1, -2]),
        (ListOf(Count(), kind=tuple), (1, 2), [1, 2]),
    ],
)
def test_kinds(what, good, bad):
    check_state({"a": what}, {"a": good, "kind": "full"})
    with pytest.raises(ValueError, match="a must be"):
        check_state({"a": what}, {"a": bad, "kind": "full"})


# ------------------------------------------------------------------------------------------------------------- on load


def test_a_mixture_with_means_of_another_shape(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4))
    model = GaussianMixture(2, random_state=0).fit(X)
    model.means_ = model.means_[:, :1]
    with pytest.raises(io.ModelFileError, match=r"means_ must be finite numbers of shape \(k, d\), but its shape"):
        io.save(model, tmp_path / "m")


def test_parameters_outside_their_limits(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4))
    model = LinearRegression().fit(X, X[:, 0]).set_params(tol=-1.0)
    with pytest.raises(io.ModelFileError, match="LinearRegression: tol must be a number ≥ 0, but it is -1"):
        io.save(model, tmp_path / "m")


def test_attributes_that_no_fit_makes(tmp_path):
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    model.remark = "an attribute of one's own"
    io.save(model, tmp_path / "m")
    model.trees_ = 1
    with pytest.raises(io.ModelFileError, match="'trees_' is no attribute that a fit leaves behind"):
        io.save(model, tmp_path / "m")


def test_moments_of_blocks_without_their_weight(tmp_path):
    model = PCA(2).partial_fit(np.random.default_rng(0).normal(size=(20, 3)))
    model.save(tmp_path / "model")
    io.load(tmp_path / "model").partial_fit(np.eye(3))
    del model._weight
    with pytest.raises(ValueError, match="_weight"):
        model.save(tmp_path / "model")
