"""What every distribution must satisfy: SciPy's probabilities, best parameters, blocks, weights, samples, geometry."""

from __future__ import annotations

import numpy as np
import pytest
from cases import BY_COLUMN, CASES, SHARES, K, N, missing_some
from scipy.sparse import csr_array

from corollary.core.distribution import Columns, Gaussian, Hard, as_distribution
from corollary.core.distribution.totals import Totals

every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
by_column = pytest.mark.parametrize("case", BY_COLUMN, ids=lambda case: case.id)


def learned(case, X=None, shares=SHARES):
    return case.part.finish(case.part.summarize(case.X if X is None else X, shares))


def assert_same(a, b, rtol=1e-10):
    assert set(a) == set(b)
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=1e-12, err_msg=name)


@every
def test_log_prob_is_what_scipy_says(case):
    params = learned(case)
    found = case.part.log_prob(case.X, params)
    for k in range(K):
        np.testing.assert_allclose(found[:, k], case.log_prob(case.X, params, k), rtol=1e-9)


def value(case, X, params):
    return float((SHARES * case.part.log_fit(X, params)).sum()) + case.part.log_prior(params)


@every
@pytest.mark.parametrize("holes", [False, True])
def test_finish_is_the_maximiser(case, holes):
    """Of parameters on the way to others of the same kind, none is better, and the slope at the start vanishes."""
    if holes and not case.part.by_column:
        return
    X = missing_some(case.X) if holes else case.X
    best = learned(case, X)
    for seed in range(5):
        rng = np.random.RandomState(seed)
        other = learned(case, X, SHARES * rng.uniform(0.2, 2, size=SHARES.shape))
        along = [value(case, X, between(best, other, t)) for t in (0.0, 1e-4, -1e-4, 0.2)]
        assert along[3] < along[0]
        slope, bend = (along[1] - along[2]) / 2e-4, (along[1] + along[2] - 2 * along[0]) / 1e-8
        assert abs(slope) < 1e-3 * (1 + abs(bend)), (slope, bend)


def between(a, b, t):
    """Parameters a part t of the way from a to b, in their natural spaces."""
    found = {}
    for name in a:
        if name.startswith("log"):
            found[name] = np.log((1 - t) * np.exp(a[name]) + t * np.exp(b[name]))
        elif name != "root":
            found[name] = (1 - t) * a[name] + t * b[name]
    if "covariance" in a:
        found["root"] = np.linalg.cholesky(np.linalg.inv(found["covariance"])[..., ::-1, ::-1])[..., ::-1, ::-1]
    return found


@every
def test_blocks_are_the_whole(case):
    for X in (case.X, missing_some(case.X) if case.part.by_column else case.X):
        parts = [case.part.summarize(X[own], SHARES[own]) for own in (slice(0, 7), slice(7, 8), slice(8, N))]
        assert_same(case.part.finish(parts[0] + parts[1] + parts[2]), learned(case, X))


@every
def test_weights_are_repetitions_and_hard_shares_are_shares(case):
    rng = np.random.RandomState(2)
    codes, weights = rng.randint(K, size=N), rng.randint(0, 4, size=N)
    hard = learned(case, shares=Hard(codes, weights.astype(float), K))
    assert_same(hard, learned(case, shares=np.eye(K)[codes] * weights[:, None]))
    again = np.repeat(np.arange(N), weights)
    assert_same(hard, learned(case, case.X[again], Hard(codes[again], np.ones(len(again)), K)))


@by_column
def test_missing_columns_are_skipped(case):
    params, holes = learned(case), missing_some(case.X)
    found = case.part.log_prob(holes, params)
    alone = [
        column_of(case, params, j).log_prob(holes[:, [j]], of_column(case, params, j)) for j in range(holes.shape[1])
    ]
    expected = sum(np.where(np.isnan(holes[:, [j]]), 0.0, each) for j, each in enumerate(alone))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    case.part.check(holes)


def column_of(case, params, j):
    part = case.part
    if part.name == "columns":
        return part.groups[j % 2][1]
    if part.name == "categorical":
        return type(part)([part.n_states[j]])
    return type(part)("diag") if part.name == "gaussian" else type(part)()


