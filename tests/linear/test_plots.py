"""Pictures of linear models: what they show, not how they look."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest

from corollary.linear.plots import plot_coefficients, plot_path, plot_validation_curve


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    plt.close("all")


ALPHAS = np.geomspace(1, 0.01, 5)


def test_validation_curve() -> None:
    errors = np.arange(15.0).reshape(5, 3)
    axes = plot_validation_curve(ALPHAS, errors, 0.1)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), errors.mean(axis=1))
    assert axes.get_xscale() == "log"
    assert "0.1" in axes.texts[0].get_text()


def test_validation_curves_of_several_mixes() -> None:
    axes = plot_validation_curve(np.stack([ALPHAS, 2 * ALPHAS]), np.ones((2, 5, 3)), 0.1)
    assert len(axes.lines) == 3  # two curves and the choice


def test_path_names_the_largest_and_leaves_out_the_zeros() -> None:
    coefs = np.outer([0.0, 5.0, -1.0, 3.0], np.linspace(0, 1, 5))
    axes = plot_path(ALPHAS, coefs, names=["zero", "big", "small", "medium"], labels=2)
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["big", "medium"]
    assert len(axes.lines) == 4  # three coefficients and the axis
    assert plot_path(ALPHAS, coefs).get_legend() is not None


def test_coefficients_are_sorted_by_size() -> None:
    axes = plot_coefficients(np.array([1.0, -3.0, 2.0]), names=["a", "b", "c"], top=2)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["c", "b"]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [2.0, -3.0])


def test_given_axes_are_used() -> None:
    _, axes = plt.subplots()
    assert plot_coefficients(np.ones(2), ax=axes) is axes
    assert plot_path(ALPHAS, np.ones((2, 5)), ax=axes) is axes
