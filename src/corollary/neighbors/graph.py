"""Neighbour graphs as sparse matrices, in one call."""

from __future__ import annotations

from typing import Any

from corollary.neighbors.nearest_neighbors import NearestNeighbors


def kneighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: bool | str = False,
    n_jobs: int | None = None,
) -> Any:
    """The k-nearest-neighbour graph of the rows of X as a CSR matrix (n, n).

    Entry (i, j) is 1 (``mode="connectivity"``) or the distance (``mode="distance"``) if row j is one of the
    ``n_neighbors`` nearest of row i. ``include_self`` counts a row as its own neighbour; "auto" does so for
    "connectivity". X may also be a fitted :class:`NearestNeighbors`, whose rows and metric are then used.

    Examples
    --------
    >>> from corollary import kneighbors_graph
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 1).toarray()
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    model = _fitted(X, metric=metric, p=p, metric_params=metric_params, n_neighbors=n_neighbors, n_jobs=n_jobs)
    return model.kneighbors_graph(_queries(model, include_self, mode), n_neighbors, mode)


def radius_neighbors_graph(
    X: Any,
    radius: float,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: bool | str = False,
    n_jobs: int | None = None,
) -> Any:
    """The graph of all pairs of rows of X at a distance ≤ ``radius``, as a CSR matrix (n, n).

    Entry (i, j) is 1 (``mode="connectivity"``) or the distance (``mode="distance"``). ``include_self`` counts a row as
    its own neighbour; "auto" does so for "connectivity". X may also be a fitted :class:`NearestNeighbors`.

    Examples
    --------
    >>> from corollary import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5, mode="distance").toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    model = _fitted(X, metric=metric, p=p, metric_params=metric_params, radius=radius, n_jobs=n_jobs)
    return model.radius_neighbors_graph(_queries(model, include_self, mode), radius, mode)


def _fitted(X: Any, **parameters: Any) -> Any:
    """X, if it is a fitted model of neighbours with the parameters that were asked for, or a new one for the rows X."""
    if not hasattr(X, "kneighbors"):
        return NearestNeighbors(**parameters).fit(X)
    own = X.get_params()
    for name, default in (("metric", "minkowski"), ("p", 2), ("metric_params", None)):
        if parameters[name] != default and parameters[name] != own[name]:
            raise ValueError(
                f"Got {parameters[name]} for {name}, while the estimator has {own[name]} for the same parameter: "
                "leave it out, or give rows instead of a model."
            )
    return X


def _queries(model: Any, include_self: bool | str, mode: str) -> Any:
    if include_self == "auto":
        include_self = mode == "connectivity"
    return model._fit_X if include_self else None
