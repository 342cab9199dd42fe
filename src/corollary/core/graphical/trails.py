"""Active trails of a directed acyclic graph: the ways by which a finding tells something about a variable."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from corollary.core.graphical.dag import DAG

MOST = 100  # trails between two variables
STEPS = 50_000  # that the search for them may take


def active_trails(dag: DAG, start: int, end: int, given: Iterable[int], most: int = MOST) -> list[tuple[int, ...]]:
    """Ways without a loop from one variable to another that are not blocked by what is given, the shortest first.

    A common effect on the way must be given, or have a descendant that is; nothing else on it may be given. At most
    ``most`` are listed.
    """
    observed = set(given) - {start, end}
    opened = dag.ancestors(observed)
    reach = dag.reachable([end], observed)  # whatever is not connected to the end leads nowhere
    found: list[tuple[int, ...]] = []
    waiting: deque[tuple[int, ...]] = deque([(start,)])
    for _ in range(STEPS):
        if not waiting or len(found) >= most:
            break
        trail = waiting.popleft()
        if trail[-1] == end:
            found.append(trail)
            continue
        for following in (*dag.parents[trail[-1]], *dag.children[trail[-1]]):
            near = following in reach or following in observed or following == end
            free = len(trail) == 1 or _passes(dag, trail[-2], trail[-1], following, observed, opened)
            if near and free and following not in trail:
                waiting.append((*trail, following))
    return found


def _passes(dag: DAG, before: int, at: int, after: int, observed: set[int], opened: set[int]) -> bool:
    """Whether evidence that comes from ``before`` goes on through ``at`` to ``after``."""
    if before in dag.parents[at] and after in dag.parents[at]:
        return at in opened
    return at not in observed
