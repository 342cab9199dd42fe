"""k-means. (``MiniBatchKMeans``, for streams, is in ``mini_batch_kmeans``.)"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from corollary.base import assigning, check_weights, fitting
from corollary.cluster.kmeans_base import CentreModel
from corollary.core.blocks import Blocks, as_blocks
from corollary.core.evidence import Status
from corollary.core.fitted import Fitted, Number
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.referee import clusters as referee
from corollary.referee.verdict import Verification
from corollary.solvers.kmeans.lloyd import Lloyd, evidence_of, rules
from corollary.solvers.kmeans.moves import Moves, starts_and_moves
from corollary.solvers.kmeans.rows import KMeansRows
from corollary.solvers.kmeans.single_row import best_row_move
from corollary.solvers.kmeans.sources import StreamedRows, as_rows
from corollary.solvers.loop import best_of

INIT = Choice("k-means++", "random") | ArrayLike() | Instance("a function", methods=("__call__",))
SAMPLE = 1 << 16  # rows of blocks from which starts are drawn


class KMeans(CentreModel):
    r"""k clusters, each around its mean.

    .. math:: \min_{c_1, \dots, c_k} \sum_i w_i \, \min_j \lVert x_i - c_j \rVert^2

    With ``metric="cosine"`` rows and centres have length one and the cost is :math:`1 - x_i^\top c_j`. Lloyd's
    iteration is exact in float64 and never raises the cost; float32 and bounds only skip comparisons whose
    outcome they settle.

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
        Converged when the squared movement of all centres is at most tol times the mean variance of the columns, and
        saved at most that share of the cost; 0 asks for labels that stay.
    verbose : bool or int ≥ 0, default=0
        Above 0 the fit prints its progress.
    random_state : int, RandomState or None
    copy_x : bool, default=True
        Accepted for compatibility; X is never overwritten.
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
        In the dtype of X; in float64 where rounding them to float32 would cost more than ``tol`` of the cost.
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
    a float32 copy of it (dense X), up to 60 floats a row, and a few megabytes; the sums of parts of the rows, of which
    threads take one after another, take up to n·d/4 float64 numbers more where k is large. Sparse X stays sparse.
    Blocks are read once an iteration and four times besides; a block and 20 bytes a row are held in memory. Starts are
    drawn from a sample of 65 536 rows if there are more.

    *Evidence*: stationary. The certificate is the share of the cost that one more exact Lloyd step would save, worked
    out in float64 about the centres that are delivered: at most ``tol`` (or 1e-9). Labels are nearest centres, exactly.
    The facts have what moving the best single row to another cluster would save (of up to 1024 rows; such moves are not
    made), the largest rise of the cost between iterations (0 up to rounding; else the fit says that its check failed)
    and how far centres are from the means of their rows. The history has the squared "movement" of all centres relative
    to the mean variance.

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

    _words: ClassVar[dict[str, str]] = {"iteration": "Iteration", "objective": "inertia"}
    fitted: ClassVar[dict[str, Fitted]] = {
        "inertia_": Number(low=0, finite=False),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Integer(1),
        "init": INIT,
        "n_init": Integer(1) | Choice("auto"),
        "max_iter": Integer(1),
        "tol": Real(0),
        "verbose": Boolean() | Integer(0),
        "random_state": RANDOM_STATE,
        "copy_x": Boolean(),
        "algorithm": Choice("auto", "lloyd", "elkan"),
        "metric": Choice("euclidean", "cosine"),
        "moves": Boolean(),
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: Any = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "auto",
        metric: str = "euclidean",
        moves: bool = False,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Find the clusters of X; ``sample_weight`` w counts a row w times.

        X is n × d, dense or sparse, or :class:`corollary.Blocks` of such rows, with their weights in the blocks.
        """
        blocks, rng = as_blocks(X, None, sample_weight), check_random_state(self.random_state)
        notes: tuple[str, ...] = ()
        with one_blas_thread():
            if blocks is None:
                X, weights = self._validate_rows(X, sample_weight)
                rows, sample = as_rows(X, weights, self._angular), (X, weights)
            else:
                rows, sample, notes = self._read(blocks, rng)
            self._check_count(rows.weights)
            self._warn_single_start()
            if self.algorithm == "elkan" and self.n_clusters == 1:
                self._warn("algorithm='elkan' doesn't make sense for a single cluster, and is the same as 'lloyd'.")
            whole = X if blocks is None else None
            observe = self._observer(whole, y, self.max_iter, lambda seen: {"cluster_centers_": seen[0]})
            bounded = self.algorithm != "lloyd"
            moves = Moves(rows, rng, bounded, self.tol)
            held = rows if blocks is None else None
            begun = (self._begin(*sample, rng, held) for _ in range(self._n_init))
            ahead = self.max_iter if observe is None else 1
            starts = (Lloyd(rows, start, bounded, self.tol, ahead) for start in begun)
            limits = rules(self.max_iter, self.tol, observe)
            found = best_of(starts_and_moves(starts, moves) if self.moves else starts, limits)
            facts = best_row_move(rows, found.state.centres, found.state.labels, found.state.cost)
        if self._progress is not None and found.status is Status.CONVERGED:
            shift = f"center shift {found.state.movement:.3g} within tolerance {self.tol:.3g}"
            how = "strict convergence, no row changed its cluster" if found.state.settled else shift
            self._tell(f"Converged at iteration {found.n_iter}: {how}")
        if self.moves:
            notes += (f"{moves.kept} of {moves.tried} split-and-merge moves lowered the cost.",)
        self.cluster_centers_, self.labels_ = rows.narrowed(found.state.centres), found.state.labels
        self.inertia_, self.n_iter_ = rows.restored(found.state.cost, self._weight_unit), found.n_iter
        self._keep_evidence(evidence_of(found, (*notes, *self._warn_empty(found.state.empty)), facts))
        return self

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X = self._validate_predict(X)
        tolerance, weights = self.evidence_.certificate.tolerance, check_weights(sample_weight, X)
        delivered = self.labels_, self.inertia_
        return referee.k_means(X, weights, self.cluster_centers_, tolerance, *delivered, self._angular)

    def _read(
        self, blocks: Blocks, rng: np.random.RandomState
    ) -> tuple[KMeansRows, tuple[Any, Array], tuple[str, ...]]:
        """The rows, those of them from which starts are drawn, with their weights, and what to say about it."""
        source, kept = self._streamed(blocks, SAMPLE, rng)
        rows = StreamedRows(source, kept, self._angular)
        return rows, kept.rows(), self._note_sample(kept)
