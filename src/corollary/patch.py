"""Corollary in the place of scikit-learn, for a whole process."""

from __future__ import annotations

import importlib

from corollary.registry import ESTIMATORS

# where scikit-learn keeps what a family of ours has
MODULES: dict[str, str] = {
    "linear": "linear_model",
    "tree": "tree",
    "ensemble": "ensemble",
    "neighbors": "neighbors",
    "cluster": "cluster",
    "mixture": "mixture",
    "decomposition": "decomposition",
}
# functions that take what scikit-learn's take. `export_text` and `plot_tree` are others of the same name, and
# scikit-learn's draw our trees, too; `KDTree` has no kernel densities, and scikit-learn's serves whoever asks for them
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "linear": ("lasso_path", "enet_path"),
    "neighbors": ("kneighbors_graph", "radius_neighbors_graph"),
}


def replaceable(family: str) -> dict[str, tuple[str, ...]]:
    """scikit-learn's public module for a family of ours, with the names in it that we have as well."""
    place = f"sklearn.{MODULES[family]}"
    public = set(importlib.import_module(place).__all__)
    ours = [entry.name for entry in ESTIMATORS.values() if entry.family == family]
    return {place: tuple(name for name in (*ours, *FUNCTIONS.get(family, ())) if name in public)}
