"""Tables for predicting many rows: to the last bit what a walk down the trees gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corollary import GradientBoostingClassifier, RandomForestClassifier, threads
from corollary.core.door.arrays import as_fitted
from corollary.core.trees import Trees
from corollary.core.trees.flat import flatten
from corollary.core.trees.scorer import Scorer


def random_tree(rng: np.random.Generator, leaves: int, columns: int, cuts: np.ndarray, words: int) -> Trees:
    """A tree of so many leaves; every fourth column is categorical."""
    feature, left, threshold, category, bits = [-1], [-1], [np.nan], [-1], []
    for _ in range(leaves - 1):
        node = rng.choice([i for i, f in enumerate(feature) if f < 0])
        feature[node], left[node] = int(rng.integers(columns)), len(feature)
        if feature[node] % 4 == 3:
            category[node] = len(bits)
            bits.append(rng.integers(0, 2**32, words))
        else:
            threshold[node] = rng.choice(cuts)
        for array, fill in ((feature, -1), (left, -1), (category, -1), (threshold, np.nan)):
            array += [fill, fill]
    n = len(feature)
    sets = np.array(bits, dtype=np.uint32).reshape(-1, words)
    return Trees(
        roots=np.zeros(1, dtype=np.int32),
        feature=np.array(feature, dtype=np.int32),
        threshold=np.array(threshold),
        left=np.array(left, dtype=np.int32),
        missing_left=rng.random(n) < 0.5,
        category=np.array(category, dtype=np.int32),
        bitsets=sets,
        value=rng.normal(size=(n, 1)),
        weight=np.ones(n),
        count=np.ones(n, dtype=np.int32),
        impurity=np.zeros(n),
        gain=np.zeros(n),
    )


def ensemble(leaves: int, outputs: int = 1, words: int = 2) -> tuple[Trees, np.ndarray]:
    """Trees whose thresholds are close together, equal, huge and infinite, and rows that hit them exactly."""
    rng = np.random.default_rng(leaves)
    cuts = np.concatenate([rng.normal(size=40), 1 + 1e-15 * np.arange(9), [0.0, -0.0, 5e-324, 1e308, -1e308, np.inf]])
    sizes = [leaves, *map(int, rng.integers(1, leaves + 1, 30))]
    trees = Trees.join([random_tree(rng, size, 7, cuts, words) for size in sizes])
    trees = replace(trees, value=rng.normal(size=(trees.node_count, outputs)))
    X = rng.choice(np.concatenate([cuts[:-1], -cuts[:-1], rng.normal(size=50), [np.nan]]), (700, 7))
    X[:, 3] = rng.choice([0.0, 1.5, 31.0, 32.0, 40.0, 63.0, 64.0, 1e9, -1.0, -0.0, np.nan], 700)
    return trees, X


@pytest.mark.parametrize(("leaves", "words"), [(1, 2), (2, 2), (32, 2), (32, 9), (33, 2), (300, 1)])
@pytest.mark.parametrize(("values", "outputs"), [(1, 1), (1, 3), (2, 2)])
def test_tables_give_what_walks_give(leaves, words, values, outputs):
    trees, X = ensemble(leaves, values, words)
    scorer, start = Scorer.of(trees), np.linspace(0.1, 0.7, outputs)
    assert scorer is not None
    assert (scorer.masks is not None) == (leaves <= 32 and words < 9)
    np.testing.assert_array_equal(scorer.sums(X, start), trees.walk_sum(X, start))


@pytest.mark.parametrize("leaves", [30, 60])
def test_layouts_types_and_threads_make_no_difference(leaves):
    trees, X = ensemble(leaves)
    scorer, start = Scorer.of(trees), np.array([0.25])
    assert scorer is not None
    X = np.where(np.abs(X) > 1e38, 0.0, X)
    expected = trees.walk_sum(X, start)
    fixed = X.copy()
    fixed.flags.writeable = False
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    for other in (fixed, np.asfortranarray(X), wide, X[::-1][::-1], X[:, ::-1].copy()[:, ::-1], X.astype(">f8")):
        np.testing.assert_array_equal(scorer.sums(other, start), expected)
    np.testing.assert_array_equal(scorer.sums(X[::-1], start), expected[::-1])
    single = X.astype(np.float32)
    np.testing.assert_array_equal(scorer.sums(single, start), trees.walk_sum(single.astype(np.float64), start))
    many, wanted = np.tile(X, (40, 1)), np.tile(expected, (40, 1))
    for count in (1, 2, 3, 7, 16):
        with threads(count):
            np.testing.assert_array_equal(scorer.sums(many, start), wanted)
    for n in (1, 63, 64, 65, 129):
        np.testing.assert_array_equal(scorer.sums(X[:n], start), expected[:n])


@pytest.mark.parametrize("model", [GradientBoostingClassifier(n_estimators=3), RandomForestClassifier(3)])
def test_infinite_numbers_are_refused_in_whatever_column(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 4)), rng.integers(0, 2, 900)
    X[:, 3] = 1.0  # no tree looks at it
    model.fit(X, y)
    assert as_fitted(model, X)
    assert as_fitted(model, X.astype(np.float32))
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X.tolist()), expected)
    for row, column, number in ((899, 0, np.inf), (17, 3, -np.inf)):
        bad = X.copy()
        bad[row, column] = number
        with pytest.raises(ValueError, match="infinity"):
            model.predict_proba(bad)
    for other in (X.tolist(), X[:, :3], X[:0], X[None], X.astype(int), X.astype(np.float16)):
        assert not as_fitted(model, other)


def test_memory_is_read_where_it_is():
    X = np.arange(12.0).reshape(3, 4)
    flat = flatten(X[::-1, ::2])
    assert np.shares_memory(flat.doubles, X)
    assert not len(flat.singles)
    cells = [[flat.doubles[flat.origin + i * flat.row_step + f * flat.column_step] for f in range(2)] for i in range(3)]
    np.testing.assert_array_equal(cells, X[::-1, ::2])
    assert len(flatten(X.astype(np.float32)).singles) == 12
