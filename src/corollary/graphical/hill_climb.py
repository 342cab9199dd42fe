"""Structures by hill climbing on a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from corollary.base import assigning
from corollary.core.fitted import Fitted, Number
from corollary.core.graphical.dag import DAG
from corollary.core.limits import ArrayLike, Choice, Integer, Limit
from corollary.graphical.learned import Found, SearchedNetwork
from corollary.graphical.network import BayesianNetwork, _pairs
from corollary.graphical.states import find
from corollary.referee.structures import no_better_move
from corollary.referee.verdict import Verification, together
from corollary.solvers.graphical.counts import Coded
from corollary.solvers.graphical.hill_climb import RELATIVE, Allowed, Search, hill_climb
from corollary.solvers.graphical.scores import SCORES, Score

ESS = 10.0  # of BDeu, if nothing else is asked for


class HillClimb(SearchedNetwork):
    r"""A network found by adding, removing and reversing edges as long as a score rises.

    .. math:: \max_G \sum_i \text{score}(X_i \mid \text{parents}_G(X_i)), \qquad
              \text{BIC} = \log L - \tfrac12 \log n \cdot \text{free parameters}

    The search ends where no single change of an edge leads higher. That is a local maximum: which networks are best is
    hard to know (NP-hard). It is a :class:`BayesianNetwork`: it can be asked, drawn from, plotted and written to files.

    Parameters
    ----------
    criterion : {"bic", "aic", "bdeu", "k2", "log-likelihood"}, default "bic"
        What to raise. BDeu is the log evidence under Dirichlet priors worth ``equivalent_sample_size`` rows (10, if
        that is None), K2 that under priors of one row for each cell. The log-likelihood alone never says no to an edge.
    max_parents : int ≥ 0 or None
        The most parents of a variable; None: no limit but what the score says, and tables of a million cells.
    tabu : int ≥ 0, default 10
        Where no change helps, go on for this many steps by the best change that undoes none of as many last ones.
    restarts : int ≥ 0, default 0
        Climb again from random changes of the best network so far.
    required, forbidden : list of (parent, child) or None
        Edges that must, or must not, be there.
    max_iter : int ≥ 0, default 1000
        The most changes from each start, and iterations of EM.
    states, pseudo_counts, equivalent_sample_size, n_bins, max_states
        As in :class:`BayesianNetwork`.
    tol, n_init
        Of EM, where values are missing; as there.
    random_state : int, RandomState or None
        Of restarts, of starts of EM, and of samples.
    verbose : bool or int ≥ 0, default 0
    n_jobs : int or None
        Threads; the answer does not depend on it.

    Attributes
    ----------
    score_ : float
        The score of the network.
    edges_ : list of (parent, child)
    variables_, states_, bins_, parents_, tables_, evidence_, n_features_in_, feature_names_in_
        As in :class:`BayesianNetwork`.

    Notes
    -----
    *Cost.* O(n d²) for the first step and O(n d) for each further one: scores are kept, and the families of a changed
    variable with each other one are counted in one pass. It takes the memory of three copies of X in float64 while
    columns are read, then two bytes a cell, a bit for each row and state, and a few vectors.

    *Evidence.* Stationary: the most that any single addition, removal or reversal of an edge would gain, counted anew
    from the rows at the end. Rows with missing values are left out of the search, and counted by EM in the tables; the
    weaker of both claims is made then.

    References
    ----------
    D. Heckerman, D. Geiger and D. Chickering, *Learning Bayesian networks*, Machine Learning 20, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.graphical import HillClimb
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(0, 2, size=(2, 500))
    >>> c = np.where(rng.random(500) < 0.9, a & b, 1 - (a & b))
    >>> HillClimb().fit(np.column_stack([a, b, c])).edges_
    [('x0', 'x2'), ('x1', 'x2')]
    """

    fitted: ClassVar[dict[str, Fitted]] = {"score_": Number()}
    limits: ClassVar[dict[str, Limit]] = {
        "criterion": Choice(*SCORES),
        "max_parents": Choice(None) | Integer(0),
        "tabu": Integer(0),
        "restarts": Integer(0),
        "required": Choice(None) | ArrayLike(),
        "forbidden": Choice(None) | ArrayLike(),
        **{name: limit for name, limit in BayesianNetwork.limits.items() if name not in ("edges", "cpds")},
    }

    @assigning
    def __init__(
        self,
        criterion: str = "bic",
        *,
        max_parents: int | None = None,
        tabu: int = 10,
        restarts: int = 0,
        required: Any = None,
        forbidden: Any = None,
        max_iter: int = 1000,
        states: Any = None,
        pseudo_counts: float = 1.0,
        equivalent_sample_size: float | None = None,
        n_bins: int = 5,
        max_states: int = 10,
        tol: float = 1e-8,
        n_init: int = 1,
        random_state: Any = None,
        verbose: Any = 0,
        n_jobs: int | None = None,
    ) -> None: ...

    def _structure(self, data: Coded, names: list[str], observe: Any) -> Found:
        complete = data.select(np.asarray((data.codes >= 0).all(axis=0)))
        if not complete.n_rows:
            raise ValueError(
                f"Each of {data.n_rows} rows lacks some value, and structures are learned from rows that are complete: "
                "leave out columns that are mostly missing, or give edges to BayesianNetwork, which learns by EM."
            )
        required, forbidden = self._edges("required", names), self._edges("forbidden", names)
        most = len(names) if self.max_parents is None else self.max_parents
        _check_asked(required, forbidden, most, names)
        score = Score(self.criterion, complete.total, self.equivalent_sample_size or ESS, self._weight_unit)
        rng = check_random_state(self.random_state) if self.restarts else np.random.RandomState(0)
        search = Search(most, self.tabu, self.restarts, self.max_iter, rng)
        found = hill_climb(complete, score, Allowed.of(len(names), forbidden, required), search, observe)
        self.score_ = found.state.score / self._weight_unit
        if not np.isfinite(self.score_):
            raise ValueError("The score of the rows is beyond float64: divide sample_weight by the largest of them.")
        notes = list[str]()
        if (left := data.n_rows - complete.n_rows) > 0:
            notes.append(f"{left} of {data.n_rows} rows lack values and had no part in the search for a structure.")
        if len(found.ends) > 1:
            notes.append(f"The best of {len(found.ends)} climbs was kept.")
        return Found(found.state.parents, found.evidence(facts={"score": self.score_}, notes=tuple(notes)))

    def _edges(self, parameter: str, names: list[str]) -> list[tuple[int, int]]:
        """Edges of a parameter as numbers of columns."""
        found = []
        for parent, child in _pairs(getattr(self, parameter), names):
            try:
                found.append((find(parent, names, "column"), find(child, names, "column")))
            except ValueError as error:
                raise ValueError(f"{parameter}: {error}") from None
            if found[-1][0] == found[-1][1]:
                raise ValueError(f"{parameter} has an edge from {parent!r} to itself.")
        return found

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        codes, weights = self._judged_rows(X, sample_weight)
        names, parents = self._names, [above.tolist() for above in self.parents_]
        most = len(names) if self.max_parents is None else self.max_parents
        asked = self._edges("required", names), self._edges("forbidden", names), most
        cards = [len(labels) for labels in self.states_]
        ess = self.equivalent_sample_size or ESS
        claim = no_better_move(codes, weights, parents, cards, self.criterion, ess, asked, self.score_, RELATIVE)
        return together(claim, self._judge_tables(codes, weights))


def _check_asked(
    required: Sequence[tuple[int, int]], forbidden: Sequence[tuple[int, int]], most: int, names: list[str]
) -> None:
    """What is asked for must be possible: no edge both required and forbidden, no cycle, not too many parents."""
    for parent, child in set(required) & set(forbidden):
        raise ValueError(f"The edge {names[parent]!r} → {names[child]!r} is both required and forbidden.")
    parents = [sorted({p for p, c in required if c == child}) for child in range(len(names))]
    try:
        DAG.of(parents, names)
    except ValueError as error:
        raise ValueError(f"required: {error}") from None
    for child, above in enumerate(parents):
        if len(above) > most:
            raise ValueError(
                f"required gives {names[child]!r} {len(above)} parents, but max_parents is {most}: raise it."
            )
