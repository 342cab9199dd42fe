"""Thresholds against brute force over all cuts, the classifier that has them, and shifts of the intercept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.model_selection import FixedThresholdClassifier, cross_val_predict

from corollary import LogisticRegression
from corollary.evaluate import threshold
from corollary.evaluate.cuts import CRITERIA

RNG = np.random.default_rng(0)
P = np.round(RNG.beta(1, 2, 300), 2)  # with ties
Y = (RNG.random(300) < P).astype(int)


def brute(measure: Any, allowed: Any = lambda said: True) -> float:
    """The best value over all sets of rows that some threshold calls positive."""
    cuts = [value <= P for value in (*np.unique(P), 2.0)]
    return max(measure(said) for said in cuts if allowed(said))


def precision(said: Any) -> float:
    return metrics.precision_score(Y, said, zero_division=0)


def recall(said: Any) -> float:
    return metrics.recall_score(Y, said)


def fpr(said: Any) -> float:
    return float(said[Y == 0].mean())


@pytest.mark.parametrize(
    ("how", "best"),
    [
        ({"by": "cost", "false_negative": 3}, lambda: -brute(lambda s: -np.mean((s & (Y == 0)) + 3 * (~s & (Y == 1))))),
        ({"by": "f", "beta": 2}, lambda: brute(lambda s: metrics.fbeta_score(Y, s, beta=2, zero_division=0))),
        ({"by": "precision", "at_least": 0.7}, lambda: brute(recall, lambda s: precision(s) >= 0.7)),
        ({"by": "recall", "at_least": 0.8}, lambda: brute(precision, lambda s: recall(s) >= 0.8)),
        ({"by": "fpr", "at_most": 0.1}, lambda: brute(recall, lambda s: fpr(s) <= 0.1)),
        ({"by": "youden"}, lambda: brute(lambda s: recall(s) - fpr(s))),
    ],
)
def test_the_best_of_all_thresholds(how: dict[str, Any], best: Any) -> None:
    found = threshold(Y, P, **how)
    np.testing.assert_allclose(found.achieved, best())
    said = found.value <= P
    np.testing.assert_allclose([found.at["precision"], found.at["recall"]], [precision(said), recall(said)])
    assert found.at["tp"] + found.at["fp"] == said.sum()
    assert found.usual["tp"] == ((P >= 0.5) & (Y == 1)).sum()
    assert found.interval[0] <= found.interval[1]
    assert (found.unseen_limited is None) == (not CRITERIA[how["by"]].limited)
    if found.unseen_limited is None:  # chosen on these rows, it is too good on them
        worse = -1 if CRITERIA[how["by"]].greater_is_better else 1
        assert worse * (found.unseen - found.achieved) > -0.02


def test_the_table_is_scikit_learns_roc_and_weights_are_rows() -> None:
    found = threshold(Y, P)
    false, true, _ = metrics.roc_curve(Y, P, drop_intermediate=False)
    np.testing.assert_allclose(found.to_frame()["fpr"], false)
    np.testing.assert_allclose(found.to_frame()["recall"], true)
    times = RNG.integers(0, 4, 300)
    weighted, repeated = threshold(Y, P, sample_weight=times), threshold(np.repeat(Y, times), np.repeat(P, times))
    assert weighted.achieved == pytest.approx(repeated.achieved)


def test_the_classifier_and_the_shift_of_the_intercept() -> None:
    X, y = make_classification(300, 5, weights=[0.8], random_state=0)
    labels = np.where(y == 1, "yes", "no")
    model = LogisticRegression().fit(X, labels)
    p = cross_val_predict(model, X, labels, method="predict_proba", cv=5)
    found = threshold(labels, p, false_negative=8)
    assert found.label == "yes"
    cut = found.classifier(model)
    assert isinstance(cut, FixedThresholdClassifier)
    said = cut.fit(X, labels).predict(X)
    assert (said == np.where(model.predict_proba(X)[:, 1] >= found.value, "yes", "no")).all()
    assert (cut.estimator_.predict_proba(X) == model.predict_proba(X)).all()  # not fitted again
    shifted = model.decision_function(X) + found.bias_shift >= 0
    assert ((said == "yes") == shifted).all()
    unfitted = found.classifier(LogisticRegression()).fit(X, labels)
    assert (unfitted.predict(X) == said).all()
    by_decision = threshold(labels, cross_val_predict(model, X, labels, method="decision_function", cv=5), by="f")
    assert not by_decision.probabilities
    assert by_decision.bias_shift == -by_decision.value
    assert set(by_decision.classifier(model).fit(X, labels).predict(X)) == {"yes", "no"}


def test_the_cost_optimum_of_right_probabilities() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(20_000)
    found = threshold(rng.random(20_000) < p, p, false_positive=1, false_negative=4, draws=50)
    assert found.interval[0] - 0.03 < 0.2 < found.interval[1] + 0.03
    assert found.value == pytest.approx(0.2, abs=0.06)


def test_it_reads_as_a_sentence_and_draws() -> None:
    found = threshold(Y, P, by="precision", at_least=0.7)
    assert str(found).startswith(f"Call '1' from {found.value:.3f} on (bootstrap ")
    assert f"largest recall with precision ≥ 0.7 is {found.achieved:.3f} on these rows" in str(found)
    assert len(found.plot().get_legend().get_texts()) == 2
    assert len(threshold(Y, P).plot().get_legend().get_texts()) == 3
    assert found.plot_roc().get_xlabel() == "false positive rate"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "luck"}, "by must be one of 'cost', 'f', 'precision', 'recall', 'fpr', 'youden', but it is 'luck'"),
        ({"by": "precision"}, "by='precision' needs at_least, a share between 0 and 1, but it is None"),
        ({"by": "fpr", "at_most": 2}, "by='fpr' needs at_most, a share between 0 and 1, but it is 2"),
        (
            {"scores": [0.5] * 300, "by": "precision", "at_least": 0.99},
            r"no threshold gives precision ≥ 0.99; at the most it",
        ),
        ({"false_positive": -1}, "must be costs ≥ 0, not both 0, but they are -1 and 1"),
        ({"beta": 0, "by": "f"}, "beta must be greater than 0, but it is 0"),
        ({"y": np.arange(300) % 3}, "y must have two classes, but it has 3; label= looks at one against the rest"),
        ({"label": 9}, "y must have rows with and without class '9'"),
        ({"scores": [np.nan] * 300}, "scores must be finite numbers"),
        ({"scores": [0.1]}, r"same rows, but they have shapes \(300,\) and \(1,\)"),
        ({"draws": 1}, "draws must be at least 2, but it is 1"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        threshold(**({"y": Y, "scores": P} | arguments))
