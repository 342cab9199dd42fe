"""Paired tests: known formulas, their size under no difference, and tables with Holm's correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold, cross_val_score

from corollary import DecisionStump, GaussianNB, LogisticRegression
from corollary.evaluate import compare_models, paired_test
from corollary.evaluate.models_compared import holm

X, Y = make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=0)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def test_corrected_t_by_its_formula() -> None:
    a, b = (cross_val_score(model, X, Y, cv=FOLDS) for model in (LogisticRegression(), DecisionStump()))
    found = paired_test(LogisticRegression(), DecisionStump(), X, Y, cv=FOLDS)
    apart = a - b
    t = apart.mean() / np.sqrt((1 / 5 + 1 / 4) * apart.var(ddof=1))
    np.testing.assert_allclose(found.p_value, 2 * stats.t.sf(abs(t), 4))
    np.testing.assert_allclose(found.difference, apart.mean())
    assert found.interval[0] < found.difference < found.interval[1]
    assert (found.interval[0] > 0) == (found.p_value < 0.05)
    assert paired_test(a, b, test_share=1 / 4, scoring="accuracy") == found


def test_models_that_are_the_same_are_not_told_apart() -> None:
    found = paired_test(GaussianNB(), GaussianNB(), X, Y, cv=3)
    assert (found.difference, found.p_value, found.told_apart) == (0.0, 1.0, False)
    assert "the two cannot be told apart" in str(found)


def test_mcnemar_by_its_formula() -> None:
    y = np.zeros(100, dtype=int)
    a, b = y.copy(), y.copy()
    a[:5] = 1
    b[3:20] = 1
    found = paired_test(a, b, y=y)
    assert found.method == "mcnemar"
    assert found.difference == (15 - 3) / 100
    np.testing.assert_allclose(found.p_value, stats.binomtest(3, 18).pvalue)
    assert found.interval[0] < found.difference < found.interval[1]
    assert paired_test(y, y, y=y).p_value == 1


def test_the_bootstrap_of_any_score() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    good, bad = y + rng.normal(0, 0.3, 200), y + rng.normal(0, 0.9, 200)
    found = paired_test(good, bad, y=y, scoring="neg_mean_squared_error", draws=300)
    np.testing.assert_allclose(found.difference, np.mean((bad - y) ** 2) - np.mean((good - y) ** 2))
    assert found.told_apart
    labels = (y > 0).astype(int)
    p = 1 / (1 + np.exp(-3 * good))
    both = [np.column_stack([1 - q, q]) for q in (p, 0.5 * p + 0.25)]
    assert paired_test(*both, y=labels, scoring="neg_log_loss", draws=200).told_apart
    assert paired_test(*both, y=labels, draws=100).difference == 0  # the same labels
    weighted = paired_test(labels, 1 - labels, y=labels, sample_weight=np.ones(200), draws=100)
    assert (weighted.method, weighted.difference) == ("bootstrap", 1.0)


@pytest.mark.parametrize("method", ["mcnemar", "bootstrap"])
def test_false_alarms_are_as_rare_as_they_should_be(method: str) -> None:
    alarms = 0
    for simulation in range(100):
        rng = np.random.default_rng([1, simulation])
        y = rng.integers(0, 2, 120)
        a, b = (np.where(rng.random(120) < 0.8, y, 1 - y) for _ in range(2))
        extra: dict[str, Any] = (
            {} if method == "mcnemar" else {"draws": 100, "scoring": lambda m, r, t: np.mean(m.predict(r) == t)}
        )
        alarms += paired_test(a, b, y=y, method=method, **extra).told_apart
    assert alarms <= 11  # 5 expected; more than 11 of 100 happen once in 230 times


def test_compare_models() -> None:
    models = {"stump": DecisionStump(), "logistic": LogisticRegression(), "bayes": GaussianNB()}
    found = compare_models(models, X, Y, cv=FOLDS, scoring="neg_log_loss")
    means = {
        name: cross_val_score(model, X, Y, cv=FOLDS, scoring="neg_log_loss").mean() for name, model in models.items()
    }
    assert list(found.scores) == sorted(means, key=lambda name: -means[name])
    assert found.best == max(means, key=lambda name: means[name])
    frame = found.to_frame()
    assert (frame["high"] <= 0).all()
    assert (frame["difference"].iloc[1:] <= 0).all()
    pair = found.tests[found.best, "stump"]
    assert pair == paired_test(models[found.best], DecisionStump(), X, Y, cv=FOLDS, scoring="neg_log_loss")
    assert found.p_values[found.best, "stump"] >= pair.p_value
    assert set(found.tied) <= set(models) - {found.best}
    assert str(found).splitlines()[0].split() == ["model", "neg_log_loss", "behind", "the", "best", "p", "(Holm)"]
    assert len(found.plot().get_yticklabels()) == 2


def test_holm() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == {"a": 0.03, "b": 0.06, "c": 0.06}
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_test(GaussianNB(), GaussianNB()), "X and y are needed to compare two estimators"),
        (lambda: paired_test(GaussianNB(), [0.1]), "a and b must be of one kind"),
        (lambda: paired_test([1.0, 2.0], [1.0, 2.0]), "test_share is needed with scores"),
        (lambda: paired_test([1.0, 2.0], [1.0], test_share=0.1), r"same 2 or more splits, not \(2,\) and \(1,\)"),
        (lambda: paired_test([1, 0], [1, 0], y=[1, 0], method="corrected t"), "these are predictions"),
        (lambda: paired_test(GaussianNB(), GaussianNB(), X, Y, method="mcnemar"), "pass them and y, without X"),
        (lambda: paired_test([1.0, 2.0], [1.0, 2.0], method="mcnemar"), "needs predictions and y"),
        (
            lambda: paired_test([1, 0], [1, 0], y=[1, 0], method="wilcoxon"),
            "method must be one of 'corrected t', 'mcnemar'",
        ),
        (lambda: paired_test([1, 0], [1, 0], y=[1, 0], method="bootstrap", draws=5), "draws must be at least 100"),
        (lambda: compare_models({"a": GaussianNB()}, X, Y), "models must be at least 2, by name"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_predictions_of_counts_are_numbers() -> None:
    rng = np.random.default_rng(0)
    truth = rng.poisson(50, 300)
    found = paired_test(truth + rng.normal(size=300), truth + 5 * rng.normal(size=300), y=truth)
    assert found.p_value < 0.01
    assert found.scores[0] > found.scores[1]
