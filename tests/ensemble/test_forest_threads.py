"""Forests of many classes, whose cuts are counted: the same bits for any number of threads; the search among bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary.core.types import Array
from corollary.ensemble.forest.random_forest import RandomForestClassifier
from corollary.solvers.trees.check.gains import Targets
from corollary.solvers.trees.check.together import gains_among_bins
from corollary.solvers.trees.check.values import Passage
from corollary.solvers.trees.exact.grow import ExactRules, grow


def letters(n: int = 900) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 11, n)
    X = rng.normal(size=(11, 6))[y] + rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.mark.parametrize("options", [{}, {"criterion": "entropy"}, {"min_samples_leaf": 3}])
def test_any_number_of_threads_grows_the_same_trees(options: dict[str, Any]) -> None:
    X, y = letters()
    models = [RandomForestClassifier(9, random_state=0, n_jobs=k, **options).fit(X, y) for k in (1, 2, 3, 7, 16)]
    for model in models[1:]:
        for name, values in models[0].nodes_.items():
            np.testing.assert_array_equal(values, model.nodes_[name])
    assert all(model.evidence_.holds for model in models)


def test_masses_that_are_not_whole_are_cut_alike() -> None:
    """The same trees from weights of one and of a half: the first are counted, the others added up."""
    X, y = letters(300)
    one, half = (
        RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, y, sample_weight=np.full(len(y), w))
        for w in (1.0, 0.5)
    )
    np.testing.assert_allclose(one.predict_proba(X), half.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("classes", [[3], [2, 4], None])
def test_the_search_among_bins_finds_what_brute_force_finds(classes: list[int] | None) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 7, (3, 120)).astype(np.uint8)
    y = np.column_stack([rng.integers(0, k, 120) for k in classes]) if classes else rng.normal(1e4, 1, (120, 2))
    w, criterion = rng.uniform(0.5, 3, 120), "gini" if classes else "squared_error"
    X = np.where(codes == 6, np.nan, codes).T  # the last bin is for missing values
    tree = grow(X, y, w, ExactRules(criterion, max_depth=3, min_samples_leaf=3), classes)
    targets, leaves = Targets(criterion, y, w, tuple(classes or ())), tree.apply(X)[:, 0]
    passage, nodes, columns = Passage.of(tree, leaves, w), list(range(tree.node_count)), np.array([0, 2])
    coded = codes, np.arange(120, dtype=np.int32), np.full(3, 6)
    taken, best = gains_among_bins(targets, tree, passage, nodes, [columns] * len(nodes), coded, 3, 2.0)
    for t in nodes:
        node = targets.node(passage.rows(t))
        np.testing.assert_allclose(best[t], node.best_gain(X[passage.rows(t)][:, columns], 3, 2.0), rtol=1e-9)
        own = node.gain(np.arange(passage.count[t]) < passage.count[tree.left[t]]) if tree.feature[t] >= 0 else 0.0
        np.testing.assert_allclose(taken[t], own, rtol=1e-9, atol=1e-12)
