"""Mixtures of Gaussians by EM: from labelled rows, unlabelled rows or both, in memory or in blocks."""

from __future__ import annotations

from typing import Any, ClassVar

from corollary.base import assigning, check_weights, fitting
from corollary.core.blocks import ArraySource, Source, as_blocks
from corollary.core.distribution.weighted_gaussians import attributes
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Integer, Limit, Real
from corollary.mixture.gaussian_density import GaussianDensity
from corollary.mixture.labels import labelled
from corollary.mixture.run import MixtureRun
from corollary.referee.mixtures import gaussian_mixture
from corollary.referee.verdict import Verification


class GaussianMixture(GaussianDensity):
    r"""A density that is a weighted sum of Gaussians, by expectation–maximisation.

    .. math:: \max_{\pi, \mu, \Sigma} \sum_i w_i \log \sum_k \pi_k \, N(x_i; \mu_k, \Sigma_k)
              \, e^{-\frac{\varepsilon}{2} \operatorname{tr} \Sigma_k^{-1}}

    ε is ``reg_covar``. A row whose component is known contributes the term of that component alone. Each iteration
    averages over components (E) and sets weights, means and covariances to those of the averages (M), where
    Σ\ :sub:`k` is the scatter about the new mean plus ε I: exactly the maximiser of the objective with the factor
    above, which therefore never falls.

    Parameters
    ----------
    n_components : int ≥ 1, default 1
        Raised to the number of labels in y if that is larger.
    covariance_type : {"full", "tied", "diag", "spherical"}, default "full"
        A covariance for each component, one for all, variances of columns, or one variance for each component.
    tol : float ≥ 0, default 1e-3
        EM stops when an iteration adds no more than this to the mean log-likelihood; with 0 it makes ``max_iter``. The
        certificate asks for a next step no longer than the root of it: where that fails, or a note tells of a long way
        to go, a lower tol goes on.
    reg_covar : float ≥ 0, default 1e-6
        ε above, in squared units of X. With 0, rows that do not spread within any component are refused.
    max_iter : int ≥ 0, default 100
        With 0 the model is its start.
    n_init : int ≥ 1, default 1
        Starts; the best end is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default "kmeans"
        Where to start, on at most 32 768 rows drawn at random: clusters of k-means (all columns counting alike), rows
        nearest to seeds of k-means++, random shares, or rows nearest to random rows. Components with labelled rows
        start from those.
    weights_init, means_init, precisions_init : arrays or None
        Where to start, of shapes (k,), (k, d) and that of ``precisions_``. Means attract the rows nearest to them.
    random_state : int, RandomState or None
    warm_start : bool, default False
        Start from what the last fit found.
    verbose : bool or int ≥ 0, default 0
        Above 0 the fit prints its progress.
    verbose_interval : int ≥ 1, default 10
        Accepted for compatibility: lines come ever less often, and each second.
    n_jobs : int or None
        Threads, in fit and in predictions; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    weights_, means_ : arrays of shape (k,) and (k, d)
    covariances_, precisions_, precisions_cholesky_ : arrays
        Σ, Σ⁻¹ and upper triangular U with Σ⁻¹ = U Uᵀ, of shape (k, d, d), (d, d), (k, d) or (k,).
    component_labels_ : array of shape (k,)
        The label in y of each component, −1 if none: labels in 0 … k − 1 are the numbers of their components.
    converged_, n_iter_ : bool and int
    lower_bound_, lower_bounds_ : float and list of float
        The objective over Σ w: at the parameters above, and after each iteration.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* One pass over X for each iteration: O(n k d²) for "full" and "tied" (half of it only where components
    overlap), O(n k d) otherwise. Extra memory: 128 k d numbers a thread, the sums of at most 64 parts of the rows (all
    together 64 MB, unless those of 16 take more), a few copies of the sample for the start and five numbers a row.

    *Evidence.* Stationary: how far one more EM step would move the parameters, in standard deviations of the components
    (d² is the sum of (π' − π)²/π, of π ‖Σ^(−1/2)(μ' − μ)‖² and of ½ π ‖Σ^(−1/2)(Σ' − Σ)Σ^(−1/2)‖² over all of them), at
    most √tol: the norm of the gradient of the mean log-likelihood. Steps can be short and many; the facts have the way
    to go if they went on shrinking as the last one did. The largest fall of the objective in any iteration is a fact,
    zero up to rounding; if it is not, it is the certificate that fails. Notes tell of a long way to go, of empty
    components, and of covariances that were singular: no variance is less than 1e-10 of the pooled one within
    components, nor than (1e-15 of the range of its column)² or a few times that, which is rounding (with these bounds
    EM is still exact).

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm",
    *J. Royal Statistical Society B* 39, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.mixture import GaussianMixture
    >>> X = np.array([[1.0], [1.2], [0.8], [9.0], [9.1], [8.9]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> sorted(model.means_.ravel().round(6).tolist()), model.evidence_.holds
    ([1.0, 9.0], True)
    >>> GaussianMixture(2).fit(X, [1, -1, -1, 0, -1, -1]).predict(X)
    array([1, 1, 1, 0, 0, 0])
    """

    limits: ClassVar[dict[str, Limit]] = {
        "n_components": Integer(1),
        "covariance_type": Choice("full", "tied", "diag", "spherical"),
        "tol": Real(0),
        "reg_covar": Real(0, 1e300),
        "max_iter": Integer(0),
        "n_init": Integer(1),
        "init_params": Choice("kmeans", "k-means++", "random", "random_from_data"),
        "weights_init": Choice(None) | ArrayLike(),
        "means_init": Choice(None) | ArrayLike(),
        "precisions_init": Choice(None) | ArrayLike(),
        "random_state": RANDOM_STATE,
        "warm_start": Boolean(),
        "verbose": Boolean() | Integer(0),
        "verbose_interval": Integer(1),
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: Any = 0,
        verbose_interval: int = 10,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GaussianMixture:
        """Fit to rows X; y may tell the components of some (−1: not known); a row of weight w counts w times.

        X may also be :class:`Blocks` of X, (X, y) or (X, y, sample_weight), which are read anew for every iteration.
        """
        blocks = as_blocks(X, y, sample_weight)
        if blocks is None:
            X, weights = self._validate_rows(X, sample_weight, sparse=False)
            source: Source = ArraySource(X, y, weights, size=len(X))
        else:
            X, source = None, self._validate_blocks(blocks, target=False, sparse=False)
        run = MixtureRun(self, source.map(labelled))
        observe = self._observer(X, y, self.max_iter, lambda params: attributes(params, run.units))
        found = run.climb(observe)
        self.__dict__.update(run.attributes(found))
        self._keep_evidence(found.evidence)
        return self

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X = self._validate_predict(X, sparse=False)
        if (self.component_labels_ >= 0).any():
            return Verification(None, "the referee judges mixtures of rows without labels")
        weights, tolerance = check_weights(sample_weight, X), self.evidence_.certificate.tolerance
        parameters = self.weights_, self.means_, self.covariances_, self.covariance_type
        inverses = self.precisions_, self.precisions_cholesky_
        return gaussian_mixture(X, weights, *parameters, self.reg_covar, tolerance, inverses, self.lower_bound_)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the most likely component of each row (for labelled rows too)."""
        return self.fit(X, y, sample_weight).predict(X)
