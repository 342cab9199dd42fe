"""Derivatives of any loss that has a code, by a team of threads over blocks of rows."""

from __future__ import annotations

from corollary._compiled._jit import lean_kernel
from corollary._compiled.losses import loss_block
from corollary._compiled.team import count_blocks, rows_of, share
from corollary._compiled.trees.boosting.gradients import BLOCK


@lean_kernel
def coded_derivatives(team, rank, code, parameter, y, raw, weights, gradient, hessian, parts):
    """Fill gradients and curvatures of all rows, and ``parts`` with the weighted loss of every block of rows."""
    n = raw.shape[0]
    first, end = share(team, rank, count_blocks(n, BLOCK))
    for block in range(first, end):
        a, b = rows_of(block, n, BLOCK)
        parts[block] = loss_block(code, parameter, y[a:b], raw[a:b], weights[a:b], gradient[a:b], hessian[a:b])
