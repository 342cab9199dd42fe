"""Agglomerative clustering against SciPy, scikit-learn and its own definition, on easy, tied and hard rows."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering as Reference
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary.base import EvidenceWarning
from corollary.cluster import AgglomerativeClustering
from corollary.core import memory
from corollary.core.parallel import threads
from corollary.io import load
from corollary.solvers.linkage import centres as linkage_centres
from corollary.solvers.linkage import chain as linkage_chain
from corollary.solvers.linkage import fit as linkage_fit

LINKAGES = ("ward", "complete", "average", "single", "centroid")
DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "clustering"


def rows(n: int = 120, d: int = 3, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def same_partition(a: Any, b: Any) -> bool:
    return adjusted_rand_score(a, b) == 1.0


@parametrize_with_checks([AgglomerativeClustering(linkage=name) for name in LINKAGES])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("n", [2, 3, 30, 400])
@pytest.mark.parametrize("name", LINKAGES)
def test_the_tree_is_scipys(name: str, n: int) -> None:
    X = rows(n)
    model = AgglomerativeClustering(min(n, 4), linkage=name).fit(X)
    expected = linkage(X, name)
    np.testing.assert_allclose(model.linkage_matrix_, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(model.children_, expected[:, :2])
    assert is_valid_linkage(model.linkage_matrix_)
    assert model.evidence_.holds
    assert same_partition(model.labels_, fcluster(expected, min(n, 4), "maxclust")) or name == "centroid"


@pytest.mark.parametrize("name", LINKAGES[:4])
def test_labels_are_scikit_learns(name: str) -> None:
    X = load_iris().data[::2]
    model, expected = AgglomerativeClustering(3, linkage=name).fit(X), Reference(3, linkage=name).fit(X)
    assert same_partition(model.labels_, expected.labels_)
    threshold = float(model.distances_[-7:-5].mean())
    cut = AgglomerativeClustering(None, linkage=name, distance_threshold=threshold).fit(X)
    expected = Reference(None, linkage=name, distance_threshold=threshold).fit(X)
    assert cut.n_clusters_ == expected.n_clusters_ == 7
    assert same_partition(cut.labels_, expected.labels_)


@pytest.mark.parametrize("metric", ["sqeuclidean", "manhattan", "chebyshev", "cosine", "canberra", "seuclidean"])
@pytest.mark.parametrize("name", ["complete", "average", "single"])
def test_metrics(name: str, metric: str) -> None:
    X = rows(90, 4)
    D = pdist(X, {"manhattan": "cityblock"}.get(metric, metric))
    model = AgglomerativeClustering(3, linkage=name, metric=metric).fit(X)
    np.testing.assert_allclose(model.distances_, linkage(D, name)[:, 2], rtol=1e-9, atol=1e-14)
    assert model.evidence_.holds
    table = AgglomerativeClustering(3, linkage=name, metric="precomputed").fit(squareform(D))
    np.testing.assert_allclose(table.distances_, model.distances_, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(table.labels_, model.labels_)


@pytest.mark.parametrize("name", ["complete", "average", "single"])
def test_a_function_as_metric(name: str) -> None:
    X = rows(40)
    own = AgglomerativeClustering(3, linkage=name, metric=lambda a, b: float(np.abs(a - b).sum())).fit(X)
    known = AgglomerativeClustering(3, linkage=name, metric="l1").fit(X)
    np.testing.assert_allclose(own.distances_, known.distances_, rtol=1e-12)
    np.testing.assert_array_equal(own.labels_, known.labels_)


def test_a_metric_of_x_alone_makes_the_table_as_in_scikit_learn():
    from sklearn.metrics.pairwise import manhattan_distances, pairwise_distances

    X, known = rows(40), AgglomerativeClustering(3, linkage="average", metric="l1").fit(rows(40))
    for metric in (lambda X: pairwise_distances(X, metric="l1"), manhattan_distances):
        ours = AgglomerativeClustering(3, linkage="average", metric=metric).fit(X)
        np.testing.assert_array_equal(ours.labels_, known.labels_)
        np.testing.assert_allclose(ours.distances_, known.distances_)
        theirs = Reference(3, linkage="average", metric=metric).fit(X)
        assert adjusted_rand_score(theirs.labels_, ours.labels_) == 1.0
    with pytest.raises(ValueError, match=r"must return the distances of all 40 rows .* shape is \(40,\)"):
        AgglomerativeClustering(3, linkage="average", metric=lambda X: X[:, 0]).fit(X)


@pytest.mark.parametrize("name", LINKAGES)
def test_weights_are_repetitions(name: str) -> None:
    X, weights = rows(100), np.random.default_rng(1).integers(0, 4, 100)
    repeats = np.repeat(np.arange(100), weights)
    weighted = AgglomerativeClustering(5, linkage=name).fit(X, sample_weight=weights)
    repeated = AgglomerativeClustering(5, linkage=name).fit(X[repeats])
    kept = np.flatnonzero(weights)
    first = np.unique(repeats, return_index=True)[1]
    assert same_partition(weighted.labels_[kept], repeated.labels_[first])
    heights = [model.distances_[model.distances_ > 0] for model in (weighted, repeated)]
    np.testing.assert_allclose(heights[0], heights[1], rtol=1e-9)
    assert is_valid_linkage(weighted.linkage_matrix_)
    assert weighted.linkage_matrix_[-1, 3] == 100


@pytest.mark.parametrize("name", LINKAGES)
def test_rows_without_weight_join_their_nearest(name: str) -> None:
    X, weights = rows(60), np.ones(60)
    weights[::3] = 0.0
    model = AgglomerativeClustering(4, linkage=name).fit(X, sample_weight=weights)
    without = AgglomerativeClustering(4, linkage=name).fit(X[weights > 0])
    np.testing.assert_array_equal(model.distances_[20:], without.distances_)
    assert same_partition(model.labels_[weights > 0], without.labels_)
    kept = np.flatnonzero(weights)
    nearest = kept[np.argmin(((X[::3, None] - X[None, kept]) ** 2).sum(axis=2), axis=1)]
    np.testing.assert_array_equal(model.labels_[::3], model.labels_[nearest])
    assert "weight zero" in str(model.evidence_)


@pytest.mark.parametrize("name", LINKAGES)
@pytest.mark.parametrize("kind", ["same", "lattice", "line", "growing"])
def test_ties_and_chains(name: str, kind: str) -> None:
    """Any order of equal merges is right, but it must be the same each time, and each merge must be what it says."""
    n = 150
    X = {
        "same": np.ones((n, 2)),
        "lattice": np.random.default_rng(0).integers(0, 5, (n, 2)).astype(float),
        "line": np.arange(n)[:, None] * 1.0,
        "growing": 1.1 ** np.arange(n)[:, None],
    }[kind]
    model, again = (AgglomerativeClustering(4, linkage=name).fit(X) for _ in range(2))
    np.testing.assert_array_equal(model.children_, again.children_)
    assert model.evidence_.holds
    assert model.n_clusters_ == 4
    if name in ("single",) or kind in ("same", "growing"):
        np.testing.assert_allclose(model.distances_, linkage(X, name)[:, 2], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LINKAGES)
def test_scale_and_origin_do_not_matter(name: str) -> None:
    X = np.round(rows(80), 3)
    plain = AgglomerativeClustering(4, linkage=name).fit(X)
    for factor in (2.0**-1000, 2.0**900):
        scaled = AgglomerativeClustering(4, linkage=name).fit(X * factor)
        np.testing.assert_array_equal(scaled.children_, plain.children_)
        np.testing.assert_allclose(scaled.distances_ / factor, plain.distances_, rtol=1e-12)
    moved = AgglomerativeClustering(4, linkage=name).fit(X + 1e6)
    np.testing.assert_allclose(moved.distances_, plain.distances_, rtol=1e-6)
    assert moved.evidence_.holds


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", LINKAGES)
def test_the_same_bits_from_any_number_of_threads(name: str, tied: bool, monkeypatch: Any) -> None:
    for module in (linkage_centres, linkage_chain, linkage_fit):
        monkeypatch.setattr(module, "SHARE", 1)
    monkeypatch.setattr(linkage_fit, "FEW", 0)  # Ward's by a tree
    monkeypatch.setattr(linkage_chain, "BAND", 5000)
    X = np.random.default_rng(1).integers(0, 5, (700, 3)).astype(float) if tied else rows(700)
    with threads(1):
        alone = AgglomerativeClustering(3, linkage=name).fit(X)
    for count in (2, 3, 7, 16):
        with threads(count):
            model = AgglomerativeClustering(3, linkage=name).fit(X)
        np.testing.assert_array_equal(model.linkage_matrix_, alone.linkage_matrix_)


@pytest.mark.parametrize("weighted", [False, True])
def test_wards_tree_by_all_pairs_is_that_by_a_tree_of_centres(weighted: bool, monkeypatch: Any) -> None:
    X, w = rows(500, 5), np.random.default_rng(1).uniform(0.1, 3.0, 500) if weighted else None
    pairs = AgglomerativeClustering(4).fit(X, sample_weight=w)
    monkeypatch.setattr(linkage_fit, "FEW", 0)
    tree = AgglomerativeClustering(4).fit(X, sample_weight=w)
    np.testing.assert_array_equal(pairs.children_, tree.children_)
    np.testing.assert_allclose(pairs.distances_, tree.distances_, rtol=1e-13)
    assert pairs.evidence_.holds


@pytest.mark.parametrize("name", LINKAGES)
def test_threads_and_types_do_not_matter(name: str) -> None:
    X = rows(700, 2)
    with threads(1):
        one = AgglomerativeClustering(3, linkage=name).fit(X)
    two = AgglomerativeClustering(3, linkage=name, n_jobs=2).fit(np.asfortranarray(X))
    np.testing.assert_array_equal(one.linkage_matrix_, two.linkage_matrix_)
    single = AgglomerativeClustering(3, linkage=name).fit(X.astype(np.float32))
    exact = AgglomerativeClustering(3, linkage=name).fit(X.astype(np.float32).astype(np.float64))
    np.testing.assert_array_equal(single.linkage_matrix_, exact.linkage_matrix_)


@pytest.mark.parametrize("name", ["ward", "complete", "average"])
def test_chains_are_rounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = rows(300)
    monkeypatch.setattr(linkage_fit, "FEW", 0)
    rounds = AgglomerativeClustering(3, linkage=name).fit(X)
    monkeypatch.setattr(linkage_chain, "SMALL", 10**9)
    monkeypatch.setattr(linkage_centres, "SMALL", 10**9)
    chains = AgglomerativeClustering(3, linkage=name).fit(X)
    np.testing.assert_array_equal(chains.children_, rounds.children_)
    np.testing.assert_allclose(chains.distances_, rounds.distances_, rtol=1e-12)


def test_bands_of_the_triangle_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X = rows(500)
    plain = AgglomerativeClustering(3, linkage="average").fit(X)
    monkeypatch.setattr(linkage_chain, "BAND", 3000)
    np.testing.assert_array_equal(
        AgglomerativeClustering(3, linkage="average").fit(X).linkage_matrix_, plain.linkage_matrix_
    )


def test_centroid_linkage_inverts_and_says_so() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    model = AgglomerativeClustering(linkage="centroid").fit(X)
    np.testing.assert_allclose(model.distances_, [1.0, 0.9])
    assert "centroid linkage can do that" in str(model.evidence_)
    assert model.evidence_.facts["largest inversion"] == pytest.approx(0.1)
    cut = AgglomerativeClustering(None, linkage="centroid", distance_threshold=0.95).fit(X)
    assert cut.n_clusters_ == 3  # the pair was further apart than that, whatever came later


def test_a_saved_model_is_the_same(tmp_path: Path) -> None:
    model = AgglomerativeClustering(3).fit(rows(50))
    model.save(tmp_path / "tree.corollary")
    again = load(tmp_path / "tree.corollary")
    np.testing.assert_array_equal(again.linkage_matrix_, model.linkage_matrix_)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    again.plot()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 31}, "Cannot extract more clusters than samples: n_clusters=31"),
        ({"n_clusters": None}, "Exactly one of n_clusters and distance_threshold"),
        ({"distance_threshold": 1.0}, "Exactly one of n_clusters and distance_threshold"),
        ({"metric": "manhattan"}, "Ward can only work with euclidean distances"),
        ({"linkage": "centroid", "metric": "cosine"}, "needs metric='euclidean'"),
        ({"linkage": "average", "metric": "precomputed"}, "Distance matrix should be square"),
        (
            {"linkage": "average", "metric": lambda a, b: float(a[0] - b[0]) ** 2 + abs(float(a[0]))},
            "must be symmetric, but the metric",
        ),
        ({"linkage": "average", "metric": lambda a, b: np.nan}, "must be numbers, but the metric contains NaN"),
        ({"linkage": "single", "metric": lambda a, b: -1.0}, "negative"),
        ({"linkage": "median"}, "linkage must be"),
        ({"connectivity": np.ones((29, 29))}, "Wrong shape for connectivity matrix"),
        ({"n_clusters": None, "distance_threshold": 1.0, "compute_full_tree": False}, "compute_full_tree must be True"),
    ],
)
def test_bad_input(parameters: dict[str, Any], words: str) -> None:
    model = AgglomerativeClustering(**parameters)
    with pytest.raises(ValueError, match=words):
        model.fit(rows(30))
    assert not hasattr(model, "labels_")


def test_bad_tables() -> None:
    D = squareform(pdist(rows(10)))
    D[2, 5] += 1.0
    with pytest.raises(ValueError, match="Distances must be symmetric, but X has"):
        AgglomerativeClustering(linkage="single", metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="negative"):
        AgglomerativeClustering(linkage="average", metric="precomputed").fit(-squareform(pdist(rows(10))))
    with pytest.raises(ValueError, match="row of zeros"):
        AgglomerativeClustering(linkage="average", metric="cosine").fit(np.eye(4)[:, :3])


def test_a_triangle_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_free_memory", lambda: 10**6)
    X = rows(2000, 2)
    for name in ("complete", "average"):
        with pytest.raises(MemoryError, match=r"distances of all pairs.*linkage='ward'"):
            AgglomerativeClustering(linkage=name).fit(X)
    for name in ("single", "ward", "centroid"):
        assert AgglomerativeClustering(linkage=name).fit(X).evidence_.holds


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not part of the repository")
@pytest.mark.parametrize(
    ("file", "method", "least"),
    [("aggregation.csv", "average", 0.95), ("s-set1.csv.gz", "ward", 0.95), ("jain.csv", "single", 0.2)],
)
def test_standard_shapes(file: str, method: str, least: float) -> None:
    table = np.loadtxt(DATA / file, delimiter=",", skiprows=1)
    X, y = table[:, :2], table[:, 2]
    model = AgglomerativeClustering(len(np.unique(y)), linkage=method).fit(X)
    assert adjusted_rand_score(y, model.labels_) > least
    assert model.evidence_.holds


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single", "centroid"])
@pytest.mark.parametrize("weight", [1e155, 1e307, 1e-155, 1e-320])
@pytest.mark.parametrize("chained", [False, True])
def test_equal_weights_of_any_size_are_equal_weights(linkage, weight, chained):
    """Products of such weights overflow or vanish: this once ended the process."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    graph = np.eye(60, k=1) if chained else None
    plain = AgglomerativeClustering(2, linkage=linkage, connectivity=graph).fit(X)
    model = AgglomerativeClustering(2, linkage=linkage, connectivity=graph).fit(X, sample_weight=np.full(60, weight))
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    factor = np.sqrt(weight) if linkage == "ward" else 1.0
    np.testing.assert_allclose(model.distances_ / factor, plain.distances_, rtol=1e-3 if weight < 1e-310 else 1e-9)
    assert model.evidence_.holds


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single", "centroid"])
def test_weights_and_rows_of_any_size_give_an_answer_or_an_error(linkage):
    X = np.random.default_rng(0).normal(size=(60, 3))
    weights = np.r_[np.full(30, 1e-300), np.full(30, 1e300)]
    assert AgglomerativeClustering(2, linkage=linkage).fit(X, sample_weight=weights).evidence_.holds
    for size in (1e150, 1e300):
        rows = X.copy()
        rows[0] = size
        # where squares of all other differences vanish, their heights are not claimed
        with nullcontext() if size < 1e200 else pytest.warns(EvidenceWarning, match="Check failed"):
            model = AgglomerativeClustering(2, linkage=linkage).fit(rows)
        assert model.evidence_.holds == (size < 1e200)
        assert np.isfinite(model.distances_).all()
        assert model.labels_.tolist() == [0] + 59 * [1]
    rows[0] = 1.7e308
    with pytest.raises(ValueError, match="too large for float64"):
        AgglomerativeClustering(2, linkage=linkage).fit(rows)
