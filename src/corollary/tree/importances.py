"""Importances: four ways to ask which columns matter, side by side, because they answer different questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state, resample

from corollary.core.drawing import BLUE, ORANGE
from corollary.core.types import Array
from corollary.tree.shap import column_names, shap_values

_MOST_ROWS = 1000  # mean sizes of Shapley values need no more


@dataclass(frozen=True, eq=False)
class Importances:
    """Importance of each column by each measure; ``spread`` is a standard deviation where there is one.

    Measures: ``"gain"``, share of the total fall in impurity or loss; ``"splits"``, share of all splits; ``"SHAP"``,
    mean size of the Shapley values, in units of the prediction; ``"permutation"``, by how much the score falls when
    the column is shuffled.
    """

    measures: Mapping[str, Array]
    spread: Mapping[str, Array]
    feature_names: tuple[str, ...]

    def ranking(self, measure: str | None = None) -> Array:
        """Column numbers, most important first, by ``measure``; if None, by Shapley values or else by gain."""
        known = list(self.measures)
        measure = measure or ("SHAP" if "SHAP" in known else known[0])
        if measure not in known:
            raise ValueError(f"measure must be one of {known}, but it is {measure!r}.")
        return np.argsort(-self.measures[measure], kind="stable")

    def plot(self, top: int = 15, order: str | None = None, axes: Any = None) -> Any:
        """Draw one panel of bars for each measure, columns in the order of ``order``; returns the matplotlib axes."""
        ranked = self.ranking(order)
        return plot_importances(self.measures, self.feature_names, ranked[:top], self.spread, axes)


def importances(
    model: Any, X: Any = None, y: Any = None, *, n_repeats: int = 5, scoring: Any = None, random_state: Any = 0
) -> Importances:
    """Measure the importance of columns in every way that the arguments allow.

    Gain and splits are read off the trees. They describe training: columns with many distinct values look better than
    they are. With X there are Shapley values, which say what moves the predictions. With X and y, best rows that the
    model has not seen, columns are shuffled one by one, which says what the score needs; two columns that say the same
    share it, or hide each other.

    Parameters
    ----------
    model : a fitted tree, forest or gradient boosting model of this library
    X : rows, or None
    y : their targets, or None
    n_repeats : int, default 5
        How often each column is shuffled.
    scoring : str, callable or None
        As in scikit-learn; None is the model's own score.
    random_state : int, RandomState or None, default 0

    Notes
    -----
    *Cost.* Shapley values of at most 1000 rows; ``n_repeats`` predictions of X for each column that is used. Unlike
    :func:`sklearn.inspection.permutation_importance` it takes polars frames and sparse matrices as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import GradientBoostingRegressor
    >>> from corollary.tree.importances import importances
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = importances(GradientBoostingRegressor(n_estimators=20).fit(X, y), X, y)
    >>> list(found.measures)
    ['gain', 'splits', 'SHAP', 'permutation']
    """
    names = column_names(model)
    used = model.trees_.feature[model.trees_.feature >= 0]
    splits = model.trees_.importances(len(names), by_gain=False)
    measures = {"gain": np.asarray(model.feature_importances_), "splits": splits}
    spread: dict[str, Array] = {}
    if X is not None:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        rows = X if n <= _MOST_ROWS else resample(X, replace=False, n_samples=_MOST_ROWS, random_state=random_state)
        measures["SHAP"] = shap_values(model, rows).importances()
    if y is not None:
        if X is None:
            raise ValueError("y came without X: permutation importance needs rows to predict.")
        falls = _permutation(model, X, y, np.unique(used), len(names), n_repeats, scoring, random_state)
        measures["permutation"], spread["permutation"] = falls.mean(axis=1), falls.std(axis=1)
    return Importances(measures, spread, tuple(names))


def _permutation(
    model: Any, X: Any, y: Any, used: Array, n_columns: int, n_repeats: int, scoring: Any, random_state: Any
) -> Array:
    """(columns, repeats): by how much the score falls when a column is shuffled; 0 for columns without a split."""
    random, score = check_random_state(random_state), check_scoring(model, scoring=scoring)
    plain = score(model, X, y)
    falls = np.zeros((n_columns, n_repeats))
    for f in used:
        for repeat in range(n_repeats):
            order = random.permutation(len(y))
            falls[f, repeat] = plain - score(model, _shuffled(X, int(f), order), y)
    return falls


def _shuffled(X: Any, f: int, order: Array) -> Any:
    """A copy of X, of the same kind, with the rows of column f in another order."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        name = frame.columns[f]
        return frame.with_columns(frame[name][order.tolist()].alias(name)).to_native()
    if scipy.sparse.issparse(X):
        X = X.tocsc()
        return scipy.sparse.hstack([X[:, :f], X[:, [f]][order], X[:, f + 1 :]], format="csr")
    out = np.array(X)
    out[:, f] = out[order, f]
    return out


_AXES = {
    "gain": "share of all gain",
    "splits": "share of all splits",
    "SHAP": "mean size of values",
    "permutation": "fall of the score",
    "out of bag": "rise of the error when shuffled",
}
_COLOURS = {"gain": "#718096", "splits": "#a0aec0", "SHAP": BLUE, "permutation": ORANGE, "out of bag": ORANGE}


def plot_importances(
    measures: Mapping[str, Array],
    names: Any,
    columns: Array,
    spread: Mapping[str, Array] | None = None,
    axes: Any = None,
) -> Any:
    """One panel of horizontal bars for each measure, the first of ``columns`` on top; returns the matplotlib axes."""
    if axes is None:
        import matplotlib.pyplot as plt

        size = (2.6 + 2.1 * len(measures), 1.2 + 0.3 * len(columns))
        _, axes = plt.subplots(1, len(measures), figsize=size, sharey=True, layout="constrained", squeeze=False)
    lines = np.arange(len(columns))[::-1]
    for number, (ax, (measure, values)) in enumerate(zip(np.ravel(axes), measures.items(), strict=True)):
        error = (spread or {}).get(measure)
        xerr = None if error is None else error[columns]
        ax.barh(lines, values[columns], height=0.66, color=_COLOURS.get(measure, BLUE), xerr=xerr,
                error_kw={"ecolor": "0.25", "elinewidth": 1})  # fmt: skip
        ax.axvline(0, color="0.4", lw=0.8)
        ax.set_title(measure, fontsize="medium", fontweight="bold", loc="left")
        ax.set_xlabel(_AXES.get(measure, measure), fontsize="small")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0, labelleft=number == 0)
        ax.tick_params(axis="x", labelsize="small")
        ax.locator_params(axis="x", nbins=4)
        ax.grid(axis="x", color="0.9", lw=0.8)
        ax.set_axisbelow(True)
        ax.set_yticks(lines, [str(names[f]) for f in columns])
    return np.ravel(axes)
