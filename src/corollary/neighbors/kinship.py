"""The classes by which scikit-learn knows a model of neighbours when it is handed one.

``sklearn.neighbors.kneighbors_graph`` takes rows or a fitted model, and tells them apart by ``isinstance``. Nothing is
inherited but the name: every method is our own.
"""

from __future__ import annotations

try:
    from sklearn.neighbors._base import KNeighborsMixin, RadiusNeighborsMixin
except ImportError:  # where they are is scikit-learn's own affair

    class KNeighborsMixin:  # type: ignore[no-redef]
        """A stranger to scikit-learn."""

    class RadiusNeighborsMixin:  # type: ignore[no-redef]
        """A stranger to scikit-learn."""


__all__ = ["KNeighborsMixin", "RadiusNeighborsMixin"]
