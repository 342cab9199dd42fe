"""The confusion matrix of held-out predictions, as a table that can be read and printed."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from corollary.evaluate.comparison import Comparison
from corollary.report.charts import escaped
from corollary.report.document import figure, heat_cell, heat_table, table
from corollary.tabular.messages import shortened

_MOST = 12


def confusion_figure(comparison: Comparison) -> str:
    """Rows: what was so. Columns: what was predicted. Shares of the row, with counts below them."""
    classes = comparison.target.classes
    assert classes is not None
    counts = confusion_matrix(comparison.target.values, comparison.out_of_fold[comparison.best].values, labels=classes)
    names = [str(value) for value in classes]
    if len(names) > _MOST:
        return _worst_pairs(counts, names)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = []
    for row, name in enumerate(names):
        cells = (
            heat_cell(f"{share:.1%}<small>{counts[row, column]:,}</small>", share if row == column else -share)
            for column, share in enumerate(shares[row])
        )
        rows.append((name, "".join(cells)))
    right = counts.trace() / counts.sum()
    caption = (
        f"Each row of the matrix adds up to 100%. On the diagonal: right, {right:.1%} of all rows, all folds together."
    )
    both = heat_table("actual ╲ predicted", names, rows) + _by_class(comparison)
    return figure(f'<div class="side">{both}</div>', "Confusion matrix", caption, whole=len(names) > 4)


def _by_class(comparison: Comparison) -> str:
    """Precision, recall and F1 of each class."""
    classes, said = comparison.target.classes, comparison.out_of_fold[comparison.best].values
    assert classes is not None
    found = precision_recall_fscore_support(comparison.target.values, said, labels=classes, zero_division=0.0)
    rows = (
        f'<tr><th scope="row">{escaped(shortened(name, 24))}</th>'
        + "".join(f'<td class="n">{value:.3f}</td>' for value in scores)
        + f'<td class="n">{support:,}</td></tr>'
        for name, *scores, support in zip(classes, *found, strict=True)
    )
    return table(("", ">precision", ">recall", ">F1", ">rows"), rows, "classes")


def _worst_pairs(counts: np.ndarray, names: list[str]) -> str:
    """With many classes, the matrix is unreadable: list the most frequent confusions instead."""
    wrong = counts * (1 - np.eye(len(names), dtype=counts.dtype))
    order = np.argsort(-wrong, axis=None, kind="stable")[:15]
    body = []
    for row, column in zip(*np.unravel_index(order, wrong.shape), strict=True):
        if wrong[row, column]:
            share = wrong[row, column] / counts[row].sum()
            actual, said = (escaped(shortened(names[index], 40)) for index in (row, column))
            number = f'<td class="n">{wrong[row, column]:,}</td><td class="n">{share:.1%}</td>'
            body.append(f"<tr><td>{actual}</td><td>{said}</td>{number}</tr>")
    whole = table(("actual", "predicted", ">rows", ">of the class"), body)
    caption = (
        f"{counts.trace() / counts.sum():.1%} of all rows, all folds together, are right; "
        f"of {len(names)} classes, these are mistaken most."
    )
    return figure(whole, "Most frequent confusions", caption)
