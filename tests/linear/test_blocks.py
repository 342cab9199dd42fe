"""Linear models of rows that come in blocks: the answer is that of the whole, whatever the blocks are."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.callback import ScoringMonitor

from corollary import (
    Blocks,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearModel,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
    Status,
    TimeBudget,
)
from corollary.core.design import blocks as block_design
from corollary.solvers.linear.smooth import sample

RNG = np.random.default_rng(0)
N, D = 90, 6
X = RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.7) * [1.0, 10.0, 0.1, 1.0, 5.0, 1.0] + [0, 0, 0, 3.0, 0, 0]
Y = X @ RNG.standard_normal(D) + RNG.standard_t(2, N)
WIDE = RNG.standard_normal((15, 40))
TIMES = RNG.integers(0, 4, N)
TIMES[20:41] = 0  # whole blocks without any weight
TWO, THREE = np.where(np.median(Y) < Y, "yes", "no"), np.digitize(Y, np.quantile(Y, [0.3, 0.6]))

REGRESSORS: dict[str, Any] = {
    "LinearRegression": LinearRegression(),
    "LinearRegression without intercept": LinearRegression(fit_intercept=False),
    "LinearRegression positive": LinearRegression(positive=True),
    "Ridge": Ridge(2.0),
    "Ridge svd": Ridge(2.0, solver="svd"),
    "Ridge cg": Ridge(2.0, solver="sparse_cg", tol=1e-14),
    "RidgeCV": RidgeCV(),
    "RidgeCV svd": RidgeCV(gcv_mode="svd", store_cv_results=True),
    "RidgeCV folds": RidgeCV(cv=3),
    "Lasso": Lasso(0.1, tol=1e-12),
    "ElasticNet": ElasticNet(0.1, positive=True, tol=1e-12),
    "LassoCV": LassoCV(alphas=5, cv=3, tol=1e-12),
    "ElasticNetCV": ElasticNetCV(alphas=[1.0, 0.1], l1_ratio=[0.3, 0.9], cv=3, tol=1e-12),
    "HuberRegressor": HuberRegressor(tol=1e-12),
    "huber": LinearModel("huber", "l1", alpha=0.05, tol=1e-12),
    "quantile": LinearModel("quantile", "l2", alpha=0.01, quantile=0.7, tol=1e-10),
    "squared": LinearModel("squared", "l2"),
    "l0": LinearModel("squared", "l0", alpha=0.05),
}
CLASSIFIERS: dict[str, Any] = {
    "LogisticRegression": LogisticRegression(tol=1e-12),
    "LogisticRegression l1": LogisticRegression(l1_ratio=1.0, tol=1e-12),
    "LogisticRegression lbfgs": LogisticRegression(solver="lbfgs", tol=1e-12),
    "LogisticRegressionCV": LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, tol=1e-12),
    "hinge": LinearModel("hinge", "l2", alpha=0.01, tol=1e-10),
    "softmax groups": LinearModel("softmax", "group", alpha=0.01, groups=[0, 0, 1, 1, 2, 2], tol=1e-6),
}
CUTS = {"one": [0, N], "uneven": [0, 1, 20, 41, 42, N], "rows": list(range(N + 1))}


def cut(cuts: list[int], *columns: Any, kind: Any = None) -> list[tuple[Any, ...]]:
    first, *rest = columns
    return [((kind(first[a:b]) if kind else first[a:b]), *(c[a:b] for c in rest)) for a, b in pairwise(cuts)]


def target(name: str) -> Any:
    return TWO if name in CLASSIFIERS else Y


def same(model: Any, whole: Any, rtol: float = 1e-6) -> None:
    scale = np.abs(whole.coef_).max()
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=rtol, atol=10 * rtol * scale)
    for name in ("alpha_", "C_", "rank_", "std_err_", "residual_std_", "effective_dof_", "mse_path_", "scores_",
                 "mean_scores_", "cv_results_", "scale_", "singular_"):  # fmt: skip
        if hasattr(whole, name):
            np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-4, atol=1e-8, err_msg=name)
    for name in ("classes_", "outliers_"):
        if hasattr(whole, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(whole, name))
    assert model.evidence_.holds == whole.evidence_.holds
    assert model.evidence_.certificate.kind is whole.evidence_.certificate.kind
    assert model.coef_.dtype == whole.coef_.dtype


EVERY = pytest.mark.parametrize("name", [*REGRESSORS, *CLASSIFIERS])


@EVERY
@pytest.mark.filterwarnings("ignore:RidgeCV. The 'svd' mode:FutureWarning")
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("kind", [None, sparse.csr_array], ids=["dense", "sparse"])
def test_blocks_are_the_whole(name: str, cuts: str, kind: Any) -> None:
    model, y = (REGRESSORS | CLASSIFIERS)[name], target(name)
    whole = model.fit(X if kind is None else kind(X), y)
    blocks = model.__class__(**model.get_params()).fit(Blocks(cut(CUTS[cuts], X, y, kind=kind)))
    same(blocks, whole)


@EVERY
def test_weights_are_repetitions_in_blocks(name: str) -> None:
    """Also where blocks have no weight at all."""
    model, y = (REGRESSORS | CLASSIFIERS)[name], target(name)
    params = model.get_params()
    rows = np.repeat(np.arange(N), TIMES)
    if "cv" in params and (params["cv"] is not None or name == "LogisticRegressionCV"):
        part = np.arange(N) % 3
        folds = [[(np.flatnonzero(p != k), np.flatnonzero(p == k)) for k in range(3)] for p in (part, part[rows])]
    else:
        folds = [params.get("cv")] * 2
    fits = []
    for fold, data in zip(
        folds, (cut(CUTS["uneven"], X, y, TIMES), cut([0, 50, len(rows)], X[rows], y[rows])), strict=True
    ):
        options = params | ({"cv": fold} if "cv" in params else {})
        if isinstance(model, RidgeCV):  # leaving out one of several equal rows is not leaving out all of them
            options |= {"alphas": [3.0], "store_cv_results": False}
        fits.append(model.__class__(**options).fit(Blocks(data)))
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-5, atol=1e-6 * np.abs(fits[1].coef_).max())
    np.testing.assert_allclose(fits[0].intercept_, fits[1].intercept_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "RidgeCV", "Lasso", "HuberRegressor", "squared"])
def test_fewer_rows_than_columns(name: str) -> None:
    model, y = REGRESSORS[name], WIDE @ np.eye(40)[0]
    if name == "HuberRegressor":
        model = HuberRegressor(alpha=1.0)
    whole = model.fit(WIDE, y)
    same(model.__class__(**model.get_params()).fit(Blocks(cut([0, 4, 15], WIDE, y))), whole)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if "CV" not in name])
def test_three_classes(name: str) -> None:
    model = CLASSIFIERS[name]
    whole = model.fit(X, THREE)
    same(model.__class__(**model.get_params()).fit(Blocks(cut(CUTS["uneven"], X, THREE))), whole, rtol=1e-5)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso", "RidgeCV"])
def test_several_targets(name: str) -> None:
    model, both = REGRESSORS[name], np.column_stack([Y, -2 * Y + X[:, 0]])
    whole = model.fit(X, both)
    same(model.__class__(**model.get_params()).fit(Blocks(cut(CUTS["uneven"], X, both))), whole)


@EVERY
def test_nothing_large_is_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no room for samples, folds and thinned rows are read from the blocks as well."""
    model, y = (REGRESSORS | CLASSIFIERS)[name], target(name)
    whole = model.fit(X, y)
    monkeypatch.setattr(block_design, "SAMPLE_BYTES", 1)
    same(model.__class__(**model.get_params()).fit(Blocks(cut(CUTS["uneven"], X, y))), whole)


