"""k-means. (``MiniBatchKMeans``, for streams, is in ``mini_batch_kmeans``.)"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils import check_random_state

from corollary.base import fitting
from corollary.cluster.kmeans_base import CentreModel
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.solvers.kmeans.lloyd import Clustering, as_rows, iterate
from corollary.solvers.kmeans.moves import improve
from corollary.solvers.kmeans.rows import Rows
from corollary.solvers.loop import Observer

INIT = Choice("k-means++", "random") | ArrayLike() | Instance("a function", methods=("__call__",))
ROUNDING = 1e-12  # the cost is known to about 1e-16 of the total sum of squares, times a few operations


class KMeans(CentreModel):
    r"""k clusters, each around its mean.

    .. math:: \min_{c_1, \dots, c_k} \sum_i w_i \, \min_j \lVert x_i - c_j \rVert^2

    With ``metric="cosine"`` rows and centres have length one and the cost is :math:`1 - x_i^\top c_j`. Lloyd's
    iteration is exact in float64 and never raises the cost; float32 and bounds skip what they can prove.

    Parameters
    ----------
    n_clusters : int ≥ 1, default=8
    init : {"k-means++", "random"}, array of shape (k, d) or callable, default="k-means++"
        Where to start: greedy k-means++, rows drawn at random, given centres, or a function of
        (X, n_clusters, random_state). Rows of weight w are drawn as w rows would be.
    n_init : int ≥ 1 or "auto", default="auto"
        Starts, of which the best is kept. "auto" is 1 for k-means++ and given centres, otherwise 10.
    max_iter : int ≥ 1, default=300
    tol : float ≥ 0, default=1e-4
        Converged when the squared movement of all centres is at most tol times the mean variance of the columns;
        0 asks for labels that stay.
    random_state : int, RandomState or None
    algorithm : {"auto", "lloyd", "elkan"}, default="auto"
        All give the same answer. "auto" and "elkan" keep bounds that skip rows that cannot change cluster, where that
        pays (16 clusters or more); "lloyd" looks at all rows every time.
    metric : {"euclidean", "cosine"}, default="euclidean"
    moves : bool, default=False
        After convergence join two clusters and part a third as long as that lowers the cost.
    n_jobs : int or None
        Threads; the answer does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
    labels_ : array of shape (n,)
        The nearest centre of each row; ``predict(X)`` gives the same.
    inertia_ : float
        The cost.
    n_iter_ : int
        Iterations of the start that was kept.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: at most n·k·d multiplications in float32 an iteration, most of which bounds save later on. Memory beside X:
    a float32 copy of it (dense X) and up to 17 floats a row. Sparse X is never made dense.

    *Evidence*: the largest rise of the cost between iterations, as a share of the total sum of squares (0 up to
    rounding). Labels are nearest centres, exactly; how far centres are from the means of their rows is in the facts.

    References
    ----------
    S. P. Lloyd, "Least squares quantization in PCM", 1982. D. Arthur and S. Vassilvitskii, "k-means++", 2007.
    Y. Ding et al., "Yinyang k-means", 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.cluster import KMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[0.0, 0.5], [9.0, 0.5]], 1.0)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Integer(1),
        "init": INIT,
        "n_init": Integer(1) | Choice("auto"),
        "max_iter": Integer(1),
        "tol": Real(0),
        "random_state": RANDOM_STATE,
        "algorithm": Choice("auto", "lloyd", "elkan"),
        "metric": Choice("euclidean", "cosine"),
        "moves": Boolean(),
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        algorithm: str = "auto",
        metric: str = "euclidean",
        moves: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.algorithm = algorithm
        self.metric = metric
        self.moves = moves
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Find the clusters of X (n × d, dense or sparse); ``sample_weight`` w counts a row w times."""
        X, weights = self._validate_rows(X, sample_weight)
        self._check_count(weights)
        observe = self._observer(X, y, self.max_iter, lambda centres: {"cluster_centers_": centres})
        with one_blas_thread():
            rows = as_rows(X, weights, self._angular)
            found, notes = self._search(rows, X, weights, observe)
        self.cluster_centers_ = found.centres.astype(X.dtype)
        self.labels_, self.inertia_, self.n_iter_ = found.labels, found.inertia, found.n_iter
        self._keep_evidence(evidence_of(found, self.tol, (*notes, *self._warn_empty(found.empty))))
        return self

    def _search(
        self, rows: Rows, X: Any, weights: Array, observe: Observer | None
    ) -> tuple[Clustering, tuple[str, ...]]:
        rng = check_random_state(self.random_state)
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "observe": observe}
        options["bounded"] = self.algorithm != "lloyd"
        best: Clustering | None = None
        for _ in range(self._starts()):
            found = iterate(rows, self._start(X, weights, rng), **options)
            if best is None or found.inertia < best.inertia:
                best = found
            if found.status in (Status.BUDGET, Status.INTERRUPTED):
                break
        assert best is not None
        if not self.moves:
            return best, ()
        best, kept, tried = improve(rows, best, rng=rng, **options)
        return best, (f"{kept} of {tried} split-and-merge moves lowered the cost.",)

    def _starts(self) -> int:
        given = not isinstance(self.init, str) and not callable(self.init)
        if self.n_init == "auto":
            return 1 if given or (isinstance(self.init, str) and self.init == "k-means++") else 10
        return 1 if given else int(self.n_init)  # the same start would give the same answer


def evidence_of(found: Clustering, tol: float, notes: tuple[str, ...]) -> Evidence:
    """The certificate that the run earned: a cost that never rose, and centres that came to rest."""
    rest = Certificate(
        Kind.STATIONARY, "squared movement of the centres relative to the mean variance", found.movement, tol
    )
    steady = Certificate(
        Kind.CHECKED, "largest rise of the cost as a share of the total sum of squares", found.rise, ROUNDING
    )
    if found.repaired:
        times = "time" if found.repaired == 1 else "times"
        notes = (f"An empty cluster was given the costliest row {found.repaired} {times}.", *notes)
    return Evidence(
        status=found.status,
        certificate=rest if steady.holds and found.status is not Status.CONVERGED else steady,
        solver="Lloyd's iteration",
        n_iter=found.n_iter,
        seconds=found.history["seconds"][-1] if found.history["seconds"] else 0.0,
        history=found.history,
        facts={
            "objective": found.inertia,
            "largest distance of a centre to the mean of its rows, in standard deviations": found.off_mean,
            "clusters without rows": float(found.empty),
        },
        notes=notes,
    )
