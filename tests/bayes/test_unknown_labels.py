"""The worked example of semi-supervised naive Bayes: five rows of four flags, two of them without a label."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from corollary.bayes import BernoulliNB, CategoricalNB

X = np.array([[0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]])
Y = np.array([1, 0, 0, -1, -1])


def twin(alpha: float, iterations: int) -> tuple[Any, Any]:
    """EM by the formulas: (P(y = 1), P(x = 1 | y))."""
    shares = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    for step in range(iterations + 1):
        counts = shares.sum(axis=0)
        prior, ones = counts / counts.sum(), (shares.T @ X + alpha) / (counts + 2 * alpha)[:, None]
        if step == iterations:
            break
        joint = prior * np.prod(np.where(X[:, None, :] == 1, ones, 1 - ones), axis=2)
        shares[3:] = (joint / joint.sum(axis=1, keepdims=True))[3:]
    return prior, ones


def test_the_first_expectation_by_hand() -> None:
    """With one row added to each side, the labelled rows give probabilities that fractions can hold."""
    model = BernoulliNB().fit(X[:3], Y[:3])
    found = model.predict_proba(X[3:])[:, 1]
    expected = [Fraction(128, 857), Fraction(128, 371)]
    np.testing.assert_allclose(found, [float(each) for each in expected], rtol=1e-14)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_em_is_that_of_the_formulas(alpha: float) -> None:
    prior, ones = twin(alpha, 20_000)
    model = BernoulliNB(alpha=alpha, unknown=-1, tol=1e-12, max_iter=20_000).fit(X, Y)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), prior, rtol=1e-8)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), ones, rtol=1e-8)
    tables = CategoricalNB(alpha=alpha, unknown=-1, tol=1e-12, max_iter=20_000, min_categories=2).fit(X, Y)
    np.testing.assert_allclose(np.exp([table[:, 1] for table in tables.feature_log_prob_]).T, ones, rtol=1e-8)
    assert np.diff(model.evidence_.history["objective"]).max() <= 1e-12
    assert model.evidence_.verify(X, Y).stands


def test_without_smoothing_a_row_fits_nowhere() -> None:
    """The last row has a flag that no labelled row of either class goes with: EM has nowhere to begin."""
    with pytest.raises(ValueError, match="log-likelihood"):
        BernoulliNB(alpha=0.0, unknown=-1).fit(X, Y)
