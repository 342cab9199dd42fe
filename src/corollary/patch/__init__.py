"""Corollary in the place of scikit-learn, for a whole process and without a change to its imports."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from corollary.patch.ledger import LEDGER
from corollary.patch.stand_ins import FUNCTIONS, MODULES, replaceable, stand_in

__all__ = ["FUNCTIONS", "MODULES", "patch_sklearn", "replaceable", "report", "unpatch_sklearn"]

_originals: dict[tuple[str, str], Any] = {}  # (module, name) -> what scikit-learn has there


def patch_sklearn(names: Iterable[str] | None = None) -> None:
    """Put our classes in the place of scikit-learn's of the same name, from now on and in this process.

    What is imported from ``sklearn.linear_model`` and its like afterwards is ours, names as before. Modules that have
    imported a class already keep it, so call this first. A class that we do not have stays scikit-learn's; a setting
    that we do not take but scikit-learn does makes that one model scikit-learn's, and :func:`report` says so. So does
    a class that is derived from one of theirs: it may rest on what is inside. It may call ``Ridge.fit(self, X, y)`` and
    ``super().fit(X, y)``; ``super(Ridge, self)``, with the name of the replaced class, cannot work. Pickles of either
    library load as what they are.

    Parameters
    ----------
    names : iterable of str, optional
        Only these classes and functions; all that there are by default.

    Examples
    --------
    >>> import corollary
    >>> corollary.patch_sklearn(["Ridge"])
    >>> from sklearn.linear_model import Ridge
    >>> Ridge().fit([[0.0], [1.0]], [0.0, 2.0]).evidence_.holds
    True
    >>> corollary.unpatch_sklearn()
    """
    wanted = None if names is None else set(names)
    places = {name: place for family in MODULES for place, found in replaceable(family).items() for name in found}
    if unknown := sorted((wanted or set()) - set(places)):
        raise ValueError(f"patch_sklearn: names must be of {', '.join(places)}, but {', '.join(unknown)} is not.")
    chosen = {(place, name): stand_in(name) for name, place in places.items() if wanted is None or name in wanted}
    for (place, name), new in chosen.items():  # once all are made: what is made later could take ours for theirs
        module = importlib.import_module(place)
        _originals.setdefault((place, name), getattr(module, name))
        setattr(module, name, new)


def unpatch_sklearn() -> None:
    """Give scikit-learn its own classes back. Models that exist stay what they are."""
    for (place, name), original in _originals.items():
        setattr(importlib.import_module(place), name, original)
    _originals.clear()


def report() -> str:
    """What was replaced and fitted since the process began, what evidence it left, and what stayed scikit-learn's."""
    return LEDGER.text([name for _, name in _originals])


def __getattr__(name: str) -> Any:  # pickles name the classes that stand in as those of this module
    if any(name in found for family in MODULES for found in replaceable(family).values()):
        return stand_in(name)
    raise AttributeError(f"module 'corollary.patch' has no attribute {name!r}")
