"""Metrics that no compiled code knows, rows with gaps, angles on a sphere: the same neighbours by any algorithm."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import sklearn.neighbors
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import nan_euclidean_distances

import corollary
from corollary import KDTree, KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

rng = np.random.default_rng(0)
X, Q = rng.random((150, 4)), rng.random((20, 4))
POLES = np.column_stack([rng.uniform(-math.pi / 2, math.pi / 2, 2000), rng.uniform(-math.pi, math.pi, 2000)])
BOOLEAN = ("hamming", "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath")
W, S = rng.random(4) + 0.1, np.diag(rng.random(4) + 0.1)


def _difference(a: Any, b: Any) -> float:
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("seuclidean", {"V": W}),
        ("mahalanobis", {"V": S}),
        ("mahalanobis", {"VI": S}),
        ("minkowski", {"w": W}),
        ("minkowski", {"p": 3, "w": W}),
        ("canberra", None),
        ("braycurtis", None),
        ("haversine", None),
        ("pyfunc", {"func": _difference}),
        (_difference, None),
        (DistanceMetric.get_metric("canberra"), None),
        *((name, None) for name in BOOLEAN),
    ],
)
@pytest.mark.parametrize("algorithm", ["ball_tree", "auto"])
def test_what_scikit_learns_ball_tree_finds(metric: Any, options: Any, algorithm: str) -> None:
    rows, queries = (X[:, :2], Q[:, :2]) if metric == "haversine" else (X, Q)
    if isinstance(metric, str) and metric in BOOLEAN:
        rows, queries = (rows > 0.3).astype(float), (queries > 0.3).astype(float)
    settings: dict[str, Any] = {"metric": metric, "metric_params": options, "p": 2 if options is None else None}
    if options is not None and "p" not in options:
        settings["p"] = 2
    theirs = sklearn.neighbors.NearestNeighbors(algorithm="ball_tree", **settings).fit(rows)
    ours = NearestNeighbors(algorithm=algorithm, **settings).fit(rows)
    assert ours.evidence_.holds
    np.testing.assert_allclose(ours.kneighbors(queries)[0], theirs.kneighbors(queries)[0], rtol=1e-12, atol=1e-15)
    assert ours.effective_metric_ == theirs.effective_metric_
    assert ours.effective_metric_params_.keys() == theirs.effective_metric_params_.keys()


@pytest.mark.parametrize(("p", "name"), [(1, "manhattan"), (2, "euclidean"), (math.inf, "chebyshev"), (3, "minkowski")])
def test_a_power_by_its_name(p: float, name: str) -> None:
    model = NearestNeighbors(p=p).fit(X)
    assert (model.effective_metric_, model.effective_metric_params_) == (name, {"p": 3, "w": None} if p == 3 else {})


def test_a_ball_tree_is_a_wish() -> None:
    wished, plain = (NearestNeighbors(algorithm=name).fit(X) for name in ("ball_tree", "kd_tree"))
    assert wished.evidence_.solver == plain.evidence_.solver == "k-d tree"
    np.testing.assert_array_equal(wished.kneighbors(Q)[1], plain.kneighbors(Q)[1])
    with pytest.warns(UserWarning, match="cannot use tree with sparse input: using brute force"):
        model = NearestNeighbors(algorithm="ball_tree").fit(sparse.csr_array(X))
    np.testing.assert_array_equal(model.kneighbors(Q)[1], plain.kneighbors(Q)[1])


def test_angles_on_a_sphere_keep_their_digits(tmp_path: Path) -> None:
    near = POLES[:40] + rng.normal(size=(40, 2)) * 10.0 ** -rng.integers(2, 14, (40, 1))
    model = NearestNeighbors(n_neighbors=5, metric="haversine").fit(POLES)
    found, rows = model.kneighbors(near)
    (u, v), (x, y) = near.astype(np.longdouble).T[..., None], POLES.astype(np.longdouble).T
    part = np.sin((u - x) / 2) ** 2 + np.cos(u) * np.cos(x) * np.sin((v - y) / 2) ** 2
    true = 2 * np.arcsin(np.sqrt(part))
    np.testing.assert_array_equal(rows, np.argsort(true, axis=1)[:, :5])
    np.testing.assert_allclose(found, np.sort(true, axis=1)[:, :5].astype(float), rtol=1e-9)
    assert model.evidence_.holds
    assert model.evidence_.verify(POLES).stands
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(corollary.load(tmp_path / "model").kneighbors(near)[0], found)


def test_places_that_face_each_other() -> None:
    places = np.array([[0.0, 0.0], [0.0, math.pi], [0.0, math.pi - 1e-9], [1e-12, 0.0]])
    model = NearestNeighbors(n_neighbors=4, metric="haversine", radius=math.pi - 5e-10).fit(places)
    distances, rows = model.kneighbors(places[:1])
    assert rows.tolist() == [[0, 3, 2, 1]]
    np.testing.assert_allclose(distances[0], [0, 1e-12, math.pi - 1e-9, math.pi], rtol=1e-15)
    assert model.radius_neighbors(places[:1], sort_results=True)[1][0].tolist() == [0, 3, 2]
    with pytest.raises(ValueError, match="Haversine distance only valid in 2 dimensions"):
        NearestNeighbors(metric="haversine").fit(X)


@pytest.mark.parametrize("in_rows", [True, False])
@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
def test_gaps(in_rows: bool, algorithm: str, tmp_path: Path) -> None:
    rows, queries = X.copy(), Q.copy()
    if in_rows:
        rows[rng.random(rows.shape) < 0.3] = np.nan
    queries[::3, 1] = np.nan
    model = NearestNeighbors(n_neighbors=6, metric="nan_euclidean", radius=0.5, algorithm=algorithm).fit(rows)
    table = nan_euclidean_distances(queries, rows)
    distances, found = model.kneighbors(queries)
    np.testing.assert_allclose(distances, np.sort(table, axis=1)[:, :6], rtol=1e-7)
    counts = [len(some) for some in model.radius_neighbors(queries)[1]]
    assert counts == np.sum(table <= 0.5, axis=1).tolist()
    assert model.evidence_.holds
    assert model.__sklearn_tags__().input_tags.allow_nan
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(corollary.load(tmp_path / "model").kneighbors(queries)[1], found)


def test_rows_without_a_common_column_come_last() -> None:
    rows = np.array([[np.nan, 1.0], [2.0, np.nan], [5.0, 5.0]])
    distances, found = NearestNeighbors(n_neighbors=3, metric="nan_euclidean").fit(rows).kneighbors(rows[:1])
    assert found.tolist() == [[0, 2, 1]]
    assert distances[0, 2] == math.inf
    far = NearestNeighbors(n_neighbors=3, metric=lambda a, b: math.inf if a[0] != b[0] else 0.0).fit(X[:3])
    assert far.kneighbors(X[1:2])[1].tolist() == [[1, 0, 2]]
    exact = NearestNeighbors(n_neighbors=2, metric="nan_euclidean").fit(rows[[0, 0, 2]] * 1e300)
    assert exact.kneighbors()[0].tolist()[0] == [0.0, 4e300 * math.sqrt(2)]
    with pytest.raises(ValueError, match="NaN"):
        NearestNeighbors().fit(rows)


def test_a_model_with_gaps_that_its_metric_cannot_have_is_refused(tmp_path: Path) -> None:
    model = NearestNeighbors().fit(X)
    model._fit_X = np.where(X > 0.99, np.nan, X)
    with pytest.raises(ValueError, match="gaps"):
        model._check_state()


def test_warnings_and_errors_of_metrics() -> None:
    with pytest.warns(SyntaxWarning, match="p is found in metric_params"):
        model = NearestNeighbors(metric_params={"p": 1}).fit(X)
    assert model.effective_metric_ == "manhattan"
    with pytest.warns(UserWarning, match="Mind that for 0 < p < 1.*with `algorithm='brute'`"):
        assert NearestNeighbors(p=0.5, algorithm="brute").fit(X)._fit_method == "brute"
    with pytest.warns(UserWarning, match="Mind that for 0 < p < 1"):
        model = NearestNeighbors(p=0.5).fit(X)
    true = (np.abs(Q[:, None] - X) ** 0.5).sum(axis=2) ** 2
    np.testing.assert_array_equal(model.kneighbors(Q)[1], np.argsort(true, axis=1)[:, :5])
    for algorithm in ("kd_tree", "ball_tree"):
        with pytest.raises(ValueError, match="does not support 0 < p < 1"):
            NearestNeighbors(p=0.5, algorithm=algorithm).fit(X)
    with pytest.raises(ValueError, match="kd_tree does not support callable metric"):
        NearestNeighbors(algorithm="kd_tree", metric=_difference).fit(X)
    with pytest.raises(ValueError, match="Metric 'canberra' not valid for sparse input"):
        NearestNeighbors(metric="canberra").fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="'V' parameter is required"):
        NearestNeighbors(metric="seuclidean").fit(X)
    with pytest.raises(TypeError, match="does not take <class 'float'> value"):
        NearestNeighbors().fit(X).kneighbors(Q, 2.0)
    with pytest.raises(ValueError, match="return_distance must be True"):
        NearestNeighbors().fit(X).radius_neighbors(Q, return_distance=False, sort_results=True)
    with pytest.raises(ValueError, match="n_neighbors is None"):
        NearestNeighbors(n_neighbors=None).fit(X).kneighbors(Q)


def test_trees_and_models_are_rows() -> None:
    first = NearestNeighbors(n_neighbors=2).fit(X)
    for rows in (first, KDTree(X), sklearn.neighbors.BallTree(X), sklearn.neighbors.KDTree(X)):
        np.testing.assert_array_equal(
            NearestNeighbors(n_neighbors=2).fit(rows).kneighbors(Q)[1], first.kneighbors(Q)[1]
        )
        model = KNeighborsRegressor(n_neighbors=2).fit(rows, X[:, 0])
        np.testing.assert_array_equal(model.kneighbors(Q)[1], first.kneighbors(Q)[1])


@pytest.mark.parametrize("cls", [KNeighborsClassifier, KNeighborsRegressor])
def test_a_row_that_asks_is_left_out_once(cls: Any) -> None:
    y, weights = rng.integers(0, 3, len(X)), rng.integers(1, 4, len(X))
    model = cls(n_neighbors=4).fit(X, y)
    one_out = [cls(n_neighbors=4).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] for i in range(9)]
    np.testing.assert_array_equal(model.predict(None)[:9], one_out)
    score = sklearn.metrics.accuracy_score if cls is KNeighborsClassifier else sklearn.metrics.r2_score
    assert model.score(None, y) == score(y, model.predict(None))
    weighted = cls(n_neighbors=4).fit(X, y, sample_weight=weights)
    repeated = cls(n_neighbors=4).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(np.repeat(weighted.predict(None), weights), repeated.predict(None))
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit"):
        cls(n_neighbors=5).fit(X[:5], y[:5]).predict(None)
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit"):
        cls(n_neighbors=5).fit(X[:3], [0, 1, 0], sample_weight=[2, 2, 1]).predict(None)


def test_one_class_and_columns() -> None:
    model = KNeighborsClassifier(weights=None).fit(X, np.full(len(X), "a"))
    assert model.predict(Q).tolist() == ["a"] * len(Q)
    assert (model.predict_proba(Q) == 1).all()
    with pytest.warns(sklearn.exceptions.DataConversionWarning, match="column-vector y"):
        assert not KNeighborsClassifier().fit(X, np.arange(len(X))[:, None] % 2).outputs_2d_


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
def test_densities_are_scikit_learns(kernel: str, metric: str) -> None:
    rows, places = X[:, :3], Q[:, :3]  # in four columns, theirs of the cosine are NaN
    ours, theirs = KDTree(rows, metric=metric), sklearn.neighbors.KDTree(rows, metric=metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        true = theirs.kernel_density(places, 0.4, kernel=kernel, rtol=0, atol=0)
    np.testing.assert_allclose(ours.kernel_density(places, 0.4, kernel=kernel), true, rtol=1e-9)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            ours.kernel_density(places, 0.4, kernel=kernel, return_log=True), np.log(true), rtol=1e-8
        )
    r = np.linspace(0, 1, 7)
    np.testing.assert_array_equal(ours.two_point_correlation(places, r), theirs.two_point_correlation(places, r))


def test_what_a_tree_refuses() -> None:
    tree = KDTree(X)
    with pytest.raises(ValueError, match="kernel must be one of gaussian"):
        tree.kernel_density(Q, 1.0, kernel="box")
    with pytest.raises(ValueError, match="h must be"):
        tree.kernel_density(Q, 0.0)
    with pytest.raises(ValueError, match="cannot both be true"):
        tree.query_radius(Q, 1.0, return_distance=True, count_only=True)


def test_across_the_antimeridian() -> None:
    """A difference of longitudes near a whole turn loses no digits."""
    for gap in (1e-9, 1e-12):
        place, query = np.array([[0.3, math.pi - gap]]), np.array([[0.3, gap - math.pi]])
        turn = 2 * ((math.pi - gap) - math.pi) - 2.4492935982947064e-16  # the first exactly, and the rest of 2π
        true = 2 * math.asin(math.cos(0.3) * abs(math.sin(turn / 2)))
        found = NearestNeighbors(n_neighbors=1, metric="haversine").fit(place).kneighbors(query)[0]
        np.testing.assert_allclose(found[0, 0], true, rtol=1e-14)


def test_rows_without_a_common_column_have_no_vote_by_distance() -> None:
    rows, y = np.array([[0.0, np.nan], [1.0, np.nan], [np.nan, 5.0]]), np.array([0.0, 3.0, 9.0])
    for weights in ("distance", "inverse", "gaussian"):
        model = KNeighborsRegressor(3, metric="nan_euclidean", weights=weights).fit(rows, y)
        assert 0 < model.predict([[0.5, np.nan]])[0] < 3  # the third has no distance to it
        with pytest.raises(ValueError, match=r"Row 1 of X has no column in common .* weights='uniform'"):
            model.predict([[0.5, np.nan], [np.nan, np.nan]])
