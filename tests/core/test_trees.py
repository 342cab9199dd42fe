"""Trees: walks, joins and the check that files go through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from corollary.core.trees import Trees
from corollary.core.trees.coder import Coder
from corollary.core.trees.scorer import Scorer


def stump(feature: int = 0, threshold: float = 0.0, values: tuple[float, float] = (-1.0, 1.0), *, missing: bool = True):
    """One split and two leaves."""
    return Trees(
        roots=np.zeros(1, dtype=np.int32),
        feature=np.array([feature, -1, -1], dtype=np.int32),
        threshold=np.array([threshold, np.nan, np.nan]),
        left=np.array([1, -1, -1], dtype=np.int32),
        missing_left=np.array([missing, False, False]),
        category=np.full(3, -1, dtype=np.int32),
        bitsets=np.zeros((0, 1), dtype=np.uint32),
        value=np.array([[0.0], [values[0]], [values[1]]]),
        weight=np.array([10.0, 6.0, 4.0]),
        count=np.array([10, 6, 4], dtype=np.int32),
        impurity=np.zeros(3),
        gain=np.array([2.0, 0.0, 0.0]),
    )


def by_category(codes: list[int], words: int = 2) -> Trees:
    """A split that sends these category codes left."""
    bits = np.zeros((1, words), dtype=np.uint32)
    for code in codes:
        bits[0, code // 32] |= np.uint32(1 << (code % 32))
    return replace(
        stump(missing=False),
        threshold=np.full(3, np.nan),
        category=np.array([0, -1, -1], dtype=np.int32),
        bitsets=bits,
    )


def test_a_threshold_belongs_to_the_left_and_missing_go_where_they_are_told():
    X = np.array([[-1.0], [0.0], [1e-300], [np.nan]])
    np.testing.assert_array_equal(stump().predict_sum(X)[:, 0], [-1, -1, 1, -1])
    np.testing.assert_array_equal(stump(missing=False).predict_sum(X)[:, 0], [-1, -1, 1, 1])


def test_categories_without_a_bit_are_missing():
    X = np.array([[0.0], [3.0], [40.0], [63.0], [64.0], [-1.0], [np.nan], [1e300]])
    np.testing.assert_array_equal(by_category([3, 40]).predict_sum(X)[:, 0], [1, -1, -1, 1, 1, 1, 1, 1])


def test_joined_trees_add_up_and_come_apart_again():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (200, 3)).astype(float)
    parts = [stump(0, 20.0), by_category([1, 45]), stump(2, 30.0, (5.0, 7.0)), by_category([2], words=1)]
    joined = Trees.join(parts)
    joined.check(3)
    np.testing.assert_allclose(joined.predict_sum(X), sum(part.predict_sum(X) for part in parts))
    for t, part in enumerate(parts):
        np.testing.assert_array_equal(joined.tree(t).predict_sum(X), part.predict_sum(X))
    np.testing.assert_array_equal(joined.head(2).predict_sum(X), Trees.join(parts[:2]).predict_sum(X))
    leaves = joined.apply(X)
    assert leaves.shape == (200, 4)
    np.testing.assert_allclose(joined.value[leaves, 0].sum(axis=1), joined.predict_sum(X)[:, 0])
    assert joined.depth() == 1


def test_a_column_may_hold_numbers_for_one_tree_and_categories_for_another():
    trees = Trees.join([stump(0, 20.0), by_category([1, 45]), stump(2, 30.0, (5.0, 7.0)), by_category([2], words=1)])
    X = np.random.default_rng(0).integers(0, 50, (200, 3)).astype(float)
    scorer = Scorer.of(trees)
    assert scorer is not None
    assert len(scorer.coder.columns) == 3
    np.testing.assert_array_equal(scorer.sums(X, np.zeros(1)), trees.walk_sum(X, np.zeros(1)))


def test_more_thresholds_than_codes_are_walked():
    n = 1 << 16
    chain = Trees.join([stump(0, float(t)) for t in range(n)])
    assert Coder.of(chain) is None
    assert Scorer.of(chain) is None
    X = np.full((600, 1), 0.5)
    assert chain.predict_sum(X)[0, 0] == 2 - n


def test_sparse_float32_and_strided_rows_are_the_same_rows():
    rng = np.random.default_rng(2)
    X = rng.integers(-3, 4, (100, 6)).astype(float)
    trees = Trees.join([stump(5, 1.0), stump(0, -1.0)])
    expected = trees.predict_sum(X)
    for other in (scipy.sparse.csr_array(X), scipy.sparse.csc_array(X), X.astype(np.float32), np.asfortranarray(X)):
        np.testing.assert_array_equal(trees.predict_sum(other), expected)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"left": np.array([0, -1, -1], dtype=np.int32)}, "after its parent"),
        ({"left": np.array([2, -1, -1], dtype=np.int32)}, "after its parent"),
        ({"left": np.array([1 << 30, -1, -1], dtype=np.int32)}, "after its parent"),
        ({"feature": np.array([7, -1, -1], dtype=np.int32)}, "beyond the 3"),
        ({"category": np.array([0, -1, -1], dtype=np.int32)}, "not there"),
        ({"roots": np.array([1], dtype=np.int32)}, "from 0"),
        ({"roots": np.zeros(0, dtype=np.int32)}, "from 0"),
        ({"value": np.zeros((2, 1))}, "differ in length"),
        ({"value": np.zeros(3)}, "2 dimension"),
        ({"threshold": np.zeros(3, dtype=np.float32)}, "float64"),
    ],
)
def test_malformed_trees_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        replace(stump(), **changes).check(3)
