"""Mixtures of any distributions by EM: Bernoulli mixtures, latent classes, counts, columns of different kinds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from corollary.base import assigning, check_weights, fitting
from corollary.core.blocks import ArraySource, Source, as_blocks
from corollary.core.distribution import Columns, Distribution, DistributionOf, as_distribution
from corollary.core.fitted import Anything, Fitted
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Integer, Limit, Real
from corollary.core.parallel import map_blocks
from corollary.core.types import Array
from corollary.mixture.density import MixtureDensity
from corollary.mixture.labels import labelled
from corollary.mixture.mixture_run import GeneralRun
from corollary.referee.components import mixture_of_components
from corollary.referee.verdict import Verification
from corollary.solvers.em.mixture import block_size, posteriors

NAMED = {"regular": 1e-6}  # what distributions are made with that are given by name
DISTRIBUTION = DistributionOf()


class Mixture(MixtureDensity):
    r"""A density that is a weighted sum of distributions of any one kind, by expectation–maximisation.

    .. math:: \max_{\pi, \theta} \sum_i w_i \log \sum_k \pi_k \, p(x_i; \theta_k) + \log \text{prior}(\theta)

    A row whose component is known contributes the term of that component alone. Bernoulli components are a Bernoulli
    mixture, categorical ones latent class analysis, multinomial ones a mixture of unigrams; for Gaussians of few kinds
    and many rows :class:`GaussianMixture` is quicker.

    Parameters
    ----------
    distribution : str, Distribution or a list with one for each column, default "gaussian"
        "gaussian" (independent columns), "bernoulli", "categorical", "multinomial", "poisson", "exponential", or one of
        ``corollary.core.distribution`` with parameters of its own: smoothing, ``Gaussian("full")``, ``Columns``. Named
        Gaussians add 1e-6 to variances.
    n_components : int ≥ 1, default 1
        Raised to the number of labels in y if that is larger.
    tol : float ≥ 0, default 1e-3
        EM stops when an iteration adds no more than this to the mean log-likelihood and the next step is no longer than
        its root; with 0 it makes ``max_iter``.
    max_iter : int ≥ 0, default 100
    n_init : int ≥ 1, default 1
        Starts; the best end is kept.
    init : {"seeds", "random"} or array of shape (k, d), default "seeds"
        Where to start, on at most 32 768 rows drawn at random: near rows that are unlike each other, from random
        shares, or near the given rows. Components with labelled rows start from those.
    random_state : int, RandomState or None
    warm_start : bool, default False
        Start from what the last fit found.
    verbose : bool or int ≥ 0, default 0
        Above 0 the fit prints its progress.
    n_jobs : int or None
        Threads, in fit and in predictions; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (k,)
    params_ : dict of arrays
        The parameters of the components by name, such as ``mean`` and ``variance``; their first axis is that of the
        components. The class of the distribution says which there are.
    distribution_ : Distribution
        With what the rows settled: numbers of states, for instance.
    component_labels_ : array of shape (k,)
        The label in y of each component, −1 if none: labels in 0 … k − 1 are the numbers of their components.
    converged_, n_iter_ : bool and int
    lower_bound_, lower_bounds_ : float and list of float
        The objective over Σ w: at the parameters above, and after each iteration.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Missing values.* NaN in a column is left out of the density of its row where columns are independent given the
    component (all but "multinomial" and Gaussians with covariances): right if that a value is missing says nothing.

    *Cost.* One pass over X for each iteration: O(n k d), O(n k d²) with covariances. Extra memory: a few megabytes a
    thread, a few copies of the sample for the start and five numbers a row.

    *Evidence.* Stationary: how far one more EM step would move the parameters in the metric of Fisher's information
    (for Gaussians, standard deviations of the components), at most √tol: the norm of the gradient of the mean
    log-likelihood. The largest fall of the objective in any iteration is a fact; if it is more than rounding, it is the
    certificate that fails.

    References
    ----------
    G. McLachlan and D. Peel, *Finite Mixture Models*, Wiley, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.mixture import Mixture
    >>> X = np.repeat([[1.0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]], 20, axis=0)
    >>> model = Mixture("bernoulli", 2, random_state=0).fit(X)
    >>> sorted(model.weights_.round(3).tolist()), model.evidence_.holds
    ([0.333, 0.667], True)
    >>> X = np.column_stack([X[:, 0], 5 * X[:, 0] + np.arange(60) % 3])
    >>> mixed = Mixture(["bernoulli", "gaussian"], 2, random_state=0).fit(X)
    >>> mixed.params_["1.mean"].round(2).ravel().tolist()[mixed.predict([[1, 6]])[0]]
    5.95
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "params_": Anything(dict),
        "distribution_": Anything(Distribution),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "distribution": DISTRIBUTION,
        "n_components": Integer(1),
        "tol": Real(0),
        "max_iter": Integer(0),
        "n_init": Integer(1),
        "init": Choice("seeds", "random") | ArrayLike(),
        "random_state": RANDOM_STATE,
        "warm_start": Boolean(),
        "verbose": Boolean() | Integer(0),
        "n_jobs": N_JOBS,
    }
    params_: dict[str, Array]
    distribution_: Distribution
    component_labels_: Array
    lower_bound_: float
    n_features_in_: int

    @assigning
    def __init__(
        self,
        distribution: Any = "gaussian",
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init: Any = "seeds",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: Any = 0,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Mixture:
        """Fit to rows X; y may tell the components of some (−1: not known); a row of weight w counts w times.

        X may also be :class:`Blocks` of X, (X, y) or (X, y, sample_weight), which are read anew for every iteration.
        """
        part, blocks = as_distribution(self.distribution, NAMED), as_blocks(X, y, sample_weight)
        options = _options(part)
        if blocks is None:
            X, weights = self._validate_rows(X, sample_weight, **options)
            source: Source = ArraySource(X, y, weights, size=X.shape[0])
        else:
            X, source = None, self._validate_blocks(blocks, target=False, **options)
        run = GeneralRun(self, part, source.map(_by_rows).map(labelled))
        found = run.climb(self._observer(X, y, self.max_iter, run.shown))
        self.__dict__.update(run.attributes(found))
        self._keep_evidence(found.evidence)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the most likely component of each row (for labelled rows too)."""
        return self.fit(X, y, sample_weight).predict(X)

    def _posteriors(self, X: Any) -> tuple[Array, Array]:
        part = self.distribution_
        X = self._validate_predict(X, **_options(part))
        X = X.tocsr() if issparse(X) else X
        part.check(X)
        shares, logs = np.empty((X.shape[0], len(self.weights_))), np.empty(X.shape[0])

        def some(start: int, stop: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                given = part.log_prob(X[start:stop], self.params_)
                shares[start:stop], logs[start:stop] = posteriors(given, self.weights_)

        for _ in map_blocks(some, X.shape[0], block_size(X.shape[1], len(self.weights_))):
            pass
        shares[np.isneginf(logs)] = self.weights_  # of rows that cannot be, nothing is learned
        return shares.astype(X.dtype, copy=False), logs.astype(X.dtype, copy=False)

    def _n_parameters(self) -> int:
        return self.distribution_.n_free(self.params_) + len(self.weights_) - 1

    def _drawn(self, components: Array, rng: np.random.RandomState) -> Array:
        return self.distribution_.sample(self.params_, components, rng)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if DISTRIBUTION.accepts(self.distribution):
            part = as_distribution(self.distribution, NAMED)
            tags.input_tags.allow_nan, tags.input_tags.sparse = part.by_column, part.sparse
            tags.input_tags.positive_only = part.nonnegative
        return tags

    def _check_state(self) -> None:
        if hasattr(self, "params_"):
            self.distribution_.check_params(self.params_, len(self.weights_), self.n_features_in_)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X = self._validate_predict(X, **_options(self.distribution_))
        if (self.component_labels_ >= 0).any():
            return Verification(None, "the referee judges mixtures of rows without labels")
        X, weights = X.toarray() if issparse(X) else X, check_weights(sample_weight, X)
        tolerance = self.evidence_.certificate.tolerance
        parts = _plain(self.distribution_, self.params_, X.shape[1])
        return mixture_of_components(X, weights, self.weights_, parts, tolerance, self.lower_bound_)


def _options(part: Distribution) -> dict[str, Any]:
    return {"sparse": part.sparse, "ensure_all_finite": "allow-nan" if part.by_column else True}


def _by_rows(block: Any) -> Any:
    X, *others = block
    return (X.tocsr() if issparse(X) else X, *others)


def _plain(part: Distribution, params: Any, d: int) -> list[tuple[list[int], str, dict[str, Any], dict[str, Array]]]:
    """(columns, name, numbers of the prior, parameters) of each group of columns."""
    if not isinstance(part, Columns):
        return [(list(range(d)), part.name, part.parameters, dict(params))]
    groups = zip(part.groups, part.of_groups(params), strict=True)
    return [(list(columns), each.name, each.parameters, dict(own)) for (columns, each), (_, own) in groups]
