"""Neighbours that are claimed are those of exact arithmetic, on data that defeat squares and dot products."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary import KNeighborsClassifier, NearestNeighbors
from corollary.core.evidence import share_wrong_at_most
from corollary.solvers.neighbors.check import check_search

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(25, 3))


def replaced(X: Any, row: int, factor: float) -> Any:
    out = X.copy()
    out[row] *= factor
    return out


HOSTILE = {
    "offset": Z + 1e9,
    "offset of the size of all digits": Z + 1e15,
    "huge": Z * 1e300,
    "at the end of float64": Z / np.abs(Z).max() * 1.7e308,
    "small": Z * 1e-300,
    "without a normal number": Z * 1e-320,
    "one huge row": replaced(Z, 3, 1e300),
    "one huge row among small ones": replaced(Z * 1e-170, 3, 1e300),
    "columns of all sizes": Z * [1e-200, 1.0, 1e200],
    "ones and nothings": np.round(Z) + 1e-200 * RNG.integers(0, 3, size=Z.shape),
    "nearly parallel": np.outer(RNG.random(25) + 0.5, Z[0]) * (1 + 1e-9 * Z),
    "parallel but for rounding": np.outer(RNG.random(25) + 0.5, Z[0]) * (1 + 1e-15 * Z),
    "float32": (Z + 1e6).astype(np.float32),
}


def exact(q: Any, x: Any, metric: str) -> Fraction:
    """A number that orders like the distance, without rounding; for cosine of vectors in one half space."""
    a, b = [Fraction(float(v)) for v in q], [Fraction(float(v)) for v in x]
    if metric == "correlation":
        a, b = ([v - sum(side) / len(side) for v in side] for side in (a, b))
    if metric in ("cosine", "correlation"):
        dot = sum(v * w for v, w in zip(a, b, strict=True))
        return 1 - dot * abs(dot) / (sum(v * v for v in a) * sum(v * v for v in b))
    gaps = [abs(v - w) for v, w in zip(a, b, strict=True)]
    if metric == "chebyshev":
        return max(gaps)
    power = {"euclidean": 2, "nan_euclidean": 2, "manhattan": 1, "minkowski": 60}[metric]
    return sum((gap**power for gap in gaps), Fraction(0))


@pytest.mark.parametrize(
    "metric", ["euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "correlation", "nan_euclidean"]
)
@pytest.mark.parametrize("kind", HOSTILE)
def test_claimed_neighbours_are_the_nearest(kind: str, metric: str) -> None:
    X, k = HOSTILE[kind], 4
    power = {"euclidean": 2, "nan_euclidean": 2, "minkowski": 60}.get(metric, 1)
    table = [[exact(q, x, metric) for x in X] for q in X]
    for algorithm in ("brute", "kd_tree"):
        model = NearestNeighbors(n_neighbors=k, metric=metric, p=60, algorithm=algorithm, leaf_size=2).fit(X)
        assert model.evidence_.holds, model.evidence_
        _, rows = model.kneighbors(X)
        for i, found in enumerate(rows):
            best = sorted(table[i])[:k]
            assert len(set(found.tolist())) == k
            for j, row in enumerate(found):
                assert table[i][row] <= best[j] * Fraction(1 + 1e-9) ** power + Fraction(10) ** -56 * (metric[0] == "c")


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_votes_at_any_scale(scale: float) -> None:
    y = np.arange(len(Z)) % 3
    plain = KNeighborsClassifier(3, weights="distance").fit(Z, y)
    model = KNeighborsClassifier(3, weights="distance").fit(Z * scale, y)
    np.testing.assert_allclose(
        model.predict_proba(Z[::-1] * 0.9 * scale), plain.predict_proba(Z[::-1] * 0.9), rtol=1e-6
    )


def test_distances_beyond_float64_keep_their_order_but_do_not_weigh() -> None:
    X = np.array([[1.7e308, 0.0], [1.0, 0.0], [-1.0, 1.7e308], [1.6e308, 1.0]])
    model = NearestNeighbors(n_neighbors=4).fit(X)
    distances, rows = model.kneighbors([[-1.7e308, 0.0]])
    np.testing.assert_array_equal(rows, [[1, 2, 3, 0]])
    assert np.isinf(distances[0, 1:]).all()
    vote = KNeighborsClassifier(4, weights="distance").fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="largest number of float64"):
        vote.predict([[-1.7e308, 0.0]])


def test_radius_that_squares_to_nothing() -> None:
    X = np.array([[0.0], [1e-200], [3e-200], [1.0]])
    for algorithm in ("brute", "kd_tree"):
        model = NearestNeighbors(radius=2e-200, algorithm=algorithm).fit(X)
        distances, rows = model.radius_neighbors(X, sort_results=True)
        assert [list(found) for found in rows] == [[0, 1], [1, 0, 2], [2, 1], [3]]
        np.testing.assert_allclose(distances[1], [0, 1e-200, 2e-200], rtol=1e-12)


def test_radius_of_nearly_parallel_rows() -> None:
    X = HOSTILE["offset"]
    model = NearestNeighbors(metric="cosine", n_neighbors=25).fit(X)
    distances, rows = model.kneighbors(X)
    for radius in (float(distances[0, 3]), float(distances[5, 20])):
        measured, within = model.radius_neighbors(X, radius, sort_results=True)
        for i in range(len(X)):
            np.testing.assert_array_equal(within[i], rows[i][distances[i] <= radius])
            np.testing.assert_array_equal(measured[i], distances[i][distances[i] <= radius])


def test_sparse_rows_are_searched_as_dense_ones() -> None:
    for kind in ("offset", "one huge row", "nearly parallel", "huge", "small"):
        for metric in ("euclidean", "cosine"):
            X = np.hstack([HOSTILE[kind], np.zeros((25, 4))])
            dense = NearestNeighbors(n_neighbors=4, metric=metric).fit(X)
            thin = NearestNeighbors(n_neighbors=4, metric=metric).fit(sparse.csr_array(X))
            assert thin.evidence_.holds
            np.testing.assert_array_equal(thin.kneighbors(sparse.csr_array(X))[1], dense.kneighbors(X)[1])


def test_a_metric_that_overflows_is_refused() -> None:
    with pytest.raises(ValueError, match="overflow float64"):
        NearestNeighbors(metric="sqeuclidean").fit(Z * 1e200)


def test_correlation_needs_rows_that_vary() -> None:
    with pytest.raises(ValueError, match="row 1 has the same value"):
        NearestNeighbors(n_neighbors=1, metric="correlation").fit([[0.0, 1.0, 2.0], [0.1, 0.1, 0.1]])


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_tables_of_distances_that_are_none_are_refused(bad: float) -> None:
    table = np.abs(Z[:, :1] - Z[:, 0])
    model = NearestNeighbors(n_neighbors=2, metric="precomputed").fit(table)
    spoilt = table.copy()
    spoilt[2, 5] = spoilt[5, 2] = bad
    with pytest.raises(ValueError, match=r"(?i)negative|NaN|infinity"):
        NearestNeighbors(metric="precomputed").fit(spoilt)
    with pytest.raises(ValueError, match=r"(?i)negative|NaN|infinity"):
        KNeighborsClassifier(metric="precomputed").fit(spoilt, np.arange(len(Z)) % 2)
    with pytest.raises(ValueError, match=r"(?i)negative|NaN|infinity"):
        model.kneighbors(spoilt)
    with pytest.raises(ValueError, match=r"(?i)negative|NaN|infinity"):
        model.radius_neighbors(spoilt, 1.0)


def test_a_sample_claims_what_its_size_gives() -> None:
    assert share_wrong_at_most(7, 7) == 0.0
    assert share_wrong_at_most(0, 7) == 1.0
    m = 59
    assert (1 - share_wrong_at_most(m, 10**6)) ** m == pytest.approx(0.05)
    few, many = NearestNeighbors().fit(Z).evidence_, NearestNeighbors().fit(RNG.normal(size=(4000, 3))).evidence_
    assert few.certificate.name == many.certificate.name == "distance excess of checked rows"
    assert few.facts["share of rows wrong at most"] == 0.0
    assert many.facts["checked rows"] == 59
    assert many.facts["share of rows wrong at most"] == share_wrong_at_most(59, 4000)
    assert "With 95 % confidence the neighbours of fewer than 5 % of all rows are wrong: 59 rows were checked." in str(
        many
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "canberra"])
def test_the_check_finds_a_search_that_is_wrong(metric: str) -> None:
    model = NearestNeighbors(n_neighbors=3, metric=metric).fit(Z + 1e9)
    search = model._search

    class Wrong(type(search)):  # type: ignore[misc]
        def nearest(self, Q: Any, k: int) -> Any:
            distances, rows = super().nearest(Q, k + 1)
            return distances[:, 1:], rows[:, 1:]

    wrong = Wrong(**{name: getattr(search, name) for name in search.__dataclass_fields__ if name != "name"})
    assert check_search(search, model._fit_X, 3).excess < 1e-9 < check_search(wrong, model._fit_X, 3).excess
