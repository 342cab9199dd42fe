"""A tree grown in one call by any number of threads is the tree that trying every split of every leaf finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corollary.core.loss import Squared
from corollary.core.parallel import threads
from corollary.core.trees.binning import Binner
from corollary.solvers.trees.boosting import memory as memory_module
from corollary.solvers.trees.boosting.growth import Growth
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.boosting.rules import HistogramRules

RULES: dict[str, dict[str, Any]] = {
    "usual": {},
    "one leaf": {"max_leaves": 1},
    "two leaves": {"max_leaves": 2},
    "many leaves": {"max_leaves": 200, "min_rows": 5},
    "all leaves": {"max_leaves": 10**6, "min_rows": 40},
    "level by level": {"best_first": False, "max_depth": 4, "max_leaves": 16},
    "shallow": {"max_depth": 2},
    "penalised": {"l1": 3.0, "l2": 2.0, "leaf_cost": 4.0, "min_hessian": 30.0},
    "monotone": {"monotone": np.array([1, -1, 0, 1, 0, 0, 0]), "max_leaves": 40},
    "apart": {"interactions": (frozenset({0, 1}), frozenset({2, 3, 4}), frozenset({4, 5, 6}))},
}
MANY = 48_000  # rows, which are worth seven threads


def table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns with ties, copies, gaps, few values and an order of rows, and derivatives that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = X[:, 0]
    X[:, 3] = np.sort(X[:, 3])
    X[rng.random(n) < 0.2, 4] = np.nan
    X[:, 5] = X[:, 5] > 0.3
    X[:, 6] = rng.integers(0, 40, size=n)
    gradient = np.sin(3 * X[:, 0]) + X[:, 3] * X[:, 1] + np.nan_to_num(X[:, 4]) + np.cos(7 * X[:, 6])
    return X, gradient + rng.normal(size=n), rng.uniform(0.05, 0.25, size=n)


def grown(
    count: int, rules: HistogramRules, n: int = MANY, share: float = 1.0, columns: int = 7, *,
    outputs: int = 1, categorical: bool = False, per_node: float = 1.0,
) -> list[list[np.ndarray]]:  # fmt: skip
    """All that is known of two rounds, and the raw predictions after them."""
    X, gradient, hessian = table(n)
    binner = Binner.fit(X, categorical=np.arange(7) == 6 if categorical else None)
    objective = Objective(Squared(), np.zeros(n), np.ones(n), 1)
    with threads(count):
        growth = Growth(binner.words(X), binner, objective, np.zeros((outputs, n)), rules, 0.1, per_node)
        assert n != MANY or growth.workers == count
        rows = np.flatnonzero(np.random.default_rng(1).random(n) < share).astype(np.int32)
        found = []
        for seed in (0, 5):  # the second in memory that the first has used
            for k in range(outputs):
                growth.gradient[k], growth.hessian[k] = np.roll(gradient, k) + seed, hessian
            seeds = np.arange(2 * outputs, dtype=np.uint64).reshape(outputs, 2) + np.uint64(seed)
            result, _ = growth.round(rows, (np.arange(7) < columns).astype(np.uint8), seeds)
            trees = result.as_trees(binner)
            arrays = [*vars(trees).values(), result.sums, growth.raw.copy()]
            found.append(arrays)
    return found


def same(one: list[list[np.ndarray]], two: list[list[np.ndarray]]) -> None:
    for first, second in zip(one, two, strict=True):
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


def gain_of(g: float, h: float, rules: HistogramRules) -> float:
    s = max(abs(g) - rules.l1, 0.0)
    return 0.5 * s * s / (h + rules.l2)


def best_by_trying(codes: np.ndarray, n_bins: np.ndarray, g: np.ndarray, h: np.ndarray, rules: HistogramRules) -> tuple:
    """(gain, column, bin, missing left) of the best split of some rows; the first of equals."""
    own = gain_of(g.sum(), h.sum(), rules)
    best = (own, -1, -1, False)
    for f in range(codes.shape[1]):
        column, missing = codes[:, f], codes[:, f] == n_bins[f]
        for side in (False, True) if missing.any() else (False,):
            for b in np.unique(column[~missing]):
                left = np.where(missing, side, column <= b)
                if min(left.sum(), (~left).sum()) < rules.min_rows:
                    continue
                hl, hr = h[left].sum(), h[~left].sum()
                if min(hl, hr) < rules.min_hessian:
                    continue
                gain = gain_of(g[left].sum(), hl, rules) + gain_of(g[~left].sum(), hr, rules)
                if gain > best[0] * (1 + 1e-6):
                    best = (gain, f, int(b), bool(side))
    return best[0] - own, *best[1:]


@pytest.mark.parametrize("name", ["usual", "many leaves", "shallow", "penalised", "level by level"])
def test_the_tree_is_that_of_trying_every_split(name: str) -> None:
    rules, n = HistogramRules(**({"min_rows": 10} | RULES[name])), 400
    X, gradient, hessian = table(n)
    binner = Binner.fit(X)
    codes = binner.transform(X)
    g_unit, h_unit = np.abs(gradient).max() / (2.0**20 - 1), hessian.max() / (2.0**18 - 1)
    g, h = np.rint(gradient / g_unit) * g_unit, np.rint(hessian / h_unit) * h_unit
    nodes, splits = [(np.arange(n), 0)], []
    waiting = {0: best_by_trying(codes, binner.n_bins, g, h, rules)}
    while len(nodes) < 2 * rules.max_leaves - 1:
        worth = {i: s for i, s in waiting.items() if s[0] > rules.leaf_cost and nodes[i][1] < rules.max_depth}
        if not worth:
            break
        i = min(worth, key=lambda i: (-worth[i][0] if rules.best_first else nodes[i][1], i))
        gain, f, b, side = waiting.pop(i)
        rows, depth = nodes[i]
        missing = codes[rows, f] == binner.n_bins[f]
        left = np.where(missing, side, codes[rows, f] <= b)
        splits.append((i, f, binner.thresholds[f, b], gain))
        for part in (rows[left], rows[~left]):
            waiting[len(nodes)] = best_by_trying(codes[part], binner.n_bins, g[part], h[part], rules)
            nodes.append((part, depth + 1))
    _, feature, threshold, left, *_, count, _, gains, _, _ = grown(1, rules, n=n)[0]
    assert count.tolist() == [len(rows) for rows, _ in nodes]
    inner = np.argsort(np.where(left >= 0, left, 10**6), kind="stable")[: len(splits)]  # in the order of the splits
    assert inner.tolist() == [i for i, *_ in splits]
    assert feature[inner].tolist() == [f for _, f, *_ in splits]
    np.testing.assert_array_equal(threshold[inner], [t for _, _, t, _ in splits])
    np.testing.assert_allclose(gains[inner], [gain for *_, gain in splits], rtol=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_threads_do_not_change_a_bit(name: str) -> None:
    rules = HistogramRules(**RULES[name])
    expected = grown(1, rules)
    for count in (2, 3, 7):
        same(grown(count, rules), expected)


@pytest.mark.parametrize("changes", [{"share": 0.6, "columns": 4}, {"categorical": True}, {"per_node": 0.5}], ids=repr)
def test_some_rows_some_columns_and_categories(changes: dict[str, Any]) -> None:
    expected = grown(1, HistogramRules(), **changes)
    for count in (2, 7):
        same(grown(count, HistogramRules(), **changes), expected)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_outputs_side_by_side_are_those_one_after_the_other(count: int) -> None:
    """Few rows: a thread for each output; the first of three outputs is that of one."""
    rules, n = HistogramRules(max_leaves=12), 20_000
    alone, three = grown(1, rules, n=n), grown(count, rules, n=n, outputs=3)
    np.testing.assert_array_equal(alone[0][-1][0], three[0][-1][0])
    same(three, grown(1, rules, n=n, outputs=3))


@pytest.mark.parametrize("changes", [{}, {"categorical": True}], ids=repr)
def test_histograms_that_are_counted_again_change_nothing(monkeypatch: pytest.MonkeyPatch, changes: Any) -> None:
    rules = HistogramRules(max_leaves=200, min_rows=5)
    expected = grown(1, rules, n=10_000, **changes)
    monkeypatch.setattr(memory_module, "_HISTOGRAM_BYTES", 0)
    for count in (1, 3):
        same(grown(count, rules, n=10_000, **changes), expected)


def test_plain_python_grows_the_same_tree() -> None:
    """Without a compiler, more rows than a byte counts."""
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_whole_tree as t; "
    program += "print(t.grown(2, t.HistogramRules(), n=1000)[1][2].tolist())"
    command, variables = [sys.executable, "-W", "error", "-c", program], os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    thresholds = [float(word) for word in done.stdout.strip().strip("[]").split(",")]
    np.testing.assert_array_equal(thresholds, grown(2, HistogramRules(), n=1000)[1][2])
