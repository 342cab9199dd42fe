"""Every estimator: a fitted model that somebody has tampered with is never said to stand.

Whatever a fit delivers is changed, one attribute at a time, so that what is claimed of it is no longer true. The
referee refutes that, or at least does not decide; and of each estimator it refutes something. A new estimator, and a
new attribute, join without a line, unless nothing is claimed of them: then they are listed below with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import instances
import numpy as np
import pytest
import scipy.sparse
import unlabelled
from sklearn.base import BaseEstimator

from corollary.core.trees import Trees
from corollary.registry import ESTIMATORS

# of these attributes no certificate says anything
NOT_CLAIMED = {
    "n_iter_": "how long it took",
    "n_steps_": "how long it took",
    "solver_": "which way was taken",
    "converged_": "what evidence_.status says better",
    "lower_bounds_": "the history",
    "train_score_": "the history",
    "oob_scores_": "the history",
    "oob_improvement_": "the history",
    "dual_gap_": "the certificate's own number, in scikit-learn's units",
    "rank_": "a fact about X",
    "singular_": "a fact about X",
    "std_err_": "statistics of the coefficients, by their formulas",
    "intercept_std_err_": "statistics of the coefficients, by their formulas",
    "residual_std_": "statistics of the coefficients, by their formulas",
    "effective_dof_": "statistics of the coefficients, by their formulas",
    "outliers_": "rows that coef_ and scale_ already tell",
    "alphas_": "what was tried; the claim is about the fit at alpha_",
    "mse_path_": "what was tried; the claim is about the fit at alpha_",
    "mean_scores_": "what was tried; the claim is about the fit at alpha_",
    "best_score_": "what was tried; the claim is about the fit at alpha_",
    "Cs_": "what was tried; the claim is about the fit at C_",
    "l1_ratios_": "what was tried; the claim is about the fit at C_",
    "scores_": "what was tried; the claim is about the fit at C_",
    "coefs_paths_": "what was tried; the claim is about the fit at C_",
    "max_features_": "a parameter as a number",
    "categories_": "how tables are read",
    "counts_": "the rows of batches, which are not kept",
    "component_labels_": "pieces of a graph, or which label a component was given",
    "n_connected_components_": "a fact about the graph",
    "data_key_": "a fingerprint of the rows: with another one nothing is decided",
    "_key": "a fingerprint of the rows, as data_key_",
    "_before": "how many members are of earlier fits: nothing is claimed of these, and the verdict says so",
    "metric_params_": "a parameter",
    "effective_metric_": "a parameter",
    "effective_metric_params_": "a parameter",
    "outputs_2d_": "the shape of y",
    "_weight": "statistics of the coefficients, by their formulas",
    "_centre": "statistics of the coefficients, by their formulas",
    "_whitener": "statistics of the coefficients, by their formulas",
}
# of the nodes of a forest, what its splits and leaves do not need
NODES = {"sums", "mass", "rows", "feature", "cut", "sizes", "leaf"}


def changed(value: Any) -> Iterator[Any]:
    """The value, changed in one place or everywhere, so that it says something else."""
    if isinstance(value, Trees):
        leaf = value.is_leaf
        other = value.value[:, ::-1] if value.value.shape[1] > 1 else value.value + 0.1 * (1 + np.abs(value.value))
        yield replace(value, value=np.where(leaf[:, None], other, value.value))
        yield replace(value, threshold=np.where(leaf, np.nan, 1e6))
        yield replace(value, left=np.where(leaf, -1, value.roots[0]))
    elif isinstance(value, dict):
        for name in NODES & value.keys():
            yield from ({**value, name: other} for other in changed(value[name]))
    elif isinstance(value, BaseEstimator):
        answers = [name for name in ("coef_", "trees_") if name in vars(value)]
        yield from (_with(value, name, other) for name in answers for other in changed(vars(value)[name]))
    elif isinstance(value, list):
        yield from ([other, *value[1:]] for other in changed(value[0]))
        yield value[1:]
    elif isinstance(value, tuple):
        yield from ((*value[:i], other, *value[i + 1 :]) for i, one in enumerate(value) for other in changed(one))
    elif scipy.sparse.issparse(value):
        yield scipy.sparse.csr_array(np.ones(value.shape))
        for name, wrong in (("indices", value.shape[1] + 5), ("indptr", -1)):
            forged = value.copy()
            getattr(forged, name)[1] = wrong
            yield forged
    elif isinstance(value, (np.ndarray, np.generic, int, float)):
        yield from (other if isinstance(value, np.ndarray) else other[()] for other in _numbers(np.asarray(value)))


def _numbers(array: Any) -> Iterator[Any]:
    if array.dtype.kind == "f":
        size = max(float(np.abs(array).max()), 0.1)
        for at in {min(1, array.size - 1), array.size // 3}:
            one = array.copy()
            one.flat[at] += 0.3 * size
            yield one
        yield 1.01 * array + 0.037 * size
        gap = array.copy()
        gap.flat[-1] = np.nan
        yield gap
    elif array.dtype.kind in "iu" and array.size:
        one = array.copy()
        others = array[array != array.flat[0]]
        one.flat[0] = others[0] if others.size else array.flat[0] + 1
        yield one


def _with(model: Any, name: str, value: Any) -> Any:
    other = type(model).__new__(type(model))
    vars(other).update(vars(model))  # with what it keeps at hand, a search or a walk: a copy would make that anew
    vars(other)[name] = value.item() if isinstance(vars(model)[name], (int, float)) else value
    return other


def tampered(model: Any) -> Iterator[tuple[str, Any]]:
    """Copies of the model, each with one attribute that says something else, of all those that a file would hold."""
    for name, value in vars(model).items():
        if name in type(model).fitted and name not in {*model.get_params(deep=False), *NOT_CLAIMED, "evidence_"}:
            yield from ((name, _with(model, name, other)) for other in changed(value))


def verdict(model: Any, X: Any, y: Any) -> bool | None:
    try:
        stands: bool | None = model.evidence_.verify(X, y).stands
    except ValueError:  # the rows do not fit to such a model
        return None
    return stands


@dataclass(frozen=True)
class OfImages:
    """An estimator of windows, every other of which shows a bright cross."""

    name: str
    parameters: dict[str, Any]

    @property
    def label(self) -> str:
        return self.name

    def fitted(self) -> tuple[Any, Any, Any]:
        X, y = np.random.default_rng(0).random((120, 8, 8)), np.arange(120) % 2
        X[1::2, 3:5, :] += 0.4
        X[1::2, :, 3:5] += 0.4
        model = ESTIMATORS[self.name].load()(random_state=0, **self.parameters)
        return (model.fit(X, y), X, y)


IMAGES = [
    OfImages("HaarFeatures", {"max_features": 40}),
    OfImages("CascadeClassifier", {"max_candidates": 200, "max_false_positive_rate": 0.3, "max_stages": 4}),
]
CASES = [*instances.CASES, *unlabelled.CASES, *IMAGES]


@pytest.mark.parametrize("case", CASES, ids=[case.label for case in CASES])
def test_what_was_tampered_with_does_not_stand(case: Any) -> None:
    model, X, y = (*case.fitted(), None)[:3]
    assert model.evidence_.holds
    assert model.evidence_.verify(X, y).stands is not False
    refuted = set()
    for name, other in tampered(model):
        stands = verdict(other, X, y)
        assert stands is not True, f"{name} was changed, and yet {other.evidence_.verify(X, y)}"
        refuted |= {name} if stands is False else set()
    assert refuted, "nothing is ever refuted"


@instances.every([*instances.FIRST, IMAGES[1]])
def test_what_was_learnt_from_y_is_not_judged_without_it(case: Any) -> None:
    model, X, _ = case.fitted()
    with pytest.raises(ValueError, match="verify needs the y of the fit"):
        model.evidence_.verify(X)


def test_every_estimator_is_tampered_with() -> None:
    assert {case.name for case in CASES} == set(ESTIMATORS)
