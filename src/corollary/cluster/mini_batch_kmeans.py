"""k-means from small batches of rows: for streams, and for data that are read in parts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from corollary.base import assigning, check_weights, fitting
from corollary.cluster.kmeans import INIT, KMeans
from corollary.cluster.kmeans_base import CentreModel
from corollary.core.blocks import as_blocks
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Count, Fitted, Floats, Maybe, Number
from corollary.core.limits import N_JOBS, RANDOM_STATE, Boolean, Choice, Integer, Limit, Real
from corollary.core.types import Array
from corollary.referee import clusters as referee
from corollary.referee.verdict import Verification
from corollary.solvers.kmeans.batches import Batches, DrawnBatches, StreamedBatches
from corollary.solvers.kmeans.mini_batch import SETTLED, MiniBatch, Running
from corollary.solvers.kmeans.nearest import nearest, summarize
from corollary.solvers.loop import Rules, overflow, run


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
    verbose : bool or int ≥ 0, default=0
        Above 0 the fit prints its progress.
    compute_labels : bool, default=True
        Whether ``fit`` ends with a pass that labels all rows and measures the cost.
    random_state : int, RandomState or None
    tol : float ≥ 0, default=0.0
        Stop when the smoothed squared movement of all centres is at most tol times the mean variance; 0 never does.
    max_no_improvement : int ≥ 0 or None, default=10
        Stop after this many batches without a lower smoothed cost.
    init_size : int ≥ 1 or None, default=None
        Rows to choose the start from; None is 3 · batch_size, or 3 · n_clusters if that is more, and so is less than
        n_clusters.
    n_init : int ≥ 1 or "auto", default="auto"
        Starts that are compared on ``init_size`` rows; "auto" is 1 for k-means++ and given centres, otherwise 3.
    reassignment_ratio : float ≥ 0, default=0.01
        ``fit`` gives centres that have less than this share of the largest cluster's weight a new place now and then.
    n_jobs : int or None
        Threads; the answer does not depend on it.

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
    Batches are drawn from an array with probability ∝ weight. ``Blocks`` are read from front to back, at most
    ``max_iter`` times, in batches that do not depend on how they are cut; rows should come in no particular order.

    *Cost*: batch_size·k·d multiplications a batch; memory O(batch_size · (d + k)) and six numbers a row beside X, or
    beside one block.

    *Evidence*: stationary, to 5 %: the share of the cost that moving the centres to the means of their rows would still
    save (in one more batch if labels are not computed). In the history, "objective" is the cost of all rows as each
    batch estimates it, and "movement" the smoothed squared movement of the centres relative to the mean variance. After
    ``partial_fit`` it is only checked that no row was lost: the weights of all clusters add up to those of all rows.

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

    fitted: ClassVar[dict[str, Fitted]] = {
        "counts_": Floats("k", low=0),
        "n_steps_": Count(),
        "inertia_": Maybe(Number(low=0, finite=False)),
    }
    _many_starts: ClassVar[int] = 3
    _words: ClassVar[dict[str, str]] = KMeans._words
    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Integer(1),
        "init": INIT,
        "max_iter": Integer(1),
        "batch_size": Integer(1),
        "verbose": Boolean() | Integer(0),
        "compute_labels": Boolean(),
        "random_state": RANDOM_STATE,
        "tol": Real(0),
        "max_no_improvement": Choice(None) | Integer(0),
        "init_size": Choice(None) | Integer(1),
        "n_init": Integer(1) | Choice("auto"),
        "reassignment_ratio": Real(0),
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        verbose: Any = 0,
        compute_labels: bool = True,
        random_state: Any = None,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        init_size: int | None = None,
        n_init: Any = "auto",
        reassignment_ratio: float = 0.01,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Find the clusters of X; ``sample_weight`` w counts a row w times.

        X is n × d, dense or sparse, or :class:`corollary.Blocks` of such rows, with their weights in the blocks.
        """
        rng = check_random_state(self.random_state)
        batches, notes = self._batches(X, sample_weight, rng)
        self._check_present(batches.present)
        self._warn_starts()
        whole = batches.X if isinstance(batches, DrawnBatches) else None
        most = batches.within(self.max_iter)
        observe = self._observer(whole, y, most, lambda centres: {"cluster_centers_": centres})
        search = MiniBatch(
            batches, self._best_start(*batches.sample(self._start_size), rng), rng, still=self.tol,
            waiting=self.max_no_improvement, ratio=self.reassignment_ratio, label=self.compute_labels,
        )  # fmt: skip
        found = run(search, Rules(most, SETTLED, observe))
        if search.idle(found.state):
            self._tell("Converged (small centers change)")
        elif search.tired(found.state):
            self._tell("Converged (lack of improvement in inertia)")
        if not np.isfinite(found.measure.objective) and found.state.labels is not None:
            raise overflow()
        for name in ("labels_", "inertia_"):
            self.__dict__.pop(name, None)
        narrow = found.state.centres.astype(batches.dtype)  # done already, unless the certificate asked for float64
        self._keep(found.state, narrow.dtype if (narrow == found.state.centres).all() else np.float64)
        self.n_iter_ = batches.passes(self.n_steps_)
        if found.state.labels is not None:
            self.labels_, self.inertia_ = found.state.labels, found.measure.objective / self._weight_unit
        self._keep_evidence(found.evidence(notes=notes))
        return self

    def _batches(self, X: Any, sample_weight: Any, rng: np.random.RandomState) -> tuple[Batches, tuple[str, ...]]:
        blocks = as_blocks(X, None, sample_weight)
        if blocks is None:
            X, weights = self._validate_rows(X, sample_weight)
            return DrawnBatches(X.tocsr() if hasattr(X, "tocsr") else X, weights, self.batch_size, rng), ()
        source, kept = self._streamed(blocks, self._start_size, rng)
        return StreamedBatches(source, self.batch_size, kept), self._note_sample(kept)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Move the centres by one batch of rows; the first one also gives the start."""
        first = not hasattr(self, "cluster_centers_")
        X, weights = self._validate_rows(X, sample_weight, reset=first)
        self._observer(X, y, 1, lambda state: None)
        if first:
            self._check_count(weights)
            self._warn_starts()
            start = self._best_start(X, weights, check_random_state(self.random_state))
            running = Running(start, np.zeros(len(start)))
        else:
            running = Running(self.cluster_centers_.astype(np.float64), self.counts_, self.n_steps_)
        seen = running.counts.sum() + weights.sum()
        running = running.learn(X, weights)
        self._keep(running, X.dtype)
        self.n_iter_ = self.n_steps_
        self.labels_, distances = nearest(X, self.cluster_centers_)
        self.inertia_ = float(weights @ distances)
        lost = abs(float(running.counts.sum() - seen)) / seen
        self._keep_evidence(
            Evidence(
                status=Status.CONVERGED,
                certificate=Certificate(
                    Kind.CHECKED, "share of the weight of all rows that no cluster has", lost, 1e-9
                ),
                solver=MiniBatch.name,
                n_iter=self.n_steps_,
                facts={"objective": self.inertia_},
            )
        )
        return self

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        certificate = self.evidence_.certificate
        if certificate.kind is not Kind.STATIONARY or not hasattr(self, "inertia_"):
            return Verification(None, "the claim is about batches, and which rows these had is not kept")
        X = self._validate_predict(X)
        weights, delivered = check_weights(sample_weight, X), (self.labels_, self.inertia_)
        return referee.k_means(X, weights, self.cluster_centers_, certificate.tolerance, *delivered)

    @property
    def _start_size(self) -> int:
        """Rows to choose a start from."""
        size = self.init_size or 3 * max(self.batch_size, self.n_clusters)
        return size if size >= self.n_clusters else 3 * self.n_clusters

    def _warn_starts(self) -> None:
        self._warn_single_start()
        if self.init_size is not None and self.init_size < self.n_clusters:
            self._warn(
                f"init_size={self.init_size} should be larger than n_clusters={self.n_clusters}: so few rows hold no "
                f"start. {self._start_size} are taken, if there are as many."
            )

    def _best_start(self, X: Any, weights: Array, rng: np.random.RandomState) -> Array:
        """The best of ``n_init`` starts, by the cost of the rows they were chosen from."""
        found = [self._begin(X, weights, rng).astype(np.float64) for _ in range(self._n_init)]
        if len(found) == 1:
            return found[0]
        return min(found, key=lambda centres: summarize(X, weights, centres).cost)

    def _keep(self, running: Running, dtype: Any) -> None:
        self.cluster_centers_ = running.centres.astype(dtype)
        self.counts_, self.n_steps_ = running.counts, running.steps
