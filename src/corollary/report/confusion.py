"""The confusion matrix of held-out predictions, as a table that can be read and printed, and scores by class."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix

from corollary.evaluate.comparison import Comparison
from corollary.report.charts import escaped
from corollary.report.document import figure, folded, heat_cell, heat_table, table
from corollary.tabular.messages import listed, shortened

_MOST = 12
_RARE = 30  # rows below which a share of them says little
_LISTED = 20


def confusion_figures(comparison: Comparison) -> list[str]:
    """Rows: what was so. Columns: what was predicted. Shares of the row, with counts below them; then each class."""
    classes = comparison.target.classes
    assert classes is not None
    said, weights = comparison.out_of_fold[comparison.best].values, comparison.judged_weights
    counts = confusion_matrix(comparison.truth, said, labels=classes)
    amounts = counts if weights is None else confusion_matrix(
        comparison.truth, said, labels=classes, sample_weight=weights
    )  # fmt: skip
    names = [str(value) for value in classes]
    first = (_worst_pairs if len(names) > _MOST else _matrix)(counts, amounts, names)
    return [first, _by_class(counts, amounts, names)]


def _weighed(counts: np.ndarray, amounts: np.ndarray) -> bool:
    return amounts is not counts


def _matrix(counts: np.ndarray, amounts: np.ndarray, names: list[str]) -> str:
    whole = amounts.sum(axis=1, keepdims=True)
    shares = amounts / np.where(whole > 0, whole, 1)
    rows = []
    for row, name in enumerate(names):
        cells = (
            heat_cell(f"{share:.1%}<small>{counts[row, column]:,}</small>", share if row == column else -share)
            for column, share in enumerate(shares[row])
        )
        rows.append((name, "".join(cells)))
    of_all = "the weight of all rows" if _weighed(counts, amounts) else "all rows"
    caption = (
        f"Each row of the matrix adds up to 100%. On the diagonal: right, {amounts.trace() / amounts.sum():.1%} of "
        f"{of_all}, all folds together."
    )
    if _weighed(counts, amounts):
        caption += " Shares are of weights, the numbers below them count rows."
    return figure(heat_table("actual ╲ predicted", names, rows), "Confusion matrix", caption, whole=len(names) > 4)


def share_with_interval(part: int, whole: int) -> str:
    """``"0.842 (0.81–0.87)"``: a share with its 95% Wilson interval, or a dash."""
    if whole == 0:
        return "–"
    ends = binomtest(int(part), int(whole)).proportion_ci(method="wilson")
    return f"{part / whole:.3f} ({ends.low:.2f}–{ends.high:.2f})"


def _share(counts: np.ndarray, amounts: np.ndarray, each: int, axis: int) -> str:
    """Precision (along 0) or recall (along 1) of a class: with its interval, or of weights, which has none."""
    if not _weighed(counts, amounts):
        return share_with_interval(counts[each, each], counts.sum(axis=axis)[each])
    whole = amounts.sum(axis=axis)[each]
    return f"{amounts[each, each] / whole:.3f}" if whole > 0 else "–"


def _by_class(counts: np.ndarray, amounts: np.ndarray, names: list[str]) -> str:
    """Precision and recall of each class with intervals, the rarest class first if there are many."""
    so, both = counts.sum(axis=1), amounts.sum(axis=0) + amounts.sum(axis=1)
    harmonic = 2 * np.diag(amounts) / np.where(both > 0, both, 1)
    order = np.argsort(so, kind="stable") if len(names) > _MOST else np.arange(len(names))
    rows = [
        f'<tr><th scope="row">{escaped(shortened(names[each], 24))}</th>'
        f'<td class="n" data-title="precision">{_share(counts, amounts, each, 0)}</td>'
        f'<td class="n" data-title="recall">{_share(counts, amounts, each, 1)}</td>'
        f'<td class="n" data-title="F1">{harmonic[each]:.3f}</td>'
        f'<td class="n" data-title="rows">{so[each]:,}</td></tr>'
        for each in order
    ]
    head = ("class", ">precision", ">recall", ">F1", ">rows")
    whole = table(head, rows[:_LISTED], "stack")
    if len(rows) > _LISTED:
        whole += folded(f"The other {len(rows) - _LISTED:,} classes", table(head, rows[_LISTED:], "stack"))
    few = [names[each] for each in np.argsort(so, kind="stable") if so[each] < _RARE]
    caption = "In brackets: 95% intervals (Wilson)."
    if _weighed(counts, amounts):
        caption = "Precision, recall and F1 are of weights, without intervals; the last column counts rows."
    if few:
        caption += f" Fewer than {_RARE} rows, so hardly anything is known about: {listed(few, 3)}."
    return figure(whole, "By class", caption, whole=len(names) > _MOST)


def _worst_pairs(counts: np.ndarray, amounts: np.ndarray, names: list[str]) -> str:
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
    if _weighed(counts, amounts):
        caption += f" Counted are rows; by weight {amounts.trace() / amounts.sum():.1%} are right."
    return figure(whole, "Most frequent confusions", caption)
