"""The tree that explains most: mutual information of all pairs, and the maximum spanning tree of them.

Among all networks in which every variable has at most one parent, each with its tables of maximum likelihood, that of
the maximum spanning tree of mutual information has the largest likelihood of rows without gaps (Chow & Liu 1968): the
log-likelihood per row of a tree is then the sum of its edges' information less the entropies of the variables, whatever
the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.types import Array
from corollary.solvers.graphical.counts import Coded, pair_tables

TIE = 1e-12  # information that differs by less, relative to the largest, is equal: the first pair goes first


@dataclass(frozen=True)
class Tree:
    """A spanning tree: the parent of each variable (−1 for the root), parents before children in ``order``.

    ``excess`` is the largest by which an edge outside exceeds the least edge on the path that joins its ends, the cycle
    property: a spanning tree is a maximum one if and only if it is at most 0. ``order`` is by distance from the root.
    """

    parent: Array
    order: Array
    excess: float


def informations(data: Coded) -> Array:
    """I(Xᵢ; Xⱼ) of all pairs in nats, a symmetric matrix with zeros on its diagonal; in rows that have both values."""
    d = data.n_variables
    found, (left, right) = np.zeros((d, d)), np.triu_indices(d, 1)
    for part, tables in pair_tables(data, left, right):
        found[left[part], right[part]] = [mutual_information(table) for table in tables]
    return found + found.T


def conditional_informations(parts: list[Coded]) -> Array:
    """I(Xᵢ; Xⱼ | C) of all pairs, from the rows of each class."""
    weights = np.array([part.total for part in parts])
    total = sum(weight * informations(part) for weight, part in zip(weights, parts, strict=True))
    return np.asarray(total / weights.sum())


def mutual_information(table: Array) -> float:
    """Σ p log(p / (p of the row · p of the column)), from counts."""
    total = table.sum()
    if total <= 0:
        return 0.0
    p = table / total
    expected = p.sum(axis=1)[:, None] * p.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / expected), 0.0)
    return max(float(terms.sum()), 0.0)


def maximum_spanning_tree(information: Array, root: int) -> Tree:
    """Prim's tree from the root, and how far it is from the cycle property."""
    d = len(information)
    tie = TIE * max(float(information.max(initial=0.0)), np.finfo(float).tiny)
    parent, best = np.full(d, -1, dtype=np.int64), information[root].copy()
    near, outside = np.full(d, root, dtype=np.int64), np.ones(d, dtype=bool)
    outside[root] = False
    inside = [root]
    for _ in range(d - 1):
        reach = np.where(outside, best, -np.inf)
        new = int(np.argmax(reach >= reach.max() - tie))
        parent[new] = near[new]
        inside.append(new)
        outside[new] = False
        closer = outside & (information[new] > best + tie)
        best[closer], near[closer] = information[new, closer], new
    order = np.array(inside, dtype=np.int64)
    return Tree(parent, order, cycle_excess(information, parent, order))


def cycle_excess(information: Array, parent: Array, order: Array) -> float:
    """The ``excess`` of a spanning tree, whoever found it; parents come before children in ``order``."""
    least = np.full(information.shape, np.inf)  # the least information on the path that joins two variables
    for k, new in enumerate(order[1:], 1):
        inside = order[:k]
        edge = np.minimum(least[parent[new], inside], information[new, parent[new]])
        least[new, inside] = least[inside, new] = edge
    excess = information - least
    np.fill_diagonal(excess, -np.inf)
    return float(max(excess.max(initial=0.0), 0.0))
