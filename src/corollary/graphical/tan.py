"""Naive Bayes with a tree: a classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from corollary.base import assigning, check_weights, fitting, predicting
from corollary.core.door.target import refuse_missing
from corollary.core.door.weights import within_reach
from corollary.core.evidence import Kind
from corollary.core.fitted import Fitted, Floats, Labels
from corollary.core.limits import CLASS_WEIGHT, Choice, Instance, Integer, Limit
from corollary.core.types import Array
from corollary.graphical.chow_liu import root_of, tree_evidence
from corollary.graphical.learned import LearnedNetwork, joined
from corollary.graphical.network import BayesianNetwork
from corollary.graphical.rows import as_given
from corollary.graphical.states import States, plain
from corollary.labels import encode_labels
from corollary.referee.structures import class_tree
from corollary.referee.verdict import Verification
from corollary.solvers.graphical.learning.counts import Coded
from corollary.solvers.graphical.learning.tan import ClassTree, class_tables, joint_log_likelihood, learn_tree

GIVEN_CLASS = "bound on what any other tree could have more of information given the class, in nats"
WITH_GAPS = "what any other tree could have more of information given the class, of rows with both values, in nats"
GAPS = "Values are missing: information and tables are those of the rows that have the values that each is about."


class TreeAugmentedNB(ClassifierMixin, LearnedNetwork):
    r"""Naive Bayes in which every column may also depend on one other column.

    .. math:: P(c, x) = P(c) \prod_j P(x_j \mid c, x_{p(j)}), \qquad
              \max_{\text{trees}} \sum_j I(X_j; X_{p(j)} \mid C)

    Of rows without gaps, and with the tables of maximum likelihood (``pseudo_counts=0``), no other tree that joins the
    columns has a larger likelihood. Pseudo-counts change the tables, not the tree. The model is a
    :class:`BayesianNetwork` of the columns and the class, which is its last variable: it can be asked, drawn from,
    plotted and written to a file.

    Parameters
    ----------
    root : str, int or None
        The column whose only parent is the class, by name or number; None: the first.
    target : str, default "class"
        What the class is called in the network.
    pseudo_counts : float ≥ 0, default 1.0
        Added to every count of columns; those of classes are as they are.
    equivalent_sample_size : float > 0 or None
        If given, this many rows are spread evenly over each table (BDeu) in place of ``pseudo_counts``.
    n_bins : int ≥ 2, default 5
        Columns of many different numbers are cut at quantiles into as many states.
    max_states : int ≥ 1, default 10
        Numbers of which a column has no more than this are states as they are.
    class_weight : dict, "balanced" or None
        Factors of the weights of rows, by class.
    random_state : int, RandomState or None
        Of samples.
    n_jobs : int or None
        Threads; the answer does not depend on it.

    Attributes
    ----------
    classes_ : array
    conditional_information_ : array (d, d)
        I(Xᵢ; Xⱼ | class) of all pairs of columns, in nats; of rows that have both values.
    edges_ : list of (parent, child)
    variables_, states_, bins_, parents_, tables_, evidence_, n_features_in_, feature_names_in_
        As in :class:`BayesianNetwork`; the class is the first parent of each column.

    Notes
    -----
    *Cost.* O(n d² r² / 64) for r states, all pairs at once; memory of three copies of X in float64 while columns are
    read, then two bytes a cell, a copy of it by class, and a bit for each row and state. A prediction takes O(d)
    lookups for each row and class.

    *Evidence.* Optimal, of rows without gaps: no other tree has more information given the class, by the cycle property
    of all edges outside it. With gaps it is checked only: information and tables are of the rows that have the values
    that each is about, which no likelihood of all rows is the largest by. In predictions missing values are summed out
    exactly, and states that were not seen count as missing.

    References
    ----------
    N. Friedman, D. Geiger and M. Goldszmidt, *Bayesian network classifiers*, Machine Learning 29, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.graphical import TreeAugmentedNB
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(0, 2, size=(2, 400))
    >>> X, y = np.column_stack([a, b]), a ^ b  # which naive Bayes cannot learn
    >>> TreeAugmentedNB().fit(X, y).score(X, y)
    1.0
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(low=1),
        "conditional_information_": Floats("d", "d", low=0),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "root": Choice(None) | Integer(0) | Instance("a name", str),
        "target": Instance("text", str),
        "class_weight": CLASS_WEIGHT,
        **{
            name: BayesianNetwork.limits[name]
            for name in ("pseudo_counts", "equivalent_sample_size", "n_bins", "max_states", "random_state", "n_jobs")
        },
    }
    states = None
    classes_: Array

    @assigning
    def __init__(
        self,
        *,
        root: Any = None,
        target: str = "class",
        pseudo_counts: float = 1.0,
        equivalent_sample_size: float | None = None,
        n_bins: int = 5,
        max_states: int = 10,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TreeAugmentedNB:
        """Learn the tree and its tables from rows X (a frame, or an array; with gaps) and their classes y."""
        y = self._target(y)
        columns = self._columns(X, reset=True)
        self._observer(X, y, 1, lambda state: None)  # there are no iterations to tell of
        check_consistent_length(columns[0].codes, y)
        weights = check_weights(sample_weight, np.broadcast_to(0.0, (len(y), 1)))
        classes, labels, weights = encode_labels(y, self._within_reach(weights), self.class_weight)
        found, data = self._read(columns, weights)
        names, there = [column.name for column in columns], weights > 0
        if self.target in names:
            raise ValueError(f"X has a column {self.target!r}, the name of the class: give another name as target.")
        self.classes_ = classes
        labels = labels[there]
        tree, information = learn_tree(data, labels, len(classes), root_of(self.root, names))
        self.conditional_information_ = information
        shares, tables, counted = class_tables(data, labels, len(classes), tree.parent.tolist(), self._prior)
        self._keep_tree(found, tree.parent, shares, tables)
        self.n_iter_ = 1
        if data.complete:
            structure = tree_evidence(tree, information, Kind.OPTIMAL, GIVEN_CLASS)
        else:
            structure = tree_evidence(tree, information, Kind.CHECKED, WITH_GAPS, (GAPS,))
            counted = replace(counted, facts=self._likelihood(data, labels))
        self._keep_evidence(joined(structure, counted))
        return self

    def _likelihood(self, data: Coded, labels: Array) -> dict[str, float]:
        """The facts of rows with gaps, which are summed out."""
        logs = joint_log_likelihood(self._tree, data.codes)[np.arange(data.n_rows), labels]
        value = float(data.weights @ logs if data.weights.size else logs.sum())
        return {"objective": -value / data.total, "log-likelihood": value}

    def _target(self, y: Any) -> Array:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "It learns from examples with known answers."
            )
        refuse_missing(y, numeric=False)
        labels: Array = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        return labels

    def _keep_tree(self, found: list[States], parent: Array, shares: Array, tables: tuple[Array, ...]) -> None:
        """The network of the columns and the class, which is the last variable."""
        names = [states.name for states in found]
        last = len(names)
        self.variables_ = np.array([*names, self.target])
        self.states_ = [*(states.labels for states in found), plain(self.classes_)]
        self.bins_ = {v: states.edges for v, states in enumerate(found) if states.edges is not None}
        above = [[last] if p < 0 else [last, int(p)] for p in parent]
        self.parents_ = [np.array(each, dtype=np.int64) for each in [*above, []]]
        shaped = [table[:, 0] if p < 0 else table for table, p in zip(tables, parent, strict=True)]
        self.tables_ = [*(np.ascontiguousarray(table) for table in shaped), shares]

    def _codes(self, X: Any, *, partly: bool = False, there: Array | None = None) -> Array:
        """As in every network; a state that was not seen is none."""
        if partly:
            return super()._codes(X, partly=True, there=there)
        columns = self._columns(X, reset=False)
        codes = np.full((len(columns[0].codes), len(self.variables_)), -1, dtype=np.int64)
        for v, column in enumerate(columns):
            codes[:, v] = self._states_of(v).encode(column, unknown=-1)
        return codes

    @property
    def _tree(self) -> ClassTree:
        """What predictions are made with, from the tables."""
        last = len(self.variables_) - 1
        parent = np.array([-1 if len(above) < 2 else above[1] for above in self.parents_[:last]], dtype=np.int64)
        tables = tuple(table.reshape(len(self.classes_), -1, table.shape[-1]) for table in self.tables_[:last])
        order = np.array([v for v in self.dag.order if v != last], dtype=np.int64)
        return ClassTree(parent, order, self.tables_[last], tables)

    @predicting
    def predict_joint_log_proba(self, X: Any) -> Array:
        """log P(class, row) for each row and class."""
        return as_given(X, joint_log_likelihood(self._tree, self._codes(X)[:, :-1].T))

    def _shares(self, X: Any) -> Array:
        logs = joint_log_likelihood(self._tree, self._codes(X)[:, :-1].T)
        top = logs.max(axis=1, keepdims=True)
        impossible = ~np.isfinite(top[:, 0])  # for every class: nothing is known but how frequent they are
        with np.errstate(invalid="ignore"):
            shares = np.where(impossible[:, None], self.tables_[-1], np.exp(logs - top))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    @predicting
    def score_samples(self, X: Any) -> Array:
        """log P of each row, whatever its class; missing values are summed out, exactly."""
        return as_given(X, logsumexp(joint_log_likelihood(self._tree, self._codes(X)[:, :-1].T), axis=1))

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, as ``classes_``."""
        return as_given(X, self._shares(X))

    @predicting
    def predict_log_proba(self, X: Any) -> Array:
        """The log of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return as_given(X, np.log(self._shares(X)))

    @predicting
    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        return np.asarray(self.classes_[as_given(X, self._shares(X)).argmax(axis=1)])

    def _check_state(self) -> None:
        super()._check_state()
        last = len(self.variables_) - 1
        if last != self.n_features_in_ or len(self.states_[last]) != len(self.classes_):
            raise ValueError("variables_ must be the columns and the class, whose states are classes_.")
        for v, above in enumerate(self.parents_):
            wanted = (1, 2) if v < last else (0,)
            if len(above) not in wanted or (v < last and above[0] != last):
                raise ValueError("parents_ of a column must be the class and at most one other column.")

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        codes = self._codes(X)
        weights, unit = within_reach(check_weights(sample_weight, codes))
        classes, labels, weights = encode_labels(y, weights, self.class_weight)
        if not np.array_equal(classes, self.classes_):
            return Verification(False, "y has other classes than classes_")
        codes[:, -1] = labels
        parents = [above.tolist() for above in self.parents_]
        information, tolerance = self.conditional_information_, self.evidence_.certificate.tolerance
        cell, ess = self._referee_prior
        return class_tree(codes, weights, parents, self.tables_, (cell * unit, ess * unit), information, tolerance)
