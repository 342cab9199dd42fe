"""Naive Bayes of rows of counts, such as those of the words of a text."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning
from corollary.bayes.discrete import DISCRETE, DiscreteNB, linear_form, refuse_negative
from corollary.bayes.training import Training
from corollary.core.by_class import linear_scores
from corollary.core.distribution import Distribution, Multinomial
from corollary.core.distribution.multinomial import WordCounts
from corollary.core.fitted import Fitted, Floats
from corollary.core.limits import Limit
from corollary.core.types import Array
from corollary.referee.bayes import Group
from corollary.solvers.em.mixture import MixtureSummary


class MultinomialNB(DiscreteNB):
    r"""Naive Bayes of counts: the things of a row are drawn one by one, with the probabilities of its class.

    .. math:: \max_{\pi, p} \sum_i w_i \Big( \log \pi_{y_i} + \sum_j x_{ij} \log p_{y_i j} \Big)
              + \sum_{kj} \alpha_j \log p_{kj}

    The maximiser is p\ :sub:`kj` = (N\ :sub:`kj` + α\ :sub:`j`) / Σ\ :sub:`l` (N\ :sub:`kl` + α\ :sub:`l`), where N is
    the sum of the counts of a class. Counts may be fractions, such as those of tf-idf.

    Parameters
    ----------
    alpha : float ≥ 0 or array of shape (d,), default 1.0
        Counts that are added to each column in each class (1: Laplace, less: Lidstone). With 0, a count in a column
        that a class never showed rules this class out; if that rules out all, only their shares decide.
    force_alpha : bool, default True
        If False, an alpha below 1e-10 is raised to it, with a warning.
    fit_prior : bool, default True
        Whether the probabilities of the classes are their shares; if not, all are the same.
    class_prior : array of shape (k,) or None
        Probabilities of the classes, if they are not to be learnt.
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
        N and log p above.
    n_iter_ : int
        Iterations of EM; 1 where every label is known.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Two passes over the entries of X, which stay sparse if they are; extra memory: k d numbers for each of at
    most 16 parts of the rows, and three numbers a row.

    *Evidence.* Exact: counts are added up once more, row by row; the largest relative error. With unknown labels,
    stationary: the length of the next step of EM, with the log-likelihood of each iteration in the history.

    References
    ----------
    K. Nigam, A. K. McCallum, S. Thrun and T. Mitchell, "Text classification from labeled and unlabeled documents using
    EM", *Machine Learning* 39, 2000.

    Examples
    --------
    >>> from corollary.bayes import MultinomialNB
    >>> X = [[2, 1, 0], [1, 1, 0], [0, 1, 3], [0, 0, 2]]
    >>> model = MultinomialNB().fit(X, ["sport", "sport", "money", "money"])
    >>> model.predict([[1, 0, 0], [0, 2, 1]]).tolist(), model.evidence_.holds
    (['sport', 'money'], True)
    >>> coef, intercept = model.log_odds()
    >>> bool(coef @ [0, 2, 1] + intercept > 0)  # is it sport?
    False
    """

    limits: ClassVar[dict[str, Limit]] = DISCRETE
    fitted: ClassVar[dict[str, Fitted]] = {
        "feature_count_": Floats("k", "d", low=0),
        "feature_log_prob_": Floats("k", "d", high=1e-9, finite=False),
    }
    _sparse: ClassVar[bool] = True
    feature_count_: Array
    feature_log_prob_: Array

    @assigning
    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        unknown: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _prepared(self, X: Any) -> Any:
        refuse_negative(X, "MultinomialNB")
        return X

    def _distribution(self, training: Training) -> Distribution:
        return Multinomial(self._smoothing())

    def _scores_of(self, distribution: Distribution) -> Any:
        return partial(_without_arrangements, distribution)

    def _keep_counts(self, distribution: Distribution, statistics: Any, params: Any) -> None:
        self.feature_count_, self.feature_log_prob_ = statistics.totals, params["log"]

    def _kept(self) -> tuple[Distribution, MixtureSummary]:
        counts = WordCounts(self.class_count_, self.feature_count_)
        return Multinomial(), MixtureSummary(self.class_count_, counts)

    def _linear(self) -> tuple[Array, Array]:
        coef, offset = linear_form(Multinomial(), {"log": self.feature_log_prob_})
        return coef, offset + self.class_log_prior_

    def _groups(self, X: Any, codes: Array, weights: Array, unit: float) -> tuple[list[Group], dict[str, Any]]:
        """What is claimed of the columns, for the referee."""
        claimed = {"totals": self.feature_count_, "log": self.feature_log_prob_}
        return [Group("multinomial", slice(None), claimed, np.multiply(self._check_alpha(), unit))], {}

    def _joint(self, X: Any) -> Array:
        return linear_scores(X, *self._linear())


def _without_arrangements(distribution: Distribution, X: Any, params: Any) -> Array:
    """Log probabilities up to the number of orders of the things of a row, which is the same for all classes."""
    return linear_scores(X, *linear_form(distribution, params))
