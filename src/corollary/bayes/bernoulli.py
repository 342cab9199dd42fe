"""Naive Bayes of columns that are zero or one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse

from corollary.base import assigning
from corollary.bayes.discrete import DISCRETE, DiscreteNB, linear_form
from corollary.bayes.training import Training
from corollary.core.distribution import Bernoulli, Distribution
from corollary.core.distribution.totals import Totals
from corollary.core.fitted import Fitted, Floats
from corollary.core.limits import CLASS_WEIGHT, Choice, Limit, Real
from corollary.core.types import Array
from corollary.referee.bayes import Group
from corollary.solvers.em.mixture import MixtureSummary


class BernoulliNB(DiscreteNB):
    r"""Naive Bayes of zeros and ones: in each class, every column is one with a probability of its own.

    .. math:: \max_{\pi, p} \sum_i w_i \Big( \log \pi_{y_i} + \sum_j x_{ij} \log p_{y_i j} + (1 - x_{ij})
              \log (1 - p_{y_i j}) \Big) + \sum_{kj} \alpha_j \log p_{kj} (1 - p_{kj})

    The maximiser is p\ :sub:`kj` = (N\ :sub:`kj` + α\ :sub:`j`) / (N\ :sub:`k` + 2 α\ :sub:`j`), where N\ :sub:`kj` of
    the N\ :sub:`k` rows of a class have a one.

    Parameters
    ----------
    alpha : float ≥ 0 or array of shape (d,), default 1.0
        Ones, and as many zeros, that are added to each column in each class. With 0, what a class never showed rules it
        out; if that rules out all, only their shares decide.
    force_alpha : bool, default True
        If False, an alpha below 1e-10 is raised to it, with a warning.
    binarize : float ≥ 0 or None, default 0.0
        Numbers above it are ones, all others zeros. None if X has nothing but zeros and ones.
    fit_prior : bool, default True
        Whether the probabilities of the classes are their shares; if not, all are the same.
    class_prior : array of shape (k,) or None
        Probabilities of the classes, if they are not to be learnt.
    class_weight : {"balanced"}, dict or None
        Weights of classes, which multiply those of rows.
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
    feature_count_, feature_log_prob_ : arrays of shape (k, d)
        The weight of the ones, and log p above.
    n_iter_ : int
        Iterations of EM; 1 where every label is known.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Two passes over the entries of X, which stay sparse if they are; extra memory: the zeros and ones of the
    entries, k d numbers for each of at most 16 parts of the rows, and three numbers a row.

    *Evidence.* Exact: ones are counted once more, row by row; the largest relative error. With unknown labels,
    stationary: the length of the next step of EM, with the log-likelihood of each iteration in the history.

    References
    ----------
    A. McCallum and K. Nigam, "A comparison of event models for naive Bayes text classification", *AAAI Workshop on
    Learning for Text Categorization*, 1998.

    Examples
    --------
    >>> from corollary.bayes import BernoulliNB
    >>> X = [[0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    >>> model = BernoulliNB().fit(X, [1, 0, 0])
    >>> model.predict([[0, 0, 1, 1], [0, 1, 1, 0]]), model.evidence_.holds
    (array([1, 0]), True)
    >>> coef, intercept = model.log_odds()
    >>> coef.shape, bool(coef @ [0, 1, 1, 0] + intercept > 0)
    ((4,), False)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "binarize": Choice(None) | Real(0),
        "class_weight": CLASS_WEIGHT,
        **DISCRETE,
    }
    fitted: ClassVar[dict[str, Fitted]] = {
        "feature_count_": Floats("k", "d", low=0),
        "feature_log_prob_": Floats("k", "d", high=1e-9, finite=False),
    }
    _sparse: ClassVar[bool] = True
    binarize: float | None
    feature_count_: Array
    feature_log_prob_: Array

    @assigning
    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_weight: Any = None,
        unknown: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None: ...

    def _prepared(self, X: Any) -> Any:
        if self.binarize is None:
            Bernoulli().check(X)
            return X
        if issparse(X):
            X = X.tocsr()
            ones = (X.data > self.binarize).astype(X.dtype)
            return csr_array((ones, X.indices, X.indptr), shape=X.shape)
        return (self.binarize < X).astype(X.dtype)

    def _distribution(self, training: Training) -> Distribution:
        return Bernoulli(self._smoothing())

    def _keep_counts(self, distribution: Distribution, statistics: Any, params: Any) -> None:
        self.feature_count_, self.feature_log_prob_ = statistics.totals, params["log_one"]

    def _kept(self) -> tuple[Distribution, MixtureSummary]:
        counts = Totals(self.class_count_, self.class_count_[:, None], self.feature_count_)
        return Bernoulli(), MixtureSummary(self.class_count_, counts)

    def _params(self) -> dict[str, Array]:
        with np.errstate(divide="ignore"):  # log (1 − p) has all digits where p is small
            zero = np.log(-np.expm1(np.minimum(self.feature_log_prob_, 0.0)))
        return {"log_one": self.feature_log_prob_, "log_zero": zero}

    def _linear(self) -> tuple[Array, Array]:
        coef, offset = linear_form(Bernoulli(), self._params())
        return coef, offset + self.class_log_prior_

    def _groups(self, X: Any, codes: Array, weights: Array, unit: float) -> tuple[list[Group], dict[str, Any]]:
        """What is claimed of the columns, for the referee."""
        claimed = {"totals": self.feature_count_, "log": self.feature_log_prob_}
        return [Group("bernoulli", slice(None), claimed, np.multiply(self._check_alpha(), unit))], {}

    def _joint(self, X: Any) -> Array:
        return Bernoulli().log_prob(X, self._params()) + self.class_log_prior_
