"""Predictions of models on rows that they have not seen: out of fold, or on a held-out part."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

from corollary.core.evidence import Evidence
from corollary.core.limits import Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.ensemble.combine.votes import take_rows
from corollary.ensemble.members import fit_member, in_order
from corollary.ensemble.routing import Told

SPLITS: Limit = (
    Integer(2)
    | Real(0, 0.999, above=True)
    | Instance("a splitter", methods=("split", "get_n_splits"))  # a text has split too
    | Instance("an iterable of splits", methods=("__next__",))
    | Instance("a list of splits", list, tuple)
)
CV: Limit = Choice(None, "prefit") | SPLITS
SEEN = "share of held-out predictions by a model that had seen the row"


@dataclass(frozen=True)
class HeldOut:
    """What each member said of ``rows``; ``seen`` is the share of predictions by a model that had seen the row."""

    votes: list[Array]
    rows: Array
    seen: float = 0.0
    evidence: tuple[Evidence, ...] = ()  # of the fits that were made for it, where they carry any


def splits_of(cv: Any, X: Any, y: Array, classifier: bool) -> list[tuple[Array, Array]]:
    """Pairs of (rows to fit, rows to predict). A float is the share of one part that is held out."""
    if isinstance(cv, float):
        splitter = StratifiedShuffleSplit if classifier else ShuffleSplit
        cv = splitter(1, test_size=cv, random_state=0)
    found = check_cv(cv, y, classifier=classifier)
    with warnings.catch_warnings():
        # a class with fewer rows than there are folds: members that have not seen it give it no votes
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        rows = np.arange(len(y))  # masks and places counted from the end become row numbers
        return [(rows[fit], rows[held]) for fit, held in found.split(X, y)]


def _one(
    member: Any, say: Callable[..., Array], X: Any, y: Array, told: dict[str, Any], fit: Array, held: Array
) -> tuple[Array, Evidence | None]:
    """What a member says of ``held`` when fitted to ``fit``, and the evidence of that fit."""
    fitted = fit_member(member, take_rows(X, fit), y[fit], told=told)
    return say(fitted, take_rows(X, held)), getattr(fitted, "evidence_", None)


def hold_out(
    members: list[tuple[str, Any]],
    says: list[Callable[..., Array]],
    X: Any,
    y: Array,
    told: Told,
    splits: list[tuple[Array, Array]],
    n_jobs: int | None,
) -> HeldOut:
    """Fit every member to every part and let it predict the rest; a row predicted more than once gets the mean.

    ``says[m](member, X)`` gives the predictions of member m.
    """
    calls = [
        partial(_one, clone(member), say, X, y, told.of(name, member, fit, len(y)), fit, held)
        for (name, member), say in zip(members, says, strict=True)
        for fit, held in splits
    ]
    made = list(in_order(calls, [member for _, member in members], n_jobs))
    n, k = len(y), len(splits)
    count = np.zeros(n)
    for _, held in splits:
        count[held] += 1
    seen = np.concatenate([np.isin(held, fit) for fit, held in splits])
    rows = np.flatnonzero(count)
    votes = []
    for m in range(len(members)):
        parts = [part for part, _ in made[m * k : (m + 1) * k]]
        sums = np.zeros((n, *parts[0].shape[1:]), dtype=np.result_type(parts[0].dtype, np.float64))
        for (_, held), part in zip(splits, parts, strict=True):
            sums[held] += part
        votes.append((sums[rows].T / count[rows]).T)
    evidence = tuple(each for _, each in made if each is not None)
    return HeldOut(votes, rows, float(seen.mean()), evidence)
