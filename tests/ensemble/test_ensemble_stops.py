"""Ensembles that are stopped keep whole rounds and members where those make a model; else the model is as it was."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from corollary import Kind, LogisticRegression, Status, TimeBudget, base
from corollary.core import parallel
from corollary.ensemble.adaboost.adaboost import AdaBoostClassifier
from corollary.ensemble.combine.bagging.bagging import BaggingClassifier
from corollary.ensemble.combine.blending import BlendingClassifier
from corollary.ensemble.combine.stacking import StackingClassifier
from corollary.ensemble.combine.voting import VotingClassifier


class Impatient(ClassifierMixin, BaseEstimator):
    """Naive Bayes whose fit Ctrl-C breaks off when it is called for the ``last`` time."""

    fits: ClassVar[int] = 0
    last: ClassVar[int] = 3

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Impatient:
        Impatient.fits += 1
        if Impatient.fits == Impatient.last:
            raise KeyboardInterrupt
        self.inner_ = GaussianNB().fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)


@pytest.fixture(autouse=True)
def afresh() -> None:
    Impatient.fits = 0


def data(n: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 1).astype(int)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("make", [
    lambda n: AdaBoostClassifier(Impatient(), n_estimators=n, random_state=0),
    lambda n: BaggingClassifier(Impatient(), n, random_state=0),
    lambda n: BaggingClassifier(Impatient(), n, oob_score=True, random_state=0),
])  # fmt: skip
def test_ctrl_c_in_a_member_keeps_the_members_before(make: Any) -> None:
    X, y = data()
    model = make(5)
    with pytest.raises(KeyboardInterrupt, match="interrupted from the keyboard"):
        model.fit(X, y)
    assert len(model.estimators_) == model.evidence_.n_iter == 2
    assert model.evidence_.status is Status.INTERRUPTED
    assert str(model.evidence_).startswith("Interrupted: ")
    assert not model.evidence_.holds
    np.testing.assert_array_equal(model.predict_proba(X), make(2).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("make", [
    lambda: VotingClassifier([("a", Impatient()), ("b", Impatient())], voting="soft"),
    lambda: BlendingClassifier([("a", Impatient())], cv=2),
    lambda: StackingClassifier([("a", Impatient())], cv=2),
])  # fmt: skip
def test_ctrl_c_leaves_a_combination_as_it_was(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    monkeypatch.setattr(Impatient, "last", 0)
    model = make().fit(X, y)
    before, said = dict(vars(model)), model.predict_proba(X)
    for last in (1, 2):
        monkeypatch.setattr(Impatient, "last", Impatient.fits + last)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[::2], y[::2])
        assert vars(model) == before
        np.testing.assert_array_equal(model.predict_proba(X), said)
        fresh = make()
        monkeypatch.setattr(Impatient, "last", Impatient.fits + last)
        with pytest.raises(KeyboardInterrupt):
            fresh.fit(X, y)
        assert not hasattr(fresh, "estimators_")


def test_a_bag_within_its_budget_grows_on() -> None:
    X, y = data()
    model = BaggingClassifier(LogisticRegression(), 6, warm_start=True, oob_score=True, random_state=0)
    model.set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model.fit(X, y)
    assert len(model.estimators_) == len(model.estimators_samples_) == 1
    assert model.evidence_.status is Status.BUDGET
    model.set_callbacks().fit(X, y)
    whole = BaggingClassifier(LogisticRegression(), 6, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert model.oob_score_ == whole.oob_score_
    assert whole.evidence_.history["iteration"] == [1, 2, 3, 4, 5, 6]
    assert whole.evidence_.history["objective"] == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("member", [LogisticRegression(), GaussianNB()], ids=["ours", "theirs"])
def test_nothing_goes_on_after_a_bag_was_stopped(member: Any, n_jobs: int) -> None:
    X, y = data()
    model = BaggingClassifier(member, 40, n_jobs=n_jobs, random_state=0).set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model.fit(X, y)
    assert len(model.estimators_) == 1
    assert parallel._blas._depth == 0
    get_reusable_executor().shutdown(wait=True)


def pair() -> list[Any]:
    return [("logistic", LogisticRegression()), ("bayes", GaussianNB())]


COMBINED = [
    AdaBoostClassifier(n_estimators=4),
    AdaBoostClassifier(GaussianNB(), n_estimators=3),
    BaggingClassifier(n_estimators=3, random_state=0),
    BaggingClassifier(GaussianNB(), 3, oob_score=True, random_state=0),
    VotingClassifier(pair()),
    BlendingClassifier(pair(), cv=3),
    BlendingClassifier(pair(), cv=3, weighting="uniform"),
    StackingClassifier(pair(), cv=3),
]


@pytest.mark.parametrize("model", COMBINED, ids=str)
def test_nothing_is_called_optimal(model: Any) -> None:
    X, y = data()
    evidence = model.fit(X, y).evidence_
    assert evidence.holds
    assert evidence.certificate.kind is Kind.CHECKED
    assert str(evidence).startswith("Checked: ")
    assert {"gap", "certificate"}.isdisjoint(evidence.history)
    assert not evidence.history or {"iteration", "objective", "seconds"} <= evidence.history.keys()
    assert all(len(column) == evidence.n_iter for column in evidence.history.values())


@pytest.mark.parametrize("model", COMBINED, ids=str)
def test_n_jobs_counts_in_prediction(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    model = model.set_params(n_jobs=1).fit(X, y)
    asked: list[Any] = []

    def spy(n_jobs: Any) -> Any:
        asked.append(n_jobs)
        return parallel.threads(n_jobs)

    monkeypatch.setattr(base, "threads", spy)
    for name in ("predict", "predict_proba", "transform", "decision_function", "staged_predict"):
        if hasattr(model, name):
            asked.clear()
            getattr(model, name)(X)
            assert asked[0] == 1
