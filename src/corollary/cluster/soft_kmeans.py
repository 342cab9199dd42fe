"""Soft k-means: every row belongs to all clusters, in shares that fall with distance."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from corollary.base import assigning, check_weights, fitting, predicting
from corollary.cluster.kmeans import INIT
from corollary.cluster.kmeans_base import CentreModel
from corollary.core.blocks import ArraySource, Source, as_blocks
from corollary.core.evidence import Kind
from corollary.core.fitted import Fitted, Number
from corollary.core.limits import N_JOBS, RANDOM_STATE, Integer, Limit, Real
from corollary.core.types import Array
from corollary.referee import mixtures as referee
from corollary.referee.verdict import Verification
from corollary.solvers.em import em
from corollary.solvers.em.soft_kmeans import SoftModel, block_size, responsibilities
from corollary.solvers.em.start import SAMPLE, present, survey
from corollary.solvers.kmeans.nearest import nearest
from corollary.solvers.loop import overflow


class SoftKMeans(CentreModel):
    r"""k clusters that share their rows, by a stiffness β.

    .. math:: \min_{c_1, \dots, c_k} -\frac{1}{\beta} \sum_i w_i \ln \sum_j e^{-\beta \lVert x_i - c_j \rVert^2}

    Row i belongs to cluster j by :math:`r_{ij} \propto e^{-\beta \lVert x_i - c_j \rVert^2}`, and a centre is the mean
    of all rows weighted by that. This is EM for k Gaussians of equal weight and one known variance 1/(2β). For β → ∞ it
    is k-means; below :math:`1 / (2 \lambda)`, where λ is the largest eigenvalue of the covariance, all centres meet at
    the mean.

    Parameters
    ----------
    n_clusters : int ≥ 1, default=8
    stiffness : float > 0, default=1.0
        β, in units of one over the squared units of X: a Gaussian of variance σ² has β = 1 / (2σ²).
    init : {"k-means++", "random"}, array of shape (k, d) or callable, default="k-means++"
        Where to start, as in :class:`KMeans`, on at most 32 768 rows drawn at random.
    n_init : int ≥ 1, default=1
        Starts, of which the one of least free energy is kept.
    max_iter : int ≥ 1, default=1000
    tol : float ≥ 0, default=1e-6
        Converged when the squared movement of all centres is at most tol times the mean variance of the columns.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads, in fit and in predictions; the answer does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        In the dtype of X; in float64 where rounding them to float32 would move them too far.
    labels_ : array of shape (n,)
        The cluster to which each row belongs most.
    free_energy_ : float
        The objective. It lies between the k-means cost and that less Σw · ln(k) / β.
    n_iter_ : int
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: n·k·d multiplications and n·k exponentials an iteration. Memory beside X: the sample for the start and
    a float32 copy of it, a few numbers a row and O(k·d).

    *Evidence*: stationary: the squared movement of all centres in the next iteration, relative to the mean variance.
    The objective of the history is minus the mean log-likelihood of the Gaussians; that it never fell is in the facts.

    References
    ----------
    D. J. C. MacKay, *Information Theory, Inference, and Learning Algorithms*, 2003, chapter 20. K. Rose,
    "Deterministic annealing for clustering", 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.cluster import SoftKMeans
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> model = SoftKMeans(n_clusters=2, stiffness=0.5, random_state=0).fit(X)
    >>> model.predict_proba([[3.0]]).round(2).tolist(), model.evidence_.holds
    ([[0.5, 0.5]], True)
    """

    _takes_sparse: ClassVar[bool] = False
    fitted: ClassVar[dict[str, Fitted]] = {
        "free_energy_": Number(finite=False),  # in the weights of the user it may be too large for float64
    }
    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Integer(1),
        "stiffness": Real(0, above=True),
        "init": INIT,
        "n_init": Integer(1),
        "max_iter": Integer(1),
        "tol": Real(0),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        stiffness: float = 1.0,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SoftKMeans:
        """Find the clusters of X (n × d, or blocks of rows); ``sample_weight`` w counts a row w times."""
        blocks = as_blocks(X, None, sample_weight)
        if blocks is None:
            X, weights = self._validate_rows(X, sample_weight, sparse=False)
            source: Source = ArraySource(X, weights, size=len(X))
        else:
            source = self._validate_blocks(blocks, target=False, sparse=False).map(lambda block: block[::2])
        source, rng = source.map(present), check_random_state(self.random_state)
        seen = survey(source, max(SAMPLE, 64 * self.n_clusters), deepcopy(rng))
        rows, weights = seen.sample
        self._check_count(weights)
        model = SoftModel.of(source.map(tuple, block_size(rows.shape[1])), seen, float(self.stiffness))
        n_init = self.n_init if isinstance(self.init, str) or callable(self.init) else 1
        starts = (self._start(rows, weights, rng).astype(np.float64) * model.scale for _ in range(n_init))
        whole = X if blocks is None else None
        observe = self._observer(whole, y, self.max_iter, lambda at: {"cluster_centers_": at / model.scale})
        found = em(model, source, starts, tol=self.tol, max_iter=self.max_iter, observe=observe)
        certificate = found.evidence.certificate
        moves, step = certificate.value, model.next_step(found.summary)
        moves = step if step > certificate.tolerance else moves  # a step below the spacing of float64 moves nothing
        self.cluster_centers_, moves = model.narrowed(found.params, moves, self.tol, rows.dtype)
        self.free_energy_ = model.free_energy(found.summary) / self._weight_unit
        self.n_iter_ = found.evidence.n_iter
        given = (block[0] for block in blocks or () if len(block[0]))
        tables = [X] if blocks is None else (self._validate_predict(table, sparse=False) for table in given)
        self.labels_ = np.concatenate([nearest(table, self.cluster_centers_)[0] for table in tables])
        if certificate.kind is Kind.STATIONARY:
            certificate = replace(certificate, value=moves)
        self._keep_evidence(replace(found.evidence, certificate=certificate))
        return self

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X = self._validate_predict(X, sparse=False)
        weights, tolerance = check_weights(sample_weight, X), self.evidence_.certificate.tolerance
        delivered = self.labels_, self.free_energy_
        return referee.soft_k_means(X, weights, self.cluster_centers_, self.stiffness, tolerance, *delivered)

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """How far each row belongs to each cluster (n × k; rows sum to 1)."""
        X = self._validate_predict(X, sparse=False)
        return self._belonging(X)[0].astype(X.dtype, copy=False)

    @predicting
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the free energy of X with these centres: larger is better."""
        X = self._validate_predict(X, sparse=False)
        energies = self._belonging(X)[1]
        if not np.isfinite(energies).all():
            raise overflow()
        return -float(check_weights(sample_weight, X) @ energies)

    @predicting
    def inverse_transform(self, X: Any) -> Array:
        """Centres for labels (a vector), or their mix by shares (n × k, as :meth:`predict_proba` gives)."""
        if np.ndim(X) < 2:
            return super().inverse_transform(X)
        shares = check_array(X, dtype=np.float64, input_name="X")
        if shares.shape[1] != len(self.cluster_centers_):
            k = len(self.cluster_centers_)
            raise ValueError(f"X must have {k} columns, one share per centre, but it has {shares.shape[1]}.")
        return np.asarray(shares @ self.cluster_centers_)

    def plot(self, X: Any, ax: Any = None) -> Any:
        """Draw the rows of X, coloured by the mix of clusters they belong to, with the centres."""
        from corollary.cluster.cluster_plots import scatter

        shares, names = self.predict_proba(X), getattr(self, "feature_names_in_", None)
        rows = self._validate_predict(X, sparse=False)
        return scatter(rows, shares.argmax(axis=1), self.cluster_centers_, shares, ax=ax, names=names)

    def _belonging(self, X: Array) -> tuple[Array, Array]:
        """How far rows belong to each centre, and their free energies."""
        return responsibilities(X, self.cluster_centers_.astype(np.float64), float(self.stiffness))
