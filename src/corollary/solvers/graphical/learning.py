"""The tables of a network of known structure from rows: by counting where rows are complete, else by EM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils import check_random_state

from corollary.core.evidence import Evidence
from corollary.core.graphical.tables import TableNetwork
from corollary.solvers.graphical.counts import Coded
from corollary.solvers.graphical.hidden import learn_with_missing
from corollary.solvers.graphical.parameters import NO_PRIOR, Prior, counted, family_of
from corollary.solvers.loop import Observer


def learn_parameters(
    data: Coded,
    parents: Sequence[Sequence[int]],
    *,
    prior: Prior = NO_PRIOR,
    tol: float = 1e-10,
    max_iter: int = 1000,
    n_init: int = 1,
    random_state: Any = None,
    names: Sequence[str] | None = None,
    observe: Observer | None = None,
) -> tuple[TableNetwork, Evidence]:
    """(the network, what can be said for it). A variable of which no row has a value is hidden."""
    if not data.complete:
        found = learn_with_missing(
            data, parents, prior=prior, tol=tol, max_iter=max_iter, n_init=n_init,
            random_state=check_random_state(random_state), names=names, observe=observe,
        )  # fmt: skip
        return TableNetwork.of(parents, found.tables), found.evidence
    tables, evidence = counted(data, [family_of(parents, v) for v in range(data.n_variables)], prior)
    return TableNetwork.of(parents, tables), evidence