class Counted:
    """Blocks that are made when they are read, and know how many are alive and how often they were read."""

    def __init__(self, y: Any) -> None:
        self.y, self.passes, self.alive, self.most = y, 0, 0, 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, Any]]:
        self.passes += 1
        for a, b in pairwise(CUTS["uneven"]):
            rows = X[a:b].copy()
            self.alive += 1
            self.most = max(self.most, self.alive)
            weakref.finalize(rows, self._gone)
            yield rows, self.y[a:b]
            del rows

    def _gone(self) -> None:
        self.alive -= 1


@EVERY
def test_one_block_is_alive_at_a_time(name: str) -> None:
    model = (REGRESSORS | CLASSIFIERS)[name]
    blocks = Counted(target(name))
    model.fit(Blocks(blocks))
    assert blocks.most == 1
    assert blocks.alive == 0


@pytest.mark.parametrize(
    ("model", "passes"),
    [
        (Lasso(0.1), 2),  # y and weights, then moments
        (LassoCV(alphas=5, cv=3), 5),  # and the moments of each fold
        (Ridge(2.0, solver="cholesky"), 3),  # of data so small the magnitudes are looked at first
        (RidgeCV(gcv_mode="eigen"), None),
        (LogisticRegression(), None),
        (HuberRegressor(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_passes(model: Any, passes: int | None) -> None:
    """Closed forms read the data a fixed number of times, iterations a few times each."""
    blocks = Counted(TWO if isinstance(model, LogisticRegression) else Y)
    model.fit(Blocks(blocks))
    if passes is not None:
        assert blocks.passes == passes
    assert blocks.passes <= 12 * (1 + model.evidence_.n_iter)


def test_threads_work_on_several_blocks_at_once() -> None:
    for name in ("LinearRegression", "Lasso", "huber", "LogisticRegression"):
        model, y = (REGRESSORS | CLASSIFIERS)[name], target(name)
        whole = model.fit(X, y)
        parts = Blocks(cut(CUTS["uneven"], X, y), executor="threads")
        same(model.__class__(**model.get_params()).fit(parts), whole)


def test_tables_keep_their_names_and_float32_its_type() -> None:
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcdef"))
    model = LinearRegression().fit(Blocks([(frame[:50], Y[:50]), (frame[50:], Y[50:])]))
    assert list(model.feature_names_in_) == list("abcdef")
    assert model.coef_.dtype == np.float32
    assert model.predict(frame).dtype == np.float32
    with pytest.raises(ValueError, match="feature names"):
        LinearRegression().fit(Blocks([(frame[:50], Y[:50]), (frame[50:].rename(columns={"a": "z"}), Y[50:])]))


def test_a_list_of_tables_is_blocks_too() -> None:
    parts = cut(CUTS["uneven"], X, Y)
    same(LinearRegression().fit(parts), LinearRegression().fit(X, Y))


def test_errors_say_what_is_wrong() -> None:
    parts = cut(CUTS["uneven"], X, Y)
    for blocks, message in (
        (Blocks([X[:50], X[50:]]), "needs y: each block must be a tuple"),
        (Blocks([]), "blocks is empty"),
        (Blocks(cut(CUTS["uneven"], X, Y, np.zeros(N))), "zero for every row"),
        (Blocks([*parts, (X[:, :3], Y)]), "X has 3 features, but LinearRegression is expecting 6"),
        (Blocks([*parts, (np.where(X == 0, np.nan, X), Y)]), "contains NaN"),
        (iter(parts), "read more than once"),
    ):
        model = LinearRegression()
        with pytest.raises(ValueError, match=message):
            model.fit(blocks)
        assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="must come in them"):
        LinearRegression().fit(Blocks(parts), Y)


def test_callbacks_work_without_the_data() -> None:
    parts = Blocks(cut(CUTS["uneven"], X, TWO))
    LogisticRegression().set_callbacks(ScoringMonitor(scoring="accuracy")).fit(parts)
    model = LogisticRegression().set_callbacks(TimeBudget(1e-9))
    with pytest.warns(match="stopped by a callback"):
        model.fit(parts)
    assert model.evidence_.status is Status.BUDGET


@pytest.fixture(scope="module")
def large() -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Enough rows that solvers leave the routes of small data."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((4000, 12)) * 10.0 ** rng.uniform(-2, 2, 12) + 100.0
    return (
        A,
        (A - 100.0) @ (rng.standard_normal(12) / A.std(axis=0)) + rng.standard_normal(4000),
        [0, 700, 701, 2500, 4000],
    )


@pytest.mark.parametrize(
    ("model", "rtol"),
    [
        (LinearRegression(), 1e-9),
        (Ridge(3.0), 1e-9),
        (RidgeCV(), 1e-9),
        (LinearModel("squared", "none"), 1e-9),
        (LinearModel("quantile", "none", tol=1e-10), 1e-4),
        (HuberRegressor(tol=1e-12), 1e-5),
    ],
    ids=repr,
)
def test_many_rows(model: Any, rtol: float, large: Any) -> None:
    A, b, cuts = large
    whole = model.fit(A, b)
    same(model.__class__(**model.get_params()).fit(Blocks(cut(cuts, A, b))), whole, rtol=rtol)


def test_ill_conditioned_blocks_lose_no_digits() -> None:
    """Integer powers with integer y have the exact answer 1, 1, …, 1; the moments alone would lose it."""
    x = np.random.default_rng(0).integers(0, 21, 8000).astype(float)
    powers = x[:, None] ** np.arange(1, 10)
    noise = np.random.default_rng(1).integers(-1000, 1000, 8000).astype(float)
    A = np.vstack([powers, powers])
    b = np.concatenate([powers.sum(axis=1) + 1 + noise, powers.sum(axis=1) + 1 - noise])
    model = LinearRegression().fit(Blocks(cut([0, 5000, 9000, 16000], A, b)))
    assert model.evidence_.solver == "orthogonal factor"
    np.testing.assert_allclose(model.coef_, 1.0, rtol=1e-14)
    assert model.evidence_.holds


def test_squares_beyond_the_range_of_float64() -> None:
    A = X * 2.0**600
    whole = LinearRegression().fit(A, Y)
    model = LinearRegression().fit(Blocks(cut(CUTS["uneven"], A, Y)))
    np.testing.assert_allclose(model.coef_ * 2.0**600, whole.coef_ * 2.0**600, rtol=1e-9)
    thin = LinearRegression().fit(Blocks(cut(CUTS["uneven"], A, Y, kind=sparse.csr_array)))
    np.testing.assert_allclose(thin.coef_ * 2.0**600, whole.coef_ * 2.0**600, rtol=1e-9)


@pytest.mark.parametrize("room", [1 << 28, 1 << 14], ids=["a tenth of the rows", "fewer"])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_the_start_from_a_sample(solver: str, room: int, large: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    A, b, cuts = large
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(block_design, "SAMPLE_BYTES", room)
    labels = b > np.median(b)
    model = LogisticRegression(solver=solver, tol=1e-10)
    whole = model.fit(A, labels)
    same(LogisticRegression(solver=solver, tol=1e-10).fit(Blocks(cut(cuts, A, labels))), whole, rtol=1e-4)


@pytest.mark.parametrize(
    "model", [Lasso(0.02, tol=1e-10), LogisticRegression(C=0.3, l1_ratio=1.0, tol=1e-10)], ids=repr
)
def test_sparse_blocks_with_many_columns(model: Any) -> None:
    """Working sets are taken from the blocks; columns are neither screened out nor read one by one."""
    rng = np.random.default_rng(3)
    A = sparse.random_array((200, 1500), density=0.05, rng=rng, format="csr")
    b = A @ (np.arange(1500) < 5) + 0.1 * rng.standard_normal(200)
    b = b > np.median(b) if isinstance(model, LogisticRegression) else b
    whole = model.fit(A, b)
    found = model.__class__(**model.get_params()).fit(Blocks(cut([0, 90, 200], A, b)))
    same(found, whole, rtol=1e-4)
    assert 0 < np.count_nonzero(found.coef_) < 300
