"""A tree grown in one call by any number of threads is the tree that is grown node by node."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corollary.core.binning import Binner
from corollary.core.parallel import threads
from corollary.solvers.trees.boosting.tree import Grower, HistogramRules

RULES = {
    "usual": {},
    "one leaf": {"max_leaves": 1},
    "two leaves": {"max_leaves": 2},
    "many leaves": {"max_leaves": 200, "min_rows": 5},
    "all leaves": {"max_leaves": 10**6, "min_rows": 40},
    "level by level": {"best_first": False, "max_depth": 4, "max_leaves": 16},
    "shallow": {"max_depth": 2},
    "penalised": {"l1": 3.0, "l2": 2.0, "leaf_cost": 4.0, "min_hessian": 30.0},
    "monotone": {"monotone": np.array([1, -1, 0, 1, 0, 0, 0]), "max_leaves": 40},
}


def table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns with ties, copies, gaps, few values and an order of rows, and derivatives that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = X[:, 0]
    X[:, 3] = np.sort(X[:, 3])
    X[rng.random(n) < 0.2, 4] = np.nan
    X[:, 5] = X[:, 5] > 0.3
    gradient = np.sin(3 * X[:, 0]) + X[:, 3] * X[:, 1] + np.nan_to_num(X[:, 4]) + rng.normal(size=n)
    return X, gradient, rng.uniform(0.05, 0.25, size=n)


def described(grower: Grower, nodes: list) -> list:
    """All that is known of a tree, and which rows its leaves have."""
    found = []
    for node in nodes:
        rows = np.concatenate([grower.rows[a:b] for a, b in zip(node.starts, node.stops, strict=True)])
        split = () if node.children is None else (*node.split.tolist(), *node.left_codes.tolist())
        leaf = rows.tolist() if node.children is None else ()
        found.append(
            (node.number, node.depth, node.g, node.h, node.count, node.low, node.high, node.children, split, leaf)
        )
    return found


def grown(
    count: int, rules: HistogramRules, whole: bool, n: int = 30_000, share: float = 1.0, columns: int = 7
) -> list:
    X, gradient, hessian = table(n)
    binner = Binner.fit(X)
    with threads(count):
        grower = Grower(binner.transform(X), binner, rules, threads=count)
        assert grower.memory is not None
        assert grower.memory.workers == min(count, max(1, n // 6144))
        if not whole:
            grower.memory = None
        rows = np.flatnonzero(np.random.default_rng(1).random(n) < share).astype(np.int32)
        trees = []
        for seed in (0, 5):  # the second in memory that the first has used
            found = grower.grow(gradient + seed, hessian, rows, np.arange(7)[:columns], None, seed)
            trees.append((described(grower, found.nodes), grower.largest, [leaf.number for leaf in found.leaves]))
    return trees


@pytest.mark.parametrize("name", RULES)
def test_the_tree_is_that_of_one_node_after_another(name: str) -> None:
    rules = HistogramRules(**RULES[name])
    expected = grown(1, rules, whole=False)
    for count in (1, 2, 3):
        assert grown(count, rules, whole=True) == expected


@pytest.mark.parametrize("n", [50, 3000])
def test_small_tables(n: int) -> None:
    rules = HistogramRules(min_rows=3)
    assert grown(1, rules, whole=True, n=n) == grown(1, rules, whole=False, n=n)


def test_some_rows_and_some_columns() -> None:
    expected = grown(1, HistogramRules(), whole=False, share=0.6, columns=4)
    for count in (1, 3):
        assert grown(count, HistogramRules(), whole=True, share=0.6, columns=4) == expected


@pytest.mark.parametrize("count", [4, 7])
def test_more_threads_than_cores(count: int) -> None:
    rules = HistogramRules(max_leaves=60)
    n = 7 * 6144  # a thread of more must have as many rows
    assert grown(count, rules, whole=True, n=n) == grown(1, rules, whole=False, n=n)


def test_plain_python_grows_the_same_tree() -> None:
    """Without a compiler, more rows than a byte counts."""
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_whole_tree as t; "
    program += "t.test_small_tables(1000); print(t.grown(2, t.HistogramRules(), whole=True, n=1000)[1][2])"
    command, variables = [sys.executable, "-W", "error", "-c", program], os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(grown(2, HistogramRules(), whole=True, n=1000)[1][2])
