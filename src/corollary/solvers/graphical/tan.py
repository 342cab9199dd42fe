"""Naive Bayes with a tree: besides the class, every column may have one other as a parent.

The tree is the maximum spanning tree of I(Xᵢ; Xⱼ | class); among all such trees, each with its tables of maximum
likelihood, it has the largest likelihood of rows without gaps (Friedman, Geiger & Goldszmidt 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corollary.core.evidence import Evidence
from corollary.core.types import Array
from corollary.solvers.graphical.chow_liu import Tree, conditional_informations, maximum_spanning_tree
from corollary.solvers.graphical.counts import Coded, family_tables
from corollary.solvers.graphical.parameters import NO_PRIOR, Prior, counting_evidence, tables_from

ROWS = 1 << 16  # cells of messages that are worked on at once, a row


@dataclass(frozen=True)
class ClassTree:
    """P(class) Π P(xⱼ | class, parent of j): ``tables[j]`` is (classes, states of the parent, states of j).

    The root has one state of a parent.
    """

    parent: Array
    order: Array
    prior: Array
    tables: tuple[Array, ...]


def learn_tree(data: Coded, labels: Array, n_classes: int, root: int) -> tuple[Tree, Array]:
    """The tree, and the information I(Xᵢ; Xⱼ | class) of all pairs."""
    parts = [data.select(labels == k) for k in range(n_classes)]
    information = conditional_informations(parts)
    return maximum_spanning_tree(information, root), information


def class_tables(
    data: Coded, labels: Array, n_classes: int, parent: Sequence[int], prior: Prior
) -> tuple[Array, tuple[Array, ...], Evidence]:
    """P(class), which has no prior; P(column | class, parent) of each column; and that they are the counts of the rows.

    Of rows with gaps, each counts where it has the values that a table is about.
    """
    codes = np.vstack([data.codes, labels.astype(data.codes.dtype)])
    rows, last = Coded(codes, (*data.cards, n_classes), data.weights), data.n_variables
    families = [(last,)] + [(last, j) if p < 0 else (last, p, j) for j, p in enumerate(parent)]
    counts, priors = family_tables(rows, families), [NO_PRIOR] + [prior] * last
    tables = [tables_from([count], each)[0] for count, each in zip(counts, priors, strict=True)]
    evidence = counting_evidence(rows, families, tables, priors)
    return tables[0], tuple(table.reshape(n_classes, -1, table.shape[-1]) for table in tables[1:]), evidence


def joint_log_likelihood(model: ClassTree, codes: Array) -> Array:
    """log P(class, x) for each row and class, with missing values (−1) summed out exactly; codes are (d, n)."""
    n, largest = codes.shape[1], max(table.shape[2] for table in model.tables)
    size = max(64, ROWS // (len(model.prior) * largest))
    out = np.empty((n, len(model.prior)))
    for start in range(0, n, size):
        out[start : start + size] = _block(model, codes[:, start : start + size])
    return out


def _block(model: ClassTree, codes: Array) -> Array:
    m = codes.shape[1]
    with np.errstate(divide="ignore"):
        total = np.tile(np.log(model.prior), (m, 1))
        known = (codes >= 0).all(axis=0)
        if known.any():
            total[known] += _complete(model, codes[:, known])
        if not known.all():
            total[~known] += _summed(model, codes[:, ~known])
    return total


def _complete(model: ClassTree, codes: Array) -> Array:
    total = np.zeros((codes.shape[1], len(model.prior)))
    for j, table in enumerate(model.tables):
        above = codes[model.parent[j]] if model.parent[j] >= 0 else 0
        total += np.log(table)[:, above, codes[j]].T
    return total


def _summed(model: ClassTree, codes: Array) -> Array:
    """Messages from the leaves to the root: how likely what lies below is, for each state; scaled to stay in range."""
    m, k = codes.shape[1], len(model.prior)
    below: list[Array | None] = [None] * len(model.tables)
    logs = np.zeros((m, k))
    for j in model.order[::-1]:
        table, state = model.tables[j], codes[j]
        weight = np.where(state[:, None] < 0, 1.0, np.arange(table.shape[2]) == state[:, None])[:, None, :]
        belief = below[j]
        inside = weight if belief is None else weight * belief
        message = np.einsum("kps,nks->nkp", table, np.broadcast_to(inside, (m, k, table.shape[2])))
        scale = message.max(axis=2)
        logs += np.log(scale)
        message = message / np.where(scale > 0, scale, 1.0)[:, :, None]
        p = model.parent[j]
        if p >= 0:
            before = below[p]
            below[p] = message if before is None else before * message
        below[j] = None
    return logs
