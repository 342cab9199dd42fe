"""The referee of principal components: is each direction an eigenvector, and are they the leading ones?"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.verdict import Verification

Array = Any
LONG = np.longdouble
LARGEST = 20_000_000


def principal_components(
    X: Any, weights: Array, components: Array, variances: Array, tolerance: float, leading: bool
) -> Verification:
    """‖C v − λ v‖ / λ₁ of every component, by products with the centred rows; their lengths and angles; and, where they
    are called the leading ones, how much more variance the best directions of the same number have.
    """
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if X.size > LARGEST:
        return Verification(None, "X has too many entries for this arithmetic")
    live = np.asarray(weights) > 0
    w, X = np.asarray(weights, dtype=LONG)[live], X[live]
    middle = np.median(X.astype(np.float64), axis=0).astype(LONG)
    R = X.astype(LONG) - middle  # exact, so that an offset costs no digits
    R = R - (w @ R) / w.sum()
    V, given = np.asarray(components, dtype=LONG), np.asarray(variances, dtype=LONG)
    if not (np.isfinite(V).all() and np.isfinite(given).all()):
        return Verification(False, "components are not finite")
    size = np.abs(R).max(initial=0)
    if size == 0:
        return Verification(True, "all rows are equal: there is no variance", 0.0)
    R, share = R / size, w / w.sum()
    scores = R @ V.T
    own = (share[:, None] * scores**2).sum(axis=0)  # vᵀ C v, up to the factor that all share
    residuals = (share[:, None] * scores).T @ R - own[:, None] * V
    best = np.linalg.eigvalsh(((share[:, None] * R).T @ R).astype(np.float64))[::-1]
    first = max(LONG(best[0]), own.max())
    off = float(np.sqrt((residuals**2).sum(axis=1)).max() / first)
    skew = float(np.abs(V @ V.T - np.eye(len(V))).max())
    given = given / given.max() if given.max() > 0 else given
    held = float(own.max()) * size * size > np.finfo(np.float64).tiny  # else float64 cannot hold them
    told = float(np.abs(given - own / own.max()).max()) if held else 0.0
    short = float((best[: len(V)].sum() - float(own.sum())) / best[0]) if leading else 0.0
    slack = 64 * np.finfo(np.float64).eps * len(best)
    words = f"the largest eigen-residual is {off:.2g} of the first eigenvalue"
    if off > tolerance * 1.01 + 1e-15:
        return Verification(False, f"{words}, where {tolerance:.2g} was claimed", off)
    if max(skew, told) > 1e-8 + tolerance:
        return Verification(False, f"directions or variances are off by {max(skew, told):.2g}", max(skew, told))
    if short > slack + tolerance:
        return Verification(
            False, f"other directions have more variance, by {short:.2g} of the first eigenvalue", short
        )
    return Verification(True, words, off)
