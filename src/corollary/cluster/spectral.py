"""Spectral clustering."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from corollary.base import Estimator, assigning, caller_level, fitting
from corollary.cluster.affinity import GRAPHS, KERNELS, GaussianKernel, affinity_matrix
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Fitted, Floats, Integers, Matrix, Maybe
from corollary.core.limits import N_JOBS, RANDOM_STATE, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.referee import graphs as referee
from corollary.referee.verdict import Verification, together
from corollary.solvers.loop import Observer, Run
from corollary.solvers.spectral.embedding import Embedding, embed, embed_landmarks
from corollary.solvers.spectral.graph import Graph
from corollary.solvers.spectral.labels import by_components, by_kmeans, by_pivots, by_rotation

MANY = 50_000  # rows beyond which landmarks replace the whole kernel matrix
LANDMARKS = 1000
TOL = 1e-7
NO_CUT = 1e-12  # rounding of the sums of weights
JOINING = {  # what joins a graph that fell to pieces
    "nearest_neighbors": "raise n_neighbors",
    "radius": "raise radius, or bring the columns of X to one scale (StandardScaler does)",
    "precomputed": "give the affinity more edges",
    "precomputed_nearest_neighbors": "raise n_neighbors",
}
KERNEL_JOINING = "lower gamma, or bring the columns of X to one scale (StandardScaler does)"


@dataclass(frozen=True)
class _Task:
    """What the steps of one fit share."""

    tol: float
    random: np.random.RandomState
    observe: Observer | None


class SpectralClustering(ClusterMixin, Estimator):
    r"""Clusters as pieces of a graph between which few edges run.

    A relaxation of the least normalised cut, the sum over clusters of the weight of the edges that leave a cluster over
    the sum of its degrees. The clusters are read from the k least eigenvectors of the normalised Laplacian

    .. math:: L = I - D^{-1/2} W D^{-1/2}, \qquad L u = \lambda u,

    where W holds the affinities and D the degrees; row i becomes the point
    :math:`(u_{i1}, \dots, u_{ik}) / \sqrt{d_i}`.

    Parameters
    ----------
    n_clusters : int ≥ 1, default=8
    eigen_solver : {None, "arpack", "lobpcg", "amg"}, default=None
        Accepted for compatibility; the way is chosen by size, and the residuals are measured whichever it is.
    n_components : int ≥ 1 or None, default=None
        Eigenvectors used; None is ``n_clusters``.
    random_state : int, RandomState or None
        Seeds the eigensolver, k-means and landmarks.
    n_init : int ≥ 1, default=10
        Starts of k-means.
    gamma : float ≥ 0, default=1.0
        Of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
    affinity : str or callable, default="rbf"
        "nearest_neighbors": edges to the nearest rows; "radius": to all rows within ``radius``. "precomputed": X is W.
        "precomputed_nearest_neighbors": X is a sparse graph of distances, or a table of them. Otherwise a kernel, by a
        name of scikit-learn's ``pairwise_kernels`` or a function of two rows; its values must not be negative.
    n_neighbors : int ≥ 1, default=10
        Neighbours of a row, itself among them.
    radius : float > 0, default=1.0
    eigen_tol : float ≥ 0 or "auto", default="auto"
        Largest residual ‖L u − λ u‖ that the eigenvectors may have; "auto", and 0, are 10⁻⁷.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How the eigenvectors become clusters.
    degree, coef0 : float
        Of the kernels "poly" and "sigmoid".
    kernel_params : dict or None
        Further arguments of a kernel.
    landmarks : int ≥ 1, "auto" or None, default="auto"
        Rows by which an "rbf" affinity is approximated; "auto" is 1000 beyond 50 000 rows, and none below.
    n_jobs : int or None
        Threads; None means all usable cores. The answer does not depend on it.
    verbose : bool or int ≥ 0, default=False
        Whether the search for labels shows its progress.

    Attributes
    ----------
    labels_ : array of shape (n,)
    affinity_matrix_ : array or sparse array of shape (n, n)
        W; not there with landmarks.
    embedding_ : array of shape (n, k)
        What was clustered.
    eigenvalues_ : array of shape (k,)
        Of L, rising; the largest step up suggests the number of clusters.
    component_labels_ : array of shape (n,)
        The connected component of each row, largest first; one component with landmarks.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Neighbour graphs: O(n · neighbours) memory, and a few hundred products with W. Kernels: 8 n² bytes, refused
    if they are not free, and a few hundred numbers a row. Landmarks: three passes of n · m kernel values, m² memory.

    A graph in pieces has the eigenvalue 0 once for each: those eigenvectors are known exactly. If there are as many
    pieces as clusters, they are the clusters; if there are more, the largest stay and each other one joins the piece
    with the nearest row. Both are said in ``evidence_``.

    *Evidence.* Checked: the largest ‖L u − λ u‖, measured from the graph after the solver is done, shows that these are
    eigenvectors; it does not show that no others come before them, nor that no labels are better. Facts: the normalised
    cut of the labels, and Σλ, which no k clusters can be below. Clusters that are whole components of the graph are
    optimal, since their cut is zero. The history is that of the search for labels.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss, "On spectral clustering", *NIPS* 2001. J. Shi and J. Malik, "Normalized cuts and
    image segmentation", *PAMI* 22, 2000. C. Fowlkes et al., "Spectral grouping using the Nyström method", *PAMI* 26,
    2004.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.cluster import SpectralClustering
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model = SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=3).fit(X)
    >>> model.labels_, model.evidence_.holds
    (array([0, 0, 0, 1, 1, 1], dtype=int32), True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "labels_": Integers("n", low=0),
        "component_labels_": Integers("n", low=0),
        "embedding_": Floats("n", "vectors"),
        "eigenvalues_": Floats("vectors"),
        "affinity_matrix_": Maybe(Floats("n", "n") | Matrix("n", "n")),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Integer(1),
        "eigen_solver": Choice(None, "arpack", "lobpcg", "amg"),
        "n_components": Choice(None) | Integer(1),
        "random_state": RANDOM_STATE,
        "n_init": Integer(1),
        "gamma": Real(0),
        "affinity": Choice(*GRAPHS, *KERNELS) | Instance("a function of two rows", methods=("__call__",)),
        "n_neighbors": Integer(1),
        "radius": Real(0, above=True),
        "eigen_tol": Choice("auto") | Real(0),
        "assign_labels": Choice("kmeans", "discretize", "cluster_qr"),
        "degree": Real(0),
        "coef0": Real(),
        "kernel_params": Choice(None) | Instance("a dict", dict),
        "landmarks": Choice("auto", None) | Integer(1),
        "n_jobs": N_JOBS,
        "verbose": Boolean() | Integer(0),
    }

    @assigning
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        eigen_solver: str | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int = 10,
        gamma: float = 1.0,
        affinity: Any = "rbf",
        n_neighbors: int = 10,
        radius: float = 1.0,
        eigen_tol: Any = "auto",
        assign_labels: str = "kmeans",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        landmarks: Any = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None) -> SpectralClustering:
        """Cluster the rows of X (n × d), or the vertices of a precomputed affinity (n × n). y is ignored."""
        X, _ = self._validate_rows(X, ensure_min_samples=2)
        n, k = X.shape[0], int(self.n_clusters)
        if k > n:
            raise ValueError(f"n_clusters must be at most the number of rows, but it is {k} for {n} rows.")
        observe = self._observer(X, None, int(self.n_init), lambda seen: {"labels_": seen[1].astype(np.int32)})
        task = _Task(self._tol, check_random_state(self.random_state), observe)
        self.__dict__.pop("affinity_matrix_", None)
        count = self._landmark_count(n)
        with one_blas_thread():  # the matrices that are factorised are small, and large products have threads of ours
            evidence = self._fit_landmarks(X, count, task) if count else self._fit_graph(X, task)
        self._keep_evidence(evidence)
        return self

    @property
    def _words(self) -> dict[str, str]:  # type: ignore[override]  # which words are known depends on assign_labels
        return {"iteration": "Iteration"} | ({"objective": "inertia"} if self.assign_labels == "kmeans" else {})

    @property
    def _tol(self) -> float:
        return TOL if self.eigen_tol in ("auto", 0) else float(self.eigen_tol)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        if not hasattr(self, "affinity_matrix_"):
            return Verification(None, "an affinity that is approximated from landmarks is not kept")
        W, certificate = self.affinity_matrix_, self.evidence_.certificate
        tol = self._tol
        if certificate.kind is Kind.OPTIMAL:
            claim = referee.cut(W, self.labels_, int(self.n_clusters), certificate.tolerance)
            others = [referee.eigenvectors(W, self.embedding_, self.eigenvalues_, tol)]
        else:
            claim = referee.eigenvectors(W, self.embedding_, self.eigenvalues_, tol)
            others = [referee.told_cut(W, self.labels_, self.evidence_.facts.get("normalised cut", np.nan))]
        return together(claim, *others, self._affinities(self._validate_predict(X), W))

    def _affinities(self, X: Any, W: Any) -> Verification:
        """Whether these are the affinities of the rows."""
        if self.affinity == "rbf":
            return referee.gaussian_kernel(X, float(self.gamma), W)
        if self.affinity == "nearest_neighbors":
            return referee.neighbour_graph(X, W, count=int(self.n_neighbors))
        if self.affinity == "radius":
            return referee.neighbour_graph(X, W, radius=float(self.radius))
        if self.affinity == "precomputed":
            return referee.given_graph(X, W)
        return Verification(None, "whether this affinity is that of the rows is not worked out again")

    def _landmark_count(self, n: int) -> int:
        """How many landmarks, 0 for none."""
        if self.landmarks is None or (self.landmarks == "auto" and (n <= MANY or self.affinity != "rbf")):
            return 0
        if self.affinity != "rbf":
            raise ValueError(
                f"landmarks are for affinity='rbf', but affinity is {self.affinity!r}: its graph is used whole."
            )
        return min(n, LANDMARKS if self.landmarks == "auto" else int(self.landmarks))

    def _fit_landmarks(self, X: Any, count: int, task: _Task) -> Evidence:
        n = X.shape[0]
        chosen = np.sort(task.random.choice(n, count, replace=False))
        width = int(self.n_components or self.n_clusters)
        found = embed_landmarks(GaussianKernel(X, self.gamma, chosen), n, chosen, min(width, count), task.tol)
        self.component_labels_ = np.zeros(n, dtype=np.intp)
        note = f"The affinity was approximated from {count} landmarks: the residual is about that approximation."
        labels, search = self._assign(found.vectors, task)
        self._keep(found, labels)
        return self._evidence(found, search, task.tol, {"landmarks": float(count)}, (note,))

    def _fit_graph(self, X: Any, task: _Task) -> Evidence:
        names = ("n_neighbors", "radius", "gamma", "degree", "coef0", "kernel_params", "n_jobs")
        W = affinity_matrix(X, self.affinity, {name: getattr(self, name) for name in names})
        graph = Graph(W, made_here=self.affinity in ("rbf", "nearest_neighbors", "radius"))
        k = int(self.n_clusters)
        sizes = np.bincount(graph.components)
        notes = graph.notes
        if len(sizes) > 1:
            shown = ", ".join(map(str, sizes[:6])) + (", …" if len(sizes) > 6 else "")
            notes += (f"The graph has {len(sizes)} connected components, of {shown} rows.",)
        in_pieces = len(sizes) >= k
        found = embed(graph, k if in_pieces else max(int(self.n_components or k), len(sizes)), task.tol, task.random)
        search = None
        if in_pieces:
            own = None if self.affinity in ("precomputed", "precomputed_nearest_neighbors") else X
            labels = by_components(graph.components, k, own)
            if len(sizes) > k:
                notes += (f"That is more than {k} clusters, so small components joined the nearest large one.",)
                self._warn_pieces(len(sizes))
        else:
            labels, search = self._assign(found.vectors, task)
        cut = graph.normalised_cut(labels)
        facts = {
            "connected components": float(len(sizes)),
            "normalised cut": cut,
            "least possible cut": float(found.values[:k].sum()) if len(found.values) >= k else 0.0,
        }
        self.component_labels_ = graph.components
        self.affinity_matrix_ = graph.with_loops()
        self._keep(found, labels)
        evidence = self._evidence(found, search, task.tol, facts, notes)
        if not in_pieces:
            return evidence
        best = Certificate(Kind.OPTIMAL, "normalised cut, which cannot be below zero", cut, NO_CUT)
        return replace(evidence, status=Status.EXACT, certificate=best)

    def _warn_pieces(self, pieces: int) -> None:
        """A cut of zero is no merit where the graph fell to more pieces than there are clusters."""
        advice = KERNEL_JOINING if callable(self.affinity) else JOINING.get(self.affinity, KERNEL_JOINING)
        warnings.warn(
            f"{type(self).__name__}: The graph is not fully connected: it has {pieces} components, more than "
            f"n_clusters={self.n_clusters}, so the largest were kept and the others joined them. "
            f"For one piece, {advice}.",
            stacklevel=caller_level(),
        )

    def _assign(self, vectors: Array, task: _Task) -> tuple[Array, Run[Any] | None]:
        """Labels from the embedding, and the search that found them, if there was one."""
        k = int(self.n_clusters)
        if self._progress is not None:
            self._progress.say(f"Initialization complete: {vectors.shape[1]} eigenvectors")
            self._progress.say(f"Computing label assignment using {self.assign_labels}")
        if self.assign_labels == "kmeans":
            found: Run[Any] = by_kmeans(vectors, k, int(self.n_init), task.random, task.observe)
            return found.state.labels, found
        if vectors.shape[1] < k:
            raise ValueError(
                f"assign_labels={self.assign_labels!r} needs an eigenvector for each of the {k} clusters, but "
                f"there are {vectors.shape[1]}."
            )
        if self.assign_labels == "discretize":
            found = by_rotation(vectors[:, :k], task.random, task.observe)
            return found.state.labels, found
        return by_pivots(vectors[:, :k]), None

    def _keep(self, found: Embedding, labels: Array) -> None:
        self.labels_, self.embedding_, self.eigenvalues_ = labels.astype(np.int32), found.vectors, found.values

    @staticmethod
    def _evidence(
        found: Embedding, search: Run[Any] | None, tol: float, facts: dict[str, float], notes: tuple[str, ...]
    ) -> Evidence:
        """The residual shows that the vectors are eigenvectors; it says nothing of other labels, nor of other vectors.

        The history is that of the search for labels, whose own certificate is under another name.
        """
        history = {}
        if search is not None:
            history = {search.certificate.name if key == "certificate" else key: values
                       for key, values in search.history.items()}  # fmt: skip
        return Evidence(
            status=search.status if search is not None and search.stopped else found.status,
            certificate=Certificate(
                Kind.CHECKED, "largest residual of an eigenvector of the Laplacian", found.residual, tol
            ),
            solver=found.solver,
            n_iter=0 if search is None else search.n_iter,
            history=history,
            facts=facts | {"largest eigenvalue used": float(found.values[-1])},
            notes=notes,
        )
