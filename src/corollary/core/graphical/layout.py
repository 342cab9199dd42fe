"""Where the nodes of a directed acyclic graph go in a picture: in layers, edges downwards, few of them crossing.

After Sugiyama, Tagawa and Toda (1981). Nodes get layers by their longest path from a root, no layer wider than the
picture can bear; an edge across several layers gets a place of its own in each, so that it passes between nodes;
barycentres order the layers; and places are as near to those of neighbours as the widths of the nodes allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from corollary.core.types import Array

SWEEPS = 24  # up and down, when layers are ordered and when places are found
BEND = 0.2  # the width that an edge takes where it passes a layer


@dataclass(frozen=True)
class Layout:
    """Centres of nodes (n × 2) in the unit of their widths, and for each edge (parent, child) the points it passes."""

    places: Array
    routes: dict[tuple[int, int], list[tuple[float, float]]]
    crossings: int

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of all centres and points."""
        points = np.array([*map(tuple, self.places), *(point for route in self.routes.values() for point in route)])
        (left, bottom), (right, top) = points.min(axis=0), points.max(axis=0)
        return float(left), float(right), float(bottom), float(top)


def layered(
    parents: Sequence[Sequence[int]], widths: Sequence[float], *, gap: float = 0.25, drop: float = 1.0
) -> Layout:
    """The layout of a graph, given the parents of each node in an order of their own.

    ``gap`` is kept free between nodes of a layer, ``drop`` is the distance of two layers.
    """
    layer = layers_of(parents)
    nodes, upwards, route = _with_bends(parents, layer)
    order = [[node for node in range(len(nodes)) if nodes[node] == each] for each in range(max(nodes) + 1)]
    order, crossings = _fewest_crossings(order, upwards)
    width = np.array([*widths, *[BEND] * (len(nodes) - len(widths))])
    across = _across(order, upwards, width, gap)
    places = np.column_stack([across, -drop * np.array(nodes, dtype=np.float64)])
    routes = {edge: [(float(places[k, 0]), float(places[k, 1])) for k in path] for edge, path in route.items()}
    return Layout(places[: len(parents)], routes, crossings)


def layers_of(parents: Sequence[Sequence[int]]) -> list[int]:
    """The layer of each node, below those of its parents; nodes whose children come late go down to them."""
    n = len(parents)
    widest = max(4, int(np.ceil(1.6 * np.sqrt(n))))
    order, children = _parents_first(parents), _children(parents)
    layer, filled = [0] * n, [0] * (2 * n + 1)
    for node in order:
        at = max((layer[parent] + 1 for parent in parents[node]), default=0)
        while filled[at] >= widest:
            at += 1
        layer[node] = at
        filled[at] += 1
    for node in reversed(order):
        if len(children[node]) <= len(parents[node]):
            continue
        free = [at for at in range(layer[node] + 1, min(layer[c] for c in children[node])) if filled[at] < widest]
        if free:
            filled[layer[node]] -= 1
            layer[node] = free[-1]
            filled[layer[node]] += 1
    used = {at: place for place, at in enumerate(sorted(set(layer)))}
    return [used[at] for at in layer]


