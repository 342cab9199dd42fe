"""``n_jobs`` counts in predictions as it does in fit, and answers do not depend on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import corollary.core.parallel as parallel
import corollary.core.team as team
from corollary import (
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    shap_values,
)


def paths(found: Any) -> Any:
    """As a table; a forest says besides where each tree begins."""
    return (found[0] if isinstance(found, tuple) else found).toarray()


MODELS = [
    DecisionStump(),
    DecisionTreeClassifier(max_depth=4),
    DecisionTreeRegressor(max_depth=4),
    RandomForestClassifier(3, random_state=0),
    ExtraTreesRegressor(3, random_state=0, bootstrap=True, keep_targets=True),
    GradientBoostingClassifier(n_estimators=3),
]
QUESTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "predict": lambda model, X, y: model.predict(X),
    "predict_proba": lambda model, X, y: model.predict_proba(X),
    "predict_log_proba": lambda model, X, y: model.predict_log_proba(X),
    "score": lambda model, X, y: model.score(X, y),
    "apply": lambda model, X, y: model.apply(X),
    "decision_path": lambda model, X, y: paths(model.decision_path(X)),
    "proximity": lambda model, X, y: model.proximity(X[:100]),
    "predict_quantiles": lambda model, X, y: model.predict_quantiles(X),
    "oob_permutation_importance": lambda model, X, y: model.oob_permutation_importance(X, y).importances,
    "staged_predict": lambda model, X, y: np.array(list(model.staged_predict(X))),
    "staged_predict_proba": lambda model, X, y: np.array(list(model.staged_predict_proba(X))),
    "decision_function": lambda model, X, y: model.decision_function(X),
    "_read_predict": lambda model, X, y: shap_values(model, X[:70]).values,
}
CASES = [(model, name) for model in MODELS for name in QUESTIONS if hasattr(model, name)]


@pytest.mark.parametrize(("model", "name"), CASES, ids=[f"{type(model).__name__}-{name}" for model, name in CASES])
def test_n_jobs_counts_at_every_question(monkeypatch: pytest.MonkeyPatch, model: Any, name: str) -> None:
    X, y = make_classification(2100, 5, random_state=0)
    model.set_params(n_jobs=None)
    if name != "_read_predict":
        with pytest.raises(NotFittedError):
            QUESTIONS[name](type(model)(), X, y)
    if name == "oob_permutation_importance" and not model.bootstrap:
        return
    plain = QUESTIONS[name](model.fit(X, y), X, y)
    asked, n_threads = [], parallel.n_threads

    def listen() -> int:
        asked.append(n_threads())
        return asked[-1]

    for place in (parallel, team):
        monkeypatch.setattr(place, "n_threads", listen)
    found = QUESTIONS[name](model.set_params(n_jobs=3), X, y)
    assert asked
    assert set(asked) <= {1, 3}  # 1 inside a thread of the pool
    assert 3 in asked
    np.testing.assert_array_equal(found, plain)
