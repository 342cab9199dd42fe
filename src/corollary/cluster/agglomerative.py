"""Agglomerative clustering: a tree of merges by single, complete, average, Ward's or centroid linkage."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_memory

from corollary.base import Estimator, assigning, caller_level, check_weights, fitting
from corollary.core.door.sparse_input import sound
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Count, Fitted, Floats, Integers
from corollary.core.limits import N_JOBS, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.referee.merges import cut, merges
from corollary.referee.verdict import Verification
from corollary.solvers.distances import is_euclidean
from corollary.solvers.linkage.check import NAME, check
from corollary.solvers.linkage.fit import Merged, grow, merge, remembering
from corollary.solvers.linkage.leaves import read_leaves
from corollary.solvers.linkage.tree import Hierarchy, with_absent

__all__ = ["AgglomerativeClustering"]

TOLERANCE = 1e-8
GRAPH = (
    Instance("a dense or sparse array", list, methods=("__array__",))
    | Instance("a sparse array", methods=("tocoo",))
    | Instance("a function of X", methods=("__call__",))
)


class AgglomerativeClustering(ClusterMixin, Estimator):
    r"""Hierarchical clusters: the two nearest clusters merge, repeatedly, until one is left.

    How near two clusters A and B are is the linkage:

    .. math::

        \text{single} \; \min_{a \in A, b \in B} d(a, b) \qquad
        \text{complete} \; \max_{a \in A, b \in B} d(a, b) \qquad
        \text{average} \; \frac{\sum w_a w_b \, d(a, b)}{\sum w_a w_b}

        \text{centroid} \; \lVert \mu_A - \mu_B \rVert \qquad
        \text{ward} \; \sqrt{\frac{2 w_A w_B}{w_A + w_B}} \, \lVert \mu_A - \mu_B \rVert

    with means μ and weights w. Ward's is the root of twice what the merge adds to the sum of squares within clusters.

    Parameters
    ----------
    n_clusters : int ≥ 1 or None, default=2
        How many clusters to cut the tree into; None if ``distance_threshold`` decides.
    metric : str or function, default="euclidean"
        "euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", any other metric of scikit-learn's
        ``pairwise_distances``, or "precomputed": X is then the table of distances. A function that can be called with
        X alone makes that table, as in scikit-learn; one that needs two arguments is a symmetric function of two rows.
        Ward's and centroid linkage are about means and need "euclidean".
    memory : str, object with a method ``cache`` as ``joblib.Memory`` has, or None, default=None
        A folder where trees are kept, so that another ``n_clusters`` for the same rows only cuts them anew. They are
        pickles, as in scikit-learn, which can run code when they are read: keep the folder to yourself. What comes from
        it is checked against the rows given to ``fit``. A model with a folder cannot be saved to a file.
    connectivity : sparse or dense array of shape (n, n), function of X, or None, default=None
        Only clusters with an edge between them merge. Complete and average linkage then know the lengths of edges
        only. A graph in several pieces gives a warning, and the shortest bridges between the pieces are added.
    compute_full_tree : "auto" or bool, default="auto"
        With a ``connectivity``, False stops at ``n_clusters``, and "auto" does so from max(100, n / 50) clusters.
        Without one the whole tree costs the same, and is always there.
    linkage : {"ward", "complete", "average", "single", "centroid"}, default="ward"
    distance_threshold : float ≥ 0 or None, default=None
        Clusters this far apart or further do not merge.
    compute_distances : bool, default=False
        Accepted for compatibility; ``distances_`` is always there.
    n_jobs : int or None, default=None
        Threads; None takes the cores there are. The answer does not depend on it.

    Attributes
    ----------
    n_clusters_ : int
    labels_ : array of shape (n,)
        The cluster of each row; clusters are numbered in the order of their first rows.
    children_ : array of shape (n − 1, 2)
        Merge t joins these two nodes into node n + t; nodes below n are rows.
    distances_ : array of shape (n − 1,)
        How near the two were.
    linkage_matrix_ : array of shape (n − 1, 4)
        Children, distances and numbers of rows, as ``scipy.cluster.hierarchy`` has them.
    n_leaves_ : int
    n_connected_components_ : int
        Of the connectivity graph; 1 without one.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A row of weight w is w rows at the same place, merged before anything else. A row of weight 0 has no say: it joins
    the row nearest to it at height 0, and nothing else changes.

    *Cost*: single linkage grows a minimum spanning tree in n²d/2 steps, for any metric, in O(nd) memory. Ward's merges
    all pairs that are each other's nearest neighbours at once, found by a k-d tree, in O(nd) memory; of up to
    125 (d + 6) rows, and no more than 4096, it keeps n²/2 distances (67 MB at most). Centroid linkage takes O(n²d)
    steps and O(nd) memory. Complete and average linkage keep a triangle of n²/2 distances, and 17 MB to rewrite it;
    that is refused before it starts if it does not fit. With a graph of m edges: O(m log m) for bounded degrees.
    Threads share the distances, and but for Ward's chains and graphs the merges.

    *Evidence*: checked. Up to 64 merges, drawn at random, and the last ones are worked out again from their rows, by
    the definition above; the certificate is the largest relative error, and its name tells how many were drawn and what
    share of the others may therefore still be wrong, with 95 % confidence: none if all were tried, and for 64 of more
    fewer than 4.6 %. (Where each row costs a row of distances, merges of two sides of more than 64 rows are left out.)
    For single linkage this includes the cut property: each of these edges is a shortest one between its side and all
    other rows. Facts tell the largest inversion, that is how far a merge is below one that it builds on: zero, except
    for centroid linkage and for Ward's along a graph.

    References
    ----------
    F. Murtagh, "A survey of recent advances in hierarchical clustering algorithms", *The Computer Journal* 26, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.cluster import AgglomerativeClustering
    >>> X = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> model = AgglomerativeClustering(linkage="single").fit(X)
    >>> model.labels_, model.distances_
    (array([0, 0, 1, 1]), array([1., 2., 9.]))
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_leaves_": Count("n", low=1),
        "children_": Integers("merges", 2, low=0),
        "distances_": Floats("merges", low=0),
        "linkage_matrix_": Floats("merges", 4, low=0),
        "labels_": Integers("n", low=0, below="k"),
        "n_clusters_": Count("k", low=1),
        "n_connected_components_": Count(low=1),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Choice(None) | Integer(1),
        "metric": Instance("the name of a metric or a function", str, methods=("__call__",)),
        "memory": Choice(None) | Instance("a place for a cache", str, methods=("cache",)),
        "connectivity": Choice(None) | GRAPH,
        "compute_full_tree": Choice("auto") | Boolean(),
        "linkage": Choice("ward", "complete", "average", "single", "centroid"),
        "distance_threshold": Choice(None) | Real(0),
        "compute_distances": Boolean(),
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        memory: Any = None,
        connectivity: Any = None,
        compute_full_tree: bool | str = "auto",
        linkage: str = "ward",
        distance_threshold: float | None = None,
        compute_distances: bool = False,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AgglomerativeClustering:
        """Grow the tree of the rows of X (n × d), or of a table of distances, and cut it; y is ignored."""
        X, weights = self._validate_rows(X, sample_weight, sparse=False, ensure_min_samples=2)
        self._check_cut(int((weights > 0).sum()))
        self._observer(X, None, 0, lambda state: {})
        graph = sound(self.connectivity(X) if callable(self.connectivity) else self.connectivity, "connectivity")
        rows = read_leaves(*_table_of(X, self.metric), weights > 0)
        most = len(X) if self._full(len(X)) else len(X) - int(self.n_clusters or 1)
        if self.linkage == "ward":
            rows, weights = rows.with_root(self._weight_unit, weights)
        known = grow if self.memory is None else remembering(check_memory(self.memory).cache(grow))
        merged = merge(rows, weights, self.linkage, graph, most, known)
        self._warn_pieces(merged)
        tree = merged.tree
        tree = with_absent(tree, *rows.absent(weights > 0)) if len(X) > rows.n else tree
        self._keep_tree(tree, merged)
        self._keep_evidence(self._check_merges(tree, merged))
        return self

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X = self._validate_predict(X)
        known = isinstance(self.metric, str) and self.connectivity is None and len(self.children_) == X.shape[0] - 1
        if not known:
            return Verification(None, "the referee works out whole trees without a graph, by metrics that it knows")
        weights, greedy = check_weights(sample_weight, X), self.linkage != "centroid"
        found = merges(X, weights, self.children_, self.distances_, self.linkage, self.metric, greedy)
        if found.stands is not True:
            return found
        labels = cut(self.children_, self.distances_, self.n_clusters, self.distance_threshold, self.labels_)
        return found if labels.stands else labels

    def _check_state(self) -> None:
        n, m = self.n_leaves_, len(self.children_)
        nodes = self.children_.ravel()
        if m >= n or (nodes >= np.repeat(n + np.arange(m), 2)).any() or np.bincount(nodes, minlength=1).max() > 1:
            raise ValueError("children_ must join nodes that are there, each of them once.")
        sizes = np.concatenate([np.ones(n), self.linkage_matrix_[:, 3]])[self.children_].sum(axis=1)
        if not np.array_equal(self.linkage_matrix_, np.column_stack([self.children_, self.distances_, sizes])):
            raise ValueError("linkage_matrix_ must tell the children, the distances and the sizes of all merges.")
        if self.n_clusters_ != len(np.unique(self.labels_)):
            raise ValueError(f"n_clusters_ is {self.n_clusters_}, but labels_ tell {len(np.unique(self.labels_))}.")

    def _check_cut(self, n: int) -> None:
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError(
                "Exactly one of n_clusters and distance_threshold must be given and the other be None, but they are "
                f"{self.n_clusters!r} and {self.distance_threshold!r}."
            )
        if self.n_clusters is not None and self.n_clusters > n:
            raise ValueError(
                f"Cannot extract more clusters than samples: n_clusters={self.n_clusters} must not exceed the number "
                f"of rows, but X has {n} rows that carry weight."
            )
        if self.distance_threshold is not None and self.compute_full_tree is False:
            raise ValueError(
                f"compute_full_tree must be True if distance_threshold is set, or 'auto', but it is "
                f"{self.compute_full_tree!r}."
            )
        if self.linkage in ("ward", "centroid") and not is_euclidean(self.metric):
            raise ValueError(
                f"{self.metric} was provided as metric. {self.linkage.capitalize()} can only work with euclidean "
                "distances, being about means of rows, and needs metric='euclidean'. Use linkage='average' with others."
            )

    def _warn_pieces(self, merged: Merged) -> None:
        pieces = 1 if merged.edges is None else len(merged.edges.sizes)
        if pieces > 1:
            warnings.warn(
                f"{type(self).__name__}: the number of connected components of the connectivity matrix is {pieces} > "
                "1. Completing it to avoid stopping the tree early: the shortest bridges between them were added.",
                UserWarning,
                stacklevel=caller_level(),
            )

    def _full(self, n: int) -> bool:
        if self.connectivity is None or self.n_clusters is None:
            return True
        if self.compute_full_tree == "auto":
            return self.n_clusters < max(100, 0.02 * n)
        return bool(self.compute_full_tree)

    def _keep_tree(self, tree: Hierarchy, merged: Merged) -> None:
        self.children_ = tree.children
        self.distances_ = tree.heights
        self.linkage_matrix_ = tree.matrix
        self.n_leaves_ = tree.n
        self.n_connected_components_ = len(merged.edges.sizes) if merged.edges is not None else 1
        if self.distance_threshold is not None:
            self.labels_ = tree.below(self.distance_threshold)
        else:
            self.labels_ = tree.into(int(self.n_clusters or 1))
        self.n_clusters_ = int(self.labels_.max()) + 1

    def _check_merges(self, tree: Hierarchy, merged: Merged) -> Evidence:
        found = check(merged.tree, merged.rows, merged.weights, self.linkage, merged.edges)
        certificate = Certificate(Kind.CHECKED, NAME, found.error, TOLERANCE)
        facts = {
            "merges worked out again": float(found.merges),
            "share of merges that may be wrong, with 95 % confidence": found.doubt,
            "largest inversion": merged.tree.inversion,
            "last height": float(tree.heights[-1]) if len(tree.heights) else 0.0,
            "sum of heights": float(tree.heights.sum()),
            "clusters": float(self.n_clusters_),
        }
        return Evidence(Status.EXACT, certificate, merged.solver, facts=facts, notes=merged.notes + found.notes)

    def plot(self, ax: Any = None, *, max_leaves: int = 40, labels: Any = None) -> Any:
        """Draw the dendrogram (see :func:`corollary.cluster.dendrogram.plot_dendrogram`); returns the axes."""
        from corollary.cluster.dendrogram import plot_dendrogram

        return plot_dendrogram(self, ax, max_leaves=max_leaves, labels=labels)


def _table_of(X: Any, metric: Any) -> tuple[Any, Any]:
    """X and the metric; the table of all distances and "precomputed", where the metric is a function of X alone."""
    if not callable(metric):
        return X, metric
    try:
        inspect.signature(metric).bind(X)
    except (TypeError, ValueError):  # it needs another argument, or does not tell what it takes
        return X, metric
    table = np.asarray(metric(X), dtype=np.float64)
    if table.shape != (len(X), len(X)):
        raise ValueError(
            f"metric, called with X, must return the distances of all {len(X)} rows to each other, of shape "
            f"{(len(X), len(X))}, but their shape is {table.shape}."
        )
    return table, "precomputed"
