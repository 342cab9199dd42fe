"""Shapley values of predictions by trees, forests and boosted trees."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from corollary.core.evidence import Certificate, Kind
from corollary.core.explanation import Explanation
from corollary.core.memory import check_memory
from corollary.core.parallel import threads
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.shap import background_values, mean_values, path_interactions, path_values, tree_sums


@runtime_checkable
class Additive(Protocol):
    """A model whose raw prediction is ``start + scale · Σ over trees of the value at the leaf``."""

    def _additive_trees(self) -> tuple[Trees, Array, float, Array]:
        """(trees, start of shape (outputs,), scale, training rows per node)."""


def shap_values(model: Any, X: Any, *, background: Any = None) -> Explanation:
    r"""Share out each prediction among the columns, as Shapley values.

    .. math:: f(x_i) = \varphi_0 + \sum_j \varphi_{ij}, \qquad \varphi_{ij} = \sum_{S \not\ni j}
              \frac{|S|!\,(d - |S| - 1)!}{d!} \big(v_i(S \cup j) - v_i(S)\big)

    where :math:`v_i(S)` is the model's answer when only the columns in S of row i are known. What it says about the
    others is the average over the training rows that reach each node (``background=None``), or over the rows of
    ``background``, which cuts all ties between known and unknown columns.

    f is ``decision_function`` for boosted classes (AdaBoost too), the raw prediction (before any link) for boosted
    numbers, and ``predict_proba`` or ``predict`` for trees and forests.

    Parameters
    ----------
    model : a fitted tree, forest, AdaBoost (of trees) or gradient boosting model of this library
    X : rows to explain, as for ``predict``
    background : rows that stand for "not known", or None
        A hundred are commonly enough.

    Returns
    -------
    Explanation
        Its certificate is how far the values are from adding up to the prediction.

    Notes
    -----
    *Cost.* O(n · leaves · depth) for all trees, exactly; with a background of m rows O(n · m · visited leaves). Threads
    over rows. Memory: n · d · outputs numbers.

    References
    ----------
    Owen (1972), Multilinear extensions of games. Lundberg et al. (2020), From local explanations to global
    understanding with explainable AI for trees.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import GradientBoostingRegressor
    >>> from corollary.tree.shap import shap_values
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> explanation = shap_values(model, X)
    >>> explanation.certificate.holds, explanation.values.shape
    (True, (442, 10))
    """
    trees, start, scale, cover = _additive_trees(model)
    rows, k = _read(model, X), len(start)
    check_memory(8 * rows.shape[0] * rows.shape[1] * k, "Shapley values of these rows", "explain fewer rows at a time")
    with threads(getattr(model, "n_jobs", None)):
        raw = start + scale * tree_sums(trees, rows, k)
        if background is None:
            values = path_values(trees, rows, k, cover)
            base = start + scale * mean_values(trees, k, cover)
        else:
            known = _read(model, background)
            values = background_values(trees, rows, known, k)
            base = start + scale * tree_sums(trees, known, k).mean(axis=0)
    values *= scale
    _check_numbers(values)
    away = float(np.max(np.abs(base + values.sum(axis=1) - raw), initial=0.0))
    size = max(float(np.max(np.abs(part), initial=np.finfo(float).tiny)) for part in (raw, base, values))
    return Explanation(
        values=values[:, :, 0] if k == 1 else values,
        base_values=base[0] if k == 1 else base,
        data=rows,
        feature_names=tuple(column_names(model)),
        output_names=output_names(model, k),
        meaning=_meaning(model),
        categories=getattr(model, "categories_", {}),
        certificate=Certificate(Kind.CHECKED, "relative distance of the sums from the predictions", away / size, 1e-9),
    )


def shap_interactions(model: Any, X: Any) -> Array:
    """Shapley interactions: (rows, columns, columns), with outputs last if there are several.

    An entry off the diagonal is half of what two columns do together and neither alone; the diagonal is what a column
    does by itself. A row sums to the column's Shapley value.

    Cost: O(n · leaves · depth³) for all trees; memory n · d² · outputs numbers.
    """
    trees, start, scale, cover = _additive_trees(model)
    rows = _read(model, X)
    needed = 8 * rows.shape[0] * rows.shape[1] ** 2 * len(start)
    check_memory(needed, "Shapley interactions of these rows", "explain fewer rows at a time")
    with threads(getattr(model, "n_jobs", None)):
        out = scale * path_interactions(trees, rows, len(start), cover)
    _check_numbers(out)
    return out[..., 0] if len(start) == 1 else out


def _check_numbers(values: Array) -> None:
    if np.isnan(values).any():
        raise ValueError("Shapley values are not numbers here: a node has next to no training rows, or sums overflow.")


def _additive_trees(model: Any) -> tuple[Trees, Array, float, Array]:
    """How the model's trees add up. Models that start somewhere are sums; the others are means."""
    if hasattr(model, "steps"):
        raise ValueError(
            "A pipeline's trees see transformed columns: explain its last step, shap_values(model[-1], "
            "model[:-1].transform(X))."
        )
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if isinstance(model, Additive):
        return model._additive_trees()
    trees = getattr(model, "trees_", None)
    if not isinstance(trees, Trees):
        raise TypeError(
            f"Shapley values are read off trees, and {type(model).__name__} has none; give a decision tree, a forest "
            "or a gradient boosting model of this library."
        )
    if hasattr(model, "_init_model"):
        raise TypeError("Shapley values are read off trees, and init made this model begin with another one.")
    if hasattr(model, "start_"):
        return trees, np.asarray(model.start_, dtype=np.float64), 1.0, trees.count.astype(np.float64)
    return trees, np.zeros(trees.value.shape[1]), 1.0 / trees.n_trees, trees.weight


def _read(model: Any, X: Any) -> Any:
    """X as the model reads it, through its own door."""
    read = getattr(model, "_read_predict", None) or model._validate_predict
    return read(X)


def column_names(model: Any) -> list[str]:
    """The names of a fitted model's columns; x0, x1, … if they had none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{f}" for f in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def output_names(model: Any, n_outputs: int) -> tuple[str, ...]:
    """What the outputs of a model are called: its classes, or their numbers."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, np.ndarray):
        if n_outputs == len(classes):
            return tuple(str(label) for label in classes)
        if n_outputs == 1 and len(classes) == 2:  # the one score of two classes is that of the second
            return (str(classes[1]),)
    return tuple(f"output {k}" for k in range(n_outputs)) if n_outputs > 1 else ("",)


def _meaning(model: Any) -> str:
    classes = len(model.classes_) if is_classifier(model) and isinstance(model.classes_, np.ndarray) else None
    if hasattr(model, "start_"):  # boosted: a sum of steps on the loss
        found: str = model._loss_of_fit().link.raw_name(classes)
        return found
    if is_classifier(model):
        return "score" if isinstance(model, Additive) else "probability"
    return "prediction"
