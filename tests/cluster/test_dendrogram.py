"""The dendrogram: one bracket for each merge that is shown, colours of the cut, names of the rows."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.exceptions import NotFittedError

from corollary.cluster import AgglomerativeClustering
from corollary.cluster.dendrogram import _ABOVE, plot_dendrogram


@pytest.fixture(autouse=True)
def close_figures() -> Any:
    yield
    plt.close("all")


def fitted(n: int = 30, **parameters: Any) -> AgglomerativeClustering:
    return AgglomerativeClustering(**parameters).fit(np.random.default_rng(0).normal(size=(n, 2)))


def segments(ax: Any) -> list[Any]:
    return list(ax.collections[0].get_segments())


def test_every_merge_is_a_bracket_at_its_height() -> None:
    model = fitted(n_clusters=3)
    ax = model.plot()
    bars = [line[0][1] for line in segments(ax) if line[0][1] == line[1][1]]
    np.testing.assert_allclose(np.sort(bars), model.distances_)
    assert sorted(int(text.get_text()) for text in ax.get_xticklabels()) == list(range(30))


def test_colours_are_clusters() -> None:
    model = fitted(n_clusters=3)
    ax = model.plot()
    colours = [to_hex(colour) for colour in ax.collections[0].get_colors()]
    assert len(set(colours) - {_ABOVE}) == 3
    bars = [k for k, line in enumerate(segments(ax)) if line[0][1] == line[1][1]]
    assert sum(colours[k] == _ABOVE for k in bars) == 2  # the merges that were not made
    names = {int(text.get_text()): to_hex(text.get_color()) for text in ax.get_xticklabels()}
    for i in range(30):
        assert (names[i] == names[0]) == (model.labels_[i] == model.labels_[0])


def test_a_large_tree_shows_its_last_merges() -> None:
    model = fitted(500, n_clusters=4)
    ax = model.plot(max_leaves=25)
    names = [text.get_text() for text in ax.get_xticklabels()]
    rows = sum(int(name[1:-1]) if name.startswith("(") else 1 for name in names)
    assert len(names) == 25
    assert rows == 500
    assert "last 24 of 499 merges" in ax.get_title(loc="left")


def test_clusters_that_are_cut_off_are_grey() -> None:
    ax = fitted(100, n_clusters=50).plot(max_leaves=10)
    assert _ABOVE in {to_hex(colour) for colour in ax.collections[0].get_colors()}


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("linkage", ["ward", "centroid"])
def test_small_trees(n: int, linkage: str) -> None:
    fitted(n, n_clusters=1, linkage=linkage).plot()
    fitted(n, n_clusters=None, distance_threshold=0.5, linkage=linkage).plot()


def test_names_axes_and_refusals() -> None:
    model = fitted(8)
    _, ax = plt.subplots()
    assert plot_dendrogram(model, ax, labels=[f"row {i}" for i in range(8)]) is ax
    assert {text.get_text() for text in ax.get_xticklabels()} == {f"row {i}" for i in range(8)}
    with pytest.raises(ValueError, match="labels must name each of the 8 rows"):
        model.plot(labels=["a"])
    with pytest.raises(ValueError, match="max_leaves"):
        model.plot(max_leaves=1)
    with pytest.raises(NotFittedError):
        AgglomerativeClustering().plot()
