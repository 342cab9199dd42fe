"""Pictures of clusters have the points, the colours and the centres that they should."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

from corollary.cluster import KMeans, SoftKMeans
from corollary.cluster.cluster_plots import MOST_POINTS, scatter, silhouette


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_scatter_of_models():
    X = load_iris().data
    model = KMeans(3, random_state=0).fit(X)
    points, centres = model.plot(X).collections
    assert len(points.get_offsets()) == 150
    assert len(centres.get_offsets()) == 3
    assert len(np.unique(points.get_facecolors(), axis=0)) == 3
    soft = SoftKMeans(3, stiffness=1.0, random_state=0).fit(X)
    assert len(np.unique(soft.plot(X).collections[0].get_facecolors(), axis=0)) > 50


def test_axes_have_the_names_of_two_columns():
    X = load_iris(as_frame=True).data.iloc[:, :2]
    for model in (KMeans(3, random_state=0), SoftKMeans(3, random_state=0)):
        ax = model.fit(X).plot(X)
        assert [ax.get_xlabel(), ax.get_ylabel()] == list(X.columns)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_scatter_of_any_width(columns):
    X = np.random.default_rng(0).normal(size=(40, columns))
    labels = np.arange(40) % 13 - 1
    ax = scatter(X, labels)
    assert ax.get_title() == "12 clusters"
    if columns == 2:
        np.testing.assert_array_equal(ax.collections[0].get_offsets(), X)


def test_large_data_are_sampled():
    X = np.zeros((MOST_POINTS + 1, 2))
    ax = scatter(X, np.zeros(len(X), dtype=int))
    assert len(ax.collections[0].get_offsets()) == MOST_POINTS


def test_silhouette():
    X = np.r_[np.zeros((10, 2)), np.ones((20, 2))] + np.random.default_rng(0).normal(size=(30, 2)) * 0.01
    ax = silhouette(X, np.repeat([0, 1], [10, 20]))
    assert float(ax.get_title().split()[-1]) > 0.95
    with pytest.raises(ValueError, match="at least 2 clusters"):
        silhouette(X, np.zeros(30, dtype=int))
