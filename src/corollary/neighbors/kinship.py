"""The classes by which scikit-learn knows a model of neighbours when it is handed one.

``sklearn.neighbors.kneighbors_graph`` takes rows or a fitted model, and tells them apart by ``isinstance``. Nothing is
inherited but the name: every method is our own.
"""

from __future__ import annotations

from typing import Any

from sklearn.neighbors import NearestNeighbors


def _kin(name: str) -> Any:
    """The class of that name behind scikit-learn's own models; a stranger where there is none."""
    return next((each for each in NearestNeighbors.__mro__ if each.__name__ == name), type(name, (), {}))


KNeighborsMixin, RadiusNeighborsMixin = _kin("KNeighborsMixin"), _kin("RadiusNeighborsMixin")

__all__ = ["KNeighborsMixin", "RadiusNeighborsMixin"]
