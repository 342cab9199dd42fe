"""Why a network answers what it answers: what each finding changes, and by which ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from corollary.core.graphical.dag import DAG
from corollary.core.graphical.trails import active_trails
from corollary.graphical.answers import Probabilities
from corollary.graphical.states import find

SHOWN = 3  # trails of a finding in words


@dataclass(frozen=True)
class Reason:
    """One finding: what the answer would be without it, what it would be by this finding alone, and its trails.

    ``shift`` is by how much the finding raises the probability of the state that the explanation is about, and
    ``moved`` how far it moves all probabilities: half the sum of their differences, between 0 and 1. ``trails`` are
    active ways from the finding to what was asked, the shortest first; with none, the finding says nothing.
    """

    variable: str
    state: Any
    without: Probabilities
    alone: Probabilities
    shift: float
    moved: float
    trails: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]  # the trails, with arrows


@dataclass(frozen=True)
class Explanation:
    """What was observed, what follows for one variable, and why.

    ``state`` is the state whose probability has changed most; findings come in the order of how far each moves the
    answer.
    """

    query: str
    given: dict[str, Any]
    before: Probabilities
    after: Probabilities
    state: Any
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        known = ", ".join(f"{name} = {state}" for name, state in self.given.items()) or "nothing"
        lines = [
            f"given {known}",
            f"P({self.query} = {self.state}): {self.before[self.state]:.4g} before, {self.after[self.state]:.4g} after",
        ]
        for reason in self.reasons:
            lines.append(f"  {reason.variable} = {reason.state}: {_effect(reason, self.state)}")
            lines += [f"    {way}" for way in reason.words[:SHOWN]]
            if len(reason.words) > SHOWN:
                lines.append(f"    and {len(reason.words) - SHOWN} more")
        return "\n".join(lines)

    __repr__ = __str__


def explain_query(network: Any, query: str, given: Mapping[str, Any]) -> Explanation:
    """What findings do to the answer of a query, one by one, and the active trails that carry them.

    Parameters
    ----------
    network : BayesianNetwork
    query : name of a variable
    given : dict of name to state

    Returns
    -------
    explanation : Explanation
        Print it, or draw it by :func:`plot_query`.

    Notes
    -----
    The effect of a finding is measured by leaving it out while all others stay, so effects need not add up: two
    findings that say the same each change little.

    *Cost.* One exact query for each finding, one with it alone, and two more.

    Examples
    --------
    >>> from corollary.graphical import BayesianNetwork, explain_query
    >>> network = BayesianNetwork.from_tables(
    ...     {"rain": [0.8, 0.2], "sprinkler": [0.6, 0.4],
    ...      "wet": (["rain", "sprinkler"], [[[0.95, 0.05], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]])},
    ...     states=dict.fromkeys(["rain", "sprinkler", "wet"], ["no", "yes"]),
    ... )
    >>> explain_query(network, "rain", {"wet": "yes", "sprinkler": "yes"})
    given wet = yes, sprinkler = yes
    P(rain = yes): 0.2 before, 0.2363 after
      sprinkler = yes: lowers it by 0.1644, without it 0.4007
        sprinkler → wet ← rain
      wet = yes: raises it by 0.03628, without it 0.2
        wet ← rain
    """
    names = network._names
    known = network._named(network._findings(given))
    target = find(query, names)
    if names[target] in known:
        raise ValueError(f"query must be a variable that is not given, but {query!r} is: {known[names[target]]!r}.")
    if target in network._cpds and network._cpds[target].numeric:
        raise ValueError(f"query must be a variable with states, but {query!r} is a number; ask query for its density.")
    dag = DAG.of([above.tolist() for above in network.parents_], names)
    query, places = names[target], {name: place for place, name in enumerate(names)}

    def ask(findings: Mapping[str, Any]) -> Probabilities:
        answer: Probabilities = network.query(query, findings)[query]
        return answer

    before, after = ask({}), ask(known)
    change = {each: after[each] - before[each] for each in after}
    state = max(change, key=lambda each: (round(abs(change[each]), 9), change[each]))  # of two, the one that rises
    found = []
    for name, value in known.items():
        others = {each: other for each, other in known.items() if each != name}
        without, alone = ask(others), ask({name: value})
        trails = active_trails(dag, places[name], target, [places[each] for each in others])
        moved = sum(abs(after[each] - without[each]) for each in after) / 2
        found.append(
            Reason(
                name, value, without, alone, after[state] - without[state], moved,
                tuple(tuple(names[v] for v in trail) for trail in trails),
                tuple(_arrows(dag, trail, names) for trail in trails),
            )
        )  # fmt: skip
    found.sort(key=lambda reason: -reason.moved)
    return Explanation(query, known, before, after, state, tuple(found))


def _arrows(dag: DAG, trail: tuple[int, ...], names: list[str]) -> str:
    text = names[trail[0]]
    for at, following in pairwise(trail):
        text += f" {'→' if at in dag.parents[following] else '←'} {names[following]}"
    return text


def _effect(reason: Reason, state: Any) -> str:
    if not reason.trails:
        return "says nothing about it"
    size = abs(reason.shift)
    if size < 5e-5:
        return "changes nothing here" if reason.moved < 5e-5 else f"moves other states, by {reason.moved:.4g}"
    return f"{'raises' if reason.shift > 0 else 'lowers'} it by {size:.4g}, without it {reason.without[state]:.4g}"
