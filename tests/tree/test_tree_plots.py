"""Trees as text and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from corollary.tree.export import export_text
from corollary.tree.plots import export_svg, plot_tree
from corollary.tree.stump import DecisionStump

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures() -> Any:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def frame() -> tuple[pd.DataFrame, Any]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"})


def test_text_names_columns_and_classes() -> None:
    X, y = frame()
    text = export_text(DecisionTreeClassifier(max_depth=2).fit(X, y))
    assert text.splitlines() == [
        "petal length (cm) ≤ 2.45: setosa (50 rows)",
        "petal length (cm) > 2.45",
        "│  petal width (cm) ≤ 1.75: versicolor (54 rows)",
        "│  petal width (cm) > 1.75: virginica (46 rows)",
    ]


def test_text_says_what_it_leaves_out() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=5).fit(X, y)
    lines = export_text(model, max_depth=2).splitlines()
    assert len(lines) == 6
    assert sum("more split" in line for line in lines) == 4
    whole = export_text(model, show_weights=True)
    assert sum(line.rstrip().endswith(")") for line in whole.splitlines()) == model.get_n_leaves()
    assert whole.count("or missing") == model.get_n_leaves() - 1


def test_text_of_a_single_leaf_and_of_weights() -> None:
    X = np.ones((6, 2))
    assert export_text(DecisionTreeRegressor().fit(X, np.arange(6.0))) == "always: 2.5 (6 rows)"
    weighted = export_text(DecisionStump().fit(np.arange(4.0)[:, None], [0, 0, 1, 1]), show_weights=True)
    assert weighted.splitlines()[0] == "x0 ≤ 1.5: 0 (2 rows: 0 2, 1 0)"


def test_text_names_categories() -> None:
    town = pd.Categorical(["Aix", "Bern", "Cork", "Delft", "Essen", "Fulda"] * 20)
    X = pd.DataFrame({"town": town})
    model = DecisionTreeClassifier().fit(X, np.asarray(town == "Cork", dtype=int))
    text = export_text(model)
    assert "town in {Cork}" in text
    assert "town in {Aix, Bern, Delft, Essen, +1}" in text


def test_wrong_names() -> None:
    X, y = frame()
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="feature_names has 1 names, but the tree has 4 columns"):
        export_text(model, feature_names=["one"])
    with pytest.raises(ValueError, match="class_names has 2 names"):
        export_text(model, class_names=["a", "b"])
    with pytest.raises(NotFittedError):
        export_text(DecisionTreeClassifier())
    with pytest.raises(NotFittedError):
        plot_tree(DecisionTreeClassifier())


def boxes_of(ax: Any) -> list[Any]:
    figure = ax.figure
    figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts if text.get_text() and not text.get_text().startswith("(")]


@pytest.mark.parametrize("data", [load_breast_cancer, load_diabetes])
def test_nothing_overlaps_at_depth_six(data: Any) -> None:
    X, y = data(return_X_y=True, as_frame=True)
    kind = DecisionTreeClassifier if data is load_breast_cancer else DecisionTreeRegressor
    model = kind().fit(X, y)
    boxes = boxes_of(model.plot())
    assert len(boxes) > 20
    for i, first in enumerate(boxes):
        for second in boxes[i + 1 :]:
            assert not first.overlaps(second)


def test_every_end_is_drawn_once() -> None:
    X, y = frame()
    model = DecisionTreeClassifier().fit(X, y)
    answers = [
        t.get_text() for t in model.plot(max_depth=20).texts if t.get_text() in ("setosa", "versicolor", "virginica")
    ]
    assert len(answers) == model.get_n_leaves()
    cut = model.plot(max_depth=2)
    assert sum(t.get_text().endswith("…") for t in cut.texts) == 2


def test_given_axes_are_used() -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    X, y = frame()
    assert DecisionStump().fit(X, y).plot(ax=ax) is ax
    several = DecisionTreeRegressor(max_depth=2).fit(X, np.column_stack([X.iloc[:, 0], X.iloc[:, 1]]))
    assert several.plot() is not ax
    constant = DecisionTreeRegressor().fit(X * 0, X.iloc[:, 0])
    assert "1 leaf, depth 0" in constant.plot().get_title(loc="left")


def test_svg_is_a_picture_with_text(tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    X, y = frame()
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    text = export_svg(model, tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == text
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "petal length (cm)" in text
    assert text == export_svg(model)
    assert not plt.get_fignums()
