"""k-means from small batches of rows: for streams, and for data that are read in parts."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from corollary.base import check_weights, fitting
from corollary.cluster.kmeans import INIT
from corollary.cluster.kmeans_base import CentreModel
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.limits import RANDOM_STATE, Boolean, Choice, Integer, Limit, Real
from corollary.core.types import Array
from corollary.solvers.kmeans.mini_batch import Batches, Running, saving
from corollary.solvers.kmeans.nearest import nearest, summarize
from corollary.solvers.kmeans.old_log import Log

SETTLED = 0.05  # the share of the cost that one exact iteration may still save


class MiniBatchKMeans(CentreModel):
    r"""k-means whose centres are running means of the rows they were given, batch by batch.

    .. math:: c_j \leftarrow c_j + \frac{1}{n_j} \sum_{i \in \text{batch},\, j \text{ nearest}} w_i \, (x_i - c_j)

    where n\ :sub:`j` is the weight of all rows that centre j was ever given.

    Parameters
    ----------
    n_clusters : int ≥ 1, default=8
    init : {"k-means++", "random"}, array of shape (k, d) or callable, default="k-means++"
        Where to start, as in :class:`KMeans`, chosen from ``init_size`` rows.
    max_iter : int ≥ 1, default=100
        Most passes over X, counted in rows.
    batch_size : int ≥ 1, default=1024
    compute_labels : bool, default=True
        Whether ``fit`` ends with a pass that labels all rows and measures the cost.
    random_state : int, RandomState or None
    tol : float ≥ 0, default=0.0
        Stop when the smoothed squared movement of all centres is at most tol times the mean variance; 0 never does.
    max_no_improvement : int ≥ 1 or None, default=10
        Stop after this many batches without a lower smoothed cost.
    init_size : int ≥ 1 or None, default=None
        Rows to choose the start from; None is 3 · batch_size, or 3 · n_clusters if that is more.
    n_init : int ≥ 1 or "auto", default="auto"
        Starts that are compared on ``init_size`` rows; "auto" is 1 for k-means++ and given centres, otherwise 3.
    reassignment_ratio : float ≥ 0, default=0.01
        ``fit`` gives centres that have less than this share of the largest cluster's weight a new place now and then.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
    counts_ : array of shape (k,)
        Weight of the rows that each centre is the mean of.
    labels_ : array of shape (n,)
        Nearest centres (of the last batch after ``partial_fit``).
    inertia_ : float
        The cost (of the last batch after ``partial_fit``).
    n_iter_ : int
        Passes over X, begun or done.
    n_steps_ : int
        Batches seen.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: batch_size·k·d multiplications a batch; memory O(batch_size · (d + k)) beside X.

    *Evidence*: the share of the cost that moving the centres to the means of their rows would still save, at most 5 %
    (of the last batch if labels are not computed). After ``partial_fit``: that no row was lost, the weights of all
    clusters adding up to those of all rows.

    References
    ----------
    D. Sculley, "Web-scale k-means clustering", 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.cluster import MiniBatchKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]])
    >>> model = MiniBatchKMeans(n_clusters=2, init=X[[0, 2]])
    >>> for _ in range(3):
    ...     model = model.partial_fit(X)
    >>> model.counts_.tolist(), model.cluster_centers_.tolist()
    ([6.0, 6.0], [[0.0, 0.5], [9.0, 0.5]])
    """

    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Integer(1),
        "init": INIT,
        "max_iter": Integer(1),
        "batch_size": Integer(1),
        "compute_labels": Boolean(),
        "random_state": RANDOM_STATE,
        "tol": Real(0),
        "max_no_improvement": Choice(None) | Integer(1),
        "init_size": Choice(None) | Integer(1),
        "n_init": Integer(1) | Choice("auto"),
        "reassignment_ratio": Real(0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        compute_labels: bool = True,
        random_state: Any = None,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        init_size: int | None = None,
        n_init: Any = "auto",
        reassignment_ratio: float = 0.01,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Find the clusters of X (n × d, dense or sparse); ``sample_weight`` w counts a row w times."""
        X, weights = self._validate_rows(X, sample_weight)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        self._check_count(weights)
        observe = self._observer(X, y, self.max_iter, lambda centres: {"cluster_centers_": centres})
        rng = check_random_state(self.random_state)
        batches = Batches(X, weights, self.batch_size, rng)
        running = Running(self._best_start(X, weights, batches, rng))
        log, status = Log(), Status.CONVERGED
        try:
            status = self._learn(batches, running, rng, log, observe)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        self._keep(running, X)
        self.n_steps_ = running.steps
        self.n_iter_ = batches.passes(running.steps)
        self._finish_fit(X, weights, running, log, status)
        return self

    def _learn(self, batches: Batches, running: Running, rng: Any, log: Log, observe: Any) -> Status:
        running.watch(batches.mean_variance(), self.tol, self.max_no_improvement)
        for step in range(1, batches.most(self.max_iter) + 1):
            X, weights = batches.draw()
            cost = running.learn(X, weights)
            running.reassign(X, self.reassignment_ratio, rng)
            record = log.add(step, cost, running.movement)
            if running.idle():
                break
            if observe is not None and observe(record, lambda: running.centres):
                return Status.BUDGET
        return Status.CONVERGED

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Move the centres by one batch of rows; the first one also gives the start."""
        self._check_parameters()
        began, first = time.perf_counter(), not hasattr(self, "cluster_centers_")
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=first)
        weights = check_weights(sample_weight, X)
        if first:
            self._check_count(weights)
            running = Running(self._best_start(X, weights, None, check_random_state(self.random_state)))
        else:
            running = Running(self.cluster_centers_.astype(np.float64), self.counts_.copy(), self.n_steps_)
        seen = running.counts.sum() + weights.sum()
        running.learn(X, weights)
        self._keep(running, X)
        self.n_steps_, self.n_iter_ = running.steps, running.steps
        self.labels_, distances = nearest(X, self.cluster_centers_)
        self.inertia_ = float(weights @ distances)
        lost = abs(float(running.counts.sum() - seen)) / seen
        self.evidence_ = Evidence(
            status=Status.CONVERGED,
            certificate=Certificate(Kind.CHECKED, "share of the weight of all rows that no cluster has", lost, 1e-9),
            solver="mini-batch k-means",
            n_iter=self.n_steps_,
            seconds=time.perf_counter() - began,
            facts={"objective": self.inertia_},
        )
        return self

    def _best_start(self, X: Any, weights: Array, batches: Batches | None, rng: Any) -> Array:
        """The best of ``n_init`` starts, by the cost of the rows they were chosen from."""
        starts = self._starts()
        size = self.init_size or max(3 * self.batch_size, 3 * self.n_clusters)
        if batches is not None and X.shape[0] > max(size, self.n_clusters):
            X, weights = batches.sample(max(size, self.n_clusters))
        found = [self._start(X, weights, rng).astype(np.float64) for _ in range(starts)]
        if starts == 1:
            return found[0]
        return min(found, key=lambda centres: summarize(X, weights, centres).cost)

    def _starts(self) -> int:
        given = not isinstance(self.init, str) and not callable(self.init)
        if self.n_init == "auto":
            return 1 if given or (isinstance(self.init, str) and self.init == "k-means++") else 3
        return 1 if given else int(self.n_init)

    def _keep(self, running: Running, X: Any) -> None:
        self.cluster_centers_ = running.centres.astype(X.dtype)
        self.counts_ = running.counts

    def _finish_fit(self, X: Any, weights: Array, running: Running, log: Log, status: Status) -> None:
        summary = running.last
        for name in ("labels_", "inertia_"):
            self.__dict__.pop(name, None)
        if self.compute_labels:
            self.labels_, distances = nearest(X, self.cluster_centers_)
            self.inertia_ = float(weights @ distances)
            summary = summarize(X, weights, self.cluster_centers_.astype(np.float64))
        left = saving(summary) if summary is not None else np.inf
        evidence = Evidence(
            status=status,
            certificate=Certificate(
                Kind.STATIONARY, "share of the cost that the means of their rows would save", left, SETTLED
            ),
            solver="mini-batch k-means",
            n_iter=running.steps,
            seconds=log.seconds,
            history=log.history,
            facts={"objective": self.inertia_} if self.compute_labels else {},
        )
        self._keep_evidence(evidence)
