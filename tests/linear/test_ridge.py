"""Ridge: augmented least squares, the limit of no penalty, and leave-one-out against brute force."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from corollary import Status
from corollary.linear import LinearRegression, Ridge, RidgeCV
from corollary.solvers.least_squares.leave_one_out import are_counts


@pytest.fixture(params=[(40, 4), (12, 30), (3000, 12)], ids=["tall", "wide", "large"])
def data(request):
    n, d = request.param
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, d)) + 1
    return X, X @ rng.standard_normal((d, 2)) + rng.standard_normal((n, 2)), rng.integers(0, 4, n) + 0.0


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "qr", "svd"])
def test_agrees_with_scikit_learn(data, fit_intercept, solver) -> None:
    X, Y, w = data
    for y, alpha in ((Y[:, 0], 0.3), (Y[:, :1], 0.3), (Y, [0.3, 4.0])):
        ours = Ridge(alpha, fit_intercept=fit_intercept, solver=solver).fit(X, y, w)
        theirs = sklearn.linear_model.Ridge(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y, w)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
        assert ours.coef_.shape == theirs.coef_.shape
        assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
        assert ours.predict(X).shape == theirs.predict(X).shape
        assert ours.evidence_.holds


def test_is_augmented_least_squares_and_maximum_a_posteriori(data) -> None:
    X, Y, _ = data
    d, alpha, y = X.shape[1], 1.7, Y[:, 0]
    ridge = Ridge(alpha, fit_intercept=False).fit(X, y)
    rows, target = np.vstack([X, np.sqrt(alpha) * np.eye(d)]), np.append(y, np.zeros(d))
    np.testing.assert_allclose(
        LinearRegression(fit_intercept=False).fit(rows, target).coef_, ridge.coef_, rtol=1e-9, atol=1e-11
    )
    # y ~ N(Xβ, σ²), β ~ N(0, σ²/α): the posterior precision is (XᵀX + αI)/σ², its mode solves the normal equations
    mode = np.linalg.solve(X.T @ X + alpha * np.eye(d), X.T @ y)
    np.testing.assert_allclose(ridge.coef_, mode, rtol=1e-8, atol=1e-10)


def test_vanishing_penalty_is_least_squares(data) -> None:
    X, Y, w = data
    ridge, free = Ridge(alpha=1e-13).fit(X, Y, w), LinearRegression().fit(X, Y, w)
    np.testing.assert_allclose(ridge.coef_, free.coef_, rtol=1e-8, atol=1e-9)
    zero = Ridge(alpha=0.0).fit(X, Y, w)
    np.testing.assert_allclose(zero.coef_, free.coef_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(zero.effective_dof_, free.rank_, rtol=1e-12)


def test_weights_are_repetitions(data) -> None:
    X, Y, w = data
    times = w.astype(int)
    for model in (Ridge(2.0), RidgeCV(alphas=[3.0])):
        weighted = model.fit(X, Y, w)
        coef, dof = weighted.coef_, weighted.effective_dof_
        repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
        np.testing.assert_allclose(coef, repeated.coef_, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(dof, repeated.effective_dof_, rtol=1e-9)


@pytest.mark.parametrize("view", [np.asfortranarray, sparse.csr_array, sparse.csc_array])
def test_any_container_gives_the_same(data, view) -> None:
    X, Y, w = data
    for model in (Ridge(2.0), RidgeCV()):
        plain = model.fit(X, Y, w).coef_
        np.testing.assert_allclose(model.fit(view(X), Y, w).coef_, plain, rtol=1e-9, atol=1e-11)


def test_float32_stays(data) -> None:
    X, Y, w = data
    for model in (Ridge(2.0), RidgeCV()):
        exact = model.fit(X.astype(np.float32).astype(float), Y, w).coef_
        single = model.fit(X.astype(np.float32), Y, w)
        assert single.coef_.dtype == single.predict(X.astype(np.float32)).dtype == np.float32
        np.testing.assert_allclose(single.coef_, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [None, "by counts", "by importance"])
@pytest.mark.parametrize("mode", [None, "svd", "eigen"])
@pytest.mark.parametrize("shape", [(25, 4), (8, 20)])
def test_leave_one_out_equals_brute_force(shape, fit_intercept, weighted, mode) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape) + 1
    Y = rng.standard_normal((shape[0], 2)) + X[:, :2]
    w = None if weighted is None else 3 * rng.random(shape[0]) + 0.1
    if weighted:
        w = np.ceil(w) if weighted == "by counts" else w
        w[3] = 0.0
    alphas = [1e-3, 0.5, 20.0]
    model = RidgeCV(alphas, fit_intercept=fit_intercept, gcv_mode=mode, store_cv_results=True).fit(X, Y, w)
    brute = np.empty((shape[0], 2, 3))
    for i in range(shape[0]):
        rest = np.ones(shape[0]) if w is None else w.copy()
        # one of the copies, or the row with all of its weight where there are no copies
        rest[i] = 0.0 if weighted == "by importance" else max(rest[i] - 1, 0.0)
        for a, alpha in enumerate(alphas):
            part = Ridge(alpha, fit_intercept=fit_intercept).fit(X, Y, rest)
            brute[i, :, a] = (Y[i] - part.predict(X[i : i + 1])[0]) ** 2
    np.testing.assert_allclose(model.cv_results_, brute, rtol=1e-7, atol=1e-12)
    scores = -np.average(brute, axis=0, weights=w).mean(axis=0)
    np.testing.assert_allclose(model.mean_scores_, scores, rtol=1e-8)
    assert model.alpha_ == alphas[int(np.argmax(scores))]
    assert model.best_score_ == pytest.approx(scores.max(), rel=1e-8)


@pytest.mark.parametrize("mode", [None, "svd", "eigen"])
@pytest.mark.parametrize("options", [{}, {"alpha_per_target": True}, {"scoring": "neg_mean_absolute_error"}], ids=str)
def test_leave_one_out_takes_weights_for_repetitions(data, mode, options) -> None:
    """Whole weights w: w equal rows, each of which is left out alone; none: no row."""
    X, Y, w = data
    times, alphas = w.astype(int), np.geomspace(1e-2, 1e2, 5)
    weighted = RidgeCV(alphas, gcv_mode=mode, store_cv_results=True, **options).fit(X, Y, w)
    repeated = RidgeCV(alphas, gcv_mode=mode, store_cv_results=True, **options)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(weighted.mean_scores_, repeated.mean_scores_, rtol=1e-7)
    results = np.repeat(weighted.cv_results_, times, axis=0)
    np.testing.assert_allclose(results, repeated.cv_results_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(weighted.alpha_, repeated.alpha_)


@pytest.mark.parametrize("scale", [1.0, 1e4 / 3, 1e-4])
def test_leave_one_out_of_rows_that_are_not_counted_is_that_of_scikit_learn(data, scale) -> None:
    """Also where weights are far above one: what is left of a row would predict it from itself."""
    X, Y, w = data
    w, alphas = scale * (w + 0.3), scale * np.geomspace(1e-3, 1e3, 9)
    for options in ({}, {"alpha_per_target": True}, {"gcv_mode": "eigen"}):
        ours = RidgeCV(alphas, store_cv_results=True, **options).fit(X, Y, w)
        theirs = sklearn.linear_model.RidgeCV(alphas, store_cv_results=True, **options).fit(X, Y, w)
        np.testing.assert_allclose(ours.alpha_, theirs.alpha_)
        np.testing.assert_allclose(w[:, None, None] * ours.cv_results_, theirs.cv_results_, rtol=1e-5)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)


def test_weights_that_count_and_others() -> None:
    for counts, weights in (
        (True, None),
        (True, [0.0, 1.0, 7.0]),
        (True, [2.0, 2.0]),
        (False, [1.0, 2.5]),
        (False, [0.5, 1.0]),
        (False, [2.0**53, 1.0]),  # whole for want of digits
    ):
        assert are_counts(None if weights is None else np.array(weights)) is counts, weights
    assert not are_counts(np.array([1.0, 2.0]), 2.0**-5)


def test_leave_one_out_agrees_with_scikit_learn(data) -> None:
    X, Y, _ = data
    alphas = np.geomspace(1e-3, 1e3, 9)
    for options in ({}, {"alpha_per_target": True}, {"scoring": "neg_mean_absolute_error"}, {"scoring": "r2"}):
        ours = RidgeCV(alphas, **options).fit(X, Y)
        theirs = sklearn.linear_model.RidgeCV(alphas, **options).fit(X, Y)
        np.testing.assert_allclose(ours.alpha_, theirs.alpha_)
        np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
        assert ours.evidence_.holds


def test_is_the_ridge_at_its_alpha(data) -> None:
    X, Y, w = data
    model = RidgeCV(np.geomspace(1e-2, 1e2, 5)).fit(X, Y, w)
    ridge = Ridge(model.alpha_).fit(X, Y, w)
    np.testing.assert_array_equal(model.coef_, ridge.coef_)
    np.testing.assert_array_equal(model.effective_dof_, ridge.effective_dof_)


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_folds_agree_with_scikit_learn(data, scoring) -> None:
    X, Y, _ = data
    cv = KFold(4, shuffle=True, random_state=0)
    ours = RidgeCV([0.01, 1.0, 100.0], cv=cv, scoring=scoring).fit(X, Y)
    theirs = sklearn.linear_model.RidgeCV([0.01, 1.0, 100.0], cv=cv, scoring=scoring).fit(X, Y)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)


def test_folds_use_the_weights_in_fit_and_score(data) -> None:
    """With whole groups in a fold, weights and repetitions are the same thing."""
    X, Y, w = data
    w[: len(w) // 3] += 1
    times = w.astype(int)
    groups = np.arange(len(w)) % 3
    copied = np.repeat(groups, times)
    splits = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]
    copies = [(np.flatnonzero(copied != g), np.flatnonzero(copied == g)) for g in range(3)]
    weighted = RidgeCV([0.1, 10.0], cv=splits).fit(X, Y, w)
    repeated = RidgeCV([0.1, 10.0], cv=copies).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(weighted.best_score_, repeated.best_score_, rtol=1e-9)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-11)


def test_positive(data) -> None:
    X, Y, w = data
    ours = Ridge(1.5, positive=True).fit(X, Y, w)
    assert (ours.coef_ >= 0).all()
    assert ours.evidence_.holds
    centre, root = w @ X / w.sum(), np.sqrt(w)[:, None]
    rows = np.vstack([root * (X - centre), np.sqrt(1.5) * np.eye(X.shape[1])])
    target = np.vstack([root * (Y - w @ Y / w.sum()), np.zeros((X.shape[1], 2))])
    slope = rows.T @ (target - rows @ ours.coef_.T)
    assert (np.abs(slope[ours.coef_.T > 0]) < 1e-8 * np.abs(rows.T @ target).max()).all()
    assert (slope[ours.coef_.T == 0] < 1e-8 * np.abs(rows.T @ target).max()).all()


def test_sparse_conjugate_gradients() -> None:
    X = sparse.random_array((500, 80), density=0.1, rng=np.random.default_rng(0), format="csr")
    y = X @ np.random.default_rng(1).standard_normal(80)
    exact, iterated = Ridge().fit(X, y), Ridge(solver="sparse_cg").fit(X, y)
    assert iterated.evidence_.holds
    assert iterated.n_iter_.shape == (1,)
    assert iterated.n_iter_[0] > 1
    np.testing.assert_allclose(iterated.coef_, exact.coef_, atol=1e-3)


@pytest.mark.parametrize("targets", [1, 3])
def test_conjugate_gradients_show_callbacks_every_iteration(targets: int) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 12)), rng.standard_normal((60, targets))
    y = Y[:, 0] if targets == 1 else Y
    seen: list = []

    class Watch:
        def setup(self, estimator, context) -> None: ...

        def on_fit_task_begin(self, estimator, context) -> None: ...

        def on_fit_task_end(self, estimator, context, *, fitted_estimator) -> bool:
            if fitted_estimator is not None:
                seen.append((fitted_estimator.coef_.copy(), fitted_estimator.predict(X), context.record))
            return len(seen) == stop

        def teardown(self, estimator, context) -> None: ...

    stop = -1
    model = Ridge(alpha=0.5, solver="sparse_cg").set_callbacks(Watch()).fit(X, y)
    assert model.n_iter_.tolist() == [len(seen)] * targets
    assert len(seen) > 2
    objectives = [record["objective"] for _, _, record in seen]
    assert (np.diff(objectives) < 0).all()
    assert objectives == model.evidence_.history["objective"][1:]
    for coef, prediction, record in seen:
        assert coef.shape == model.coef_.shape
        assert prediction.shape == y.shape
        value = 0.5 * (((y - prediction) ** 2).sum() + 0.5 * (coef**2).sum())
        assert record["objective"] == pytest.approx(value)
    seen.clear()
    stop = 2
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model.fit(X, y)
    assert model.evidence_.status is Status.BUDGET
    np.testing.assert_array_equal(model.coef_, seen[-1][0])


def test_plot_shows_the_choice(data) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    X, Y, _ = data
    model = RidgeCV([0.1, 1.0, 10.0]).fit(X, Y[:, 0])
    ax = model.plot()
    line = ax.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [0.1, 1.0, 10.0])
    np.testing.assert_allclose(line.get_ydata(), -model.mean_scores_)
    assert ax.lines[1].get_xdata()[0] == model.alpha_
    mpl.pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Ridge(-1.0), "alpha must be"),
        (Ridge([1.0, 2.0, 3.0]), "penalties do not correspond: 3 != 2"),
        (Ridge([1.0, -2.0]), "alpha must be"),
        (Ridge(solver="newton"), "'cholesky'"),
        (RidgeCV([0.0, 1.0]), r"alphas\[0\] == 0.0, must be > 0.0"),
        (RidgeCV([1.0, -2], cv=3), r"alphas\[1\] == -2, must be >= 0.0"),
        (RidgeCV([np.nan]), r"alphas\[0\] == nan"),
        (RidgeCV([]), "alphas must be"),
        (RidgeCV(cv=3, store_cv_results=True), "store_cv_results"),
        (RidgeCV(cv=3, alpha_per_target=True), "alpha_per_target"),
        (RidgeCV(gcv_mode="fast"), "gcv_mode"),
    ],
)
def test_bad_parameters_say_what_is_expected(data, model, message) -> None:
    X, Y, _ = data
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_a_path_that_needs_too_much_memory_says_so(monkeypatch) -> None:
    monkeypatch.setattr("corollary.solvers.least_squares.leave_one_out.LARGEST", 3)
    X = np.random.default_rng(0).standard_normal((20, 5))
    with pytest.raises(ValueError, match="GridSearchCV"):
        RidgeCV().fit(X, X[:, 0])


def test_overflow_is_an_error(data) -> None:
    X, Y, _ = data
    with pytest.raises(ValueError, match="Rescale"):
        RidgeCV().fit(X * 1e200, Y)
