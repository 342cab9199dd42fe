"""Least squares against the certified values of the NIST reference sets, given as plain columns or powers."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from nist_data import SETS, ReferenceSet

from corollary.linear import LinearRegression, Ridge

HARD = {"Filip", "Wampler3", "Wampler4", "Wampler5"}  # seven digits; nine for the others


def digits(value: np.ndarray, certified: np.ndarray) -> float:
    """The worst log relative error: how many leading digits agree (absolute where the certified value is zero)."""
    error = np.abs(value - certified) / np.where(certified == 0, 1.0, np.abs(certified))
    return float(np.min(-np.log10(np.maximum(error, 1e-16))))


def exact_solution(reference: ReferenceSet) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and standard deviations in rational arithmetic, from the decimal digits of the data."""
    table = [[Fraction(v) for v in row.split()] for row in reference.rows.split(";")]
    rows = []
    for _, *x in table:
        powers = [x[0] ** k for k in range(1, reference.degree + 1)] if reference.degree else x
        rows.append([Fraction(1), *powers] if reference.intercept else powers)
    y, p = [row[0] for row in table], len(rows[0])
    system = [
        [sum(r[i] * r[j] for r in rows) for j in range(p)]
        + [sum(r[i] * t for r, t in zip(rows, y, strict=True))]
        + [Fraction(int(i == j)) for j in range(p)]
        for i in range(p)
    ]
    for i in range(p):
        system[i] = [v / system[i][i] for v in system[i]]
        for k in range(p):
            if k != i:
                factor = system[k][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    beta = [row[p] for row in system]
    squares = sum((t - sum(b * v for b, v in zip(beta, r, strict=True))) ** 2 for r, t in zip(rows, y, strict=True))
    variance = squares / (len(y) - p)
    return (
        np.array([float(b) for b in beta]),
        np.array([sqrt(variance * system[i][p + 1 + i]) for i in range(p)]),
    )


@pytest.mark.parametrize("name", SETS)
def test_the_certified_values_are_those_of_the_data(name: str) -> None:
    estimates, deviations = exact_solution(SETS[name])
    assert digits(estimates, SETS[name].certified[0]) > 13
    assert digits(deviations, SETS[name].certified[1]) > 13


@pytest.mark.parametrize("name", SETS)
def test_coefficients_and_standard_errors(name: str) -> None:
    reference = SETS[name]
    model = LinearRegression(fit_intercept=reference.intercept).fit(*reference.data)
    coef, errors = model.coef_, model.std_err_
    if reference.intercept:
        coef = np.append(model.intercept_, coef)
        errors = np.append(model.intercept_std_err_, errors)
    floor = 7 if name in HARD else 9
    assert digits(coef, reference.certified[0]) >= floor
    assert digits(errors, reference.certified[1]) >= floor
    assert digits(np.array([model.residual_std_]), np.array([reference.residual_deviation])) >= floor
    assert model.evidence_.holds
    assert model.rank_ == len(model.coef_)


@pytest.mark.parametrize("name", sorted(HARD | {"Pontius", "Wampler2", "Longley"}))
def test_units_of_measurement_do_not_matter(name: str) -> None:
    """Powers of two change no digit at all, other factors only what they round."""
    reference = SETS[name]
    X, y = reference.data
    units = 2.0 ** np.linspace(-40, 40, X.shape[1]).astype(int)
    plain = LinearRegression(fit_intercept=reference.intercept).fit(X, y)
    scaled = LinearRegression(fit_intercept=reference.intercept).fit(X * units, 1024 * y)
    np.testing.assert_array_equal(scaled.coef_ * units, 1024 * plain.coef_)


@pytest.mark.parametrize("name", sorted(set(SETS) - {"Filip"}))
def test_vanishing_ridge_reaches_the_certified_values(name: str) -> None:
    reference = SETS[name]
    X, y = reference.data
    model = Ridge(alpha=1e-300, fit_intercept=reference.intercept).fit(X, y)
    coef = np.append(model.intercept_, model.coef_) if reference.intercept else model.coef_
    assert digits(coef, reference.certified[0]) >= (7 if name in HARD else 9)
