"""Tools of others that read scikit-learn's trees and forests read ours."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import sklearn.inspection
import sklearn.tree as theirs
from sklearn.datasets import load_diabetes, load_iris

from corollary import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

mpl.use("agg")
FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]


def fitted(cls: Any, **options: Any) -> tuple[Any, Any, Any]:
    X, y = (load_iris if "Classifier" in cls.__name__ else load_diabetes)(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)  # these tools round to float32
    if cls in FORESTS:
        options |= {"n_estimators": 5}
    return cls(max_depth=4, random_state=0, **options).fit(X, y), X, y


def answer(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_scikit_learn_draws_and_writes_trees(name: str) -> None:
    model, X, y = fitted({"DecisionTreeClassifier": DecisionTreeClassifier}.get(name, DecisionTreeRegressor))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))  # so that no two splits are equally good
    peer = getattr(theirs, name)(max_depth=2, random_state=0).fit(X, y, sample_weight=weights)
    model.set_params(max_depth=2).fit(X, y, sample_weight=weights)
    assert theirs.export_text(model) == theirs.export_text(peer)
    assert len(theirs.plot_tree(model)) >= model.tree_.node_count
    assert theirs.export_graphviz(model).count("->") == theirs.export_graphviz(peer).count("->")


@pytest.mark.parametrize("cls", [DecisionTreeRegressor, RandomForestRegressor])
def test_partial_dependence_from_the_trees_alone(cls: Any) -> None:
    model, X, _ = fitted(cls)
    quick = sklearn.inspection.partial_dependence(model, X, [2], method="recursion")["average"]
    auto = sklearn.inspection.partial_dependence(model, X, [2])["average"]
    slow = sklearn.inspection.partial_dependence(model, X, [2], method="brute")["average"]
    np.testing.assert_array_equal(quick, auto)
    assert np.abs(quick - slow).max() < 0.25 * np.ptp(slow)  # not the same: weights of nodes, not rows


def test_partial_dependence_is_that_of_scikit_learn() -> None:
    model, X, y = fitted(DecisionTreeRegressor)
    peer = theirs.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    both = [sklearn.inspection.partial_dependence(m, X, [2, 8], grid_resolution=9)["average"] for m in (model, peer)]
    np.testing.assert_allclose(*both)
    out = np.zeros(3)
    model.tree_.compute_partial_dependence(X[:3], np.arange(10), out)
    np.testing.assert_allclose(out, model.predict(X[:3]))


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, *FORESTS])
def test_other_inspections(cls: Any) -> None:
    model, X, y = fitted(cls)
    found = sklearn.inspection.permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.max() > 0.05
    flat = cls(max_depth=3).fit(X[:, :2], y)
    display = sklearn.inspection.DecisionBoundaryDisplay.from_estimator(flat, X[:, :2], grid_resolution=8)
    assert display.response.shape[:2] == (8, 8)


@pytest.mark.parametrize("cls", FORESTS)
def test_treelite(cls: Any) -> None:
    import treelite

    model, X, _ = fitted(cls)
    found = treelite.gtil.predict(treelite.sklearn.import_model(model), X)
    np.testing.assert_allclose(found.reshape(answer(model, X).shape), answer(model, X), rtol=1e-12)


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, DecisionTreeRegressor, *FORESTS])
def test_shap(cls: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap

        model, X, _ = fitted(cls)
        explainer = shap.TreeExplainer(model)
        values = explainer.shap_values(X[:7])
    np.testing.assert_allclose(
        values.sum(axis=1) + explainer.expected_value, answer(model, X[:7]), rtol=1e-5, atol=1e-12
    )


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, DecisionTreeRegressor, *FORESTS])
def test_onnx(cls: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import onnxruntime
        import skl2onnx
        from skl2onnx.common import shape_calculator as shapes
        from skl2onnx.operator_converters import decision_tree, random_forest

        model, X, _ = fitted(cls)
        classes = hasattr(model, "classes_")
        converters = {
            (True, True): random_forest.convert_sklearn_random_forest_classifier,
            (True, False): random_forest.convert_sklearn_random_forest_regressor_converter,
            (False, True): decision_tree.convert_sklearn_decision_tree_classifier,
            (False, False): decision_tree.convert_sklearn_decision_tree_regressor,
        }
        shape = shapes.calculate_linear_classifier_output_shapes if classes else (
            shapes.calculate_linear_regressor_output_shapes
        )  # fmt: skip
        options = {"zipmap": [True, False], "raw_scores": [True, False], "nocl": [True, False]} if classes else {}
        options |= {"decision_path": [True, False], "decision_leaf": [True, False]}
        skl2onnx.update_registered_converter(
            cls, f"Corollary{cls.__name__}", shape, converters[cls in FORESTS, classes], options=options
        )
        rows = X.astype(np.float32)
        graph = skl2onnx.to_onnx(model, rows[:1], options={"zipmap": False} if classes else None)
        session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None, {"X": rows})[-1]
    np.testing.assert_allclose(found.reshape(answer(model, X).shape), answer(model, X), rtol=1e-5, atol=1e-6)
