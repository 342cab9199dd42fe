"""The referee of principal components: the angles to eigenvectors that are refined in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.rows import EPS, LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification

LARGEST, WIDEST, SWEEPS = 20_000_000, 200, 12  # entries of X, and columns, beyond which this takes too long
DIGITS = 1e-6  # of what is told beside the components, relatively; float32 holds ten times as many
TINY = np.finfo(np.float64).tiny
SUMS = 512.0  # times the rounding of a number: what float64 may do to sums of products over the rows


def principal_components(
    X: Any, weights: Array, told: dict[str, Any], tolerance: float, leading: bool, left: float = 0.0
) -> Verification:
    """The largest sine of an angle between a component and the eigenvector of the covariance that it stands for.

    ``told`` has what was delivered, by the names of the attributes; ``weights`` count rows in the unit of the fit.
    Eigenvectors that the rounding of the rows mixes by more than ``tolerance`` are judged as one span; where float64
    sums might, or an iteration that ended at residuals of ``left`` times the first eigenvalue, nothing is refuted. With
    ``leading`` the i-th component stands for the i-th eigenvector, else for the one that it is nearest to.
    """
    if X.shape[0] * X.shape[1] > LARGEST or X.shape[1] > WIDEST:
        return Verification(None, "X has too many entries for this arithmetic")
    w, about_zero = np.asarray(weights, dtype=LONG), hasattr(X, "toarray")
    X, w = dense(X)[w > 0], w[w > 0]
    if not all(np.isfinite(part).all() for part in told.values()):
        return Verification(False, "components, their variances or the mean are not finite")
    middle, total = np.median(X, axis=0), w.sum()
    R, share = X - middle, w / total  # exact, so that an offset costs no digits
    mean = share @ R
    R = R - mean
    size = np.abs(R).max(initial=0)
    if (wrong := _wrong_mean(told["mean_"], mean + middle, X, R, share)) is not None:
        return wrong
    if size == 0:
        return Verification(True, "all rows are equal: there is no variance", 0.0)
    R = R / size
    C = (share[:, None] * R).T @ R
    levels, U = _eigenpairs(C)
    V = np.asarray(told["components_"], dtype=LONG)
    if (skew := float(np.abs(V @ V.T - np.eye(len(V))).max(initial=0))) > 1e-8 + tolerance:
        return Verification(False, f"components are not orthonormal: off by {skew:.2g}", skew)
    mixed = np.abs(V @ U)
    place = np.arange(len(V)) if leading else mixed.argmax(axis=1)
    found = Verification(True, "there is no component to judge", 0.0)
    if len(V):
        found = _judged(mixed, place, levels, U, C, X / size, share, tolerance, left)
    if found.stands is False:
        return found
    freedom = total / (total - 1) if total > 1 else LONG(0)
    lost = SUMS * EPS * (share @ (X * X)).sum() / size**2 if about_zero else LONG(0)
    wrong = _wrong_numbers(told, levels, place, freedom * size * size, total, tolerance, len(X), lost)
    return found if wrong is None else wrong


def _judged(
    mixed: Array, place: Array, levels: Array, U: Array, C: Array, X: Array, share: Array, tolerance: float, left: float
) -> Verification:
    """The sines, by what components have in directions that are not theirs; see :func:`principal_components`."""
    gaps, sigma = np.abs(levels[:, None] - levels), np.sqrt(np.maximum(levels, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        data = _mixing(np.sqrt(np.diag(C)) @ np.abs(U), sigma, len(C)) / gaps
        sums = SUMS * (1 + np.sqrt(len(X)) / 64) * _mixing(np.sqrt(share @ (X * X)) @ np.abs(U), sigma[:1], len(C))
        sums = (sums + 16 * left * levels[0]) / gaps
    one, hazy = ~(data < tolerance)[place], ~(sums < tolerance)[place]
    sines = np.sqrt((np.where(one, 0, mixed) ** 2).sum(axis=1))
    clear = float(np.sqrt((np.where(one | hazy, 0, mixed) ** 2).sum(axis=1)).max())
    largest, worst = float(sines.max()), int(sines.argmax()) + 1
    words = f"the largest sine of the angle to an eigenvector is {largest:.2g}"
    if clear > tolerance * ROUNDED:
        return Verification(False, f"{words}, of component {worst}, where {tolerance:.2g} was claimed", largest)
    if largest > tolerance * ROUNDED:
        return Verification(None, f"{words}; but variances there are too close for sums in float64", largest)
    own = one.sum(axis=1) > 1
    return Verification(True, words + (f" ({own.sum()} of {len(own)} judged as spans)" if own.any() else ""), largest)


def _mixing(reach: Array, sigma: Array, d: int) -> Array:
    """How far vᵢᵀ C vⱼ moves if columns change by a rounding of their lengths, |δA v| ≤ ε s·|v|, and C, too."""
    own = 4 * EPS * sigma[:, None] * reach
    return own + own.T + (16 * LONG(EPS) ** 2 + 64 * d * np.finfo(LONG).eps) * reach[:, None] * reach


def _eigenpairs(C: Array) -> tuple[Array, Array]:
    """Eigenvalues, falling, and vectors in columns: those of float64, turned by Jacobi's rotations until C is diagonal.

    An entry vᵢᵀ C vⱼ below the rounding of its own products is none.
    """
    lengths, U = np.sqrt(np.diag(C)), np.linalg.eigh(C.astype(np.float64))[1][:, ::-1].astype(LONG)
    for _ in range(SWEEPS):
        for _ in range(2):
            U = U + U @ (np.eye(len(C)) - U.T @ U) / 2  # at right angles to all digits
        G, reach = U.T @ C @ U, lengths @ np.abs(U)
        pairs = np.argwhere(np.triu(np.abs(G) > 16 * np.finfo(LONG).eps * reach[:, None] * reach, 1))
        for i, j in pairs.tolist():
            _rotate(G, U, i, j)
        if len(pairs) == 0:
            break
    levels = np.maximum(np.diag(G), 0)
    order = np.argsort(-levels, kind="stable")
    return levels[order], U[:, order]


def _rotate(G: Array, U: Array, i: int, j: int) -> None:
    """Turn directions i and j so that nothing is left between them."""
    if G[i, j] == 0:
        return
    half = (G[j, j] - G[i, i]) / (2 * G[i, j])
    tangent = (1 if half >= 0 else -1) / (np.abs(half) + np.sqrt(half * half + 1))
    cosine = 1 / np.sqrt(tangent * tangent + 1)
    turn = np.array([[cosine, tangent * cosine], [-tangent * cosine, cosine]])
    both = [i, j]
    G[:, both] = G[:, both] @ turn
    G[both] = turn.T @ G[both]
    U[:, both] = U[:, both] @ turn


def _wrong_mean(given: Array, mean: Array, X: Array, R: Array, share: Array) -> Verification | None:
    """A mean that is off by a millionth of the standard deviation, beyond the rounding of its own type."""
    grain = 16 * float(np.finfo(np.asarray(given).dtype).eps)
    allowed = DIGITS * np.sqrt(share @ (R * R)) + grain * np.abs(X).max(axis=0) + TINY
    off = np.abs(np.asarray(given, dtype=LONG) - mean)
    if not (off > allowed).any():
        return None
    return Verification(False, f"mean_ is not the mean of the rows: off by {float(off.max()):.2g}", float(off.max()))


def _wrong_numbers(
    told: dict[str, Any], levels: Array, place: Array, scale: Any, total: Any, tolerance: float, n: int, lost: Any
) -> Verification | None:
    """Variances that are not those of the rows, by more than ``DIGITS`` of each.

    Turned by a sine s, a component loses up to s² of the first variance; so much may be missing, and what rounding of
    sums does to the first. Sparse rows stay about zero: what is within ``lost``, the rounding there, is not decided.
    """
    k, first, every = len(place), levels[0], levels.sum()
    slack = (tolerance**2 + SUMS * len(levels) * (1 + np.sqrt(n) / 64) * EPS) * first
    own = levels[place]
    singular = np.asarray(told["singular_values_"], dtype=LONG) ** 2
    most = min(len(levels), max(n, int(min(total, LONG(1e9)))))
    rest = levels[k:].sum() / max(most - k, 1) if k < most else LONG(0)
    pairs = {
        "explained_variance_": (told["explained_variance_"], own, scale),
        "explained_variance_ratio_": (told["explained_variance_ratio_"], own / every, LONG(1)),
        "singular_values_": (singular, own, scale * (total - 1)),
    }
    if np.array_equal(place, np.arange(k)):
        pairs["noise_variance_"] = (told["noise_variance_"], rest, scale)
    for name, (given, true, by) in pairs.items():
        allowed = (3 * DIGITS * true + (slack / every if name.endswith("ratio_") else slack)) * by + TINY
        off = np.abs(np.asarray(given, dtype=LONG) - true * by)
        if (off > allowed).any():
            share = float((off / np.maximum(true * by, TINY)).max())
            hazy = (off <= allowed + 2 * lost * (by / every if name.endswith("ratio_") else by)).all()
            return Verification(None if hazy else False, f"{name} is not that of the rows: off by {share:.2g}", share)
    return None
