"""What scikit-learn's parameters of logistic regression mean, and that they mean it here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as theirs
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from corollary import Blocks, LogisticRegression, LogisticRegressionCV, load

CANCER = load_breast_cancer()
X, Y = scale(CANCER.data)[:, :6], CANCER.target
IRIS = load_iris(return_X_y=True)
HINTS = ("newton-cg", "newton-cholesky", "sag", "saga")


@pytest.mark.parametrize("solver", HINTS)
@pytest.mark.parametrize("data", [(X, Y), IRIS], ids=["two", "three"])
def test_hints_change_nothing(solver: str, data: Any) -> None:
    hinted, plain = LogisticRegression(solver=solver).fit(*data), LogisticRegression().fit(*data)
    np.testing.assert_array_equal(hinted.coef_, plain.coef_)
    assert hinted.evidence_.solver == plain.evidence_.solver


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize(("l1_ratio", "scaling"), [(0.0, 1.0), (0.0, 7.0), (1.0, 1.0), (1.0, 0.3)])
def test_liblinear_penalises_the_intercept(layout: Any, l1_ratio: float, scaling: float) -> None:
    options = {"solver": "liblinear", "l1_ratio": l1_ratio, "intercept_scaling": scaling, "C": 0.2}
    ours = LogisticRegression(tol=1e-12, **options).fit(layout(X), Y)
    peer = theirs.LogisticRegression(tol=1e-10, max_iter=100_000, **options).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)
    assert ours.evidence_.holds
    assert ours.evidence_.verify(layout(X), Y)
    ours.intercept_ = ours.intercept_ + 0.1
    assert not ours.evidence_.verify(layout(X), Y)


def test_liblinear_in_blocks_and_from_a_warm_start() -> None:
    whole = LogisticRegression(solver="liblinear", tol=1e-12).fit(X, Y)
    parts = LogisticRegression(solver="liblinear", tol=1e-12).fit(Blocks([(X[:200], Y[:200]), (X[200:], Y[200:])]))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6)
    whole.set_params(warm_start=True).fit(X, Y)
    assert whole.n_iter_[0] == 0
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-6)


def test_liblinear_keeps_float64_and_two_classes() -> None:
    assert LogisticRegression(solver="liblinear").fit(X.astype(np.float32), Y).coef_.dtype == np.float64
    for model in (LogisticRegression(solver="liblinear"), LogisticRegression(solver="liblinear", dual=True)):
        with pytest.raises(ValueError, match="does not support multiclass"):
            model.fit(*IRIS)
    assert not LogisticRegression(solver="liblinear").__sklearn_tags__().classifier_tags.multi_class


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"solver": solver, "l1_ratio": 1.0}, "supports only 'l2' or None") for solver in ("lbfgs", *HINTS[:3])),
        *(({"solver": solver, "dual": True}, "supports only dual=False") for solver in ("auto", "lbfgs", *HINTS)),
        ({"solver": "liblinear", "l1_ratio": 0.5}, "Only 'saga' solver supports elasticnet"),
        ({"solver": "liblinear", "C": np.inf}, "not supported for the liblinear solver"),
        ({"solver": "liblinear", "dual": True, "l1_ratio": 1.0}, "combination of penalty='l1' and dual=True"),
    ],
)
def test_what_solvers_are_not_for(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LogisticRegression(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("penalty", "given", "same"),
    [
        ("l1", {"l1_ratio": 1.0}, {"l1_ratio": 1.0}),
        ("l2", {}, {}),
        ("elasticnet", {"l1_ratio": 0.3}, {"l1_ratio": 0.3}),
        (None, {}, {"C": np.inf}),
    ],
)
def test_penalty_is_another_way_to_say_it(penalty: Any, given: dict[str, Any], same: dict[str, Any]) -> None:
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        older = LogisticRegression(penalty, **given).fit(X, Y)
    np.testing.assert_array_equal(older.coef_, LogisticRegression(**same).fit(X, Y).coef_)
    assert older.evidence_.verify(X, Y)


def test_penalties_that_contradict_themselves() -> None:
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="Inconsistent values: penalty=l1"):
        LogisticRegression("l1").fit(X, Y)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="will ignore the C"):
        LogisticRegression(None, C=2.0).fit(X, Y)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="l1_ratio must be specified"):
        LogisticRegression("elasticnet", l1_ratio=None).fit(X, Y)
    with pytest.warns(FutureWarning, match="'l1_ratio=None' was deprecated"):
        LogisticRegression(l1_ratio=None).fit(X, Y)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear", *HINTS])
def test_known_words_of_fits_that_end_too_soon(solver: str) -> None:
    words = {"liblinear": "Liblinear failed to converge", "newton-cholesky": "Newton solver did not converge"}
    stopped = "did not converge" if solver.startswith("sag") else words.get(solver, f"{solver} failed to converge")
    with pytest.warns(UserWarning, match=f"{stopped}.*duality gap"):
        model = LogisticRegression(solver=solver, max_iter=1, tol=1e-15).fit(X, Y)
    assert model.n_iter_[0] == 1


@pytest.mark.parametrize("solver", ["liblinear", "newton-cg", "newton-cholesky"])
def test_words_about_a_solver_that_did_not_run_are_a_quotation(solver: str) -> None:
    with pytest.warns(UserWarning, match=f"^solver='{solver}' was run as .*; where scikit-learn says \"") as told:
        model = LogisticRegression(solver=solver, max_iter=1, tol=1e-15).fit(X, Y)
    assert f"was run as {model.evidence_.solver};" in str(told[0].message)


def test_without_an_iteration_nothing_is_known() -> None:
    with pytest.warns(UserWarning, match="Not shown to be optimal"):
        model = LogisticRegression(max_iter=0).fit(X, Y)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_sparse_coefficients(tmp_path: Any) -> None:
    model = LogisticRegression(C=0.05, l1_ratio=1.0).fit(*IRIS)
    expected = model.predict_proba(IRIS[0])
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(IRIS[0])), expected)
    model.save(tmp_path / "model")
    assert sparse.issparse(load(tmp_path / "model").coef_)
    assert model.evidence_.verify(*IRIS)
    assert model.set_params(warm_start=True).fit(*IRIS).n_iter_[0] <= 1
    assert isinstance(model.sparsify().densify().coef_, np.ndarray)


def test_classes_sum_to_zero_without_a_penalty() -> None:
    rng = np.random.default_rng(0)
    A, labels = rng.normal(size=(300, 3)), rng.integers(0, 4, 300)
    for solver in ("auto", "lbfgs", "saga"):
        model = LogisticRegression(C=np.inf, solver=solver).fit(A, labels)
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12)
        assert model.evidence_.verify(A, labels)


def test_defaults_that_will_change_warn() -> None:
    options: dict[str, Any] = {"l1_ratios": (0.0,), "scoring": None, "use_legacy_attributes": False}
    for name, words in (("l1_ratios", "default value for l1_ratios"), ("scoring", "'scoring' will change")):
        with pytest.warns(FutureWarning, match=words):
            LogisticRegressionCV(Cs=2, cv=2, **{k: v for k, v in options.items() if k != name}).fit(X, Y)
    with pytest.raises(ValueError, match="numbers between 0 and 1"):
        LogisticRegressionCV(**(options | {"l1_ratios": (0.5, 2.0)})).fit(X, Y)
