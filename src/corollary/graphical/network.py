"""Bayesian networks, of states and of numbers: from edges and rows, from tables, or from files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import validate_data

from corollary.base import assigning, check_weights, fitting, predicting
from corollary.core.door.weights import counted
from corollary.core.evidence import Evidence, Kind
from corollary.core.fitted import Count, Fitted, Floats, Indexed, Integers, ListOf, Maybe, Names
from corollary.core.graphical.dag import DAG
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.graphical.declarations import ProbabilityTable, StateLabels, check_network
from corollary.graphical.edges import pairs, parents_of
from corollary.graphical.given_tables import read_tables
from corollary.graphical.judged import judge_parts
from corollary.graphical.parts import (
    CPDPart,
    Parts,
    beyond_tables,
    check_parts,
    number_labels,
    number_states,
    put_in,
    read_parts,
    settled,
    with_numbers,
    without_parts,
)
from corollary.graphical.queries import NetworkQueries
from corollary.graphical.rows import as_given, likelihoods, posteriors
from corollary.graphical.states import Column, States, called, column_names, find, given_states, read_columns, states_of
from corollary.referee.networks import step_of_em, tables_of_counts
from corollary.referee.verdict import Verification
from corollary.solvers.graphical.learning.counts import Coded
from corollary.solvers.graphical.learning.parameters import Prior
from corollary.solvers.graphical.learning.tables import learn_parameters


class BayesianNetwork(NetworkQueries):
    r"""A joint distribution as a graph: each variable depends on its parents by a table of probabilities.

    .. math:: P(x_1, …, x_d) = \prod_i P(x_i \mid \text{parents}(x_i)), \qquad
              \max_\theta \sum_n w_n \log P_\theta(x^{(n)}) + \sum_{i,q,s} \alpha_{iqs} \log \theta_{iqs}

    ``fit`` learns the tables θ from rows; the α are pseudo-counts. Where values are missing, or a variable is hidden,
    it is by EM. :func:`read_bif` and :meth:`from_tables` make networks whose tables are given.

    Parameters
    ----------
    edges : list of (parent, child), or None
        By name (columns of an array are called "x0", "x1", …), here as in every question; a whole number that is no
        name of a column is its place. None: all variables are independent; structures are
        learned by :class:`HillClimb` and :class:`ChowLiu`.
    states : dict of name to list of states (or to how many there are), or None
        Of variables whose states are not to be taken from the rows. A variable that only ``edges`` and ``states`` name
        is hidden.
    cpds : dict of name to distribution, or to its name, or None
        Of variables whose distribution is no table: ``NoisyOr()``, ``LogisticCPD()``, ``LinearGaussian()`` (or
        "noisy_or", "logistic", "linear_gaussian"), to be learned, or with their numbers given. A column with a linear
        Gaussian is a number and is not cut into states; children of numbers that have states are logistic. Rows must
        be complete.
    pseudo_counts : float ≥ 0, default 1.0
        Added to every count. With 0 it is maximum likelihood, and what was never seen is impossible.
    equivalent_sample_size : float > 0 or None
        If given, this many rows are spread evenly over each table (BDeu) in place of ``pseudo_counts``.
    n_bins : int ≥ 2, default 5
        Columns of many different numbers are cut at quantiles into as many states.
    max_states : int ≥ 1, default 10
        Numbers of which a column has no more than this are states as they are.
    tol : float ≥ 0, default 1e-8
    max_iter : int ≥ 0, default 1000
    n_init : int ≥ 1, default 1
        Of EM: the gain in mean log-likelihood at which it ends, the most iterations, starts.
    random_state : int, RandomState or None
        Of starts of EM, and of samples.
    verbose : bool or int ≥ 0, default 0
    n_jobs : int or None
        Threads; the answer does not depend on it.

    Attributes
    ----------
    variables_ : array of names
        The columns of X in their order, then hidden variables.
    states_ : list of arrays
        The states of each variable.
    bins_ : dict of int to array
        Where columns of numbers were cut, by the number of the variable.
    parents_ : list of arrays
        The numbers of the parents of each variable.
    edges_ : list of (parent, child)
        The same by name.
    tables_ : list of arrays
        P(variable | parents): an axis for each parent, and the last one for the variable itself; [1.0] where a
        distribution of ``cpds_`` has no table of moderate size.
    cpds_ : dict of int to distribution
        Those that are no tables, by the number of the variable, if there are any.
    n_iter_ : int
        Iterations of EM; 1 where counting was enough.
    evidence_ : Evidence
        Of a fit; a network whose tables were given has none.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Columns are sorted once, and one pass over the rows counts for all tables together; memory of three copies
    of X in float64, less where columns have few values. EM sums exactly over what is missing. A query costs what
    :meth:`query_cost` says, before it runs.

    *Evidence.* Exact: how far the tables are from a second count of the rows, by another route. Of EM stationary: how
    far one more step would move a probability. With ``cpds`` the weakest claim of all parts is made; what each
    distribution claims by itself is in its facts and notes.

    References
    ----------
    D. Koller and N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009.

    Examples
    --------
    >>> from corollary.graphical import BayesianNetwork
    >>> network = BayesianNetwork.from_tables(
    ...     {"rain": [0.8, 0.2], "wet": (["rain"], [[0.9, 0.1], [0.05, 0.95]])},
    ...     states={"rain": ["no", "yes"], "wet": ["no", "yes"]},
    ... )
    >>> network.query("rain", {"wet": "yes"})
    given wet = yes
    rain  no: 0.2963, yes: 0.7037
    log P(given) = -1.30933
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_features_in_": Count(low=1),
        "n_iter_": Maybe(Count()),
        "variables_": Names("v"),
        "states_": ListOf(StateLabels(), "v"),
        "bins_": Indexed("v", Floats("?", increasing=True)),
        "parents_": ListOf(Integers("?", low=0, below="v"), "v"),
        "tables_": ListOf(ProbabilityTable(), "v"),
        "cpds_": Maybe(Indexed("v", CPDPart())),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "edges": Choice(None) | ArrayLike(),
        "states": Choice(None) | Instance("a dict", dict),
        "cpds": Choice(None) | Instance("a dict", dict),
        "pseudo_counts": Real(0, finite=True),
        "equivalent_sample_size": Choice(None) | Real(0, above=True, finite=True),
        "n_bins": Integer(2),
        "max_states": Integer(1),
        "tol": Real(0),
        "max_iter": Integer(0),
        "n_init": Integer(1),
        "random_state": RANDOM_STATE,
        "verbose": Boolean() | Integer(0),
        "n_jobs": N_JOBS,
    }
    _penalty_beside_sum = True

    @assigning
    def __init__(
        self,
        edges: Any = None,
        *,
        states: Any = None,
        cpds: Any = None,
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, Any], states: Mapping[str, Sequence[Any]] | None = None, **parameters: Any
    ) -> BayesianNetwork:
        """A network of given tables.

        Parameters
        ----------
        tables : dict of name to table, or to (parents, table)
            ``"rain": [0.8, 0.2]``, or ``"wet": (["rain"], [[0.9, 0.1], [0.05, 0.95]])`` with an axis for each parent
            and the last one for the variable itself; or the table as a dict from states of the parents (a tuple, if
            there are several) to probabilities. A distribution may stand in the place of a table:
            ``(["flu", "cold"], NoisyOr(0.01, [0.9, 0.3]))``.
        states : dict of name to list of states, or None
            Without it states are the numbers 0, 1, …
        **parameters
            Of the network, for a later ``fit``.
        """
        plain, parts = without_parts(tables)
        names, labels, parents, arrays = read_tables(plain, {**(states or {}), **number_labels(parts)})
        put_in(parts, names, labels, parents, arrays)
        if parts:
            parameters = {"cpds": {name: type(cpd)() for name, (_, cpd) in parts.items()}} | parameters
        made = cls._made(names, labels, parents, arrays, **parameters)
        if parts:
            made.cpds_ = {names.index(name): cpd for name, (_, cpd) in parts.items()}
            made.bins_ = {v: np.empty(0) for v, cpd in made.cpds_.items() if cpd.numeric}
        return made

    @classmethod
    def _made(
        cls, names: list[str], labels: list[Array], parents: list[list[int]], arrays: list[Array], **parameters: Any
    ) -> BayesianNetwork:
        """A network of parts that are checked already."""
        DAG.of(parents, names)
        edges = [(names[p], names[v]) for v, above in enumerate(parents) for p in above]
        made = cls(edges, states={n: each.tolist() for n, each in zip(names, labels, strict=True)}, **parameters)
        made.n_features_in_ = len(names)
        made.variables_, made.states_, made.bins_ = np.array(names), labels, {}
        made.parents_ = [np.array(above, dtype=np.int64) for above in parents]
        made.tables_ = arrays
        return made

    def do(self, interventions: Mapping[str, Any] | None = None, /, **by_name: Any) -> BayesianNetwork:
        """The network in which these variables are set from outside: their parents no longer act on them.

        ``network.do(treatment="yes").query("recovery")`` is P(recovery | do(treatment = yes)), where
        ``network.query("recovery", {"treatment": "yes"})`` is what is seen of those who have it.
        """
        self._require_tables()
        parents, tables = [above.tolist() for above in self.parents_], list(self.tables_)
        cpds = dict(self._cpds)
        for v, state in self._findings({**(interventions or {}), **by_name}).items():
            parents[v] = []
            if v in cpds and cpds[v].numeric:
                cpds[v] = settled(state)
            else:
                tables[v] = np.eye(len(self.states_[v]))[state]
                cpds.pop(v, None)
        made = BayesianNetwork._made(self._names, list(self.states_), parents, tables)
        made.bins_ = dict(self.bins_)
        if cpds:
            made.cpds_ = cpds
        return made

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BayesianNetwork:
        """Learn the tables from rows: a frame, or an array. Missing values (NaN, None) are summed out, by EM."""
        columns = self._columns(X, reset=True)
        rows = np.broadcast_to(0.0, (len(columns[0].codes), len(columns)))
        weights = self._within_reach(check_weights(sample_weight, rows))
        self._learn(columns, weights, X)
        return self

    def _learn(self, columns: list[Column], weights: Array, X: Any, observe: Any = None) -> None:
        """Tables from columns: what a fit does once it has read X."""
        names, there = column_names(columns), weights > 0
        hidden = [name for name in self._given_states(names) if name not in names]
        everything = [*names, *hidden]
        parents = parents_of(pairs(self.edges, names), everything)
        parts = read_parts(self.cpds, everything, parents)
        found, data = self._read(columns, weights, hidden, {v for v, cpd in parts.items() if cpd.numeric})
        learned = Parts.learned(parts, columns, data.codes.T, there, weights[there], found, parents, self._weight_unit)
        observe = observe or self._observer(X, None, self.max_iter, self._in_the_middle)
        self._keep_states(found)
        self.parents_ = [np.array(above, dtype=np.int64) for above in parents]
        self.__dict__.pop("cpds_", None)
        if parts:
            self.tables_, counting = learned.beside_tables(data, parents, self._prior)
            self.cpds_ = learned.cpds
            evidence = learned.evidence_of(self._mixed_network, counting)
        else:
            network, evidence = learn_parameters(
                data, parents, prior=self._prior, tol=self.tol, max_iter=self.max_iter, n_init=self.n_init,
                random_state=self.random_state, names=everything, observe=observe,
            )  # fmt: skip
            self.tables_ = list(network.tables)
        self.n_iter_ = max(1, evidence.n_iter)
        self._keep_evidence(evidence)

    def _read(
        self, columns: list[Column], weights: Array, hidden: Sequence[str] = (), numeric: Collection[int] = ()
    ) -> tuple[list[States], Coded]:
        """The states of all variables, hidden ones last, and the rows of positive weight as numbers."""
        given, there = self._given_states([column.name for column in columns]), weights > 0
        seen = [column.seen(there) for column in columns]
        found = [
            number_states(c) if v in numeric else states_of(c, weights, self.max_states, self.n_bins, given.get(c.name))
            for v, c in enumerate(seen)
        ]
        codes = [states.encode(column) for states, column in zip(found, seen, strict=True)]
        found += [given_states(given[name], name) for name in hidden]
        return found, Coded.gather(codes, [states.size for states in found], weights, there)

    def _given_states(self, names: Sequence[str]) -> dict[str, Any]:
        """The parameter ``states``, by the names of columns."""
        return {called(name, names): states for name, states in (self.states or {}).items()}

    def _keep_states(self, found: Sequence[States]) -> None:
        self.variables_ = np.array([states.name for states in found])
        self.states_ = [states.labels for states in found]
        self.bins_ = {v: states.edges for v, states in enumerate(found) if states.edges is not None}

    @property
    def _prior(self) -> Prior:
        unit, ess = self._weight_unit, self.equivalent_sample_size
        return Prior(cell=self.pseudo_counts * unit) if ess is None else Prior(ess=ess * unit)

    @property
    def _added(self) -> list[float]:
        """Pseudo-counts of a cell of each table."""
        ess = self.equivalent_sample_size
        return [self.pseudo_counts if ess is None else ess / table.size for table in self.tables_]

    def _in_the_middle(self, params: Any) -> dict[str, Any]:
        """What makes a working copy of this network while EM runs, for callbacks."""
        kept = {name: getattr(self, name) for name in ("variables_", "states_", "bins_", "parents_")}
        return {**kept, "tables_": list(params.tables)}

    def _columns(self, X: Any, *, reset: bool) -> list[Column]:
        columns = read_columns(X, self)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return columns

    def _codes(self, X: Any, *, partly: bool = False, there: Array | None = None) -> Array:
        """Rows as states, −1 where they are missing; with ``partly`` a frame may lack columns.

        What rows hold that are not ``there`` may be no state.
        """
        if partly or not hasattr(self, "feature_names_in_"):
            columns = read_columns(X, self)
            if not hasattr(X, "columns"):
                validate_data(self, X, skip_check_array=True, reset=False)
        else:
            columns = self._columns(X, reset=False)
        names, by_name = self._names, hasattr(X, "columns")
        codes = np.full((len(columns[0].codes) if columns else 0, len(names)), -1, dtype=np.int64)
        for place, column in enumerate(columns):
            variable = find(column.name, names, "variable of the column") if by_name else place
            codes[:, variable] = self._states_of(variable).encode(column if there is None else column.seen(there))
        return codes

    def _rows(self, X: Any, *, partly: bool = False) -> Array:
        """Rows as states and numbers, float64, NaN where they are missing."""
        return with_numbers(self._codes(X, partly=partly), read_columns(X, self), self._names, self._cpds)

    def _log_prob(self, X: Any) -> Array:
        if (mixed := self._mixed) is not None:
            return self._likelihoods_mixed(mixed, self._rows(X), self._names)
        return likelihoods(self._compiled, self._codes(X))

    @predicting
    def score_samples(self, X: Any) -> Array:
        """log P of each row; missing values are summed out, exactly. Of numbers it is a log density."""
        return as_given(X, self._log_prob(X))

    @predicting
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of log P over rows."""
        values = self._log_prob(X)
        return float(np.average(values, weights=check_weights(sample_weight, values)))

    @predicting
    def log_likelihood(self, X: Any) -> float:
        """log P of all rows together."""
        return float(self._log_prob(X).sum())

    @predicting
    def posterior(self, X: Any, variable: str) -> Array:
        """P(each state of a variable | the rest of the row), for each row; what a row lacks is summed out, exactly.

        A frame may lack columns; a column of the variable itself is not looked at.
        """
        target = find(variable, self._names)
        if (mixed := self._mixed) is not None:
            return self._posteriors_mixed(mixed, self._rows(X, partly=True), target, self.random_state)
        codes = self._codes(X, partly=True)
        codes[:, target] = -1
        return posteriors(self._compiled, codes, target)[0]

    def sample(self, n_samples: int = 1, *, given: Mapping[str, Any] | None = None, random_state: Any = None) -> Any:
        """Rows drawn from the network, as a pandas frame of states; ``given`` keeps those that agree with it.

        For rows under an intervention, ask ``network.do(…)`` for them.
        """
        import pandas as pd

        from corollary.graphical.drawing import draw

        self._require_tables()
        if not isinstance(n_samples, (int, np.integer)) or n_samples < 0:
            raise ValueError(f"n_samples must be a whole number ≥ 0, but it is {n_samples!r}.")
        seed = self.random_state if random_state is None else random_state
        if (mixed := self._mixed) is not None:
            if given:
                raise ValueError("sample: given needs tables; ask query for what follows from findings.")
            return pd.DataFrame(self._drawn_mixed(mixed, n_samples, seed, self._names))
        codes = draw(self._compiled, self._findings(given), n_samples, seed)
        return pd.DataFrame(  # labels are made into a column once, not once a row
            {name: pd.Series(self.states_[v]).array.take(codes[:, v]) for v, name in enumerate(self._names)}
        )

    def plot(self, given: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """A picture of the graph; with findings, of what follows from them."""
        from corollary.graphical.plots import plot_network

        return plot_network(self, given, **options)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        codes, weights = self._judged_rows(X, sample_weight)
        if self._cpds:
            asked = read_parts(self.cpds, self._names, [above.tolist() for above in self.parents_])
            ess = self.equivalent_sample_size
            added = [self.pseudo_counts if ess is None else ess / table.size for table in self.tables_]
            given, there = [v for v in self._cpds if v in asked and asked[v].known], weights > 0
            rows = with_numbers(codes, read_columns(X, self), self._names, self._cpds)[there]
            return judge_parts(self._mixed_network, given, rows, weights[there], added)
        return self._judged(codes, weights, self.evidence_)

    def _judged_rows(self, X: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Rows as states, with their weights as the fit has counted them."""
        weights = counted(check_weights(sample_weight, np.broadcast_to(0.0, (len(X), 1))))
        return self._codes(X, there=weights > 0), weights

    def _judged(self, codes: Array, weights: Array, evidence: Evidence) -> Verification:
        """What the referee says of the tables, of rows as states."""
        judge = tables_of_counts if evidence.certificate.kind is Kind.EXACT else step_of_em
        return judge(codes, weights, self.parents_, self.tables_, self._added, evidence.certificate.tolerance)

    def _check_state(self) -> None:
        beyond = beyond_tables(self.tables_, self._cpds)
        check_network(self._names, self.states_, self.bins_, self.parents_, self.tables_, beyond)
        check_parts(self._names, self.states_, self.bins_, self.parents_, self.tables_, self._cpds)
        if self.n_features_in_ > len(self.variables_):
            raise ValueError(
                f"n_features_in_ is {self.n_features_in_}, but there are {len(self.variables_)} variables."
            )
