"""Every model that predicts a target explains itself: what the columns add is the prediction; and it shows evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from instances import CASES, FIRST, Case, every
from sklearn.base import is_classifier

import corollary
from corollary.explaining.sampled import outcome

NAMES = list("abcde")


def said(model: Any, X: Any, meaning: str) -> Any:
    """What an explanation of that meaning must add up to, by the model's own methods."""
    if meaning in ("log-odds", "score"):
        return model.decision_function(X)
    if meaning == "logarithm of the prediction":
        return np.log(model.predict(X))
    if meaning == "probability":
        proba = model.predict_proba(X)
        return proba[:, 1] if proba.shape[1] == 2 else proba
    return outcome(model)[0](X)[:, 0] if is_classifier(model) else model.predict(X)


@every(CASES)
def test_what_columns_add_is_the_prediction(case: Case) -> None:
    model, X, _ = case.fitted()
    found = model.explain(X[:6], background=X[20:30], draws=4)
    assert found.certificate.holds
    np.testing.assert_allclose(found.predictions, said(model, X[:6], found.meaning), rtol=1e-9, atol=1e-9)
    table = found.to_frame()
    assert list(table.columns) == ["base", *(f"x{j}" for j in range(5))]
    np.testing.assert_allclose(table.sum(axis=1), found.predictions)
    assert str(found).endswith(".")


@every([case for case in FIRST if case.classifier])
def test_several_classes(case: Case) -> None:
    model, X, _ = case.fitted(classes=3) if case.name != "DecisionStump" else case.fitted()
    found = corollary.explain(model, X[:4], background=X[20:26], draws=4)
    np.testing.assert_allclose(found.predictions, said(model, X[:4], found.meaning), rtol=1e-9, atol=1e-9)


@every([case for case in FIRST if not case.counting])
def test_frames_keep_their_names(case: Case) -> None:
    X, y = case.data()
    frame = pd.DataFrame(X, columns=NAMES, index=[f"row {i}" for i in range(len(X))])
    model = case.make().fit(frame, y)
    found = model.explain(frame[:3], background=frame[10:16], draws=4)
    assert found.feature_names == tuple(NAMES)
    assert list(found.to_frame().index) == ["row 0", "row 1", "row 2"]
    assert found.certificate.holds


@every(FIRST)
def test_a_fitted_model_is_shown_with_its_evidence_first(case: Case) -> None:
    new = case.make()
    model, _, _ = case.fitted()
    shown = model._repr_html_()
    assert str(model.evidence_).split(":")[0] in shown[: shown.index("<style")]
    assert model._repr_mimebundle_()["text/html"].startswith('<div style="font:14px')
    assert new._repr_html_().startswith("<style")  # as scikit-learn has it
