"""A tree as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corollary.tree.questions import Words


def export_text(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    decimals: int = 3,
    show_weights: bool = False,
) -> str:
    """The rules of a fitted decision tree, one line per branch.

    Parameters
    ----------
    model : a fitted decision tree
    feature_names, class_names : names to use instead of the model's own
    max_depth : int or None
        Below this depth only the size of what is left out is said.
    decimals : int, default 3
    show_weights : bool, default False
        Show the weight of every class (or the mean) at the leaves, and which way missing values go.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary.tree.decision_tree import DecisionTreeClassifier
    >>> from corollary.tree.export import export_text
    >>> iris = load_iris()
    >>> model = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target)
    >>> print(export_text(model, feature_names=iris.feature_names, class_names=iris.target_names))
    petal length (cm) ≤ 2.45: setosa (50 rows)
    petal length (cm) > 2.45
    │  petal width (cm) ≤ 1.75: versicolor (54 rows)
    │  petal width (cm) > 1.75: virginica (46 rows)
    """
    words = Words.of(model, feature_names, class_names, decimals)
    trees = words.trees
    if trees.feature[0] < 0:
        return f"always: {_leaf(words, 0, show_weights)}"
    lines: list[str] = []
    stack = [(1, 0), (0, 0)]  # (side of the parent, parent), the left one on top
    depths = trees.node_depths()
    while stack:
        side, parent = stack.pop()
        node, depth = int(trees.left[parent]) + side, int(depths[parent])
        asked = words.question(parent)
        missing = " or missing" if show_weights and asked.missing_left == (side == 0) else ""
        head = f"{'│  ' * depth}{asked.feature} {asked.right if side else asked.left}{missing}"
        if trees.feature[node] < 0:
            lines.append(f"{head}: {_leaf(words, node, show_weights)}")
        elif max_depth is not None and depth + 1 >= max_depth:
            lines.append(f"{head}: … {_more(_hidden(words, node))} ({trees.count[node]} rows)")
        else:
            lines.append(head)
            stack += [(1, node), (0, node)]
    return "\n".join(lines)


def _leaf(words: Words, node: int, show_weights: bool) -> str:
    rows = f"{words.trees.count[node]} row{'s' * int(words.trees.count[node] != 1)}"
    if show_weights and words.classes is not None:
        weights = words.trees.value[node] * words.trees.weight[node]
        rows += ": " + ", ".join(
            f"{name} {words.number(float(w))}" for name, w in zip(words.classes, weights, strict=True)
        )
    elif show_weights:
        rows += f", impurity {words.number(float(words.trees.impurity[node]))}"
    return f"{words.answer(node)} ({rows})"


def _hidden(words: Words, node: int) -> int:
    """The number of splits at and below a node."""
    count, stack = 0, [node]
    while stack:
        t = stack.pop()
        if words.trees.feature[t] >= 0:
            count += 1
            stack += [int(words.trees.left[t]), int(words.trees.left[t]) + 1]
    return count


def _more(splits: int) -> str:
    return "1 more split" if splits == 1 else f"{splits} more splits"
