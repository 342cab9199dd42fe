"""The linear family: least squares, lasso, logistic and softmax regression."""

from __future__ import annotations

from benchmarks.linear import lasso, lasso_grid, least_squares, logistic, logistic_grid, text

WORKLOADS = (
    *least_squares.WORKLOADS,
    *lasso.WORKLOADS,
    *logistic.WORKLOADS,
    *text.WORKLOADS,
    *lasso_grid.WORKLOADS,
    *logistic_grid.WORKLOADS,
)
