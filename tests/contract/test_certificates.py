"""Evidence is present and true: the certificate of every convex fit is recomputed from the formulas."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from instances import CASES, Case, every
from objectives import bounds, class_weights, yardsticks

from corollary import Evidence, Status

CONVEX = [case for case in CASES if case.convex]


def assert_proved(model: Any, X: Any, y: Any, s: Any, tol: float) -> None:
    assert model.evidence_.certificate.tolerance == tol
    assert model.evidence_.holds
    for (primal, dual), least in zip(bounds(model, X, y, s), yardsticks(model, X, y, s), strict=True):
        assert primal - dual >= -1e-12 * abs(primal)  # weak duality: otherwise the formulas above are wrong
        assert primal - dual <= 10 * tol * max(abs(primal), least)


@every(CASES)
def test_evidence_is_a_sentence_and_holds(case: Case) -> None:
    model, _, _ = case.fitted()
    evidence = model.evidence_
    assert isinstance(evidence, Evidence)
    assert evidence.holds
    assert evidence.certificate.value >= 0
    assert evidence.status in (Status.EXACT, Status.CONVERGED)
    assert str(evidence).startswith(f"{evidence.certificate.kind.word}: {evidence.certificate}")
    assert str(evidence).endswith(".")
    assert evidence._repr_html_().startswith("<span")
    assert pickle.loads(pickle.dumps(evidence)) == evidence
    for values in evidence.history.values():
        assert len(values) == len(evidence.history["iteration"])


@every(CONVEX)
def test_certificate_is_true(case: Case) -> None:
    """Asked for 1e-8, a fit says that it got there, and the formulas agree."""
    X, y = case.data()
    model = case.make(tol=1e-8).fit(X, y)
    assert_proved(model, X, y, class_weights(model, y), 1e-8)


@every([case for case in CONVEX if case.classifier])
def test_certificate_is_true_for_three_classes(case: Case) -> None:
    X, y = case.data(classes=3)
    model = case.make(tol=1e-8).fit(X, y)
    assert_proved(model, X, y, class_weights(model, y), 1e-8)


@every([case for case in CONVEX if case.weighted])
def test_certificate_is_true_for_weighted_rows(case: Case) -> None:
    X, y = case.data()
    s = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    model = case.make(tol=1e-8, class_weight=None).fit(X, y, sample_weight=s)
    assert_proved(model, X, y, s, 1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_certificate_is_true_without_an_intercept(l1_ratio: float, classes: int) -> None:
    case = Case("LogisticRegression", (("C", 0.5), ("l1_ratio", l1_ratio), ("fit_intercept", False)))
    model, X, y = case.fitted(classes=classes)
    assert_proved(model, X, y, np.ones(len(y)), 1e-8)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "softmax", "poisson", "squared_hinge", "exponential"])
def test_certificate_is_true_without_a_penalty(loss: str) -> None:
    """Nor with columns that repeat one another, where the answer is not unique."""
    case = Case("LinearModel", (("loss", loss), ("penalty", "none")))
    X, y = case.data(classes=3)
    for columns in (X, np.column_stack([X, X[:, :2], np.ones(len(y))])):
        assert_proved(case.make().fit(columns, y), columns, y, np.ones(len(y)), 1e-8)


@pytest.mark.parametrize("delta", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("penalty", ["none", "l2", "l1", "elastic_net"])
def test_certificate_is_true_where_most_rows_are_far_beyond_delta(penalty: str, delta: float) -> None:
    case = Case("LinearModel", (("loss", "huber"), ("penalty", penalty), ("delta", delta), ("alpha", 0.01 * delta)))
    X, y = case.data()
    y = y + np.random.default_rng(1).standard_t(1.5, len(y))
    assert_proved(case.make().fit(X, y), X, y, np.ones(len(y)), 1e-8)


@pytest.mark.parametrize("epsilon", [1.05, 1.1, 1.2])
def test_certificate_is_true_for_heavy_tails(epsilon: float) -> None:
    case = Case("HuberRegressor", (("epsilon", epsilon), ("alpha", 0.1)))
    X, y = case.data()
    y = y + np.random.default_rng(1).standard_t(1.2, len(y))
    assert_proved(case.make().fit(X, y), X, y, np.ones(len(y)), 1e-8)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
def test_certificate_is_true_for_groups_of_columns(loss: str) -> None:
    case = Case("LinearModel", (("loss", loss), ("penalty", "group"), ("groups", (0, 0, 1, 1, 2)), ("alpha", 0.1)))
    model, X, y = case.fitted()
    assert_proved(model, X, y, np.ones(len(y)), 1e-8)


def test_a_wrong_answer_is_found_out() -> None:
    """The formulas above tell a fit from something close to it."""
    for case in CONVEX:
        model, X, y = case.fitted()
        model.coef_ = model.coef_ * 1.01
        s = class_weights(model, y)
        assert any(primal - dual > 1e-6 * abs(primal) for primal, dual in bounds(model, X, y, s)), case.label


class Claims:
    """Keeps a working model and what is claimed of it, at every iteration."""

    def __init__(self) -> None:
        self.claims: list[tuple[Any, float]] = []

    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> None:
        if fitted_estimator is not None:
            self.claims.append((fitted_estimator, context.record["certificate"]))

    def teardown(self, estimator: Any, context: Any) -> None: ...


# what happens to X and y on the way to the optimum: far away from it at first, slopes saturate and curvatures vanish
JOURNEYS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "plain": lambda X, y: (X, y),
    "columns of 100": lambda X, y: (100 * X, y),
    "columns of 0.01": lambda X, y: (0.01 * X, y),
    "target + 1000": lambda X, y: (X, y + 1000),
    "target × 1000": lambda X, y: (X, 1000 * y),
}


@pytest.mark.parametrize("journey", JOURNEYS)
@every([case for case in CONVEX if case.iterative and not case.folds])
def test_certificates_are_true_on_the_way(case: Case, journey: str) -> None:
    """At no iteration is the answer farther from the optimum than claimed."""
    X, y = case.data()
    X, changed = JOURNEYS[journey](X, y)
    y = y if case.classifier else changed
    claims = Claims()
    model = case.make(tol=1e-8).set_callbacks(claims).fit(X, y)
    s = class_weights(model, y)
    assert_proved(model, X, y, s, 1e-8)
    closer = case.make(tol=1e-10).fit(X, y)  # the last iteration claims more than the bound by its own answer shows
    least = max(low for each in (model, closer) for _, low in bounds(each, X, y, s))
    (yardstick,) = yardsticks(model, X, y, s)
    for seen, claimed in claims.claims:
        if hasattr(seen, "classes_") and seen.coef_.shape[0] == 2:  # the solver's two columns for two classes
            continue
        ((value, _),) = bounds(seen, X, y, s)
        assert value - least <= (claimed + 1e-9) * max(abs(value), yardstick)
