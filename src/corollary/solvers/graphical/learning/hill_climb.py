"""Hill climbing over networks: add, remove or reverse an edge, whichever raises the score most.

Where no single change helps, a tabu list lets the search go down and up again: the best change is made that does not
undo a recent one, for as many steps as the list is long. The best network is kept, and from it no single change leads
higher: one that did would have been made, tabu or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from corollary.core.evidence import Kind
from corollary.core.types import Array
from corollary.solvers.graphical.learning.counts import Coded
from corollary.solvers.graphical.learning.families import FamilyScores, Parents
from corollary.solvers.graphical.learning.scores import Score
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, Run, best_of

RELATIVE = 1e-10  # a gain of less than this share of the score is rounding
TIE = 1e-3  # of that: changes that gain the same, of which the first is made
NAME = "largest gain by adding, removing or reversing an edge, relative to the score without edges,"

Edge = tuple[int, int]  # (parent, child)


@dataclass(frozen=True)
class Graph:
    """Parents of each variable, the score, and the changes that led here last, as edges that they touched."""

    parents: tuple[Parents, ...]
    score: float
    recent: tuple[Edge, ...] = ()
    idle: int = 0  # steps since the best score


@dataclass(frozen=True)
class Allowed:
    """What the search may do: ``free[p, c]`` is whether there may be an edge p → c, ``fixed`` whether it must stay."""

    free: Array
    fixed: Array

    @classmethod
    def of(cls, d: int, forbidden: Sequence[Edge] = (), required: Sequence[Edge] = ()) -> Allowed:
        free, fixed = ~np.eye(d, dtype=bool), np.zeros((d, d), dtype=bool)
        for parent, child in forbidden:
            free[parent, child] = False
        for parent, child in required:
            fixed[parent, child] = True
            free[child, parent] = False
        return cls(free, fixed)


def reachability(parents: Sequence[Parents]) -> Array:
    """``reach[a, b]``: whether a directed path leads from a to b; ValueError where there is a cycle."""
    d = len(parents)
    reach, waiting = np.zeros((d, d), dtype=bool), np.array([len(each) for each in parents])
    children: list[list[int]] = [[] for _ in range(d)]
    for child, each in enumerate(parents):
        for parent in each:
            children[parent].append(child)
    ready = [i for i in range(d) if not waiting[i]]
    for i in ready:
        for child in children[i]:
            reach[:, child] |= reach[:, i]
            reach[i, child] = True
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if len(ready) < d:
        raise ValueError("the edges form a cycle.")
    return reach


def gains(graph: Graph, scores: FamilyScores, allowed: Allowed) -> Array:
    """What every change gains, (3, d, d): adding, removing and reversing parent → child; −inf where it must not be."""
    rows = [scores.row(i, each) for i, each in enumerate(graph.parents)]
    added, removed = np.array([row.added for row in rows]).T, np.array([row.removed for row in rows]).T
    reach = reachability(graph.parents)
    found = np.full((3, len(rows), len(rows)), -np.inf)
    found[0] = np.where(allowed.free & ~reach.T, added, -np.inf)
    found[1] = np.where(allowed.fixed, -np.inf, removed)
    for child, each in enumerate(graph.parents):
        for parent in each:
            if allowed.fixed[parent, child] or not allowed.free[child, parent]:
                continue
            others = [c for c, above in enumerate(graph.parents) if parent in above and c != child]
            if not reach[others, child].any():
                found[2, parent, child] = removed[parent, child] + added[child, parent]
    return found


def changed(parents: Sequence[Parents], kind: int, edge: Edge) -> tuple[Parents, ...]:
    """The parents after a change of the given kind: 0 adds, 1 removes, 2 reverses."""
    (parent, child), new = edge, [set(each) for each in parents]
    if kind == 0:
        new[child].add(parent)
    else:
        new[child].discard(parent)
    if kind == 2:
        new[parent].add(child)
    return tuple(tuple(sorted(each)) for each in new)


class Climb(Algorithm[Graph]):
    """From one start to where no change helps, and as many steps beyond as the tabu list is long."""

    name, kind, certificate_name = "hill climbing", Kind.STATIONARY, NAME

    def __init__(
        self,
        scores: FamilyScores,
        start: tuple[Parents, ...],
        allowed: Allowed,
        tabu: int,
        eps: float,
        top: list[Graph],
    ) -> None:
        self.scores, self.start, self.allowed, self.tabu, self.eps, self.top = scores, start, allowed, tabu, eps, top
        self.best = -np.inf  # of this climb
        if tabu:
            self.name = "hill climbing with a tabu list"

    def init(self) -> Graph:
        score = sum(self.scores.row(i, each).score for i, each in enumerate(self.start))
        self.best = score
        return Graph(self.start, score)

    def step(self, state: Graph) -> Graph | None:
        found = gains(state, self.scores, self.allowed)
        higher = found.max() > max(self.eps, self.best - state.score + self.eps)
        if not higher:
            if state.idle >= self.tabu:
                return None
            for parent, child in state.recent:  # neither back nor forth
                found[:, parent, child] = found[:, child, parent] = -np.inf
        top = found.max()
        if not np.isfinite(top):
            return None
        place = np.unravel_index(int(np.argmax(found >= top - TIE * self.eps)), found.shape)
        move, parent, child = (int(part) for part in place)
        edge = (parent, child)
        parents = changed(state.parents, move, edge)
        score = sum(self.scores.row(i, each).score for i, each in enumerate(parents))
        idle = 0 if score > self.best + self.eps else state.idle + 1
        self.best = max(score, self.best)
        recent = (*state.recent, edge)[-self.tabu :] if self.tabu else ()
        return Graph(parents, score, recent, idle)

    def measure(self, state: Graph) -> Measure:
        return Measure(-state.score, more={"edges": float(sum(map(len, state.parents)))})

    def better(self, new: Measure, old: Measure) -> bool:
        return new.objective < old.objective - self.eps

    def finish(self, state: Graph, measure: Measure) -> tuple[Graph, Measure]:
        """Every single change from the best network, counted anew: nothing that the search has kept is used."""
        if not self.top or state.score > self.top[0].score:
            self.top[:] = [state]
        anew = FamilyScores(self.scores.data, self.scores.score, self.scores.max_parents)
        gain = float(gains(state, anew, self.allowed).max())
        return state, Measure(measure.objective, max(gain, 0.0) / self.eps * RELATIVE, more=measure.more)


@dataclass(frozen=True)
class Search:
    """How to search: see :class:`corollary.graphical.HillClimb`."""

    max_parents: int
    tabu: int
    restarts: int
    max_iter: int
    rng: np.random.RandomState


def hill_climb(
    data: Coded, score: Score, allowed: Allowed, search: Search, observe: Observer | None = None
) -> Run[Graph]:
    """The best network that climbing from the required edges, and from shaken copies of the best so far, finds."""
    scores = FamilyScores(data, score, search.max_parents)
    scores.survey()
    start = tuple(tuple(np.flatnonzero(column).tolist()) for column in allowed.fixed.T)
    eps = RELATIVE * (
        abs(sum(scores.known[i, ()] for i in range(data.n_variables))) or score.unit
    )  # none: all constant
    if not np.isfinite(eps):
        raise ValueError(
            f"The {score.name} score of the rows is not a finite number: divide sample_weight by the largest of them."
        )
    top: list[Graph] = []  # the best so far of all starts

    def starts() -> Iterator[Climb]:
        yield Climb(scores, start, allowed, search.tabu, eps, top)
        for _ in range(search.restarts):
            yield Climb(scores, shaken(top[0].parents, allowed, search), allowed, search.tabu, eps, top)

    return best_of(starts(), Rules(search.max_iter, RELATIVE, observe))


def shaken(parents: tuple[Parents, ...], allowed: Allowed, search: Search) -> tuple[Parents, ...]:
    """The network after some random changes, as many as a fifth of its edges or five."""
    for _ in range(max(5, sum(map(len, parents)) // 5)):
        options = _possible(parents, allowed, search.max_parents)
        if not options:
            break
        kind, edge = options[search.rng.randint(len(options))]
        parents = changed(parents, kind, edge)
    return parents


def _possible(parents: tuple[Parents, ...], allowed: Allowed, most: int) -> list[tuple[int, Edge]]:
    """All changes that leave a network that may be."""
    d, reach = len(parents), reachability(parents)
    found = [
        (0, (p, c))
        for c in range(d)
        for p in range(d)
        if allowed.free[p, c] and p not in parents[c] and not reach[c, p] and len(parents[c]) < most
    ]
    found += [(1, (p, c)) for c in range(d) for p in parents[c] if not allowed.fixed[p, c]]
    return found
