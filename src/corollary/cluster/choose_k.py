"""How many clusters? Five criteria, what each says, and a vote."""

from __future__ import annotations

import html
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from corollary.cluster.k_criteria import CRITERIA, Study, vote
from corollary.core.types import Array
from corollary.solvers.cluster_scores import distinct_rows

_TITLES = {"k": "k", "gap_error": "± error", "within_share": "within"} | {
    name: criterion.title for name, criterion in CRITERIA.items()
}


@dataclass(frozen=True, eq=False)
class KChoice:
    """What :func:`choose_k` found; prints as a table with the verdict below it.

    Attributes
    ----------
    k : int
        The number of clusters that the vote chose.
    reason : str
        Why, in a sentence.
    best : dict of str to int
        The k that each criterion speaks for.
    ks : array
    columns : dict of str to array
        Each criterion's number for every k; "gap_error" is the standard error of the gap, "within_share" the
        within-cluster sum of squares as a share of the total.
    models : dict of int to estimator
        Fitted with each k.
    labels : dict of int to array
    """

    k: int
    reason: str
    best: Mapping[str, int]
    ks: Array
    columns: Mapping[str, Array]
    models: Mapping[int, Any]
    labels: Mapping[int, Array]
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> Any:
        """The model fitted with the k that was chosen."""
        return self.models[self.k]

    def to_frame(self) -> Any:
        """The table as a pandas frame, one row for each k."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns), index=pd.Index(self.ks, name="k"))

    def table(self) -> list[list[str]]:
        """The table as text: a line of titles, then one for each k; an asterisk marks what a criterion speaks for."""
        lines = [["k", *(_TITLES[name] for name in self.columns)]]
        for position, k in enumerate(self.ks):
            cells = [str(k)]
            for name, values in self.columns.items():
                mark = "*" if self.best.get(name) == k else " " if name in CRITERIA else ""
                cells.append(_number(values[position], values) + mark)
            lines.append(cells)
        return lines

    def __str__(self) -> str:
        lines = self.table()
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*text, "", self.reason, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self.table()
        row = "<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"
        rows = "".join(
            f"<tr{' style=font-weight:600' if line[0] == str(self.k) else ''}>"
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in line)
            + "</tr>"
            for line in body
        )
        return f"<table>{row}{rows}</table><p>{html.escape(self.reason)}</p>"

    def plot(self, axes: Any = None) -> Any:
        """One small chart for each criterion with the k that it speaks for; returns the matplotlib axes."""
        from corollary.cluster.cluster_plots import plot_choice

        return plot_choice(self, axes)


def choose_k(
    X: Any,
    k: Any = None,
    *,
    estimator: Any = None,
    criteria: Sequence[str] = ("calinski_harabasz", "elbow", "silhouette", "gap", "bic"),
    sample: int = 2000,
    n_references: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> KChoice:
    r"""Fit a clusterer with each number of clusters and ask five criteria which number is right.

    - ``calinski_harabasz``: the largest :math:`\frac{(T - W_k) / (k - 1)}{W_k / (n - k)}`, with T the total and
      :math:`W_k` the within-cluster sum of squares.
    - ``elbow``: the point of the curve :math:`W_k` farthest below the chord from its first point to its last, after
      both axes are scaled to [0, 1]. It depends on the range of k.
    - ``silhouette``: the largest mean of :math:`(b_i - a_i) / \max(a_i, b_i)`, the mean distances to the next cluster
      and to its own, over a sample.
    - ``gap``: :math:`G_k = \mathrm E \ln W_k^* - \ln W_k`, where :math:`W_k^*` is that of rows drawn evenly from the
      box around the data along their principal axes; the first k with :math:`G_k \ge G_{k+1} - s_{k+1}`.
    - ``bic``: the lowest; the estimator's own if it has one, else that of Gaussians with one common variance.

    The vote goes to the k that more criteria name than any other; if there is none, to their median. Only ``gap`` and
    ``bic`` can say that there is one cluster; if all of these that were asked do, the others do not count.

    Parameters
    ----------
    X : array of shape (n, d)
        Scale columns of different units first.
    k : int or sequence of int, optional
        The largest number of clusters to try, or the numbers. By default 10.
    estimator : clusterer or mixture, optional
        Anything with ``n_clusters`` or ``n_components`` and ``fit_predict``; by default ``KMeans(n_init=3)``.
    criteria : sequence of str
    sample : int ≥ 10
        Rows at most for the silhouette and for the gap, drawn at random.
    n_references : int ≥ 1
        Draws for the gap.
    random_state : int, RandomState or None
        Of sample, draws and estimator.
    n_jobs : int or None
        Fits of the gap at the same time; None means 1.

    Returns
    -------
    KChoice

    Notes
    -----
    *Cost.* One fit for each k, and with ``gap`` ``n_references`` more, each of at most ``sample`` rows.

    References
    ----------
    Caliński and Harabasz (1974). Rousseeuw (1987). Tibshirani, Walther and Hastie (2001). Pelleg and Moore (2000).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from corollary import choose_k
    >>> X, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> choice = choose_k(X, 6, random_state=0)
    >>> choice.k, choice.best["silhouette"]
    (3, 3)
    """
    wanted = _wanted(criteria)
    X = check_array(X, dtype=(np.float64, np.float32), ensure_min_samples=3, input_name="X")
    if sample < 10 or n_references < 1:
        raise ValueError(f"sample must be ≥ 10 and n_references ≥ 1, but they are {sample} and {n_references}.")
    ks = _numbers(k, X)
    random = check_random_state(random_state)
    base, parameter = _template(estimator, random)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = [clone(base).set_params(**{parameter: int(each)}) for each in ks]
        labels = [np.asarray(model.fit_predict(X)) for model in models]
        study = Study(
            X, _scaled(X), ks, models, labels, _sample(len(X), sample, random),
            lambda count, rows: np.asarray(clone(base).set_params(**{parameter: count}).fit_predict(rows)),
            n_references, random, n_jobs,
        )  # fmt: skip
        columns: dict[str, Array] = {}
        best = {}
        for name in wanted:
            found = CRITERIA[name].scores(study)
            columns |= found
            position = CRITERIA[name].choose(found)
            if position is not None:
                best[name] = int(ks[position])
    number, reason = vote(best, ks)
    silent = [CRITERIA[name].title for name in wanted if name not in best]
    reason += "".join(f" The {title} has no answer up to k = {ks[-1]}." for title in silent)
    keyed = dict(zip(map(int, ks), models, strict=True))
    return KChoice(number, reason, best, ks, columns, keyed, dict(zip(keyed, labels, strict=True)), _notes(caught))


def _wanted(criteria: Sequence[str]) -> list[str]:
    names = [criteria] if isinstance(criteria, str) else list(criteria)
    unknown = [name for name in names if name not in CRITERIA]
    if unknown or not names:
        raise ValueError(f"criteria must be some of {', '.join(CRITERIA)}, but it is {criteria!r}.")
    return names


def _numbers(k: Any, X: Array) -> Array:
    """The numbers of clusters to try: whole, increasing, and no more than rows that differ."""
    if k is None:
        k = min(10, distinct_rows(X, 10), len(X) - 1)
    given = list(range(1, k + 1)) if isinstance(k, int | np.integer) else list(k) if isinstance(k, Iterable) else [k]
    if not given or not all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in given):
        raise ValueError(f"k must be a whole number ≥ 1 or a sequence of them, but it is {k!r}.")
    ks = np.unique(given)
    distinct = distinct_rows(X, max(2, int(ks[-1])))
    if distinct == 1:
        raise ValueError(f"All {len(X)} rows of X are the same: there is nothing to divide.")
    most = min(distinct, len(X) - 1)
    if ks[0] < 1 or ks[-1] > most:
        raise ValueError(f"k must be from 1 to {most} for {len(X)} rows of which {distinct} differ, but it is {k!r}.")
    return ks


def _template(estimator: Any, random: np.random.RandomState) -> tuple[Any, str]:
    if estimator is None:
        from corollary.cluster.kmeans import KMeans

        estimator = KMeans(n_init=3)
    known = estimator.get_params(deep=False)
    parameter = next((name for name in ("n_clusters", "n_components") if name in known), None)
    if parameter is None or not hasattr(estimator, "fit_predict"):
        raise ValueError(f"estimator must have n_clusters or n_components and fit_predict, but it is {estimator!r}.")
    base = clone(estimator)
    if "random_state" in known and known["random_state"] is None:
        base.set_params(random_state=int(random.randint(2**31)))
    return base, parameter


def _scaled(X: Array) -> Array:
    unit = float(np.abs(X).max())
    scaled: Array = X.astype(np.float64) / unit
    return scaled - scaled.mean(axis=0)


def _sample(n: int, size: int, random: np.random.RandomState) -> Array:
    return np.arange(n) if n <= size else np.sort(random.permutation(n)[:size])


def _notes(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    texts = list(dict.fromkeys(str(each.message) for each in caught))
    if not texts:
        return ()
    more = f" (and {len(texts) - 1} more warnings)" if len(texts) > 1 else ""
    return (f"While fitting: {texts[0]}{more}",)


def _number(value: float, values: Array) -> str:
    if np.isnan(value):
        return "–"
    largest = float(np.nanmax(np.abs(values)))
    decimals = 0 if largest >= 1000 else 1 if largest >= 100 else 3
    return f"{value:,.{decimals}f}" if 1e-3 <= largest < 1e7 else f"{value:.3g}"
