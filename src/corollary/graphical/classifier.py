"""A network as a scikit-learn classifier: the class is one of its variables, the columns of X are the others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from corollary.base import Estimator, assigning, check_weights, fitting, predicting
from corollary.core.door.target import refuse_missing
from corollary.core.fitted import Count, Fitted, Labels, Model
from corollary.core.limits import (
    CLASS_WEIGHT,
    N_JOBS,
    RANDOM_STATE,
    ArrayLike,
    Boolean,
    Choice,
    Instance,
    Integer,
    Limit,
    Real,
)
from corollary.core.types import Array
from corollary.graphical.network import BayesianNetwork
from corollary.graphical.rows import as_given, posteriors
from corollary.graphical.states import Column, read_columns
from corollary.labels import encode_labels
from corollary.referee.verdict import Verification

OF_NETWORK = (
    "states", "pseudo_counts", "equivalent_sample_size", "n_bins", "max_states", "tol", "max_iter", "n_init",
    "random_state", "verbose", "n_jobs",
)  # fmt: skip


class BayesianNetworkClassifier(ClassifierMixin, Estimator):
    r"""A classifier that asks a Bayesian network for P(class | row).

    .. math:: P(y \mid x) \propto P(y \mid \text{parents}(y)) \prod_{i: y \to x_i} P(x_i \mid \text{parents}(x_i))

    Parameters
    ----------
    edges : list of (parent, child), or None
        By name, with ``target`` for the class. None: the class is the parent of every column (naive Bayes).
    target : str, default "class"
        What the class is called in ``edges`` and in ``network_``.
    states, pseudo_counts, equivalent_sample_size, n_bins, max_states
    tol, max_iter, n_init, random_state, verbose, n_jobs
        As in :class:`BayesianNetwork`.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    classes_ : array
    network_ : BayesianNetwork
        Of the columns of X and the class: ``model.network_.query("class", {"x0": …})``.
    n_iter_ : int
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* As :class:`BayesianNetwork`: memory of three copies of X in float64. Rows with the same gaps are
    answered together by one junction tree.

    *Evidence.* As :class:`BayesianNetwork`: of the tables, which maximise the likelihood of X and y together.

    References
    ----------
    N. Friedman, D. Geiger and M. Goldszmidt, "Bayesian network classifiers", *Machine Learning* 29, 1997.

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.graphical import BayesianNetworkClassifier
    >>> X = pd.DataFrame({"sky": ["red", "red", "grey", "grey"], "wind": ["no", "yes", "no", None]})
    >>> model = BayesianNetworkClassifier(target="rain").fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict(pd.DataFrame({"sky": ["grey"], "wind": [None]}))
    array(['yes'], dtype='<U3')
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels("k"),
        "n_iter_": Count(),
        "network_": Model("query", "posterior"),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "edges": Choice(None) | ArrayLike(),
        "target": Instance("text", str),
        "states": Choice(None) | Instance("a dict", dict),
        "pseudo_counts": Real(0, finite=True),
        "equivalent_sample_size": Choice(None) | Real(0, above=True, finite=True),
        "n_bins": Integer(2),
        "max_states": Integer(1),
        "class_weight": CLASS_WEIGHT,
        "tol": Real(0),
        "max_iter": Integer(0),
        "n_init": Integer(1),
        "random_state": RANDOM_STATE,
        "verbose": Boolean() | Integer(0),
        "n_jobs": N_JOBS,
    }
    _penalty_beside_sum = True
    edges: Any
    target: str
    class_weight: Any
    classes_: Array
    network_: BayesianNetwork

    @assigning
    def __init__(
        self,
        edges: Any = None,
        *,
        target: str = "class",
        states: Any = None,
        pseudo_counts: float = 1.0,
        equivalent_sample_size: float | None = None,
        n_bins: int = 5,
        max_states: int = 10,
        class_weight: Any = None,
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

    def _edges(self, columns: list[Column]) -> Any:
        """The edges of the network, by name."""
        return [(self.target, column.name) for column in columns] if self.edges is None else self.edges

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the tables from rows X with classes y."""
        if y is None:
            self._validate_fit(X, y)  # refuses, in the words of every other model
        columns = read_columns(X, self)
        validate_data(self, X, skip_check_array=True)
        refuse_missing(y, numeric=False)
        given, y = y, column_or_1d(y, warn=True)
        check_consistent_length(columns[0].codes, y)
        if self.target in [column.name for column in columns]:
            raise ValueError(f"X has a column {self.target!r}, the name of the class: give another name as target.")
        known = {*(column.name for column in columns), self.target, *(self.states or {})}
        for end in [end for edge in self._edges(columns) for end in edge]:
            if isinstance(end, str) and end not in known and end == getattr(given, "name", None):
                raise ValueError(f"edges name {end!r}, but the class is called {self.target!r}; pass target={end!r}.")
        weights = self._within_reach(check_weights(sample_weight, np.broadcast_to(0.0, (len(y), len(columns)))))
        classes, codes, weights = encode_labels(y, weights, self.class_weight)
        target = Column(self.target, codes.astype(np.int64), classes, declared=True)
        network = BayesianNetwork(self._edges(columns), **{name: getattr(self, name) for name in OF_NETWORK})
        network._weight_unit = self._weight_unit
        observe = self._observer(X, y, self.max_iter, lambda params: None)
        network._learn([*columns, target], weights, X, observe)
        network.n_features_in_ = len(columns) + 1
        evidence = network.__dict__.pop("evidence_")
        network.__dict__.pop("_weight_unit", None)
        self.classes_, self.network_, self.n_iter_ = classes, network, network.n_iter_
        self._keep_evidence(evidence)
        return self

    def _rows(self, X: Any) -> Array:
        """Rows as states of the columns, −1 for the class and for what is missing or was never seen."""
        check_is_fitted(self)
        columns = read_columns(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        codes = np.full((len(columns[0].codes), len(self.network_.states_)), -1, dtype=np.int64)
        for variable, column in enumerate(columns):
            codes[:, variable] = self.network_._states_of(variable).encode(column, unknown=-1)
        return codes

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """P(class | row), with what a row lacks summed out exactly; a value that was never seen counts as lacking."""
        return as_given(X, posteriors(self.network_._compiled, self._rows(X), self.n_features_in_)[0])

    @predicting
    def predict_log_proba(self, X: Any) -> Array:
        """log P(class | row)."""
        with np.errstate(divide="ignore"):
            found: Array = np.log(self.predict_proba(X))
        return found

    @predicting
    def predict(self, X: Any) -> Array:
        """The most probable class."""
        found: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found

    def _check_state(self) -> None:
        network = self.network_
        if type(network) is not BayesianNetwork or not hasattr(network, "tables_"):
            raise ValueError("network_ must be a BayesianNetwork with tables.")
        if len(network.variables_) <= self.n_features_in_:
            raise ValueError("network_ must have a variable for each column, and one for the class.")
        if not np.array_equal(network.states_[self.n_features_in_], self.classes_):
            raise ValueError("network_ must have classes_ as the states of the class.")

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        if y is None:
            return Verification(None, "the classes y are needed to judge what was learnt from them")
        codes = self._rows(X)
        weights = check_weights(sample_weight, codes)
        classes, labels, weights = encode_labels(column_or_1d(y), weights, self.class_weight, one_class=True)
        known = np.searchsorted(self.classes_, classes)
        codes[:, self.n_features_in_] = known[labels]
        return self.network_._judged(codes, weights, self.evidence_)
