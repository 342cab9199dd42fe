"""Data that an adversary would choose: every twist is a function of a line or two, with a name that failures print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = Any
Rng = np.random.Generator


@dataclass
class Data:
    """Rows, target and weights, and the names of what was done to them."""

    X: Any
    y: Any = None
    weights: Any = None
    twists: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.X.shape[0]}×{self.X.shape[1]} " + ", ".join(self.twists)


def _collinear(X: Array, rng: Rng) -> Array:
    if X.shape[1] > 1:
        X[:, 0] = X[:, -1] + 10.0 ** -rng.integers(6, 13) * rng.normal(size=len(X))
    return X


def _one_huge_row(X: Array, rng: Rng) -> Array:
    X = X.astype(np.float64)
    X[rng.integers(len(X))] *= 10.0 ** rng.integers(6, 13)
    return X


def _neighbouring_floats(X: Array, rng: Rng) -> Array:
    dtype = rng.choice([np.float32, np.float64])
    low = dtype(1e7)
    X[:, 0] = np.where(rng.random(len(X)) < 0.5, low, np.nextafter(low, dtype(np.inf)))
    return X.astype(dtype)


def _constant(X: Array, rng: Rng) -> Array:
    X[:, rng.integers(X.shape[1])] = rng.choice([0.0, 1.0, 1e9, 1e-300])
    return X


def _repeated(X: Array, rng: Rng) -> Array:
    return X[rng.integers(max(2, len(X) // 3), size=len(X))]


def _mixed_offsets(X: Array, rng: Rng) -> Array:
    return X + rng.choice([0.0, 1e3, -1e6, 1e9], size=X.shape[1])


X_TWISTS: dict[str, Callable[[Array, Rng], Array]] = {
    "plain": lambda X, rng: X,
    "columns scaled 1e±8": lambda X, rng: X * 10.0 ** rng.uniform(-8, 8, X.shape[1]),
    "all × 1e8": lambda X, rng: X * 1e8,
    "all × 1e-8": lambda X, rng: X * 1e-8,
    "offset 1e9": lambda X, rng: X + 1e9,
    "offset 1e6": lambda X, rng: X + 1e6,
    "mixed offsets": _mixed_offsets,
    "near-collinear": _collinear,
    "float32": lambda X, rng: X.astype(np.float32),
    "float32 integers + 1e6": lambda X, rng: (np.round(4 * X) + 1e6).astype(np.float32),
    "integers": lambda X, rng: np.round(3 * X).astype(np.int64),
    "repeated rows": _repeated,
    "one huge row": _one_huge_row,
    "constant column": _constant,
    "neighbouring floats at 1e7": _neighbouring_floats,
    "ties": lambda X, rng: np.round(X),
    "zeros and ones": lambda X, rng: (X > 0).astype(float),
    "Cauchy": lambda X, rng: X * np.abs(rng.standard_cauchy(X.shape)) ** 2,
    "mostly zeros": lambda X, rng: np.where(rng.random(X.shape) < 0.8, 0.0, X),
    "× 1e150": lambda X, rng: X * 1e150,
    "× 1e-300": lambda X, rng: X * 1e-300,
}


def _with_duplicates(X: Array, rng: Rng) -> Any:
    """CSR whose entries come in two halves, unsorted: rows are what they sum to."""
    n, d = X.shape
    indices = np.concatenate([np.r_[rng.permutation(d), rng.permutation(d)] for _ in range(n)])
    values = np.repeat(X, 2, axis=0).reshape(n, 2 * d) / 2
    for row in range(n):
        values[row] = (X[row] / 2)[indices[2 * d * row : 2 * d * (row + 1)]]
    return sp.csr_matrix((values.ravel(), indices, np.arange(0, 2 * d * n + 1, 2 * d)), shape=(n, d))


FORMS: dict[str, Callable[[Array, Rng], Any]] = {
    "CSR": lambda X, rng: sp.csr_matrix(X),
    "CSC": lambda X, rng: sp.csc_array(X),
    "CSR with duplicates": _with_duplicates,
}

NUMBER_TWISTS: dict[str, Callable[[Array, Rng], Array]] = {
    "y plain": lambda y, rng: y,
    "y + 1e7": lambda y, rng: y + 1e7,
    "y × 1e-300": lambda y, rng: y * 1e-300,
    "y × 1e8": lambda y, rng: y * 1e8,
    "y heavy-tailed": lambda y, rng: y + rng.standard_cauchy(len(y)) ** 3,
    "y constant": lambda y, rng: np.full(len(y), 3.7),
    "y integers": lambda y, rng: np.round(y).astype(np.int64),
    "y float32": lambda y, rng: y.astype(np.float32),
    "y one outlier": lambda y, rng: np.where(np.arange(len(y)) == 0, 1e10, y),
}

WEIGHTS: dict[str, Callable[[int, Rng], Array]] = {
    "w uniform": lambda n, rng: rng.uniform(0.1, 3, n),
    "w 1e±12": lambda n, rng: 10.0 ** rng.uniform(-12, 12, n),
    "w = 1e300": lambda n, rng: np.full(n, 1e300),
    "w = 1e-300": lambda n, rng: np.full(n, 1e-300),
    "w = 1e155": lambda n, rng: np.full(n, 1e155),
    "w = 1e-320": lambda n, rng: np.full(n, 1e-320),
    "w 1e±300": lambda n, rng: 10.0 ** rng.uniform(-300, 300, n),
    "w often 0": lambda n, rng: np.where(rng.random(n) < 0.6, 0.0, 1.0 + (np.arange(n) % 3)),
    "w whole numbers": lambda n, rng: rng.integers(1, 5, n),
}


def rows(rng: Rng, *, sparse: bool) -> tuple[Array, list[str]]:
    """X of some shape: tall, small or wide, with one twist or two, and whether clouds or one cloud."""
    shape = rng.choice(["usual", "usual", "small", "wide", "one column"])
    n = int({"usual": rng.integers(40, 160), "small": rng.integers(6, 20)}.get(shape, rng.integers(10, 60)))
    d = int({"wide": rng.integers(n, n + 25), "one column": 1}.get(shape, rng.integers(2, 10)))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.4:
        X = X + 5 * rng.normal(size=(3, d))[rng.integers(3, size=n)]
    names = list(rng.choice(list(X_TWISTS), size=2 if rng.random() < 0.4 else 1, replace=False))
    for name in names:
        X = X_TWISTS[name](X, rng)
    if sparse and rng.random() < 0.25 and X.dtype.kind == "f":
        form = str(rng.choice(list(FORMS)))
        return FORMS[form](X, rng), [shape, *map(str, names), form]
    if rng.random() < 0.15:
        X = np.asfortranarray(X)
    return X, [shape, *map(str, names)]


def _signal(X: Any, rng: Rng) -> Array:
    """A linear signal of the columns at their own scales, of variance about one."""
    dense = np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)
    middle = np.median(dense, axis=0)
    spread = np.abs(dense - middle).max(axis=0)
    Z = (dense - middle) / np.where(spread > 0, spread, 1.0)
    return 3 * Z @ rng.normal(size=Z.shape[1])


def numbers(X: Any, rng: Rng) -> tuple[Array, str]:
    y = _signal(X, rng) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=X.shape[0])
    name = str(rng.choice(list(NUMBER_TWISTS)))
    return NUMBER_TWISTS[name](y, rng), name


def amounts(X: Any, rng: Rng) -> tuple[Array, str]:
    mean = np.exp(np.clip(_signal(X, rng), -3, 3))
    name = str(rng.choice(["counts", "rare counts", "large counts", "positive"]))
    if name == "positive":
        return mean * rng.gamma(2.0, size=len(mean)) + 1e-3, name
    return rng.poisson(mean * {"counts": 1.0, "rare counts": 0.02, "large counts": 1e4}[name]).astype(float), name


def classes(X: Any, rng: Rng) -> tuple[Array, str]:
    """Labels: noisy, separable or nearly so, with a rare class or not, of some type."""
    signal = _signal(X, rng)
    k = int(rng.choice([2, 2, 2, 3, 4]))
    name = str(rng.choice(["noisy", "separable", "quasi-separable", "random", "rare class"]))
    if name == "noisy":
        signal = signal + rng.normal(size=len(signal))
    if name == "random":
        signal = rng.normal(size=len(signal))
    ranks = np.argsort(np.argsort(signal, kind="stable"), kind="stable")
    y = ranks * k // len(ranks)
    if name == "quasi-separable":
        y[ranks == len(ranks) // 2] = 0
        y[ranks == len(ranks) // 2 - 1] = k - 1
    if name == "rare class":
        y = (ranks >= len(ranks) - 2).astype(int)
    kind = rng.choice(["int", "int", "str", "bool", "float"])
    if kind == "str":
        return np.array(["abcd"[c] for c in y]), name
    return y > 0 if kind == "bool" and k == 2 else y.astype(float) if kind == "float" else y, name


def images(rng: Rng) -> Data:
    """Windows of 8 × 8 pixels, some with a bright corner."""
    n = int(rng.integers(30, 80))
    X, y = rng.random((n, 8, 8)), rng.integers(2, size=n)
    X[y == 1, :4, :4] += 1.0
    name = str(rng.choice(["plain", "× 1e8", "+ 1e9", "float32", "constant", "bytes"]))
    X = {"× 1e8": X * 1e8, "+ 1e9": X + 1e9, "float32": X.astype(np.float32), "constant": 0 * X}.get(name, X)
    if name == "bytes":
        X = (100 * X).astype(np.uint8)
    return Data(X.reshape(n, 64), y, None, ["8×8 pixels", name])


def draw(rng: Rng, target: str | None, *, sparse: bool, weighted: bool) -> Data:
    """Hostile data for a model with that target: ``numbers``, ``amounts``, ``classes``, ``images`` or None."""
    if target == "images":
        return images(rng)
    X, names = rows(rng, sparse=sparse)
    data = Data(X, None, None, names)
    if target is not None:
        data.y, name = {"numbers": numbers, "amounts": amounts, "classes": classes}[target](X, rng)
        data.twists.append(name)
    if weighted and rng.random() < 0.45:
        name = str(rng.choice(list(WEIGHTS)))
        data.weights = WEIGHTS[name](X.shape[0], rng)
        data.twists.append(name)
    return data
