"""What rows mean to a mixture: weights are repetitions, labels are certain, blocks are the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from corollary import Blocks
from corollary.core.types import Array
from corollary.mixture import GaussianMixture

KINDS = ("full", "tied", "diag", "spherical")
ATTRIBUTES = ("weights_", "means_", "covariances_", "precisions_cholesky_")


def two(n: int = 150, apart: float = 3.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) * [0.5, 2.0] + apart])
    order = rng.permutation(len(X))
    return X[order], np.repeat([0, 1], n)[order]


def assert_same(first: Any, second: Any, rtol: float = 1e-9) -> None:
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=rtol, atol=1e-12, err_msg=name)
    assert first.lower_bound_ == pytest.approx(second.lower_bound_, rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", ["kmeans", "given"])
def test_a_weight_is_a_repetition(kind: str, init: str) -> None:
    X, _ = two()
    weights = np.random.default_rng(2).integers(0, 4, size=len(X))
    given = {"means_init": [[0.0, 0.0], [3.0, 3.0]]} if init == "given" else {}
    make = GaussianMixture(2, covariance_type=kind, random_state=0, tol=1e-9, max_iter=3000, **given)
    weighted = make.fit(X, sample_weight=weights)
    bic, score = weighted.bic(X, sample_weight=weights), weighted.score(X, sample_weight=weights)
    repeated = GaussianMixture(**make.get_params()).fit(np.repeat(X, weights, axis=0))
    rows = np.repeat(X, weights, axis=0)
    assert bic == pytest.approx(repeated.bic(rows), rel=1e-9)
    assert score == pytest.approx(repeated.score(rows), rel=1e-9)
    if init == "given":
        assert_same(weighted, repeated, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_the_whole(kind: str) -> None:
    X, y = two()
    weights = np.random.default_rng(2).uniform(0, 2, size=len(X))
    weights[:40] = 0.0  # a whole block without weight
    known = np.where(np.arange(len(X)) % 9 == 0, y, -1)
    make = GaussianMixture(2, covariance_type=kind, random_state=0, n_init=2)
    whole = GaussianMixture(**make.get_params()).fit(X, known, weights)
    for size in (40, 61, 1000):
        blocks = [(X[i : i + size], known[i : i + size], weights[i : i + size]) for i in range(0, len(X), size)]
        make.fit(Blocks(blocks))
        assert_same(make, whole)
        assert make.n_iter_ == whole.n_iter_
        assert make.n_features_in_ == 2
    threaded = GaussianMixture(**make.get_params()).fit(Blocks(blocks, executor="threads"))
    assert_same(threaded, whole)


def test_blocks_of_rows_alone_larger_than_the_sample() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 2)) + 6 * rng.integers(2, size=(50_000, 1))
    whole = GaussianMixture(2, random_state=0).fit(X)

    class Reader:
        passes = 0

        def __iter__(self) -> Any:
            self.passes += 1
            yield from np.array_split(X, 7)

    reader = Reader()
    assert_same(GaussianMixture(2, random_state=0).fit(reader), whole)
    assert reader.passes <= whole.n_iter_ + 4
    np.testing.assert_allclose(np.sort(whole.means_[:, 0]), [0, 6], atol=0.05)


def test_bad_blocks() -> None:
    X, _ = two()
    model = GaussianMixture(2)
    with pytest.raises(ValueError, match="read more than once"):
        model.fit(iter([X]))
    with pytest.raises(ValueError, match="no rows"):
        model.fit(Blocks([]))
    with pytest.raises(ValueError, match="no rows"):
        model.fit([(X, None, np.zeros(len(X)))])
    with pytest.raises(ValueError, match="features"):
        model.fit([X, X[:, :1]])
    with pytest.raises(ValueError, match="Negative"):
        model.fit([(X, None, -np.ones(len(X)))])
    with pytest.raises(ValueError, match="must come in them"):
        model.fit([X], np.zeros(len(X)))


@pytest.mark.parametrize("kind", KINDS)
def test_labels_for_all_rows_are_the_moments_of_classes(kind: str) -> None:
    X, y = two(apart=0.5)
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0.0).fit(X, y)
    parts = [X[y == k] for k in range(2)]
    np.testing.assert_allclose(model.means_, [part.mean(axis=0) for part in parts], rtol=1e-10)
    full = np.array([np.cov(part.T, bias=True) for part in parts])
    diagonal = np.diagonal(full, axis1=1, axis2=2)
    expected = {"full": full, "tied": full.mean(axis=0), "diag": diagonal, "spherical": diagonal.mean(axis=1)}
    np.testing.assert_allclose(model.covariances_, expected[kind], rtol=1e-9, atol=1e-12)
    assert model.n_iter_ <= 2


def test_a_few_labels_name_components_and_help() -> None:
    X, y = two(apart=1.2)
    known = np.full(len(y), -1)
    for label in (0, 1):
        known[np.flatnonzero(y == label)[:20]] = label
    model = GaussianMixture(2, tol=1e-6, max_iter=1000).fit(X, known)
    assert accuracy_score(y, model.predict(X)) > 0.8  # the numbers are those of the labels, not any permutation
    assert model.evidence_.holds
    np.testing.assert_array_equal(model.component_labels_, [0, 1])


def test_the_likelihood_of_a_labelled_row_is_that_of_its_component() -> None:
    X, y = two()
    known = np.where(np.arange(len(X)) % 3 == 0, y, -1)
    model = GaussianMixture(2, reg_covar=0.0, random_state=0).fit(X, known)
    joint = np.log(model.predict_proba(X)) + model.score_samples(X)[:, None]
    own = joint[np.arange(len(X)), y]
    expected = np.where(known >= 0, own, model.score_samples(X)).mean()
    assert model.lower_bound_ == pytest.approx(expected, rel=1e-10)


def test_labels_of_any_number() -> None:
    X, y = two()
    some = np.where(np.arange(len(X)) % 5 == 0, np.where(y == 1, 40, 7), -1)
    model = GaussianMixture(3, random_state=0, max_iter=1000).fit(X, some)
    np.testing.assert_array_equal(model.component_labels_, [7, 40, -1])
    second = GaussianMixture(4, random_state=0, max_iter=1000).fit(X, np.where(y == 1, 2, -1))
    np.testing.assert_array_equal(second.component_labels_, [-1, -1, 2, -1])
    np.testing.assert_array_equal(second.fit(X).component_labels_, [-1] * 4)


def test_more_labels_than_components_raise_their_number() -> None:
    X, y = two()
    model = GaussianMixture(1).fit(X, y)
    assert model.means_.shape == (2, 2)
    assert "2 components instead of 1" in str(model.evidence_)
    assert model.n_components == 1


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (["a"] * 300, "holds .*'a'"),
        (np.full(300, 0.5), "holds 0.5"),
        (np.full(300, np.nan), "holds nan"),
        (np.zeros(4), "300 rows and y has shape"),
        (np.zeros((300, 2)), "y has shape"),
    ],
)
def test_bad_labels(y: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        GaussianMixture(2).fit(two()[0], y)
