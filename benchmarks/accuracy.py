"""Digits of accuracy of least squares on certified problems.

The log relative error of a coefficient b whose certified value is c is -log10(|b - c| / |c|): the number of digits
that are right, at most 15. A data set scores what its worst coefficient scores. Powers of x are given to the estimators
as plain columns, without scaling or any other preparation.

Beside NIST's sets (where ``../shared/data/nist`` is present) there are three of the same kinds that are made here and
whose exact answers are computed in rational arithmetic.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workload import OURS, Check, load

NIST = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "nist"
MOST = 15.0
HARD = ("Filip", "Wampler3", "Wampler4", "Wampler5")  # 7 digits are asked for, 9 of the others


@dataclass(frozen=True)
class Problem:
    """Columns, response and certified coefficients (the constant term first where there is one)."""

    X: Any
    y: Any
    intercept: bool
    certified: Any


def powers(x: Any, degree: int) -> Any:
    return np.column_stack([x**power for power in range(1, degree + 1)])


def read_nist(path: Path, entry: dict[str, Any]) -> Problem:
    """Parse one of NIST's text files: the data follow the last line that begins with ``Data:``."""
    lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    start = max(number for number, line in enumerate(lines) if line.startswith("Data:"))
    table = np.array([[float(cell) for cell in line.split()] for line in lines[start + 1 :] if line.strip()])
    columns = list(entry["columns"])
    X = np.delete(table, columns.index("y"), axis=1)
    if entry["model"] == "polynomial":
        X = powers(X[:, 0], entry["degree"])
    certified = np.array([float(value) for value in entry["estimate"].values()])
    return Problem(X, table[:, columns.index("y")], bool(entry["intercept"]), certified)


def rational_fit(x: Sequence[Fraction], y: Sequence[Fraction], degree: int) -> list[Fraction]:
    """The exact least-squares polynomial, by elimination on the normal equations in rational arithmetic."""
    size = degree + 1
    moments = [sum((value**power for value in x), Fraction(0)) for power in range(2 * degree + 1)]
    rows = [
        [moments[row + column] for column in range(size)]
        + [sum((value**row * target for value, target in zip(x, y, strict=True)), Fraction(0))]
        for row in range(size)
    ]
    for pivot in range(size):
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(size):
            if other != pivot:
                factor = rows[other][pivot]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)]
    return [row[-1] for row in rows]


def exact(x: Sequence[str], y: Sequence[str], degree: int) -> Problem:
    """A polynomial problem from decimal strings, with its exact answer."""
    solution = rational_fit([Fraction(value) for value in x], [Fraction(value) for value in y], degree)
    numbers = np.array([float(value) for value in x])
    target = np.array([float(value) for value in y])
    return Problem(powers(numbers, degree), target, True, np.array([float(value) for value in solution]))


def degree_ten() -> Problem:
    """Like Filip: degree 10 far from the origin, so that rounding the powers of x already leaves seven digits or so."""
    rng = np.random.default_rng(10)
    x = np.sort(rng.uniform(-9.0, -3.0, 82))
    y = 0.85 + 0.08 * np.sin(1.3 * x) + 0.003 * rng.standard_normal(82)
    return exact([f"{value:.9f}" for value in x], [f"{value:.4f}" for value in y], 10)


def degree_five() -> Problem:
    """Like Wampler2: coefficients 1, 0.1, ... 0.00001 on 0 ... 20, without noise."""
    x = [str(value) for value in range(21)]
    y = [f"{sum((value / 10) ** power for power in range(6)):.5f}" for value in range(21)]
    return exact(x, y, 5)


def calibration() -> Problem:
    """Like Pontius: a load cell, a quadratic with a tiny second coefficient on loads of up to three million."""
    rng = np.random.default_rng(2)
    loads = 150_000 * np.arange(1, 21)
    deflection = 7e-4 + 7.3e-7 * loads - 3.2e-15 * loads.astype(float) ** 2 + 2e-4 * rng.standard_normal(20)
    return exact([str(load) for load in loads], [f"{value:.5f}" for value in deflection], 2)


def digits(coefficients: Any, certified: Any) -> float:
    """Log relative error of the worst coefficient, between 0 and 15.

    >>> round(digits(np.array([1.0, 2.002]), np.array([1.0, 2.0])), 6)
    3.0
    """
    scale = np.where(certified == 0.0, 1.0, np.abs(certified))
    worst = float(np.max(np.abs(coefficients - certified) / scale))
    if not np.isfinite(worst):
        return 0.0
    return MOST if worst < 10**-MOST else max(0.0, float(-np.log10(worst)))


def estimator_digits(module: str, problem: Problem) -> float:
    model = load(module, "LinearRegression")(fit_intercept=problem.intercept).fit(problem.X, problem.y)
    found = np.ravel(model.coef_)
    if problem.intercept:
        found = np.concatenate([[float(model.intercept_)], found])
    return digits(found, problem.certified)


def lstsq_digits(problem: Problem) -> float:
    X = problem.X
    if problem.intercept:
        X = np.column_stack([np.ones(len(problem.y)), X])
    return digits(np.linalg.lstsq(X, problem.y, rcond=None)[0], problem.certified)


def compare(make: Callable[[], Problem], quick: bool) -> Iterator[tuple[str, float]]:
    """Digits of the two fits that people use, and of ours."""
    problem = make()
    yield "scikit-learn", estimator_digits("sklearn.linear_model", problem)
    yield "numpy lstsq", lstsq_digits(problem)
    yield OURS, estimator_digits(OURS, problem)


def _check(name: str, title: str, bar: float, make: Callable[[], Problem]) -> Check:
    return Check(name, title, "digits", bar, True, partial(compare, make))


def _checks() -> tuple[Check, ...]:
    made = (
        _check("made-degree-10", "degree 10 on [-9, -3], like Filip", 7.0, degree_ten),
        _check("made-degree-5", "exact polynomial of degree 5, like Wampler2", 9.0, degree_five),
        _check("made-load-cell", "quadratic at 150 000 to 3 000 000, like Pontius", 9.0, calibration),
    )
    table = NIST / "certified.json"
    if not table.exists():
        return made
    certified = json.loads(table.read_text(encoding="utf-8"))
    return (
        *(
            _check(
                f"nist-{name.lower()}",
                f"NIST {name}",
                7.0 if name in HARD else 9.0,
                partial(read_nist, NIST / entry["file"], entry),
            )
            for name, entry in certified.items()
        ),
        *made,
    )


CHECKS = _checks()
