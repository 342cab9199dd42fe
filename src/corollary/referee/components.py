"""The referee of mixtures of any distributions: one exact iteration of EM in extended precision, and what it changes.

Every distribution is written down here once more, from its density: what a row weighs, what follows for its parameters,
and the length of the change in the metric of Fisher's information. NaN is a value that is missing, and left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.component_kinds import KINDS, Step
from corollary.referee.rows import EPS, LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification, measured

LARGEST = 2_000_000  # rows × columns × components
Group = tuple[list[int], str, dict[str, Any], dict[str, Array]]  # columns, name, numbers of the prior, parameters


def mixture_of_components(
    X: Any, weights: Array, shares: Array, groups: list[Group], tolerance: float, objective: float
) -> Verification:
    """How far another exact iteration of EM moves weights and parameters, and whether the objective is what is told."""
    X, w, pi = dense(X), np.asarray(weights, dtype=LONG), np.asarray(shares, dtype=LONG)
    if X.size * len(pi) > LARGEST:
        return Verification(None, "there are too many rows and components for this arithmetic")
    if not np.isfinite(pi).all() or (pi < 0).any() or abs(pi.sum() - 1) > 1e-6:
        return Verification(False, "weights_ are negative, or do not add up to one")
    unknown = [name for _, name, _, _ in groups if name not in KINDS]
    if unknown:
        return Verification(None, f"the referee does not know the distribution {unknown[0]!r}")
    X, w = X[w > 0], w[w > 0]
    total, used = w.sum(), pi > 0
    w, pi = w / total, pi[used]
    with np.errstate(all="ignore"):
        parts = [_component(X[:, each[0]], each, used, total) for each in groups]
        joint = np.log(pi) + sum(part.logs() for part in parts)
        top = joint.max(axis=1)
        each: Array = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
        post = w[:, None] * np.exp(joint - each[:, None])
        mass = post.sum(axis=0)
        if not np.isfinite(each).all():
            return Verification(False, "some row of the fit has no density under the parameters")
        if not (mass > 0).all():
            return Verification(None, "a component has no rows")
        own = w @ each + sum(part.prior() for part in parts)
        squares = ((mass - pi) ** 2 / pi).sum() + sum(part.squared_step(post, pi) for part in parts)
        length, blur = float(np.sqrt(squares)), max(part.blur() for part in parts)
    size = np.abs(each).max() + X.shape[1]
    if not (np.isinf(objective) or abs(LONG(objective) - own) <= (1e-6 + blur) * size):
        off = float(abs(LONG(objective) - own) / max(abs(own), abs(objective)))
        return Verification(False, f"lower_bound_ is off by {off:.2g} of it")
    what = "the length of another exact EM step, in units of Fisher's information,"
    return measured(length, tolerance * ROUNDED, what, 64 * EPS * len(groups) + blur)


def _component(X: Array, group: Group, used: Array, total: Any) -> Step:
    _, name, numbers, params = group
    own = {
        key: np.asarray(value, dtype=LONG)[used if len(value) == len(used) else slice(None)]
        for key, value in params.items()
    }
    return KINDS[name](X, own, numbers, total)
