"""Soft k-means: every row belongs to all clusters, in shares that fall with distance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from corollary.base import check_weights, fitting
from corollary.cluster.kmeans import INIT
from corollary.cluster.kmeans_base import CentreModel
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.limits import N_JOBS, RANDOM_STATE, Integer, Limit, Real
from corollary.core.parallel import map_blocks, one_blas_thread
from corollary.core.types import Array
from corollary.solvers.kmeans.lloyd import ROUNDING
from corollary.solvers.kmeans.soft import SoftClustering, responsibilities, soft_kmeans


class SoftKMeans(CentreModel):
    r"""k clusters that share their rows, by a stiffness β.

    .. math:: \min_{c_1, \dots, c_k} -\frac{1}{\beta} \sum_i w_i \ln \sum_j e^{-\beta \lVert x_i - c_j \rVert^2}

    Row i belongs to cluster j by :math:`r_{ij} \propto e^{-\beta \lVert x_i - c_j \rVert^2}`, and a centre is the mean
    of all rows weighted by that. For β → ∞ this is k-means; below :math:`1 / (2 \lambda)`, where λ is the largest
    eigenvalue of the covariance, all centres meet at the mean.

    Parameters
    ----------
    n_clusters : int ≥ 1, default=8
    stiffness : float > 0, default=1.0
        β, in units of one over the squared units of X: a Gaussian of variance σ² has β = 1 / (2σ²).
    init : {"k-means++", "random"}, array of shape (k, d) or callable, default="k-means++"
        Where to start, as in :class:`KMeans`.
    n_init : int ≥ 1, default=1
        Starts, of which the one of least free energy is kept.
    max_iter : int ≥ 1, default=1000
    tol : float ≥ 0, default=1e-6
        Converged when the squared movement of all centres is at most tol times the mean variance of the columns.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads; the answer does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
    labels_ : array of shape (n,)
        The cluster to which each row belongs most.
    free_energy_ : float
        The objective. It lies between the k-means cost and that less Σw · ln(k) / β.
    n_iter_ : int
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: n·k·d multiplications and n·k exponentials an iteration; memory O(k·d) beside X.

    *Evidence*: the largest rise of the free energy between iterations, as a share of the total sum of squares (0 up
    to rounding).

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
    ) -> None:
        self.n_clusters = n_clusters
        self.stiffness = stiffness
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SoftKMeans:
        """Find the clusters of X (n × d); ``sample_weight`` w counts a row w times."""
        X, weights = self._validate_rows(X, sample_weight, sparse=False)
        self._check_count(weights)
        observe = self._observer(X, y, self.max_iter, lambda centres: {"cluster_centers_": centres})
        rng = check_random_state(self.random_state)
        best: SoftClustering | None = None
        for _ in range(self.n_init if isinstance(self.init, str) or callable(self.init) else 1):
            start = self._start(X, weights, rng)
            options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "observe": observe}
            found = soft_kmeans(X, weights, start, float(self.stiffness), **options)
            if best is None or found.energy < best.energy:
                best = found
            if found.status in (Status.BUDGET, Status.INTERRUPTED):
                break
        assert best is not None
        self.cluster_centers_ = best.centres.astype(X.dtype)
        self.free_energy_, self.n_iter_ = best.energy, best.n_iter
        self.labels_ = self._shares(X).argmax(axis=1).astype(np.int32)
        self._keep_evidence(_evidence(best, self.tol))
        return self

    def predict_proba(self, X: Any) -> Array:
        """How far each row belongs to each cluster (n × k; rows sum to 1)."""
        X = self._validate_predict(X, sparse=False)
        return self._shares(X).astype(X.dtype, copy=False)

    def predict(self, X: Any) -> Array:
        """The cluster to which each row belongs most."""
        return self.predict_proba(X).argmax(axis=1).astype(np.int32)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the free energy of X with these centres: larger is better."""
        X = self._validate_predict(X, sparse=False)
        energies = responsibilities(X, self.cluster_centers_.astype(np.float64), float(self.stiffness))[1]
        return -float(check_weights(sample_weight, X) @ energies)

    def inverse_transform(self, X: Any) -> Array:
        """Centres for labels (a vector), or their mix by shares (n × k, as :meth:`predict_proba` gives)."""
        check_is_fitted(self)
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

    def _shares(self, X: Any) -> Array:
        centres, stiffness = self.cluster_centers_.astype(np.float64), float(self.stiffness)

        def part(start: int, stop: int) -> Array:
            return responsibilities(X[start:stop], centres, stiffness)[0]

        with one_blas_thread():
            return np.concatenate(list(map_blocks(part, X.shape[0], max(64, (1 << 18) // len(centres)))))


def _evidence(found: SoftClustering, tol: float) -> Evidence:
    rest = Certificate(
        Kind.STATIONARY, "squared movement of the centres relative to the mean variance", found.movement, tol
    )
    steady = Certificate(
        Kind.CHECKED, "largest rise of the free energy as a share of the total sum of squares", found.rise, ROUNDING
    )
    return Evidence(
        status=found.status,
        certificate=rest if steady.holds and found.status is not Status.CONVERGED else steady,
        solver="soft k-means",
        n_iter=found.n_iter,
        seconds=found.history["seconds"][-1] if found.history["seconds"] else 0.0,
        history=found.history,
        facts={"objective": found.energy},
    )
