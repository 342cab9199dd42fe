"""Naive Bayes of columns of categories."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from corollary.base import assigning
from corollary.bayes.discrete import DISCRETE, DiscreteNB, refuse_negative
from corollary.bayes.training import Training
from corollary.core.distribution import Categorical, Distribution
from corollary.core.distribution.categorical import StateCounts
from corollary.core.fitted import Fitted, Floats, Integers, ListOf
from corollary.core.limits import ArrayLike, Choice, Integer, Limit, Real
from corollary.core.types import Array
from corollary.referee.bayes import Group
from corollary.solvers.em.mixture import MixtureSummary
from corollary.tables import TableReader, kinds_of_columns

NOT_SPARSE = "CategoricalNB takes no sparse X, but dense data is required: use X.toarray(), or BernoulliNB for flags."


class CategoricalNB(DiscreteNB, TableReader):
    r"""Naive Bayes of categories: in each class, every column has a table of probabilities of its own.

    .. math:: \max_{\pi, p} \sum_i w_i \Big( \log \pi_{y_i} + \sum_j \log p_{y_i j x_{ij}} \Big)
              + \alpha \sum_{kjc} \log p_{kjc}

    The maximiser is p\ :sub:`kjc` = (N\ :sub:`kjc` + α) / Σ\ :sub:`b` (N\ :sub:`kjb` + α), where N counts the rows of a
    class with this category.

    Columns of a pandas or polars frame that hold categories or text are numbered by themselves (``categories_``). All
    other numbers are categories 0, 1, … already; those that are not whole are cut down to whole ones. What is missing
    is left out, in learning and in predictions, and so is a category that was not there in training.

    Parameters
    ----------
    alpha : float ≥ 0, default 1.0
        Counts that are added to each category in each class. With 0, a category that a class never showed rules it out;
        if that rules out all, only their shares decide.
    force_alpha : bool, default True
        If False, an alpha below 1e-10 is raised to it, with a warning.
    fit_prior : bool, default True
        Whether the probabilities of the classes are their shares; if not, all are the same.
    class_prior : array of shape (k,) or None
        Probabilities of the classes, if they are not to be learnt.
    min_categories : int ≥ 1, array of shape (d,) or None
        The least number of categories of each column (None: as many as there are).
    unknown : a label or None
        A label in y that stands for "not known", such as −1: the classes of these rows are averaged over by EM. With
        None every label is a class, −1 too.
    tol : float ≥ 0, default 1e-6
        EM ends when its next step is not longer than this; for ``unknown`` labels only.
    max_iter : int ≥ 1, default 1000
        The most iterations of EM.
    n_jobs : int or None
        Threads, in fit and in predictions; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (k,)
    class_count_, class_log_prior_ : arrays of shape (k,)
        The weight of the rows of each class (if labels are unknown: that is expected), and the logarithm of its
        probability.
    category_count_, feature_log_prob_ : lists of d arrays of shape (k, categories)
        N and log p above.
    n_categories_ : array of shape (d,)
    categories_ : dict of arrays
        The categories of columns that hold categories or text, by the number of the column.
    n_iter_ : int
        Iterations of EM; 1 where every label is known.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Two passes over X, O(n d) each; extra memory: a copy of X with whole numbers, the tables of counts a thread
    and three numbers a row.

    *Evidence.* Exact: what is not missing is counted once more, row by row; the largest relative error. With unknown
    labels, stationary: the length of the next step of EM, with the log-likelihood of each iteration in the history.

    References
    ----------
    P. Domingos and M. Pazzani, "On the optimality of the simple Bayesian classifier under zero-one loss", *Machine
    Learning* 29, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.bayes import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [0, 2], [1, 0], [1, 2]], ["no", "no", "yes", "yes"])
    >>> model.predict([[1, 1], [0, np.nan]]).tolist(), model.evidence_.holds
    (['yes', 'no'], True)
    >>> import pandas as pd
    >>> sky = pd.DataFrame({"sky": ["blue", "grey", "grey", "blue"]})
    >>> CategoricalNB().fit(sky, [0, 1, 1, 0]).predict(pd.DataFrame({"sky": ["grey", "green"]}))
    array([1, 0])
    """

    limits: ClassVar[dict[str, Limit]] = {
        **DISCRETE,
        "alpha": Real(0, finite=True),
        "min_categories": Choice(None) | Integer(1) | ArrayLike(),
    }
    fitted: ClassVar[dict[str, Fitted]] = {
        "n_categories_": Integers("d", low=1),
        "category_count_": ListOf(Floats("k", "?", low=0), "d"),
        "feature_log_prob_": ListOf(Floats("k", "?", high=1e-9, finite=False), "d"),
    }
    _options: ClassVar[dict[str, Any]] = {"ensure_all_finite": "allow-nan"}
    min_categories: Any
    n_categories_: Array
    category_count_: list[Array]
    feature_log_prob_: list[Array]

    @assigning
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        unknown: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, Array, Array]:
        if issparse(X):
            raise TypeError(NOT_SPARSE)
        kinds = kinds_of_columns(X) or []
        if "category" not in kinds:
            self.categories_ = {}
            return super()._read(X, y, sample_weight, **options)
        if "reset" in options:
            raise ValueError(
                "partial_fit of CategoricalNB takes categories as numbers 0, 1, …: text of a part does not tell which "
                "there are in all. Number them first (OrdinalEncoder does), or call fit."
            )
        chosen = [f for f, kind in enumerate(kinds) if kind == "category"]
        X, y, weights, _ = self._read_fit(X, y, sample_weight, categorical=chosen, y_numeric=False)
        return self._prepared(X), y, weights

    def _read_new(self, X: Any) -> Any:
        if issparse(X):
            raise TypeError(NOT_SPARSE)
        return self._prepared(
            self._read_predict(X) if self.categories_ else self._validate_predict(X, sparse=False, **self._options)
        )

    def _blocks(self, blocks: Any) -> Any:
        self.categories_ = {}
        return super()._blocks(blocks)

    def _prepared(self, X: Any) -> Any:
        whole = np.trunc(X)
        refuse_negative(whole, "CategoricalNB")
        return whole

    def _distribution(self, training: Training) -> Distribution:
        most = np.full(self.n_features_in_, -1.0)
        for X, _, weights in training.source:
            rows = X if weights.all() else X[weights > 0]
            most = np.fmax(most, np.fmax.reduce(rows, axis=0, initial=-1.0))
        for f, known in self.categories_.items():
            most[f] = max(len(known) - 1, 0)
        sizes = np.maximum(self._least(), Categorical().spanning(most, most).sizes)
        return Categorical([int(size) for size in sizes], self._smoothing())

    def _least(self) -> Array:
        """The least numbers of categories, one for each column."""
        if self.min_categories is None:
            return np.ones(self.n_features_in_, dtype=np.int64)
        given = np.asarray(self.min_categories)
        if given.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {given.dtype} instead.")
        if given.shape not in ((), (self.n_features_in_,)):
            raise ValueError(
                f"'min_categories' should have shape ({self.n_features_in_},) when an array-like is provided. Got "
                f"{given.shape} instead."
            )
        return np.broadcast_to(given, (self.n_features_in_,)).astype(np.int64)

    def _keep_counts(self, distribution: Distribution, statistics: Any, params: Any) -> None:
        assert isinstance(distribution, Categorical)
        self.n_categories_ = distribution.sizes
        self.feature_log_prob_ = [np.ascontiguousarray(part) for part in distribution.by_columns(params)]
        counts = distribution.by_columns({"log": statistics.states})
        self.category_count_ = [np.ascontiguousarray(part) for part in counts]

    def _kept(self) -> tuple[Distribution, MixtureSummary]:
        counts = StateCounts(self.class_count_, np.concatenate(self.category_count_, axis=1))
        return Categorical(self.n_categories_.tolist()), MixtureSummary(self.class_count_, counts)

    def _merged(
        self, old: Distribution, before: MixtureSummary, distribution: Distribution, summary: MixtureSummary
    ) -> tuple[Distribution, MixtureSummary]:
        """Tables as wide as both need."""
        assert isinstance(old, Categorical)
        assert isinstance(distribution, Categorical)
        sizes = np.maximum(old.sizes, distribution.sizes)
        wide = [
            StateCounts(part.counts, _widened(part.statistics.states, of.sizes, sizes))
            for part, of in ((before, old), (summary, distribution))
        ]
        both = MixtureSummary(before.counts + summary.counts, wide[0] + wide[1])
        return Categorical([int(size) for size in sizes], distribution.alpha), both

    def _groups(self, X: Any, codes: Array, weights: Array, unit: float) -> tuple[list[Group], dict[str, Any]]:
        """What is claimed of the columns, for the referee."""
        claimed = {"counts": self.category_count_, "tables": self.feature_log_prob_}
        alpha = float(np.multiply(self._check_alpha(), unit))
        return [Group("categorical", slice(None), claimed, alpha, sizes=self.n_categories_)], {}

    def _joint(self, X: Any) -> Array:
        logs = np.concatenate(self.feature_log_prob_, axis=1)
        found = Categorical(self.n_categories_.tolist()).log_prob(X, {"log": logs})
        return found + self.class_log_prior_

    def _check_state(self) -> None:
        for name in ("category_count_", "feature_log_prob_"):
            widths = [part.shape[1] for part in getattr(self, name)]
            if widths != self.n_categories_.tolist():
                raise ValueError(f"{name} has tables of {widths[:5]} categories, and n_categories_ says otherwise")
        for f, known in self.categories_.items():
            if len(known) > self.n_categories_[f]:
                raise ValueError(f"categories_ of column {f} are more than n_categories_ says")

    def _linear(self) -> tuple[Array, Array]:
        return np.concatenate(self.feature_log_prob_, axis=1), self.class_log_prior_

    def log_odds(self) -> tuple[Array, Array]:
        """(coef, intercept) for indicators of categories: the columns of a one-hot encoding, one after the other.

        Of two classes it is the logarithm of the odds of the second, zero at the boundary: arrays of shapes (Σ
        categories,) and (). Of k classes they have a row each; the softmax of the scores are the probabilities.
        """
        return super().log_odds()


def _widened(states: Array, sizes: Array, wanted: Array) -> Array:
    """Counts (k, Σ sizes) with room for more categories in each column."""
    out = np.zeros((len(states), int(wanted.sum())))
    places = np.concatenate(
        [np.arange(size) + first for size, first in zip(sizes, np.cumsum(wanted) - wanted, strict=True)]
    )
    out[:, places] = states
    return out
