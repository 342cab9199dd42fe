"""Coordinate descent on a quadratic model ½ (w − w₀)ᵀH(w − w₀) + gᵀ(w − w₀) + Ω(w), holding H.

A coordinate that does not move costs nothing and one that moves costs O(s). Working sets too large to square, or so
sparse that their columns are shorter than a row of H, are descended along their columns (``columns.py``). w and the
gradient stay consistent; what is returned is the largest violation of the optimality conditions in the last epoch.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel
from corollary._compiled.codes import COUNT, ELASTIC, N_PENALTIES, POSITIVE


@fast_kernel
def _check_penalty(code):
    """Called once by every kernel that takes a penalty from Python, before its loop."""
    if code < 0 or code >= N_PENALTIES:
        raise ValueError("Unknown penalty code: the kernels know those of corollary._compiled.codes.PENALTIES.")


@fast_kernel
def _check_convex(code):
    """The same for kernels that work out the penalty's conjugate: a count of coefficients has none."""
    if code != ELASTIC and code != POSITIVE:
        raise ValueError("Unknown penalty code: this kernel knows those of convex penalties.")


@fast_kernel
def _minimiser(code, z, h, l1, l2):
    """argmin over w of ½ h w² − z w + Ω(w), for one coordinate."""
    if code == COUNT:
        w = z / (h + l2)
        return w if 0.5 * z * w > l1 else 0.0
    if code != ELASTIC and code != POSITIVE:
        return np.nan
    if z > l1:
        return (z - l1) / (h + l2)
    if z < -l1 and code == ELASTIC:
        return (z + l1) / (h + l2)
    return 0.0


@fast_kernel
def gram_epochs(H, gradient, w, code, l1, l2, max_epochs, tol):
    """Cyclic descent with the leading block of a symmetric H; ``gradient`` is g + H (w − w₀) and is kept up to date."""
    _check_penalty(code)
    n = w.shape[0]
    worst = 0.0
    for _ in range(max_epochs):
        worst = 0.0
        for j in range(n):
            h = H[j, j]
            if h + l2 <= 0.0:
                continue
            old = w[j]
            new = _minimiser(code, h * old - gradient[j], h, l1, l2)
            change = new - old
            if change != 0.0:
                w[j] = new
                worst = max(worst, abs(change) * (h + l2))
                row = H[j]
                for k in range(n):
                    gradient[k] += change * row[k]
        if worst <= tol:
            break
    return worst


@fast_kernel
def group_epochs(H, gradient, w, starts, curvature, strength, step, max_epochs, tol):
    """Block descent for ‖·‖₂ penalties: group b is w[starts[b]:starts[b+1]], curvature[b] bounds its Hessian block."""
    n = w.shape[0]
    worst = 0.0
    for _ in range(max_epochs):
        worst = 0.0
        for b in range(curvature.shape[0]):
            lo, hi, L = starts[b], starts[b + 1], curvature[b]
            if L <= 0.0:
                continue
            norm = 0.0
            for j in range(lo, hi):
                step[j] = w[j] - gradient[j] / L
                norm += step[j] * step[j]
            norm = norm**0.5
            shrink = max(0.0, 1.0 - strength[b] / (L * norm)) if norm > 0.0 else 0.0
            # the whole block's step is known before any gradient changes
            for j in range(lo, hi):
                step[j] = shrink * step[j] - w[j]
            for j in range(lo, hi):
                change = step[j]
                if change != 0.0:
                    w[j] += change
                    worst = max(worst, abs(change) * L)
                    row = H[j]
                    for k in range(n):
                        gradient[k] += change * row[k]
        if worst <= tol:
            break
    return worst


@fast_kernel
def gram_fit(H, pull, square, offset, gradient, w, code, l1, l2, tol, least, max_epochs):
    """Descent from w until the duality gap of ½ wᵀHw − pullᵀw + ½ square + offset + Ω(w) is small: primal and dual.

    Small is at most ``tol`` of the objective, or of ``least`` if that is more. ``gradient`` is kept at H w − pull; then
    the loss and the gap are sums over coefficients.
    """
    _check_convex(code)
    d = w.shape[0]
    for j in range(d):
        gradient[j] = -pull[j]
    for j in range(d):
        if w[j] != 0.0:
            for k in range(d):
                gradient[k] += w[j] * H[j, k]
    primal, dual = 0.0, 0.0
    for epoch in range(max_epochs + 1):
        if epoch > 0:
            gram_epochs(H, gradient, w, code, l1, l2, 1, 0.0)
        along, own, size, ridge, largest = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(d):
            along += pull[j] * w[j]
            own += w[j] * gradient[j]
            size += np.inf if code == POSITIVE and w[j] < 0.0 else abs(w[j])
            ridge += w[j] * w[j]
            largest = max(largest, -gradient[j] if code == POSITIVE else abs(gradient[j]))
        loss = max(0.5 * (square - along + own), 0.0)
        primal = offset + loss + l1 * size + 0.5 * l2 * ridge
        scale, excess = 1.0, 0.0
        if l2 > 0.0:  # every dual point is feasible, at a price
            for j in range(d):
                over = max((-gradient[j] if code == POSITIVE else abs(gradient[j])) - l1, 0.0)
                excess += over * over
            excess /= 2.0 * l2
        elif largest > l1:
            scale = l1 / largest
        # the residual, scaled, is the dual point: what both values have of ``square`` would cancel in their difference
        gap = (1.0 - scale) ** 2 * loss + l1 * size + scale * own + 0.5 * l2 * ridge + excess
        dual = primal - gap
        if gap <= tol * max(abs(primal), least):
            break
    return primal, dual
