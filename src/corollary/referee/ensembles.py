"""The referee of ensembles: what members say is added up again, and what leaves say is worked out from their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from corollary.referee.rows import LONG
from corollary.referee.trees import Nodes, Rules, judge, misshapen
from corollary.referee.verdict import Verification, weakest

Array = Any
ROWS = 200  # whose predictions are added up again
NODES = 20_000  # of all trees together that are worked out from their rows
MOST = 8  # members of a blend, all of whose subsets are tried
OUT_OF_BAG = ("out-of-bag squared error of the vote", "out-of-bag squared error of a member")


def forest(X: Any, trees: Sequence[Nodes], said: Array) -> Verification:
    """Whether predictions are the mean over trees of the value of the leaf that each row reaches, by another walk."""
    X = (X.toarray() if hasattr(X, "toarray") else np.asarray(X))[:ROWS].astype(np.float64)
    if np.isnan(X).any():
        return Verification(None, "the referee does not walk with gaps")
    wrong = next((bad for nodes in trees if (bad := misshapen(nodes, X.shape[1])) is not None), None)
    if wrong is not None:
        return wrong
    return mean_of_members([leaf_values(X, nodes) for nodes in trees], None, said[:ROWS])


def forest_of_rows(
    X: Any, Y: Array, drawn: Iterable[tuple[Array, Any]], trees: Sequence[Nodes], rules: Rules, tolerance: float
) -> Verification:
    """Each tree judged by what it drew: how much each row of X counts in it, and which columns its nodes tried."""
    parts: list[Verification] = []
    left = NODES
    for (mass, tried), nodes in zip(drawn, trees, strict=False):
        left -= len(nodes.feature)
        if left < 0 and parts:
            break
        parts.append(judge(X, Y, mass, nodes, replace(rules, tried=tried), tolerance))
        if parts[-1].stands is False:
            return parts[-1]
    found, some = weakest(parts), len(parts) < len(trees)
    count = sum(len(each.feature) for each in trees[: len(parts)])
    which = f"{len(parts)}{f' of {len(trees)}' * some} trees with their rows, {count} nodes"
    least = "; in the one of which least can be said" * (len(parts) > 1)
    words = f"{agrees(min(len(Y), ROWS))}; of {which}{least}: {found.words}"
    return Verification(None if some else found.stands, words, found.found)


def mean_of_members(members: Sequence[Array], weights: Array | None, said: Array, total: Any = None) -> Verification:
    """Whether ``said`` is Σ weight · prediction of the members over ``total``, which is Σ weight unless given."""
    share = np.ones(len(members), LONG) if weights is None else np.asarray(weights, dtype=LONG)
    said = np.asarray(said)
    parts = np.stack([np.asarray(part, dtype=LONG).reshape(len(said), -1) for part in members])
    mean = np.tensordot(share / (share.sum() if total is None else total), parts, axes=1)
    size = max(np.abs(parts).max(initial=0), np.abs(mean).max(initial=0), np.finfo(LONG).tiny)
    off = float(np.abs(mean - said.astype(LONG).reshape(len(said), -1)).max(initial=0) / size)
    if not off <= (1e-6 if said.dtype == np.float32 else 1e-9):  # float32 predictions have seven digits
        return Verification(False, f"predictions differ from the mean of the members by {off:.2g}", off)
    return Verification(True, f"{agrees(len(said))} (off by {off:.2g})", off)


def agrees(rows: int) -> str:
    """What was found of as many rows."""
    return f"predictions of {rows} row{'s' * (rows != 1)} are what the members say, added up again"


def out_of_bag(
    said: Iterable[Array], seen: Sequence[Array], truth: Array, weights: Array, told: Mapping[str, float]
) -> Verification | None:
    """Refuted where the mean squared error on rows that voters had not ``seen`` is not the one that is told.

    Of the vote it is that of the mean of those voters; of a member, the mean over them of their own.
    """
    votes, count, single = np.zeros(truth.shape, LONG), np.zeros(len(truth)), np.zeros(len(truth), LONG)
    for answer, known in zip(said, seen, strict=True):
        fresh = ~known & (np.asarray(weights) > 0)
        votes[fresh] += answer[fresh]
        single[fresh] += np.square(answer[fresh].astype(LONG) - truth[fresh]).sum(axis=1)
        count += fresh
    voted = count > 0
    if not voted.any():
        return None
    w, count = np.asarray(weights, dtype=LONG)[voted], count[voted]
    own = (
        (w / w.sum()) @ np.square(votes[voted] / count[:, None] - truth[voted]).sum(axis=1),
        (w / w.sum()) @ (single[voted] / count),
    )
    size = LONG(1e-9) * np.square(truth[voted]).sum(axis=1).max()  # what rounding may do to squares of differences
    for name, error in zip(OUT_OF_BAG, own, strict=True):
        off = abs(error - LONG(told.get(name, error)))
        if not off <= 1e-6 * error + size:
            return Verification(False, f"the {name} is {float(error):.6g}, where {told[name]:.6g} is told", float(off))
    return None


def leaf_values(X: Array, nodes: Nodes) -> Array:
    """The value of the leaf that each row reaches."""
    return nodes.value[leaves_of(X, nodes)]


def leaves_of(X: Array, nodes: Nodes) -> Array:
    """The leaf that each row reaches; ValueError if the nodes are no tree, down which a walk ends."""
    wrong = misshapen(nodes, X.shape[1])
    if wrong is not None:
        raise ValueError(wrong.words)
    at = np.zeros(len(X), np.intp)
    while (inner := nodes.feature[at] >= 0).any():
        feature, here = nodes.feature[at], at[inner]
        left = X[inner, feature[inner]] <= nodes.threshold[here]
        at[inner] = nodes.left[here] + np.where(left, 0, 1)
    return at


def blend(P: Array, y: Array, rows: Array, weights: Array, to_one: bool, tolerance: float) -> Verification:
    """Whether other weights ≥ 0 (of sum one, where ``to_one``) have a lower Σ rows (y − P w)².

    The minimum is that of least squares over some subset of the members; all of them are tried.
    """
    if P.shape[1] > MOST:
        return Verification(None, f"the referee does not try all subsets of {P.shape[1]} members")
    s = np.asarray(rows, dtype=LONG) / np.max(rows)
    root, m = np.sqrt(s).astype(np.float64), P.shape[1]

    def cost(w: Array) -> Any:
        away = np.asarray(y, dtype=LONG) - np.asarray(P, dtype=LONG) @ np.asarray(w, dtype=LONG)
        return s @ (away * away)

    own, lowest = cost(weights), cost(np.eye(m)[0] if to_one else np.zeros(m))
    if not np.isfinite(own):
        return Verification(False, "the weights, or what members say, are no numbers")
    for some in (list(each) for k in range(1, m + 1) for each in combinations(range(m), k)):
        w = np.zeros(m)
        if to_one:  # the first takes what the others leave of one
            first, rest = P[:, some[0]], P[:, some[1:]]
            w[some[1:]] = np.linalg.lstsq(root[:, None] * (rest - first[:, None]), root * (y - first), rcond=None)[0]
            w[some[0]] = 1 - w.sum()
        else:
            w[some] = np.linalg.lstsq(root[:, None] * P[:, some], root * y, rcond=None)[0]
        if (w >= 0).all():
            lowest = min(lowest, cost(w))
    # as documented, an error a million times below that of no blend at all is as good as none
    alone = max(cost(each) for each in np.eye(m)) if to_one else cost(np.zeros(m))
    # and what the last digits of the weights and of their sum move, (2 ε P w)², is no error of theirs
    digits = 2 * LONG(np.finfo(np.float64).eps) * (np.abs(np.asarray(P, dtype=LONG)) @ np.abs(weights))
    scale = max(own, LONG(1e-6) * alone, s @ (digits * digits) / (10 * tolerance + 1e-6))
    gain = float(max(own - lowest, 0) / scale) if scale > 0 else 0.0
    if not gain <= 10 * tolerance + 1e-6:
        return Verification(False, f"other weights have a squared error that is lower by {gain:.2g}", gain)
    return Verification(True, f"no weights of any subset of the members are better, by {gain:.2g}", gain)
