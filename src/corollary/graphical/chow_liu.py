"""The best tree: a network in which every variable has at most one parent."""

from __future__ import annotations

from typing import Any, ClassVar

from corollary.base import assigning
from corollary.core.evidence import Certificate, Evidence, Kind, Status, honest
from corollary.core.fitted import Fitted, Floats
from corollary.core.limits import Choice, Instance, Integer, Limit
from corollary.core.types import Array
from corollary.graphical.learned import Found, SearchedNetwork
from corollary.graphical.network import BayesianNetwork
from corollary.graphical.states import find
from corollary.referee.structures import spanning_tree
from corollary.referee.verdict import Verification, together
from corollary.solvers.graphical.chow_liu import Tree, informations, maximum_spanning_tree
from corollary.solvers.graphical.counts import Coded

NAME = "bound on what any other tree could have more of mutual information, in nats"
ROUNDING = 1e-10


class ChowLiu(SearchedNetwork):
    r"""The maximum spanning tree of mutual information: with tables of maximum likelihood, the most likely tree.

    .. math:: \max_{\text{trees } T} \sum_{(i, j) \in T} I(X_i; X_j), \qquad
              I(X; Y) = \sum_{x, y} p(x, y) \log \frac{p(x, y)}{p(x) p(y)}

    Of rows without gaps, and with the tables of maximum likelihood (``pseudo_counts=0``), no network in which every
    variable has at most one parent has a larger likelihood. Pseudo-counts change the tables, not the tree. It is a
    :class:`BayesianNetwork`: it can be asked, drawn from, plotted and written to a file.

    Parameters
    ----------
    root : str, int or None
        The variable without a parent, by name or number; None: the first. The largest likelihood does not depend on it.
    states, pseudo_counts, equivalent_sample_size, n_bins, max_states
        As in :class:`BayesianNetwork`.
    tol, max_iter, n_init, random_state
        Of EM, where values are missing; as there.
    verbose : bool or int ≥ 0, default 0
    n_jobs : int or None
        Threads; the answer does not depend on it.

    Attributes
    ----------
    mutual_information_ : array (d, d)
        Of all pairs, in nats; of rows that have both values.
    edges_ : list of (parent, child)
    variables_, states_, bins_, parents_, tables_, evidence_, n_features_in_, feature_names_in_
        As in :class:`BayesianNetwork`.

    Notes
    -----
    *Cost.* All pairs of columns are counted at once, 64 rows at a time: O(n d² r² / 64) for r states; memory of three
    copies of X in float64 while columns are read, then two bytes a cell and a bit for each row and state.

    *Evidence.* Optimal: a spanning tree is a maximum one if no edge outside it has more information than some edge on
    the path that it would close to a cycle. All are looked at; the largest excess, once for each edge of the tree,
    bounds what any other tree could have more of information: with the tables of maximum likelihood, of log-likelihood
    a row. Where values are missing the information is that of rows that have both values, the tables are EM's, and the
    weaker of both claims is made.

    References
    ----------
    C. K. Chow and C. N. Liu, *Approximating discrete probability distributions with dependence trees*, IEEE
    Transactions on Information Theory 14, 1968.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.graphical import ChowLiu
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, size=500)
    >>> b = np.where(rng.random(500) < 0.9, a, 1 - a)
    >>> c = np.where(rng.random(500) < 0.8, b, 1 - b)
    >>> ChowLiu().fit(np.column_stack([a, c, b])).edges_
    [('x2', 'x1'), ('x0', 'x2')]
    """

    fitted: ClassVar[dict[str, Fitted]] = {"mutual_information_": Floats("v", "v", low=0)}
    limits: ClassVar[dict[str, Limit]] = {
        "root": Choice(None) | Integer(0) | Instance("a name", str),
        **{name: limit for name, limit in BayesianNetwork.limits.items() if name not in ("edges", "cpds")},
    }

    @assigning
    def __init__(
        self,
        *,
        root: Any = None,
        states: Any = None,
        pseudo_counts: float = 1.0,
        equivalent_sample_size: float | None = None,
        n_bins: int = 5,
        max_states: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_init: int = 1,
        random_state: Any = None,
        verbose: Any = 0,
        n_jobs: int | None = None,
    ) -> None: ...

    def _structure(self, data: Coded, names: list[str], observe: Any) -> Found:
        information = informations(data)
        tree = maximum_spanning_tree(information, root_of(self.root, names))
        self.mutual_information_ = information
        parents = [() if p < 0 else (int(p),) for p in tree.parent]
        notes = _notes(data, names)
        return Found(parents, tree_evidence(tree, information, Kind.OPTIMAL, NAME, notes))

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        codes, weights = self._judged_rows(X, sample_weight)
        parents = [above.tolist() for above in self.parents_]
        claim = spanning_tree(codes, weights, parents, self.mutual_information_, ROUNDING)
        return together(claim, self._judge_tables(codes, weights))


def root_of(root: Any, names: list[str]) -> int:
    """The number of the root."""
    if root is None:
        return 0
    if isinstance(root, str):
        return find(root, names, "column")
    if root >= len(names):
        raise ValueError(f"root must be the name or the number of a column, but it is {root}, and X has {len(names)}.")
    return int(root)


def tree_evidence(tree: Tree, information: Array, kind: Kind, name: str, notes: tuple[str, ...] = ()) -> Evidence:
    """That no tree has more information: d − 1 edges, each of which could be exchanged for one with ``excess`` more."""
    bound = tree.excess * max(len(tree.parent) - 1, 0)
    total = sum(float(information[j, p]) for j, p in enumerate(tree.parent) if p >= 0)
    facts = {"information of the tree": total, "largest excess of an edge outside": tree.excess}
    certificate = Certificate(kind, name, bound, ROUNDING)
    return Evidence(honest(Status.EXACT, certificate), certificate, "maximum spanning tree", facts=facts, notes=notes)


def _notes(data: Coded, names: list[str]) -> tuple[str, ...]:
    notes = list[str]()
    if still := [name for name, card in zip(names, data.cards, strict=True) if card == 1]:
        many = len(still) > 1
        notes.append(f"{', '.join(still[:5])}{'…' * (len(still) > 5)} {'have' if many else 'has'} only one state.")
    if not data.complete:
        notes.append("Values are missing: the information of a pair is that of the rows that have both.")
    return tuple(notes)
