"""Every estimator fitted once to a few rows, and everything that can be asked of it, for the fuzzer of model files.

A new estimator joins as soon as it is in the contract's tables.
"""

from __future__ import annotations

import copy
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone

import corollary
from corollary import io
from corollary.core.trees import Trees

sys.path.append(str(Path(__file__).parents[1] / "contract"))
import instances
import unlabelled

# asked of rows
_OF_ROWS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"]
_OF_ROWS += ["outlier_score", "apply", "decision_path", "staged_predict", "staged_predict_proba", "proximity"]
_OF_ROWS += ["staged_decision_function", "predict_quantiles", "leverage", "quantize", "reconstruction_error"]
_OF_ROWS += ["kneighbors", "kneighbors_graph", "radius_neighbors", "radius_neighbors_graph", "bic", "aic"]
# asked of the model alone; attributes that are computed are among them
_OF_MODEL = ["get_depth", "get_n_leaves", "feature_importances_", "importances", "estimators_", "estimators_samples_"]
_OF_MODEL += ["named_estimators_", "named_estimators", "get_feature_names_out", "get_covariance", "get_precision"]
_OF_MODEL += ["sample", "estimator_", "trees_"]
_ROWS = 12  # asked about
SLOW = ("refit", "continued", "out of bag")  # asked of a few only


@dataclass
class Subject:
    """A fitted model, the rows it is asked about, and what it says when its file was not touched."""

    name: str
    model: Any
    X: Any
    y: Any = None
    plain: dict[str, bool] = field(default_factory=dict)  # of each question that it answers: whether NaN is in it

    def questions(self, model: Any, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Everything that is asked of a model, by name."""
        rows = self.X[:_ROWS]
        for name in _OF_ROWS:
            if hasattr(model, name):  # not all are there with all parameters
                yield name, lambda name=name: _listed(getattr(model, name)(rows))
        for name in _OF_MODEL:
            if hasattr(type(model), name):
                yield name, lambda name=name: _listed(_value(model, name))
        if hasattr(type(model), "score"):
            truth = () if self.y is None else (self.y[:_ROWS],)
            yield "score", lambda: model.score(rows, *truth)
        if hasattr(type(model), "inverse_transform"):
            yield "inverse_transform", lambda: model.inverse_transform(np.asarray(model.transform(rows)))
        if hasattr(type(model), "kneighbors"):
            yield "kneighbors of itself", lambda: model.kneighbors()
        if isinstance(getattr(self.model, "trees_", None), Trees):
            yield "shap_values", lambda: corollary.shap_values(model, rows).values
            yield "shap_interactions", lambda: corollary.shap_interactions(model, rows[:2])
            yield "export_text", lambda: corollary.export_text(model)
        yield "evidence", lambda: _evidence(getattr(model, "evidence_", None))
        yield "repr", lambda: repr(model)
        yield "clone", lambda: clone(model).get_params()
        yield "save", lambda: _save_again(model, folder)
        yield from self._slow_questions(model)

    def _slow_questions(self, model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
        data = (self.X,) if self.y is None else (self.X, self.y)
        if hasattr(type(model), "partial_fit"):
            yield "continued", lambda: vars(copy.deepcopy(model).partial_fit(*data)) and None
        if "warm_start" in model.get_params(deep=False) and "n_estimators" in model.get_params(deep=False):
            more = len(self.model.estimators_) if hasattr(type(model), "estimators_") else self.model.n_estimators
            yield "refit", lambda: _warm(model, more + 1, data)
        if hasattr(type(model), "oob_permutation_importance"):
            yield "out of bag", lambda: model.oob_permutation_importance(*data)["importances"]


def _value(model: Any, name: str) -> Any:
    value = getattr(model, name)
    return value() if callable(value) and not hasattr(value, "get_params") else value


def _listed(answer: Any) -> Any:
    """The answer, or the first few of those that come one by one."""
    return list(itertools.islice(answer, 5)) if isinstance(answer, Iterator) else answer


def _evidence(evidence: Any) -> Any:
    if evidence is None:
        return None
    assert evidence.certificate_history.ndim == 1
    return str(evidence), evidence._repr_html_(), evidence.verdict, evidence.tone


def _save_again(model: Any, folder: Path) -> None:
    path = folder / "again"
    io.save(model, path)
    io.load(path)
    io.inspect(path)


def _warm(model: Any, n_estimators: int, data: Any) -> Any:
    warm = copy.deepcopy(model).set_params(warm_start=True, n_estimators=n_estimators)
    return _listed(warm.fit(*data).predict(data[0][:_ROWS]))


def has_nan(answer: Any) -> bool:
    """Whether a number in the answer is none."""
    if isinstance(answer, Trees):
        return bool(np.isnan(answer.value).any())
    if isinstance(answer, float | np.floating):
        return bool(np.isnan(answer))
    if scipy.sparse.issparse(answer):
        return has_nan(answer.data)
    if isinstance(answer, np.ndarray):
        return bool(np.isnan(answer).any()) if answer.dtype.kind == "f" else _any(answer.ravel().tolist(), answer)
    return _any(answer, None) if isinstance(answer, list | tuple) else False


def _any(items: Any, array: Any) -> bool:
    return (array is None or array.dtype == object) and any(has_nan(item) for item in items)


def subjects() -> list[Subject]:
    """All models, fitted; those that need longer than the others have few rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_labelled(), *_unlabelled(), *_special(), *_images(), *_tables()]


