"""The confusion matrix of held-out predictions, as a table that can be read and printed."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import confusion_matrix

from corollary.evaluate.comparison import Comparison
from corollary.report.charts import escaped, shortened
from corollary.report.predictions import figure

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
    head = "".join(f'<th scope="col">{escaped(shortened(name, 18))}</th>' for name in names)
    body = []
    for row, name in enumerate(names):
        cells = "".join(
            f'<td class="{"plus" if row == column else "minus"}{" strong" if share > 0.7 else ""}" '
            f'style="--v:{share:.2f}">{share:.1%}<small>{counts[row, column]:,}</small></td>'
            for column, share in enumerate(shares[row])
        )
        body.append(f'<tr><th scope="row">{escaped(shortened(name, 24))}</th>{cells}</tr>')
    corner = "<td>actual ╲ predicted</td>"
    table = f'<table class="heat"><thead><tr>{corner}{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    right = counts.trace() / counts.sum()
    caption = f"Each row of the matrix adds up to 100%. On the diagonal: right, {right:.1%} of all rows."
    both = f'<div class="side wide">{table}{_by_class(counts, names)}</div>'
    return figure(both, "Confusion matrix", caption, whole=len(names) > 4)


def _by_class(counts: np.ndarray, names: list[str]) -> str:
    """Precision, recall and F1 of each class."""
    right, actual, said = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    columns = (right / np.maximum(said, 1), right / np.maximum(actual, 1), 2 * right / np.maximum(actual + said, 1))
    body = "".join(
        f'<tr><th scope="row">{escaped(shortened(name, 24))}</th>'
        + "".join(f'<td class="n">{column[index]:.3f}</td>' for column in columns)
        + f'<td class="n">{actual[index]:,}</td></tr>'
        for index, name in enumerate(names)
    )
    head = "".join(f'<th scope="col" class="n">{name}</th>' for name in ("precision", "recall", "F1", "rows"))
    return f'<table class="classes"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'


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
    head = (
        '<tr><th scope="col">actual</th><th scope="col">predicted</th><th scope="col" class="n">rows</th>'
        '<th scope="col" class="n">of the class</th></tr>'
    )
    table = f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
    caption = (
        f"{counts.trace() / counts.sum():.1%} of all rows are right; of {len(names)} classes, these are mistaken most."
    )
    return figure(f'<div class="wide">{table}</div>', "Most frequent confusions", caption)
