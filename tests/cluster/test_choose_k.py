"""Choosing k: known answers, the definitions against plain code, and a readable verdict."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import calinski_harabasz_score, silhouette_score

from corollary import AgglomerativeClustering, GaussianMixture, KMeans, KMedoids, choose_k
from corollary.cluster.k_criteria import vote
from corollary.solvers.cluster_scores import (
    box_around,
    chord_distances,
    distinct_rows,
    gap_choice,
    rows_without_clusters,
    spherical_bic,
    within_dispersion,
)

matplotlib.use("Agg")
CORNERS = 20.0 * np.eye(4)  # all equally far from each other
FAR_APART, TRUTH = make_blobs(200, centers=CORNERS, cluster_std=1.0, random_state=0)


@pytest.mark.parametrize(
    "estimator",
    [None, KMedoids(), AgglomerativeClustering(), GaussianMixture(n_components=1)],
    ids=lambda each: type(each).__name__,
)
def test_all_criteria_see_blobs_that_are_far_apart(estimator: Any) -> None:
    choice = choose_k(FAR_APART, 7, estimator=estimator, n_references=4, random_state=0)
    assert set(choice.best.values()) == {4}
    assert choice.k == 4
    assert "agree" in choice.reason
    assert len(np.unique(choice.labels[4])) == 4
    assert list(choice.models) == list(range(1, 8))


def test_one_cluster_is_one() -> None:
    X = np.random.default_rng(0).normal(size=(250, 3))
    choice = choose_k(X, 5, random_state=0)
    assert choice.best["gap"] == 1
    assert choice.best["bic"] == 1
    assert choice.k == 1
    assert "cannot tell one cluster" in choice.reason


def test_columns_are_what_they_are_called() -> None:
    X = load_iris().data
    choice = choose_k(X, [2, 3, 5], estimator=KMeans(random_state=0), criteria=("calinski_harabasz", "silhouette"))
    for position, k in enumerate((2, 3, 5)):
        assert choice.columns["calinski_harabasz"][position] == pytest.approx(
            calinski_harabasz_score(X, choice.labels[k])
        )
        assert choice.columns["silhouette"][position] == pytest.approx(silhouette_score(X, choice.labels[k]))
        assert choice.models[k].n_clusters == k


def test_a_mixture_brings_its_own_bic() -> None:
    choice = choose_k(FAR_APART, 3, estimator=GaussianMixture(), criteria="bic", random_state=0)
    np.testing.assert_allclose(choice.columns["bic"], [choice.models[k].bic(FAR_APART) for k in (1, 2, 3)])


def test_scale_and_place_do_not_matter() -> None:
    plain = choose_k(FAR_APART, 5, n_references=2, random_state=0)
    for moved in (FAR_APART * 1e150, FAR_APART * 1e-150, FAR_APART + 1e6):
        other = choose_k(moved, 5, n_references=2, random_state=0)
        assert other.best == plain.best
        np.testing.assert_allclose(other.columns["silhouette"], plain.columns["silhouette"], rtol=1e-6)
        np.testing.assert_allclose(other.columns["gap"], plain.columns["gap"], rtol=1e-4)


def test_same_seed_same_answer_for_any_number_of_jobs() -> None:
    a, b = (choose_k(FAR_APART, 4, n_references=3, random_state=3, n_jobs=jobs) for jobs in (1, 2))
    for name, values in a.columns.items():
        np.testing.assert_array_equal(values, b.columns[name])


def test_long_tables_are_sampled() -> None:
    X, _ = make_blobs(3000, centers=CORNERS, random_state=1)
    choice = choose_k(X, 5, sample=200, n_references=2, random_state=0)
    assert choice.k == 4


def test_table_frame_and_picture() -> None:
    choice = choose_k(FAR_APART, 6, n_references=2, random_state=0)
    text = str(choice)
    assert text.splitlines()[0].split()[:3] == ["k", "Calinski–Harabasz", "elbow"]
    assert len({len(line) for line in text.splitlines()[:7]}) == 1
    assert text.endswith(choice.reason)
    frame = choice.to_frame()
    assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["silhouette"].idxmax() == choice.best["silhouette"]
    assert "4 clusters" in choice._repr_html_()
    axes = choice.plot()
    assert [ax.get_title().split(":")[0] for ax in axes][-1] == "BIC"
    with pytest.raises(ValueError, match="5, one for each criterion"):
        choice.plot(axes[:2])


def test_bad_input_is_refused_in_words() -> None:
    X = FAR_APART[:20]
    for wrong, words in (
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"k": 30}, "from 1 to 19"),
        ({"k": [0, 2]}, "from 1 to 19"),
        ({"criteria": ("gap", "luck")}, "luck"),
        ({"sample": 3}, "sample"),
        ({"estimator": object.__new__(type("Odd", (), {"get_params": lambda self, deep: {}}))}, "estimator must"),
    ):
        with pytest.raises(ValueError, match=words):
            choose_k(X, **wrong)
    with pytest.raises(ValueError, match="same"):
        choose_k(np.ones((5, 2)))
    with pytest.raises(ValueError, match="NaN"):
        choose_k(np.where(X > 10, np.nan, X))
    with pytest.raises(ValueError, match="No criterion"):
        choose_k(X, [1], criteria="silhouette")
    assert choose_k(np.repeat(X[:3], 5, axis=0), n_references=2).ks.tolist() == [1, 2, 3]


def test_dispersion_and_bic_by_hand() -> None:
    X = np.array([[0.0], [2.0], [10.0], [14.0]])
    W, counts = within_dispersion(X, np.array([5, 5, 1, 1]))
    assert W == 1 + 1 + 4 + 4
    assert counts.tolist() == [2, 2]
    variance = 10 / 4
    likelihood = sum(
        np.log(0.5) - 0.5 * np.log(2 * np.pi * variance) - 0.5 * r * r / variance for r in (1.0, 1.0, 2.0, 2.0)
    )
    assert spherical_bic(W, counts, 1) == pytest.approx(-2 * likelihood + 4 * np.log(4))


def test_elbow_is_the_farthest_from_the_chord() -> None:
    distances = chord_distances(np.arange(1, 6), np.array([10.0, 4.0, 1.0, 0.9, 0.8]))
    assert np.argmax(distances) == 2
    np.testing.assert_allclose(distances[[0, -1]], 0.0, atol=1e-12)
    assert np.isnan(chord_distances(np.array([1, 2]), np.array([2.0, 1.0]))).all()


def test_distinct_rows_are_counted_until_there_are_enough() -> None:
    X = np.repeat(np.arange(5.0), 1000)[:, None]
    assert distinct_rows(X, 5) == 5
    assert distinct_rows(X, 9) == 5
    assert distinct_rows(np.arange(5000.0)[:, None], 3) >= 3


def test_gap_rule() -> None:
    assert gap_choice(np.array([0.1, 0.5, 0.55]), np.array([0.1, 0.1, 0.1])) == 1
    assert gap_choice(np.array([0.5, 0.4, 0.3]), np.zeros(3)) == 0
    assert gap_choice(np.array([0.1, 0.5, 0.9]), np.zeros(3)) is None


def test_reference_rows_fill_the_turned_box() -> None:
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 2)) * [10, 0.1] @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    drawn = rows_without_clusters(box_around(X), 2000, rng)
    across = np.array([1, -1]) / np.sqrt(2)
    assert np.abs(drawn @ across).max() <= np.abs(X @ across).max() * 1.5
    assert np.ptp(drawn @ [1, 1]) > 0.9 * np.ptp(X @ [1, 1])


def test_votes() -> None:
    ks = np.arange(1, 9)
    assert vote({"gap": 3, "bic": 3, "elbow": 2}, ks) == (3, "3 clusters, because gap and BIC say so (elbow says 2).")
    assert vote({"elbow": 2, "silhouette": 5}, ks)[0] == 2
    number, reason = vote({"elbow": 2, "silhouette": 2, "calinski_harabasz": 3, "gap": 5, "bic": 5}, ks)
    assert number == 3
    assert "median" in reason
    assert "elbow and silhouette say 2; Calinski–Harabasz says 3; gap and BIC say 5" in reason
    assert vote({"gap": 1, "bic": 1, "elbow": 2, "silhouette": 2, "calinski_harabasz": 2}, ks)[0] == 1
    assert vote({"silhouette": 4}, ks)[1] == "4 clusters, because silhouette says so."