def _labelled() -> Iterator[Subject]:
    seen: set[str] = set()
    for case in instances.CASES:
        first = case.name not in seen
        seen.add(case.name)
        X, y = case.data(n=30)
        yield Subject(case.label, case.make().fit(X, y), X, y)
        if first and case.classifier:
            X, y = case.data(n=30, classes=3)
            yield Subject(f"{case.name}, 3 classes", case.make().fit(X, y), X, y)
        if first and case.tags.target_tags.multi_output:
            X, y = case.data(n=30)
            Y = np.column_stack([y, y[::-1]])
            yield Subject(f"{case.name}, 2 targets", case.make().fit(X, Y), X, Y)


def _unlabelled() -> Iterator[Subject]:
    for case in unlabelled.CASES:
        X = case.rows(n=30)
        yield Subject(case.label, case.make().fit(X), X)


def _special() -> Iterator[Subject]:
    """What the tables leave out: categories and gaps, other learners, what is kept on request."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": pd.Categorical(rng.choice(list("uvw"), 40)), "c": np.nan})
    frame.loc[::3, "c"] = rng.normal(size=14)
    y = (frame["a"] + (frame["b"] == "u") > 0).to_numpy()
    for kind in ("DecisionTree", "RandomForest", "GradientBoosting", "AdaBoost"):
        name = f"{kind}Classifier"
        few = {} if name.startswith("Dec") else {"n_estimators": 3}
        model = getattr(corollary, name)(**few, random_state=0).fit(frame, y)
        yield Subject(f"{name} of a frame", model, frame, y)
    text = frame.assign(b=frame["b"].astype(str), d=rng.random(40) < 0.5)
    network = corollary.BayesianNetwork([("b", "a"), ("a", "c"), ("h", "d")], states={"h": 2}, random_state=0, n_bins=3)
    yield Subject("BayesianNetwork of a frame", network.fit(text), text)
    whole = text[["a", "b", "d"]]
    network = corollary.BayesianNetwork([("b", "a")], cpds={"a": "linear_gaussian"}).fit(whole)
    yield Subject("BayesianNetwork with numbers", network, whole)
    network = corollary.BayesianNetworkClassifier([("b", "class"), ("class", "a")], n_bins=3)
    yield Subject("BayesianNetworkClassifier of a frame", network.fit(text, y), text, y)
    mixed = frame.assign(d=rng.poisson(2, 40), e=frame["a"] > 0)
    for name, table in (("MixedNB", mixed), ("CategoricalNB", mixed[["b", "d"]])):
        kinds = {"columns": {"d": "poisson"}} if name == "MixedNB" else {}
        yield Subject(f"{name} of a frame", getattr(corollary, name)(**kinds).fit(table, y), table, y)
    X, target = rng.normal(size=(30, 4)), rng.normal(size=30)
    forest = corollary.RandomForestRegressor(3, keep_targets=True, oob_score=True, random_state=0).fit(X, target)
    yield Subject("RandomForestRegressor with targets", forest, X, target)
    linear = corollary.AdaBoostClassifier(corollary.LogisticRegression(), n_estimators=3)
    yield Subject("AdaBoostClassifier of linear models", linear.fit(X, target > 0), X, target > 0)
    bags = corollary.BaggingRegressor(corollary.Ridge(), 3, max_features=2, oob_score=True, random_state=0)
    yield Subject("BaggingRegressor of 2 columns", bags.fit(X, target), X, target)
    for name, init, truth in (
        ("GradientBoostingClassifier", corollary.LogisticRegression(), target > 0),
        ("GradientBoostingRegressor", corollary.Ridge(), target),
    ):
        model = getattr(corollary, name)(n_estimators=3, subsample=0.5, init=init, random_state=0).fit(X, truth)
        yield Subject(f"{name} after another model", model, X, truth)
    stack = corollary.StackingClassifier(cv=3, passthrough=True).fit(X, target > 0)
    yield Subject("StackingClassifier with X", stack, X, target > 0)
    costs = {
        "cost": [[0.0, 1.0], [5.0, 0.0]],
        "reject_cost": 0.4,
        "reject_label": 2,
        "calibration": "temperature",
        "cv": 3,
    }
    careful = corollary.CostSensitiveClassifier(**costs).fit(X, (target > 0).astype(int))
    yield Subject("CostSensitiveClassifier that may reject", careful, X, (target > 0).astype(int))
    for name in ("LinearRegression", "Ridge"):
        model = getattr(corollary, name)().partial_fit(X, target)
        yield Subject(f"{name} so far", model, X, target)
    yield Subject("PCA so far", corollary.PCA(2).partial_fit(X), X)
    distances = np.abs(X[:, :1] - X[:, 0])
    yield Subject("KMedoids of distances", corollary.KMedoids(3, metric="precomputed").fit(distances), distances)
    near = corollary.NearestNeighbors(n_neighbors=3, metric="precomputed").fit(distances)
    yield Subject("NearestNeighbors of distances", near, distances)
    counts = np.abs(np.rint(2 * X))
    one_of_each = np.column_stack([X[:, 0], counts[:, 1], np.abs(X[:, 2]), X[:, 3] > 0])
    for kinds, rows in (
        (["gaussian", "poisson", "exponential", "categorical"], one_of_each),
        ("bernoulli", (X > 0).astype(float)),
        ("categorical", np.minimum(counts, 2)),
        ("multinomial", counts),
    ):
        yield Subject(f"Mixture of {kinds}", corollary.Mixture(kinds, 2, random_state=0).fit(rows), rows)
    sparse = scipy.sparse.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    near = corollary.KNeighborsClassifier(3).fit(sparse, target > 0)
    yield Subject("KNeighborsClassifier of sparse rows", near, sparse, target > 0)


def _images() -> Iterator[Subject]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    X, y = digits.data[:200], digits.target[:200] == 0
    features = corollary.HaarFeatures(max_features=20, random_state=0).fit(X)
    yield Subject("HaarFeatures", features, X)
    cascade = corollary.CascadeClassifier(max_stages=2, max_candidates=200, random_state=0).fit(X, y)
    yield Subject("CascadeClassifier", cascade, X, y)


def _tables() -> Iterator[Subject]:
    import pandas as pd

    from corollary.tabular.columns import (
        CategoryCodes,
        CategoryColumns,
        Components,
        DateColumns,
        NumberColumns,
        TextColumns,
    )

    days = pd.DataFrame({"day": ["2024-02-29", "2024-03-01"] * 8})
    notes = pd.DataFrame({"note": ["free lunch now", "no lunch today", "free prize now", "?"] * 4})
    for reader, table in (
        (NumberColumns(), days.assign(day="1")),
        (CategoryColumns(), days),
        (CategoryCodes(), days),
        (DateColumns(), days),
        (TextColumns(), notes),
        (TextColumns(components=2), notes),
    ):
        yield Subject(type(reader).__name__, reader.fit(table), table)
    wide = np.random.default_rng(0).normal(size=(16, 20))
    yield Subject("Components", Components(3).fit(wide), wide)
    thin = scipy.sparse.csr_array(np.where(np.abs(wide) > 1, wide, 0.0))
    yield Subject("Components of sparse rows", Components(3).fit(thin), thin)
