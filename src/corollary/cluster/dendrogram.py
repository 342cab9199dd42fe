"""A picture of a tree of merges: branches meet at the heights of the merges, coloured by the clusters of the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from corollary.core.drawing import PALETTE
from corollary.core.types import Array

_ABOVE, _INK, _SOFT = "#9aa0a8", "#1d2129", "#666b75"
_TURNED = 16  # names of leaves lie on their side beyond so many


def plot_dendrogram(model: Any, ax: Any = None, *, max_leaves: int = 40, labels: Any = None) -> Any:
    """Draw the tree of a fitted :class:`~corollary.cluster.AgglomerativeClustering`; returns the matplotlib axes.

    At most ``max_leaves`` branches are drawn: of a larger tree the last merges, and each branch that is cut off says
    how many rows it holds. Branches within a cluster have its colour, those above the cut are grey, and the dashed line
    is the cut. ``labels`` are names of the rows; their numbers are shown otherwise.
    """
    check_is_fitted(model)
    if max_leaves < 2:
        raise ValueError(f"max_leaves must be a whole number ≥ 2, but it is {max_leaves!r}.")
    n = int(model.n_leaves_)
    if labels is not None and len(labels) != n:
        raise ValueError(f"labels must name each of the {n} rows, but there are {len(labels)} of them.")
    shown = _layout(model, max_leaves)
    if ax is None:
        import matplotlib.pyplot as plt

        width = min(14.0, max(6.0, 1.5 + 0.22 * len(shown.ends)))
        _, ax = plt.subplots(figsize=(width, 4.2), layout="constrained")
    _draw_branches(ax, model, shown)
    _name_leaves(ax, model, shown, labels)
    _draw_cut(ax, model)
    top = float(np.max(model.distances_, initial=0.0)) or 1.0
    ax.set_xlim(-0.7, len(shown.ends) - 0.3)
    ax.set_ylim(0.0, 1.06 * top)
    ax.set_ylabel(f"{model.linkage} distance", color=_SOFT)
    counted = "" if len(shown.ends) == n else f"; the last {len(shown.merges)} of {len(model.children_)} merges"
    ax.set_title(f"{n} rows in {model.n_clusters_} cluster{'s' * (model.n_clusters_ != 1)}{counted}", loc="left",
                 fontsize=10, color=_INK)  # fmt: skip
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", colors=_SOFT, labelsize=8)
    return ax


@dataclass(frozen=True)
class _Layout:
    """Merges to draw; nodes that end branches, from left to right; places of all nodes; clusters of nodes, or −1."""

    merges: list[int]
    ends: list[int]
    place: dict[int, float]
    cluster: dict[int, int]
    count: dict[int, int]


def _layout(model: Any, max_leaves: int) -> _Layout:
    """The last merges from the top down: an end takes the next place, a merge stands between its two sides."""
    n, children = int(model.n_leaves_), model.children_
    counts = np.concatenate([np.ones(n, dtype=np.int64), model.linkage_matrix_[:, 3].astype(np.int64)])
    drawn = set(range(max(0, len(children) - (max_leaves - 1)), len(children)))
    below = {int(node) for t in drawn for node in children[t]}
    stack = sorted((n + t for t in drawn if n + t not in below), key=lambda node: -int(counts[node]))
    merges, ends = [], []
    while stack:
        node = stack.pop()
        if node - n not in drawn:
            ends.append(node)
            continue
        merges.append(node - n)
        one, other = sorted(map(int, children[node - n]), key=lambda child: (int(counts[child]), child))
        stack += [other, one]
    place = {node: float(k) for k, node in enumerate(ends)}
    for t in reversed(merges):
        place[n + t] = 0.5 * (place[int(children[t, 0])] + place[int(children[t, 1])])
    rows = _some_row(n, children)
    size = np.bincount(model.labels_)
    cluster = {node: int(model.labels_[rows[node]]) for node in ends}
    cluster |= {node: -1 for node in ends if counts[node] > size[cluster[node]]}  # several clusters are hidden in it
    for t in reversed(merges):
        # a merge is inside a cluster if both its sides are in it: else it is above the cut
        one, other = (cluster[int(child)] for child in children[t])
        cluster[n + t] = one if one == other and one >= 0 else -1
    return _Layout(merges, ends, place, cluster, {node: int(counts[node]) for node in ends})


def _some_row(n: int, children: Array) -> Array:
    """A row below each node."""
    rows = np.arange(n + len(children))
    for t, first in enumerate(children[:, 0]):
        rows[n + t] = rows[first]
    return rows


def _colour(cluster: int) -> str:
    return _ABOVE if cluster < 0 else PALETTE[cluster % len(PALETTE)]


def _draw_branches(ax: Any, model: Any, shown: _Layout) -> None:
    """Each merge is a bracket over its two sides, whose legs have the colours of the sides."""
    from matplotlib.collections import LineCollection

    n, heights, drawn = int(model.n_leaves_), model.distances_, set(shown.merges)
    lines, colours = [], []
    for t in shown.merges:
        y, ends = float(heights[t]), []
        for child in map(int, model.children_[t]):
            # a branch that is cut off reaches the names, as a row does
            x, low = shown.place[child], float(heights[child - n]) if child - n in drawn else 0.0
            ends.append(x)
            lines.append([(x, low), (x, y)])
            colours.append(_colour(shown.cluster[child]))
        lines.append([(ends[0], y), (ends[1], y)])
        colours.append(_colour(shown.cluster[n + t]))
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=1.4, capstyle="projecting"))


def _name_leaves(ax: Any, model: Any, shown: _Layout, labels: Any) -> None:
    n, names = int(model.n_leaves_), []
    for node in shown.ends:
        if node < n:
            names.append(str(labels[node]) if labels is not None else str(node))
        else:
            names.append(f"({shown.count[node]})")
    turned = len(names) > _TURNED or max(map(len, names)) > 5
    ax.set_xticks(range(len(names)), names, rotation=90 if turned else 0, fontsize=7 if len(names) > 60 else 8)
    ax.tick_params(axis="x", length=0, pad=3)
    for text, node in zip(ax.get_xticklabels(), shown.ends, strict=True):
        text.set_color(_SOFT if shown.cluster[node] < 0 else _colour(shown.cluster[node]))


def _draw_cut(ax: Any, model: Any) -> None:
    """A dashed line at the threshold, or between the last merge that was made and the first that was not."""
    heights, apart = model.distances_, model.n_clusters_ - 1
    if model.distance_threshold is not None:
        level = float(model.distance_threshold)
    elif 0 < apart < len(heights) and heights[-apart] > heights[-apart - 1]:
        level = 0.5 * float(heights[-apart] + heights[-apart - 1])
    else:
        return
    ax.axhline(level, color=_INK, lw=0.8, ls=(0, (5, 4)), zorder=0)
