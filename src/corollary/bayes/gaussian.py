"""Naive Bayes of numbers: a mean and a variance for each class and column."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning, predicting
from corollary.bayes.base import SHARED, NaiveBayes
from corollary.bayes.claims import floor, gaussian_group, judge
from corollary.bayes.training import Training, class_priors
from corollary.core.distribution import Distribution, Gaussian
from corollary.core.distribution.moments import Moments, floor_of
from corollary.core.door.reach import largest_seen, refuse_columns
from corollary.core.fitted import Fitted, Floats, Number
from corollary.core.limits import CLASS_WEIGHT, ArrayLike, Choice, Limit, Real
from corollary.core.types import Array
from corollary.referee.bayes import Group
from corollary.referee.verdict import Verification
from corollary.solvers.em.mixture import MixtureSummary, Weighted


class GaussianNB(NaiveBayes):
    r"""Naive Bayes of numbers: in each class, every column is normal, and independent of the others.

    .. math:: \max_{\pi, \mu, \sigma} \sum_i w_i \Big( \log \pi_{y_i} + \sum_j \log N(x_{ij}; \mu_{y_i j},
              \sigma^2_{y_i j}) - \frac{\varepsilon}{2 \sigma^2_{y_i j}} \Big)

    The maximiser is the mean and the variance of each class and column, plus ε = ``var_smoothing`` times the largest
    variance of any column. A number that is missing (NaN) is left out, in learning and in predictions.

    Parameters
    ----------
    priors : array of shape (k,) or None
        Probabilities of the classes, if they are not to be learnt.
    var_smoothing : float ≥ 0, default 1e-9
        ε over the largest variance of a column (of all rows together).
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
    class_count_, class_prior_ : arrays of shape (k,)
        The weight of the rows of each class (if labels are unknown: that is expected), and its share.
    theta_, var_ : arrays of shape (k, d)
        Means, and variances plus ε. Where a class shows no number of a column they are those of all rows.
    value_count_ : array of shape (k, d)
        The weight of the numbers that were there.
    epsilon_ : float
        ε above; 1 if nothing varies.
    n_iter_ : int
        Iterations of EM; 1 where every label is known.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Three passes over X, O(n d) each; extra memory: 3 k d numbers a thread and three numbers a row.

    *Evidence.* Exact: means and variances about them are added up once more; the largest relative error. With unknown
    labels, stationary: the length of the next step of EM, with the log-likelihood of each iteration in the history.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", *The American
    Statistician* 37, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.bayes import GaussianNB
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, np.nan]])
    >>> model = GaussianNB().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1.0], [0.9, np.nan]]), model.evidence_.holds
    (array([1, 2]), True)
    >>> GaussianNB(unknown=-1).fit(X, [1, -1, -1, 2, -1, -1]).predict(X)
    array([1, 1, 1, 2, 2, 2])
    """

    limits: ClassVar[dict[str, Limit]] = {
        "priors": Choice(None) | ArrayLike(),
        "var_smoothing": Real(0, 1e300),
        "class_weight": CLASS_WEIGHT,
        **SHARED,
    }
    fitted: ClassVar[dict[str, Fitted]] = {
        "class_prior_": Floats("k", low=0, total=1),
        "theta_": Floats("k", "d"),
        "var_": Floats("k", "d", low=0, above=True),
        "value_count_": Floats("k", "d", low=0),
        "epsilon_": Number(low=0),
        "_scatter": Floats("k", "d", low=0),
    }
    _options: ClassVar[dict[str, Any]] = {"ensure_all_finite": "allow-nan"}
    _penalty_beside_sum: ClassVar[bool] = False

    priors: Any
    var_smoothing: float
    class_prior_: Array
    theta_: Array
    var_: Array
    value_count_: Array
    epsilon_: float
    _scatter: Array  # Σ w (x − mean)²: where ε is large, var_ − epsilon_ has lost it

    @assigning
    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        class_weight: Any = None,
        unknown: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None: ...

    def _distribution(self, training: Training) -> Distribution:
        for X, _, _ in training.source:
            refuse_columns(np.nan_to_num(largest_seen(X), nan=1.0))
        return Gaussian()

    def _smoothed(self, distribution: Distribution, statistics: Any) -> Distribution:
        return Gaussian(regular=floor_of(self.var_smoothing, statistics))

    def _fixed_prior(self, k: int) -> Array | None:
        return None if self.priors is None else class_priors(self.priors, k, "priors")

    def _keep(self, distribution: Distribution, summary: MixtureSummary, found: Weighted) -> None:
        moments: Moments = summary.statistics
        self.class_count_, self.class_prior_ = summary.counts, found.weights
        self.theta_, self.var_ = found.params["mean"], found.params["variance"]
        self.value_count_ = np.array(np.broadcast_to(moments.present, moments.mean.shape))
        self.epsilon_ = np.float64(distribution.parameters["regular"])
        self._scatter = moments.scatter

    def _kept(self) -> tuple[Distribution, MixtureSummary]:
        moments = Moments(self.class_count_, self.value_count_, self.theta_, self._scatter)
        return Gaussian(), MixtureSummary(self.class_count_, moments)

    @property
    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            logs: Array = np.log(self.class_prior_)
        return logs

    def _joint(self, X: Any) -> Array:
        params = {"mean": self.theta_, "variance": self.var_}
        return Gaussian().log_prob(X, params) + self._log_prior

    @predicting
    def log_odds(self) -> tuple[Array, Array, Array]:
        """(coef, intercept, square): scores x² · square + x · coef + intercept, whose largest is the predicted class.

        Of two classes it is the logarithm of the odds of the second, zero at the boundary: arrays of shapes (d,), ()
        and (d,). Of k classes they have a row each; the softmax of the scores are the probabilities. Where the classes
        have the same variances, ``square`` is zero and the boundary a plane.
        """
        square = -0.5 / self.var_
        coef = self.theta_ / self.var_
        logs = np.log(2 * np.pi * self.var_) + self.theta_**2 / self.var_
        intercept = self._log_prior - 0.5 * logs.sum(axis=1)
        if len(self.classes_) == 2:
            return coef[1] - coef[0], np.asarray(intercept[1] - intercept[0]), square[1] - square[0]
        return coef, intercept, square

    def _groups(self, X: Any, codes: Array, weights: Array, unit: float) -> tuple[list[Group], dict[str, Any]]:
        """What is claimed of the columns, for the referee."""
        true, blur = floor(X, weights, self.var_smoothing)
        kept = {"scatter": self._scatter}
        group = gaussian_group(slice(None), self.theta_, self.var_, self.value_count_, self.epsilon_, **kept)
        return [group], {"epsilon_": (self.epsilon_, true, blur)}

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        return judge(self, X, y, sample_weight)
