"""The referee of structures that were learned: the best tree by Kruskal, all single changes of an edge.

Rows come as state numbers, −1 where a value is missing; counting is by sorting, sums are of extended precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from corollary.referee.gains import entropy
from corollary.referee.rows import LONG, ROUNDED, Array
from corollary.referee.verdict import Verification, measured, together

LARGEST = 20_000_000  # rows × pairs of variables, or rows × changes of an edge
CELLS = 1 << 20  # of a table: the documentation allows no larger one
SAME = 1e-8  # nats, probabilities: what is told must be what is found, up to this
TERMS = 64  # of the log of a ratio of gamma functions, as many as are added up

Parents = Sequence[Sequence[int]]
Edges = Sequence[tuple[int, int]]


def spanning_tree(codes: Array, weights: Array, parents: Parents, told: Array, tolerance: float) -> Verification:
    """Whether no tree has more mutual information, of rows that have both values of a pair."""
    codes, w = _present(codes, weights)
    d = codes.shape[1]
    if len(codes) * d * d > LARGEST:
        return Verification(None, "there are too many rows and pairs for this arithmetic")
    information = np.zeros((d, d), LONG)
    for i, j in combinations(range(d), 2):
        information[i, j] = information[j, i] = _information(codes[:, i], codes[:, j], w)
    edges = [(p, v) for v, above in enumerate(parents) for p in above]
    return _maximum(information, edges, told, tolerance)


def class_tree(
    codes: Array, weights: Array, parents: Parents, tables: Sequence[Array], prior: tuple[float, float],
    told: Array, tolerance: float,
) -> Verification:  # fmt: skip
    """The same given the class, which is the last variable, and a parent of all others."""
    codes, w = _present(codes, weights)
    d = codes.shape[1] - 1
    if len(codes) * d * d > LARGEST:
        return Verification(None, "there are too many rows and pairs for this arithmetic")
    information = np.zeros((d, d), LONG)
    for label in np.unique(codes[:, d]):
        rows = codes[:, d] == label
        part, own, share = codes[rows], w[rows], w[rows].sum() / w.sum()
        for i, j in combinations(range(d), 2):
            information[i, j] += share * _information(part[:, i], part[:, j], own)
    information = information + information.T
    edges = [(p, v) for v, above in enumerate(parents[:d]) for p in above if p != d]
    claim = _maximum(information, edges, told, tolerance)
    shares = np.array([w[codes[:, d] == k].sum() for k in range(len(tables[d]))]) / w.sum()
    if float(np.abs(shares - tables[d]).max()) > SAME:
        return Verification(False, "the table of the class is not how frequent the classes are")
    return together(claim, counted_tables(codes, w, parents, tables, prior, range(d)))


def no_better_move(
    codes: Array, weights: Array, parents: Parents, cards: Sequence[int], criterion: str, ess: float,
    asked: tuple[Edges, Edges, int], told: float, tolerance: float,
) -> Verification:  # fmt: skip
    """Whether no addition, removal or reversal of an edge gains more than ``tolerance``, of rows without gaps.

    Gains are relative to the score without any edge.
    """
    live = (np.asarray(weights) > 0) & (np.asarray(codes) >= 0).all(axis=1)
    codes, w = np.asarray(codes)[live], np.asarray(weights, dtype=LONG)[live]
    d, (required, forbidden, most) = codes.shape[1], asked
    if len(codes) * d * d > LARGEST or not len(codes):
        return Verification(None, "there are too many rows and changes for this arithmetic")
    if any(p not in parents[c] for p, c in required) or any(p in parents[c] for p, c in forbidden):
        return Verification(False, "an edge that is required is missing, or one that is forbidden is there")
    if max(map(len, parents)) > most:
        return Verification(False, "a variable has more parents than may be")
    worth = _Worth(codes, w, cards, criterion, ess)
    own = [worth(v, above) for v, above in enumerate(parents)]
    total = sum(own, LONG(0))
    # weights below 1e-308 are made of few of the least numbers of float64: each term of the score of each cell of a
    # table is off by one of them
    cells = sum(int(np.prod([cards[u] for u in (v, *above)])) for v, above in enumerate(parents))
    least = TERMS * cells * float(np.finfo(np.float64).smallest_subnormal)
    if abs(float(total) - told) > 1e-9 * abs(float(total)) + least:
        return Verification(False, f"score_ is {told:.9g}, but the rows say {float(total):.9g}")
    best = LONG(0)
    for move in _moves(parents, required, forbidden, most):
        if any(np.prod([float(cards[j]) for j in (v, *above)]) > CELLS for v, above in move.items()):
            continue
        best = max(best, sum((worth(v, above) - own[v] for v, above in move.items()), LONG(0)))
    size = abs(sum((worth(v, ()) for v in range(d)), LONG(0)))
    best = best / (size or LONG(1))
    return measured(
        float(best), tolerance * ROUNDED, "the most that a single change of an edge gains, relatively,", 1e-12
    )


def _present(codes: Any, weights: Any) -> tuple[Array, Array]:
    live = np.asarray(weights) > 0
    return np.asarray(codes)[live], np.asarray(weights, dtype=LONG)[live]


def _information(one: Array, two: Array, w: Array) -> Any:
    both = (one >= 0) & (two >= 0)
    if not both.any():
        return LONG(0)
    table = np.zeros((int(one.max()) + 1, int(two.max()) + 1), LONG)
    np.add.at(table, (one[both], two[both]), w[both])
    p = table / table.sum()
    apart = p.sum(axis=1)[:, None] * p.sum(axis=0)
    return (p[p > 0] * np.log(p[p > 0] / apart[p > 0])).sum()


def _maximum(information: Array, edges: Edges, told: Array, tolerance: float) -> Verification:
    """By Kruskal: what the best tree has more than this one."""
    d = len(information)
    if float(np.abs(information - told).max(initial=0)) > SAME:
        return Verification(False, "the information of some pair is not what the rows say")
    if len(edges) != d - 1 or len(set(_joined(edges, d))) > 1:
        return Verification(False, "the edges are no tree that joins all columns")
    best, leader = LONG(0), list(range(d))
    for value, i, j in sorted(((information[i, j], i, j) for i, j in combinations(range(d), 2)), reverse=True):
        if leader[i] != leader[j]:
            best += value
            leader = [leader[i] if each == leader[j] else each for each in leader]
    own = sum((information[edge] for edge in edges), LONG(0))
    return measured(float(best - own), tolerance, "what the best tree has more of mutual information", 1e-13 * d)


def _joined(edges: Edges, d: int) -> list[int]:
    leader = list(range(d))
    for i, j in edges:
        leader = [leader[i] if each == leader[j] else each for each in leader]
    return leader


def counted_tables(
    codes: Array, w: Array, parents: Parents, tables: Sequence[Array], prior: tuple[float, float], which: Any
) -> Verification:
    """Whether tables are (counts + pseudo-counts) over their sums, of the rows that have all values of a table."""
    worst = 0.0
    for v in which:
        family = [*parents[v], v]
        rows = (codes[:, family] >= 0).all(axis=1)
        counts = np.full(tables[v].shape, LONG(prior[0]) + LONG(prior[1]) / tables[v].size, LONG)
        np.add.at(counts, tuple(codes[rows, j] for j in family), w[rows])
        sums = counts.sum(axis=-1, keepdims=True)
        wanted = np.where(sums > 0, counts / np.where(sums > 0, sums, 1), LONG(1) / counts.shape[-1])
        worst = max(worst, float(np.abs(wanted - tables[v]).max()))
    if worst > SAME:
        return Verification(False, f"a table is off by {worst:.2g} from what the rows say")
    return Verification(True, "tables are those of the counts")


class _Worth:
    """Scores of families, each worked out once."""

    def __init__(self, codes: Array, w: Array, cards: Sequence[int], criterion: str, ess: float) -> None:
        self.codes, self.w, self.cards, self.criterion, self.ess = codes, w, cards, criterion, ess
        self.known: dict[tuple[int, frozenset[int]], Any] = {}

    def __call__(self, v: int, above: Sequence[int]) -> Any:
        key = v, frozenset(above)
        if key not in self.known:
            self.known[key] = self._worth(v, sorted(above))
        return self.known[key]

    def _worth(self, v: int, above: list[int]) -> Any:
        r, q = self.cards[v], float(np.prod([float(self.cards[p]) for p in above]))
        _, place = (
            np.unique(self.codes[:, above], axis=0, return_inverse=True)
            if above
            else (None, np.zeros(len(self.w), int))
        )
        table = np.zeros((int(np.max(place)) + 1, r), LONG)
        np.add.at(table, (np.ravel(place), self.codes[:, v]), self.w)
        if self.criterion in ("bdeu", "k2"):
            cell = LONG(self.ess) / (LONG(q) * r) if self.criterion == "bdeu" else LONG(1)
            return _one_by_one(table, cell).sum()
        price = {"bic": max(np.log(self.w.sum()), LONG(0)) / 2, "aic": LONG(1)}.get(self.criterion, LONG(0))
        return -entropy(table).sum() - price * q * (r - 1)


def _one_by_one(table: Array, cell: Any) -> Any:
    """Log evidence of each row of counts under a prior of ``cell`` for each: one count after another, largest first.

    Beside what came before, B with its prior, a count c brings Γ(a + c) Γ(a + B) / (Γ(a) Γ(a + B + c)), in which B and
    c may change places: the smaller is the step.
    """
    counts = np.sort(table, axis=1)[:, ::-1]
    before = cell * (table.shape[1] - 1) + np.cumsum(counts, axis=1) - counts
    step, far = np.minimum(counts, before), np.maximum(counts, before)
    found, live = np.zeros_like(step), step > 0
    found[live] = _rise(np.full_like(step[live], cell), step[live]) - _rise(cell + far[live], step[live])
    return found.sum(axis=1)


def _rise(x: Any, n: Any) -> Any:
    """log Γ(x + n) − log Γ(x) by Stirling's series from x ≥ 40 on, and by products of n / x + 1 up to there."""
    below = np.zeros_like(x)
    while (low := x < 40).any():
        below += np.where(low, np.log1p(n / x), 0)
        x = x + low
    ahead = np.log1p(n / x)
    tail = sum(LONG(1) / c * x**-m * np.expm1(-m * ahead) for m, c in ((1, 12), (3, -360), (5, 1260), (7, -1680)))
    return (x - LONG(0.5)) * ahead + n * (np.log(x + n) - 1) + tail - below


def _moves(parents: Parents, required: Edges, forbidden: Edges, most: int) -> Any:
    """Each change of one edge that leaves a network that may be, as the new parents of whom they change for."""
    fixed, barred = set(required), set(forbidden)
    for p in range(len(parents)):
        for c in range(len(parents)):
            if p == c:
                continue
            if p in parents[c]:
                without = [j for j in parents[c] if j != p]
                if (p, c) in fixed:
                    continue
                yield {c: without}
                turned = {c: without, p: [*parents[p], c]}
                if (c, p) not in barred and len(turned[p]) <= most and _acyclic(parents, turned):
                    yield turned
            elif c not in parents[p] and (p, c) not in barred and len(parents[c]) < most:
                more = {c: [*parents[c], p]}
                if _acyclic(parents, more):
                    yield more


def _acyclic(parents: Parents, changed: dict[int, list[int]]) -> bool:
    above = [set(changed.get(v, each)) for v, each in enumerate(parents)]
    left = set(range(len(above)))
    while ready := {v for v in left if not (above[v] & left)}:
        left -= ready
    return not left