def of_column(case, params, j):
    if case.part.name == "columns":
        head = f"{j % 2}."
        return {name[2:]: each[:, [j // 2]] for name, each in params.items() if name.startswith(head)}
    if case.part.name == "categorical":
        return {"log": case.part.by_columns(params)[j]}
    return {name: each[:, [j]] if each.ndim > 1 else each[:, None] for name, each in params.items()}


@every
def test_samples_give_the_parameters_back(case):
    params = learned(case)
    members = np.repeat(np.arange(K), 40_000)
    X = case.part.sample(params, members, np.random.RandomState(0))
    case.part.check(X)
    plain = as_distribution(case.part)
    again = plain.finish(plain.summarize(X, Hard(members, np.ones(len(members)), K)))
    for name, told in params.items():
        close = np.exp(told), np.exp(again[name])
        close = close if name.startswith("log") else (told, again[name])
        np.testing.assert_allclose(*close, rtol=0.1, atol=0.15, err_msg=name)


@every
def test_linear_form_differs_from_log_prob_by_a_number_for_each_row(case):
    params = learned(case)
    form = case.part.linear_form(params)
    linear = (
        case.part.name not in ("categorical", "columns") and case.part.parameters.get("covariance", "tied") == "tied"
    )
    assert (form is not None) == linear
    if form is not None:
        rest = case.part.log_prob(case.X, params) - (case.X @ form[0].T + form[1])
        np.testing.assert_allclose(rest - rest[:, :1], 0.0, atol=1e-9)


@every
def test_distance_is_the_length_in_fishers_metric(case):
    """Twice the Kullback–Leibler divergence, for parameters that are close, estimated on rows that are drawn."""
    params, weights = learned(case), np.array([0.5, 0.2, 0.3])
    assert case.part.distance(params, params, weights) == 0
    rng = np.random.RandomState(0)
    other = learned(case, shares=SHARES * rng.uniform(0.2, 2, size=SHARES.shape))
    if "size" in params:
        params = {**params, "size": np.rint(params["size"])}
        other = {**other, "size": params["size"]}
    near = between(params, other, 0.1)
    members = np.repeat(np.arange(K), (weights * 200_000).astype(int))
    X = case.part.sample(params, members, rng)
    ratio = (case.part.log_prob(X, near) - case.part.log_prob(X, params))[np.arange(len(X)), members]
    # E exp(r) = 1, so E (r + ½ r²)… the mean of (e^r − 1) − r is the divergence, with little noise
    divergence = float(np.mean(np.expm1(ratio) - ratio))
    assert case.part.distance(params, near, weights) == pytest.approx(np.sqrt(2 * divergence), rel=0.12)


@every
def test_parameters_of_a_file_are_checked(case):
    params, d = dict(learned(case)), case.X.shape[1]
    case.part.check_params(params, K, d)
    for name in params:
        for wrong in (params[name][:, None], params[name][:-1], params[name] * np.nan, params[name].astype(str), None):
            if name in ("covariance", "root") and getattr(wrong, "shape", None) == params[name].shape[:-1]:
                continue
            with pytest.raises(ValueError, match=r"must be|has|parameters"):
                case.part.check_params({**params, name: wrong}, K, d)
    for others in ({}, {**params, "more": np.ones((K, d))}, {**params, "0.more": np.ones((K, d))}):
        with pytest.raises(ValueError, match=r"parameters|must be"):
            case.part.check_params(others, K, d)


@pytest.mark.parametrize("case", [case for case in CASES if case.part.sparse], ids=lambda case: case.id)
def test_sparse_rows_are_rows(case):
    S, params = csr_array(case.X), learned(case)
    assert_same(learned(case, S), params)
    assert_same(
        learned(case, S, Hard(np.arange(N) % K, np.ones(N), K)), learned(case, shares=np.eye(K)[np.arange(N) % K])
    )
    np.testing.assert_allclose(case.part.log_prob(S, params), case.part.log_prob(case.X, params), rtol=1e-9)
    case.part.check(S)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize(("offset", "scale"), [(1e9, 1.0), (0.0, 1e8), (0.0, 1e-8), (1e9, 1e-2)])
def test_gaussians_keep_their_digits(covariance, offset, scale):
    Z = np.rint(CASES[0].X * 1024) / 1024
    X = Z * scale + offset
    Z = (X - offset) / scale  # what is left of them
    codes = Hard(np.arange(N) % K, np.ones(N), K)
    near, far = Gaussian(covariance), Gaussian(covariance)
    near, far = near.finish(near.summarize(Z, codes)), far.finish(far.summarize(X, codes))
    name = "covariance" if covariance in ("full", "tied") else "variance"
    np.testing.assert_allclose(far[name], near[name] * scale**2, rtol=1e-7)
    np.testing.assert_allclose(far["mean"], near["mean"] * scale + offset, rtol=1e-13)


def test_zero_probabilities_are_minus_infinity_and_never_nan():
    for name, rows in (
        ("bernoulli", [[0, 1], [1, 1]]),
        ("multinomial", [[0, 2], [1, 1]]),
        ("poisson", [[0, 2], [1, 1]]),
    ):
        part = as_distribution(name)
        X = np.array(rows, dtype=float)
        params = part.finish(part.summarize(X, Hard(np.array([0, 1]), np.ones(2), 2)))
        found = part.log_prob(X, params)
        assert found[1, 0] == -np.inf
        assert np.isfinite(np.diag(found)).all()


def test_a_group_without_rows_has_parameters_all_the_same():
    for case in CASES:
        params = learned(case, shares=Hard(np.arange(N) % 2, np.ones(N), K))
        case.part.check_params(dict(params), K, case.X.shape[1])
        assert not np.isnan(case.part.log_fit(case.X, params)).any()


def test_parts_are_equal_by_their_parameters_and_lists_are_products():
    assert as_distribution("gaussian") == Gaussian()
    listed = as_distribution(["gaussian", "poisson", Gaussian(), Gaussian("full")])
    assert [list(columns) for columns, _ in listed.groups] == [[0, 2], [1], [3]]
    assert listed == Columns(listed.groups)
    assert hash(listed) == hash(Columns(listed.groups))
    with pytest.raises(ValueError, match="column 1 is in none"):
        Columns([([0], Gaussian())]).check(np.ones((2, 2)))
    with pytest.raises(ValueError, match="column 0 is in two"):
        Columns([([0], Gaussian()), ([0, 1], Gaussian())]).check(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("bernoulli", 0.5, "zeros and ones"),
        ("categorical", -1, "states coded"),
        ("multinomial", -1, "counts ≥ 0"),
        ("multinomial", np.nan, "counts ≥ 0"),
        ("poisson", 1.5, "whole numbers"),
        ("exponential", -1, "times ≥ 0"),
        ("gaussian", np.inf, "finite numbers"),
    ],
)
def test_rows_that_cannot_be_drawn_are_refused_by_column(name, value, words):
    with pytest.raises(ValueError, match=f"{words}.*, but column 1 of X has"):
        as_distribution(name).check(np.array([[0, 1], [1.0, value]]))


def test_totals_merge_with_and_without_missing_values():
    whole, holes = (
        Totals(np.ones(1), np.ones((1, 1)), np.ones((1, 2))),
        Totals(np.ones(1), np.zeros((1, 2)), np.ones((1, 2))),
    )
    assert (whole + holes).present.tolist() == [[1.0, 1.0]]


@every
def test_priors_count_rows_in_the_unit_of_weights(case):
    """Weights of another unit, and the prior with them, change no parameter."""
    unit = 2.0**-40
    there = case.part.weighing(unit)
    assert_same(there.finish(there.summarize(case.X, SHARES * unit)), learned(case), rtol=1e-12)


@every
def test_starts_are_near_their_rows_and_exclude_nothing(case):
    rows, own = case.X[[0, 7, 20]], Hard(np.arange(K), np.ones(K), K)
    near = case.part.near(case.X, np.ones(N), rows, own)
    case.part.check_params(dict(near), K, case.X.shape[1])
    likely = case.part.log_prob(case.X, near)
    assert np.isfinite(likely).all()
    if case.part.name in ("gaussian", "bernoulli", "categorical", "poisson", "columns"):
        own_rows = case.part.log_prob(rows, near)
        assert (own_rows.argmax(axis=1) == np.arange(K)).all()
    soft = case.part.softened(1e-3)
    none = soft.finish(soft.summarize(case.X[:1], np.ones((1, K))))
    assert not np.isneginf(soft.log_prob(case.X, none)).any() or case.part.name == "exponential"
