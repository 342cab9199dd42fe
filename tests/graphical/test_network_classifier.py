"""A network as a classifier: naive Bayes by default, any graph on request, gaps and new values summed out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB

from corollary import BayesianNetworkClassifier


@pytest.fixture
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = (y[:, None] + rng.integers(0, 3, (400, 4))) % 4
    return X, y


def test_without_edges_it_is_naive_bayes(data: tuple[Any, Any]) -> None:
    """Of columns with all their states; scikit-learn does not smooth the classes."""
    X, y = data
    ours = BayesianNetworkClassifier().fit(X, y)
    theirs = CategoricalNB(class_prior=(np.bincount(y) + 1) / (len(y) + 3)).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_any_graph(data: tuple[Any, Any]) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd")).astype(str)
    edges = [("a", "kind"), ("kind", "b"), ("b", "c"), ("kind", "c")]
    model = BayesianNetworkClassifier(edges, target="kind").fit(frame, y)
    for row, shares in zip(frame.head(20).to_dict("records"), model.predict_proba(frame.head(20)), strict=True):
        np.testing.assert_allclose(list(model.network_.query("kind", row)["kind"].values()), shares, atol=1e-12)


def test_gaps_and_new_values_are_summed_out(data: tuple[Any, Any]) -> None:
    X, y = data
    model = BayesianNetworkClassifier().fit(X, y)
    holes = X.astype(float)
    holes[::2, 1] = np.nan
    new = X.copy()
    new[::2, 1] = 99
    np.testing.assert_array_equal(model.predict_proba(holes), model.predict_proba(new))
    alone = model.network_.query("class", {"x0": int(X[0, 0]), "x2": int(X[0, 2]), "x3": int(X[0, 3])})
    np.testing.assert_allclose(model.predict_proba(holes)[0], list(alone["class"].values()), atol=1e-12)
    learnt = BayesianNetworkClassifier().fit(holes, y)
    assert learnt.evidence_.certificate.kind.name == "STATIONARY"
    assert learnt.evidence_.verify(holes, y)


def test_rows_that_are_impossible_get_the_shares_of_the_classes() -> None:
    model = BayesianNetworkClassifier(pseudo_counts=0.0).fit([[0, 0], [1, 1], [1, 1]], ["u", "v", "v"])
    np.testing.assert_allclose(model.predict_proba([[0, 1]]), [[1 / 3, 2 / 3]])


def test_a_column_must_not_be_called_as_the_class(data: tuple[Any, Any]) -> None:
    X, y = data
    with pytest.raises(ValueError, match=r"column 'class'.*another name as target"):
        BayesianNetworkClassifier().fit(pd.DataFrame(X, columns=["a", "class", "b", "c"]), y)