def _children(parents: Sequence[Sequence[int]]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for node, above in enumerate(parents):
        for parent in above:
            children[parent].append(node)
    return children


def _parents_first(parents: Sequence[Sequence[int]]) -> list[int]:
    children, left = _children(parents), [len(above) for above in parents]
    order = [node for node, count in enumerate(left) if not count]
    for node in order:  # grows while it is read
        for child in children[node]:
            left[child] -= 1
            if not left[child]:
                order.append(child)
    return order


def _with_bends(
    parents: Sequence[Sequence[int]], layer: list[int]
) -> tuple[list[int], list[list[int]], dict[tuple[int, int], list[int]]]:
    """Layers, neighbours above, and the way of each edge, with a bend wherever an edge passes a layer."""
    nodes, upwards = list(layer), [[] for _ in layer]  # type: list[int], list[list[int]]
    route = {}
    for child, above in enumerate(parents):
        for parent in above:
            path = [parent]
            for at in range(layer[parent] + 1, layer[child]):
                path.append(len(nodes))
                nodes.append(at)
                upwards.append([])
            path.append(child)
            for upper, lower in pairwise(path):
                upwards[lower].append(upper)
            route[parent, child] = path
    return nodes, upwards, route


def _fewest_crossings(order: list[list[int]], upwards: list[list[int]]) -> tuple[list[list[int]], int]:
    """Layers in the order of their neighbours' barycentres, down and up again, and the best that came along."""
    downwards = _children(upwards)
    best, fewest = [list(layer) for layer in order], _crossings(order, upwards)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = upwards if down else downwards
        place = {node: at for layer in order for at, node in enumerate(layer)}
        for each in range(1, len(order)) if down else range(len(order) - 2, -1, -1):
            centre = {
                node: float(np.mean([place[other] for other in neighbours[node]])) if neighbours[node] else place[node]
                for node in order[each]
            }
            order[each] = sorted(order[each], key=centre.__getitem__)
            place.update({node: at for at, node in enumerate(order[each])})
        _swap_neighbours(order, upwards, downwards)
        count = _crossings(order, upwards)
        if count < fewest:
            best, fewest = [list(layer) for layer in order], count
    return best, fewest


def _swap_neighbours(order: list[list[int]], upwards: list[list[int]], downwards: list[list[int]]) -> None:
    """Exchange two that are side by side wherever their own edges then cross less often."""
    place = {node: at for layer in order for at, node in enumerate(layer)}
    for layer in order:
        for at in range(len(layer) - 1):
            left, right = layer[at], layer[at + 1]
            now = later = 0
            for ends in (upwards, downwards):
                first, second = [place[k] for k in ends[left]], [place[k] for k in ends[right]]
                now += sum(a > b for a in first for b in second)
                later += sum(a < b for a in first for b in second)
            if later < now:
                layer[at], layer[at + 1] = right, left
                place[left], place[right] = at + 1, at


def _crossings(order: list[list[int]], upwards: list[list[int]]) -> int:
    """How many pairs of edges between neighbouring layers cross."""
    place = {node: at for layer in order for at, node in enumerate(layer)}
    total = 0
    for layer in order[1:]:
        ends = np.array([place[upper] for node in layer for upper in sorted(upwards[node], key=place.__getitem__)])
        starts = np.array([place[node] for node in layer for _ in upwards[node]])
        if len(ends):
            total += int(((ends[:, None] > ends) & (starts[:, None] < starts)).sum())
    return total


def _across(order: list[list[int]], upwards: list[list[int]], width: Array, gap: float) -> Array:
    """Places in each layer: near the mean of neighbours, in order, and apart by widths and gaps."""
    downwards = _children(upwards)
    x = np.zeros(len(width))
    apart = []
    for layer in order:
        steps = [(width[a] + width[b]) / 2 + gap for a, b in pairwise(layer)]
        offsets = np.concatenate([[0.0], np.cumsum(steps)]) if len(layer) else np.zeros(0)
        apart.append(offsets)
        x[layer] = offsets - (offsets[-1] if len(offsets) else 0.0) / 2
    for sweep in range(2 * SWEEPS):
        for each in range(len(order)) if sweep % 2 == 0 else range(len(order) - 1, -1, -1):
            layer, wanted, pull = order[each], [], []
            for node in order[each]:
                near = upwards[node] + downwards[node]
                wanted.append(float(np.mean(x[near])) if near else float(x[node]))
                pull.append(4.0 if width[node] == BEND else 0.5 + len(near))  # long edges like to be straight
            # x ≥ its left neighbour's + distance is an order of x − offset: least squares under it is isotonic
            offsets = apart[each]
            x[layer] = isotonic_regression(np.array(wanted) - offsets, weights=np.array(pull)).x + offsets
    return x - (x.min() + x.max()) / 2
