"""Penalties: prox and conjugate against brute force, optimality conditions at prox points."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.core.penalty import L0, L1, L2, ElasticNet, Group, NoPenalty, Penalty, PositiveElasticNet

GROUPS = np.array([0, 0, 1, 1, 1])
CONVEX = [NoPenalty(), L1(0.4), L2(0.7), ElasticNet(0.3, 0.5), PositiveElasticNet(0.3, 0.5), Group(0.3, GROUPS)]
POINTS = np.random.default_rng(0).standard_normal((6, 5))


@pytest.mark.parametrize("penalty", [*CONVEX, L0(0.2)], ids=lambda penalty: penalty.name)
def test_prox_beats_every_nearby_and_every_random_point(penalty: Penalty) -> None:
    rng = np.random.default_rng(1)
    for point in POINTS:
        best = penalty.prox(point, 0.8)
        value = 0.5 * np.sum((best - point) ** 2) + 0.8 * penalty.value(best)
        for scale in (1e-3, 0.1, 1.0):
            others = best + scale * rng.standard_normal((300, 5)) * (rng.random((300, 5)) < 0.5)
            others = np.vstack([others, others * (rng.random((300, 5)) < 0.5), np.abs(others)])
            found = [0.5 * np.sum((w - point) ** 2) + 0.8 * penalty.value(w) for w in others]
            assert min(found) >= value - 1e-12


@pytest.mark.parametrize("penalty", CONVEX, ids=lambda penalty: penalty.name)
def test_prox_points_satisfy_the_optimality_conditions(penalty: Penalty) -> None:
    for point in POINTS:
        best = penalty.prox(point, 1.0)
        np.testing.assert_allclose(penalty.subdiff_distance(best, best - point), 0.0, atol=1e-12)
        assert penalty.subdiff_distance(best + 0.1, best + 0.1 - point).max() > 0.01


@pytest.mark.parametrize("penalty", CONVEX[1:], ids=lambda penalty: penalty.name)
def test_conjugate_by_brute_force(penalty: Penalty) -> None:
    for point in POINTS:
        z = penalty.feasible_scale(point) * point
        if penalty.l2 == 0:
            assert penalty.conjugate(z) == 0.0
            assert penalty.conjugate(100 * point) == np.inf
            continue
        grid = np.linspace(0.0 if isinstance(penalty, PositiveElasticNet) else -20.0, 20.0, 400_001)
        cost = penalty.l1 * np.abs(grid) + 0.5 * penalty.l2 * grid**2  # separable: one coordinate at a time
        found = sum(float(np.max(zj * grid - cost)) for zj in z)
        assert penalty.conjugate(z) == pytest.approx(found, abs=1e-5)


@pytest.mark.parametrize("penalty", [L1(0.4), ElasticNet(0.3, 0.5), PositiveElasticNet(0.3), Group(0.3, GROUPS)],
                         ids=lambda penalty: penalty.name)  # fmt: skip
def test_null_strength_is_where_zero_stops_being_optimal(penalty: Penalty) -> None:
    zero = np.zeros(5)
    for gradient in POINTS:
        t = penalty.null_strength(gradient)
        assert penalty.subdiff_distance(zero, gradient / t * (1 - 1e-9)).max() == 0
        assert penalty.subdiff_distance(zero, gradient / t * 1.01).max() > 0


def test_restricting_groups_keeps_their_weights() -> None:
    whole = Group(0.5, GROUPS)
    part = whole.restrict(np.array([2, 3, 4]))
    w = np.array([0.0, 0.0, 1.0, -2.0, 0.5])
    assert part.value(w[2:]) == pytest.approx(whole.value(w))


@pytest.mark.parametrize("penalty", CONVEX, ids=lambda penalty: penalty.name)
def test_fenchel_young_holds_with_equality_at_subgradients(penalty: Penalty) -> None:
    """point − prox(point) is a subgradient z of Ω at w = prox(point): there, and only there, Ω(w) + Ω*(z) = zᵀw."""
    for point in POINTS:
        w = penalty.prox(point, 1.0)
        z = point - w
        z = penalty.feasible_scale(z) * z  # rounding only
        assert penalty.value(w) + penalty.conjugate(z) == pytest.approx(float(z @ w), abs=1e-12)
        for other in np.abs(POINTS):
            assert penalty.value(other) + penalty.conjugate(z) >= float(z @ other) - 1e-12


@pytest.mark.parametrize("penalty", CONVEX, ids=lambda penalty: penalty.name)
def test_feasible_scale_is_the_largest_that_is_feasible(penalty: Penalty) -> None:
    for point in POINTS:
        scale = penalty.feasible_scale(3 * point)
        assert 0.0 <= scale <= 1.0
        assert np.isfinite(penalty.conjugate(scale * 3 * point))
        if scale < 1.0:
            assert penalty.conjugate((scale + 1e-6) * 3 * point) == np.inf
        assert penalty.feasible_scale(np.zeros(5)) == 1.0


def test_penalties_that_never_give_zero() -> None:
    for penalty in (NoPenalty(), L2(0.7)):
        assert penalty.null_strength(POINTS[0]) == np.inf
    assert L1(0.4).null_strength(np.zeros(5)) == 0.0
    assert Group(0.4, GROUPS).null_strength(np.zeros(5)) == 0.0


def test_a_group_penalty_of_no_strength_is_none() -> None:
    penalty = Group(0.0, GROUPS)
    for point in POINTS:
        assert penalty.value(point) == 0.0
        assert penalty.null_strength(point) == np.inf
        assert penalty.feasible_scale(point) == 0.0
        np.testing.assert_array_equal(penalty.prox(point, 1.0), point)
        np.testing.assert_allclose(penalty.subdiff_distance(0 * point, point), np.abs(point))
    assert penalty.null_strength(np.zeros(5)) == 0.0
    assert penalty.feasible_scale(np.zeros(5)) == 1.0
    assert penalty.conjugate(np.zeros(5)) == 0.0
    assert penalty.conjugate(POINTS[0]) == np.inf


def test_counting_is_not_convex_and_says_so() -> None:
    penalty = L0(0.5)
    assert not penalty.convex
    assert penalty.value(np.array([0.0, -3.0, 1e-300])) == 1.0
    np.testing.assert_array_equal(penalty.prox(np.array([0.9, 1.1, -1.1]), 1.0), [0.0, 1.1, -1.1])  # threshold √(2·0.5)
    assert penalty.conjugate(np.zeros(3)) == 0.0
    assert penalty.conjugate(np.ones(3)) == np.inf


def test_no_coefficients_cost_nothing() -> None:
    for penalty in CONVEX[:5]:
        assert penalty.value(np.zeros(0)) == 0.0
        assert penalty.conjugate(np.zeros(0)) == 0.0
        assert penalty.feasible_scale(np.zeros(0)) == 1.0
