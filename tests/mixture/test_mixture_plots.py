"""Pictures of mixtures show what the model says."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Ellipse

from corollary.core.drawing import colours
from corollary.mixture import GaussianMixture

X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 3.0, 0.5] + 5 * (np.arange(60) % 2)[:, None]


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_an_ellipse_for_each_component(kind: str) -> None:
    model = GaussianMixture(2, covariance_type=kind, random_state=0, max_iter=500).fit(X)
    ax = model.plot(X, columns=(1, 2))
    ellipses = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert len(ellipses) == 4
    centres = {tuple(np.round(ellipse.center, 6)) for ellipse in ellipses}
    assert centres == {tuple(np.round(mean[[1, 2]], 6)) for mean in model.means_}
    assert len(ax.collections[0].get_offsets()) == 60
    if kind == "diag":  # the longer axis is twice the larger deviation
        longest = max(ellipses, key=lambda ellipse: ellipse.width).width
        assert longest == pytest.approx(4 * np.sqrt(model.covariances_[:, [1, 2]].max()))
    plt.close("all")


def test_colours_are_mixed_by_probability_and_columns_named() -> None:
    frame = pd.DataFrame(X[:, :2], columns=["left", "up"])
    model = GaussianMixture(2, random_state=0).fit(frame)
    ax = model.plot(frame)
    mixed = ax.collections[0].get_facecolors()[:, :3]
    np.testing.assert_allclose(mixed, model.predict_proba(frame) @ colours(2), atol=1e-12)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("left", "up")
    plt.close("all")


def test_one_column_is_a_histogram_with_the_density() -> None:
    model = GaussianMixture(2, random_state=0).fit(X[:, :1])
    ax = model.plot(X[:, :1])
    grid, density = ax.lines[-1].get_data()
    np.testing.assert_allclose(density, np.exp(model.score_samples(grid[:, None])))
    np.testing.assert_allclose(sum(line.get_ydata() for line in ax.lines[:-1]), density)
    plt.close("all")
