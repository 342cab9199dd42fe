"""``model.report(X, y)``: scores, intervals, the page and the text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import corollary
from corollary.tabular.messages import InputError


def test_scores_are_scikit_learns_and_lie_in_their_intervals() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = corollary.GradientBoostingClassifier(n_estimators=20).fit(X[:400], y[:400])
    report = model.report(X[400:], y[400:])
    loss, area, right = report.scores
    assert loss.value == pytest.approx(log_loss(y[400:], model.predict_proba(X[400:])))
    assert right.value == pytest.approx(model.score(X[400:], y[400:]))
    for score in report.scores:
        assert score.low <= score.value <= score.high
    assert (area.constant, area.high) == (0.5, pytest.approx(1.0, abs=0.01))
    assert right.constant == pytest.approx(max(y[400:].mean(), 1 - y[400:].mean()))
    again = model.report(X[400:], y[400:])
    assert str(again) == str(report)
    assert "Evidence of the fit: Checked: " in str(report)
    assert "If the model was fitted to them" in str(report)


def test_the_page_is_complete_in_itself(tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = make_pipeline(StandardScaler(), corollary.KNeighborsRegressor(9)).fit(X[:300], y[:300])
    report = corollary.model_report(model, X[300:340], y[300:340])
    assert report.scores[2].value == pytest.approx(r2_score(y[300:340], model.predict(X[300:340])))
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>KNeighborsRegressor predicts target</h1>" in page
    assert page.count("<h2>") == 3
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert "bmi" in page
    assert report._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    with pytest.raises(InputError, match="report"):
        report.save(tmp_path)


def test_models_of_others_and_labels_that_are_text() -> None:
    X, y = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "<barbera>"])[y]
    report = corollary.model_report(LogisticRegression(max_iter=5000).fit(X, names), X, pd.Series(names, name="wine"))
    assert report.evidence is None
    assert "It keeps no evidence." in str(report)
    assert "&amp;lt;barbera&amp;gt;" in report._repr_html_()
    hinge = corollary.LinearModel("hinge").fit(X, names).report(X, names)
    assert [score.metric.name for score in hinge.scores] == ["accuracy", "balanced-accuracy", "f1"]


def test_what_came_is_checked() -> None:
    X, y = load_wine(return_X_y=True)
    model = corollary.GaussianNB().fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"y has labels that GaussianNB was not fitted to: \[2\]; it knows"):
        model.report(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.report(X[y < 2], y[:5])
    with pytest.raises(ValueError, match="one target"):
        corollary.Ridge().fit(X, X[:, :2]).report(X, X[:, :2])
    with pytest.raises(TypeError, match="KMeans makes none"):
        corollary.model_report(corollary.KMeans(2).fit(X), X, y)
