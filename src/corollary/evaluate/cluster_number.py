"""How many clusters a table has: numbers of clusters far beyond those expected, then those around the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corollary.solvers.cluster_scores import distinct_rows

if TYPE_CHECKING:
    from corollary.cluster.choose_k import KChoice

_FIRST = 10  # every number up to this is tried
_LARGEST = 250  # by k-means, whose fits are cheap; the others go up to
_LARGEST_SLOW = 40
_ROWS_FOR_A_CLUSTER = 10
_STEP = 1.2  # beyond the first, numbers to try grow by this factor
_PEAKED = ("calinski_harabasz", "silhouette", "bic")  # criteria with a best k wherever one looks
_LOCAL = ("elbow", "gap")  # an elbow depends on how far one looks, a gap on the first step that does not pay
_SAMPLE = 2000  # rows for silhouettes: with 250 clusters, eight of each

Maker = Callable[[int], Any]


def choose_number(method: str, make: Maker, rows: NDArray[np.float64], seed: int) -> tuple[KChoice, tuple[str, ...]]:
    """The criteria at the numbers of clusters worth looking at, and what to know about how far was looked.

    By k-means the criteria that have a peak are asked at every number up to 10, at numbers that grow by a fifth up to
    250 (but ten rows for a cluster), and at all around the best of each: a table of a hundred groups may be worse at 10
    than at 4, so that looking only as long as a criterion rises would not get there. Elbow and gap are asked up to 10.
    Other methods, whose fits cost more, go on from 10 while a criterion is best at the largest number, up to 40.
    """
    slow = method not in ("auto", "kmeans")
    least = 2 if method == "spectral" else 1
    bound = min(_LARGEST_SLOW if slow else _LARGEST, max(_FIRST, len(rows) // _ROWS_FOR_A_CLUSTER), len(rows) - 1)
    bound = min(bound, distinct_rows(rows, bound))
    first = range(least, min(_FIRST, bound) + 1)
    if slow or bound <= _FIRST:
        found = _study(rows, first, make, seed)
        while (last := int(found.ks[-1])) < bound and any(found.best.get(name) == last for name in _PEAKED):
            found = _study(rows, range(least, min(bound, int(np.ceil(last * _STEP**2))) + 1), make, seed)
    else:
        far = _study(rows, _far(first, bound), make, seed, _PEAKED)
        for apart in (4, 1):
            if further := _around_the_best(far, apart):
                far = _joined(far, _study(rows, further, make, seed, _PEAKED))
        found = _together(far, _study(rows, first, make, seed, _LOCAL))
    return found, _how_far(found)


def _study(
    rows: NDArray[np.float64], ks: Sequence[int], make: Maker, seed: int, criteria: Sequence[str] = _LOCAL + _PEAKED
) -> KChoice:
    from corollary.cluster.choose_k import choose_k

    estimator = make(2)
    draws = 6 if type(estimator).__name__ == "KMeans" else 3
    size = _SAMPLE // 2 if "gap" in criteria else _SAMPLE
    order = [name for name in ("calinski_harabasz", "elbow", "silhouette", "gap", "bic") if name in criteria]
    return choose_k(rows, list(ks), estimator=estimator, criteria=order, sample=size, n_references=draws,
                    random_state=seed)  # fmt: skip


def _far(ks: Sequence[int], bound: int) -> list[int]:
    """Those numbers, and further ones that grow by a factor up to the bound."""
    found = [*ks]
    while found[-1] < bound:
        found.append(min(bound, max(found[-1] + 1, round(found[-1] * _STEP))))
    return found


def _around_the_best(study: KChoice, apart: int) -> list[int]:
    """Between the neighbours of each best number those that lie so far apart, and were not tried."""
    tried = [int(k) for k in study.ks]
    found: set[int] = set()
    for name in _PEAKED:
        if name in study.best:
            at = tried.index(study.best[name])
            found |= set(range(tried[max(0, at - 1)], tried[min(len(tried) - 1, at + 1)], apart))
    return sorted(found - set(tried))


def _joined(one: KChoice, other: KChoice) -> KChoice:
    """The same criteria at the numbers of both."""
    from corollary.cluster.k_criteria import CRITERIA

    ks = np.concatenate([one.ks, other.ks])
    order = np.argsort(ks)
    columns = {name: np.concatenate([one.columns[name], other.columns[name]])[order] for name in one.columns}
    places = {name: CRITERIA[name].choose(columns) for name in one.best}
    best = {name: int(ks[order][place]) for name, place in places.items() if place is not None}
    return replace(one, ks=ks[order], columns=columns, best=best, models={**one.models, **other.models},
                   labels={**one.labels, **other.labels}, notes=(*one.notes, *other.notes))  # fmt: skip


def _together(far: KChoice, near: KChoice) -> KChoice:
    """One table of both: what was asked at the first numbers only has no value at the others."""
    from corollary.cluster.k_criteria import CRITERIA, vote

    columns = {}
    for name in ("calinski_harabasz", "elbow", "within_share", "silhouette", "gap", "gap_error", "bic"):
        if name in far.columns:
            columns[name] = far.columns[name]
        else:
            columns[name] = np.full(len(far.ks), np.nan)
            columns[name][: len(near.ks)] = near.columns[name]  # the first of the numbers are the same
    best = {name: {**near.best, **far.best}[name] for name in CRITERIA if name in near.best or name in far.best}
    number, reason = vote(best, far.ks)
    return replace(far, k=number, reason=reason, best=best, columns=columns, notes=(*far.notes, *near.notes))


def _how_far(study: KChoice) -> tuple[str, ...]:
    """Which criteria are best at the largest number that was tried, so that more might be better still."""
    from corollary.cluster.k_criteria import CRITERIA

    last = int(study.ks[-1])
    titles = [CRITERIA[name].title for name in _PEAKED if study.best.get(name) == last]
    if not titles:
        return ()
    names = titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
    one = len(titles) == 1
    return (
        f"{names} {'is' if one else 'are'} best at k = {last}, the largest number that was tried; "
        f"more clusters might be better still by {'it' if one else 'them'}",
    )
