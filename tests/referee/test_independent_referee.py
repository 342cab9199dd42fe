"""The referee by itself: it stands by right answers, refutes wrong ones, and agrees with formulas known otherwise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from corollary import LinearModel, LinearRegression, LogisticRegression
from corollary.core.loss import LOSSES
from corollary.referee import (
    boosting,
    clusters,
    ensembles,
    medoids,
    merges,
    mixtures,
    neighbors,
    spectrum,
    trees,
    verdict,
)
from corollary.referee.linear.judge import judge, undecided
from corollary.referee.linear.losses import SMOOTH, pieces, softmax
from corollary.referee.linear.others import huber_with_scale, single_coefficients
from corollary.referee.linear.problem import Objective
from corollary.referee.verdict import Verification, measured, weakest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.0] + 0.5 * RNG.normal(size=60)
ONES = np.ones(60)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_written_twice_agree(name):
    loss = LOSSES[name]()
    f = RNG.normal(size=(40, 3)) if loss.multiclass else 2 * RNG.normal(size=40)
    y = RNG.integers(3, size=40) if loss.multiclass else RNG.choice([-1.0, 1.0], 40)
    if loss.task == "regression":
        y = RNG.poisson(2.0, 40).astype(float) if loss.domain.low >= 0 else RNG.normal(size=40)
    if loss.multiclass:
        value, p = softmax(y, f.astype(np.longdouble))
        p[np.arange(40), y] -= 1
        np.testing.assert_allclose(p.astype(float), loss.gradient(y, f), atol=1e-14)
    elif name in SMOOTH:
        value, slope, curve = SMOOTH[name](y.astype(np.longdouble), f.astype(np.longdouble), loss.parameter)
        np.testing.assert_allclose(slope.astype(float), loss.gradient(y, f), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(curve.astype(float), loss.hessian(y, f), rtol=1e-12, atol=1e-12)
    else:
        value = sum(np.maximum(lo * (f - c), hi * (f - c)) for c, lo, hi in pieces(name, y, loss.parameter))
    np.testing.assert_allclose(np.asarray(value, float), loss.value(y, f), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_least_squares_at_any_offset(offset):
    moved = X + offset
    beta, *_ = np.linalg.lstsq(X - X.mean(axis=0), Y - Y.mean(), rcond=None)
    start = Y.mean() - moved.mean(axis=0) @ beta
    given = Objective(moved, Y, ONES, "squared")
    found = judge(given, beta, start, 1e-8)
    assert found.stands is True, found
    assert judge(given, 1.01 * beta, start - 0.01 * moved.mean(axis=0) @ beta, 1e-8).stands is False


@pytest.mark.parametrize("loss", ["absolute", "hinge", "huber", "logistic"])
def test_zero_coefficients_on_nearly_equal_columns_are_refuted(loss):
    x, z = RNG.normal(size=(2, 200))
    y = 2 * z + 0.3 * RNG.normal(size=200)
    y = np.where(y > 0, 1.0, -1.0) if loss in ("hinge", "logistic") else y
    found = judge(Objective(np.c_[x, x + 1e-10 * z], y, np.ones(200), loss, 1.35), np.zeros(2), 0.0, 1e-8)
    assert found.stands is False
    assert found.found > 0.1


def test_a_loss_that_is_not_known_is_not_decided():
    assert judge(Objective(X, Y, ONES, "mystery"), np.zeros(3), 0.0, 1e-8).stands is None


def test_counts_and_scales():
    beta, *_ = np.linalg.lstsq(np.c_[X[:, :2], ONES], Y, rcond=None)
    given = Objective(X, Y, ONES / 60, "squared")
    assert single_coefficients(given, 0.05, np.r_[beta[:2], 0.0], beta[2], 1e-8).stands is True
    assert single_coefficients(given, 0.05, np.r_[beta[0], 0.0, 0.0], beta[2], 1e-8).stands is False
    joint = Objective(X, Y, ONES, "huber", 1.35)
    assert huber_with_scale(joint, np.zeros(3), 0.0, 1.0, 1e-8).stands is False


def test_trees():
    cut, below = np.array([0.5, np.nan, np.nan]), np.array([1, -1, -1])
    stump = trees.Nodes(np.array([0, -1, -1]), cut, below, np.array([[0.5], [0.0], [1.0]]))
    x, y = np.array([[0.0, 5.0], [0.0, 3.0], [1.0, 4.0], [1.0, 2.0]]), np.array([[0.0], [0.0], [1.0], [1.0]])
    rules = trees.Rules("squared")
    assert trees.judge(x, y, np.ones(4), stump, rules, 1e-9).stands is True
    assert trees.judge(x[:, ::-1], y, np.ones(4), stump, rules, 1e-9).stands is False
    assert trees.judge(x, y + 0.5, np.ones(4), stump, rules, 1e-9).stands is False
    said = np.array([0.0, 0.0, 1.0, 1.0])
    assert ensembles.forest(x, [stump, stump], said).stands is True
    assert ensembles.forest(x, [stump, stump], said[::-1]).stands is False


def test_clusters_and_mixtures():
    rows, centres = np.array([[0.0], [1.0], [10.0], [11.0]]) + 1e9, np.array([[0.5], [10.5]]) + 1e9
    assert clusters.k_means(rows, np.ones(4), centres, 1e-9).stands is True
    assert clusters.k_means(rows, np.ones(4), centres + 0.1, 1e-9).stands is False
    assert mixtures.soft_k_means(rows, np.ones(4), centres, 10.0, 1e-6).stands is True
    assert mixtures.soft_k_means(rows, np.ones(4), centres + 0.3, 10.0, 1e-6).stands is False
    mean, scatter = X.mean(axis=0)[None], np.cov(X.T, bias=True)[None]
    one = (np.ones(1), mean, scatter, "full", 0.0, 1e-6)
    assert mixtures.gaussian_mixture(X, ONES, *one).stands is True
    assert mixtures.gaussian_mixture(X, ONES, one[0], mean + 0.5, *one[2:]).stands is False


def test_medoids_and_merges():
    rows = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    assert medoids.swaps(rows, np.ones(6), np.array([1, 4]), "euclidean", 1e-9).stands is True
    assert medoids.swaps(rows, np.ones(6), np.array([0, 4]), "euclidean", 1e-9).stands is False
    few, pairs = rows[[0, 1, 3]], np.array([[0, 1], [3, 2]])
    assert merges.merges(few, np.ones(3), pairs, np.array([1.0, 9.0]), "single", "euclidean", True).stands is True
    assert merges.merges(few, np.ones(3), pairs, np.array([1.0, 9.5]), "single", "euclidean", True).stands is False
    other = np.array([[0, 2], [3, 1]])
    assert merges.merges(few, np.ones(3), other, np.array([10.0, 1.0]), "single", "euclidean", True).stands is False


def test_neighbours_and_components():
    D = np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)
    rows = np.argsort(D, axis=1)[:, :3]
    said = np.take_along_axis(D, rows, axis=1)
    assert neighbors.nearest(X, X, rows, said, "manhattan", 1e-9).stands is True
    wrong = np.c_[rows[:, :2], np.argsort(D, axis=1)[:, 5]]
    assert neighbors.nearest(X, X, wrong, said, "manhattan", 1e-9).stands is False
    values, vectors = np.linalg.eigh(np.cov(X.T))
    told = {
        "mean_": X.mean(axis=0),
        "components_": vectors.T[::-1],
        "explained_variance_": values[::-1],
        "explained_variance_ratio_": values[::-1] / values.sum(),
        "singular_values_": np.sqrt(values[::-1] * (len(X) - 1)),
        "noise_variance_": 0.0,
    }
    assert (
        spectrum.principal_components(X + 1e6, ONES, told | {"mean_": told["mean_"] + 1e6}, 1e-9, True).stands is True
    )
    assert spectrum.principal_components(X, ONES, told | {"components_": vectors.T}, 1e-9, True).stands is False
    turned = vectors.T[::-1] @ np.array([[1, 1e-3, 0], [-1e-3, 1, 0], [0, 0, 1]])
    assert spectrum.principal_components(X, ONES, told | {"components_": turned}, 1e-9, True).stands is False


def test_verdicts():
    assert measured(float("nan"), 1.0, "it").stands is None
    assert str(measured(2.0, 1.0, "it")).startswith("Refuted: it is 2")
    parts = [Verification(True, "a"), Verification(False, "b"), Verification(None, "c")]
    assert weakest(parts).words == "b"
    assert weakest(parts[::2]).words == "c"


def test_without_long_doubles_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A referee that is no more exact than the fit may neither confirm nor refute; broken attributes are broken."""
    model = LinearRegression().fit(X, Y)
    assert model.evidence_.verify(X, Y).stands is True
    monkeypatch.setattr(verdict, "DIGITS", 52)
    for y in (Y, -Y):
        found = model.evidence_.verify(X, y)
        assert found.stands is None
        assert "no more digits than float64" in found.words
    model.coef_ = model.coef_[:2]
    assert model.evidence_.verify(X, Y).stands is False


def test_words_say_how_far_a_bound_reaches_and_what_was_found():
    model = LinearModel("absolute", "l1", alpha=0.01).fit(X, Y)
    assert "over predictions up to 100 times as long shows that nothing is lower" in model.evidence_.verify(X, Y).words
    lower = undecided("2", "1", 0.5, 1e-8, 0.5).words
    assert "a search found 1, lower by 0.5 of it, but the last digits of X and of the coefficients decide" in lower
    assert "a search found nothing lower by more than 0 of it" in undecided("2", "2", 0.0, 1e-8, 0.5).words


def _stump(cut: float, left: float, right: float) -> trees.Nodes:
    value = np.array([[0.0], [left], [right]])
    return trees.Nodes(np.array([0, -1, -1]), np.array([cut, np.nan, np.nan]), np.array([1, -1, -1]), value)


def test_weights_over_thirty_decades_do_not_make_the_referee_divide_by_nothing():
    x, y = np.arange(6.0)[:, None], np.array([0.0, 1e10, 1.0, 2.0, 3.0, 3.0])[:, None]
    w = np.array([1e12, 1e-12, 1e-9, 1.0, 1e-12, 1e-15])
    nodes = _stump(4.5, float(w[:5] @ y[:5, 0] / w[:5].sum()), 3.0)
    nodes.value[0] = w @ y / w.sum()
    found = trees.judge(x, y, w, nodes, trees.Rules("squared"), 1e-9)
    assert found.stands is False
    exact = [(Fraction(a), Fraction(b)) for a, b in zip(w, y[:, 0], strict=True)]

    def impurity(rows):
        mean = sum(a * b for a, b in rows) / sum(a for a, _ in rows)
        return sum(a * (b - mean) ** 2 for a, b in rows)

    left = [impurity(exact[:cut]) + impurity(exact[cut:]) for cut in range(1, 6)]
    np.testing.assert_allclose(found.found, float((left[4] - min(left)) / impurity(exact)), rtol=1e-9)


def test_boosting_and_votes():
    two = [_stump(0.0, -1.0, 1.0), _stump(0.5, -0.5, 0.5)]
    raw = 0.1 + sum(ensembles.leaf_values(X, nodes) for nodes in two)
    start, loss = np.array([0.1]), ("squared", None)
    losses = [np.mean((Y - f) ** 2) / 2 for f in (np.full(60, 0.1), 0.1 + np.where(X[:, 0] > 0, 1, -1), raw[:, 0])]
    history = dict(enumerate(losses))

    def judged(said, told, tolerance=1.0):
        return boosting.gradient_boosting(X, Y, ONES, start, two, said, loss, told, tolerance, True).stands

    assert judged(raw, history) is True
    assert judged(raw + 1e-3, history) is False
    assert judged(raw, history | {1: losses[1] * (1 + 1e-5)}) is False
    away = boosting.gradient_boosting(X, -9 * X[:, 0], ONES, start, two, raw, loss, {}, 1e-9, True)
    assert away.stands is False
    assert "rises" in away.words
    assert ensembles.mean_of_members([Y, 3 * Y], [1, 1], 2 * Y).stands is True
    assert ensembles.mean_of_members([Y, 3 * Y], None, 2.001 * Y).stands is False


def test_adaboost_is_played_once_more():
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    said = [(X[:, 0] > 0).astype(int), (X[:, 1] > 0).astype(int)]
    w, errors, alphas = ONES / 60, [], []
    for answer in said:
        errors.append(w[answer != y].sum())
        alphas.append(np.log((1 - errors[-1]) / errors[-1]))
        w = w * np.exp(alphas[-1] * (answer != y))
        w = w / w.sum()
    final = said[int(np.argmax(alphas))]

    def judged(errors, alphas, final=final):
        return boosting.adaboost(said, y, ONES, 2, 1.0, np.array(errors), np.array(alphas), final).stands

    assert judged(errors, alphas) is True
    assert judged(errors, [alphas[0], 1.01 * alphas[1]]) is False
    assert judged([errors[0], errors[1] * 1.01], alphas) is False
    assert judged(errors, alphas, 1 - final) is False


def test_blends():
    P = np.c_[Y + 0.1 * X[:, 2], Y - 0.1 * X[:, 2], X[:, 1]]
    assert ensembles.blend(P, Y, ONES, np.array([0.5, 0.5, 0.0]), True, 1e-8).stands is True
    assert ensembles.blend(P, Y, ONES, np.array([0.6, 0.3, 0.1]), True, 1e-8).stands is False
    assert ensembles.blend(P, Y, ONES, np.array([0.5, 0.5, 0.0]), False, 1e-8).stands is True
    assert ensembles.blend(P, Y, ONES, np.zeros(3), False, 1e-8).stands is False


def test_what_is_no_number_never_stands():
    gap = np.full(60, np.nan)
    assert ensembles.mean_of_members([Y, gap], None, Y).stands is False
    assert ensembles.mean_of_members([Y, Y], None, gap).stands is False
    P = np.c_[Y + X[:, 2], Y - X[:, 2]]
    assert ensembles.blend(P, Y, ONES, np.array([0.5, np.nan]), True, 1e-8).stands is False
    y, said = (Y > 0).astype(int), [(X[:, 0] > 0).astype(int)]
    error = float((said[0] != y).mean())
    for errors, alphas in (([np.nan], [1.0]), ([error], [np.nan])):
        found = boosting.adaboost(said, y, ONES, 2, 1.0, np.array(errors), np.array(alphas), said[0])
        assert found.stands is False


def test_losses_of_loud_classes_are_known_to_the_last_bits_of_raw_predictions():
    start, y = np.array([-127.0, 78.0, 49.0]), np.array([1, 2])
    w, loss = np.array([1.0, 1e-13]), ("softmax", None)
    raw = np.repeat(start[None], 2, axis=0)
    true = float(boosting.mean_loss(*loss, y, raw.astype(np.longdouble), w))

    def judged(told):
        return boosting.gradient_boosting(X[:2], y, w, start, [], raw, loss, {0: told}, 1e-9, True).stands

    assert judged(true + 3e-15) is True
    assert judged(true + 1e-12) is False


@pytest.mark.parametrize(("loss", "shift", "factor"), [("logistic", 100, 1), ("huber", 30, 1), ("logistic", 0, 1e200)])
def test_counts_that_were_changed_do_not_stand(loss: str, shift: float, factor: float) -> None:
    """Where losses are flat, or overflow, the referee's own steps fail; that is no sign that nothing can be gained."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X[:, 0] + 0.5 * rng.normal(size=80)
    y = y > 0 if loss == "logistic" else y
    model = LinearModel(loss, "l0", alpha=0.01).fit(X, y)
    assert model.evidence_.verify(X, y).stands
    coef, intercept = model.coef_, model.intercept_
    model.coef_, model.intercept_ = coef * factor, intercept + shift
    assert model.evidence_.verify(X, y).stands is False
    model.coef_, model.intercept_ = coef * np.nan, intercept
    assert model.evidence_.verify(X, y).stands is False


def test_a_constant_without_an_intercept_is_no_null_model():
    """5e-15 of y is below what one rounding of y may change in units of the null model; 1e-12 of it is not."""
    given = Objective(np.ones((10, 1)), np.ones(10), np.ones(10), "huber", 1.35, fit_intercept=False)
    assert huber_with_scale(given, np.array([1 + 5e-15]), 0.0, 5e-15, 1e-8).stands is not False
    assert huber_with_scale(given, np.array([1 + 1e-12]), 0.0, 1e-12, 1e-8).stands is False


def test_claims_of_many_parts_have_no_more_patience_than_one():
    """What one target of this size would pass with, two hundred targets or ten classes against the rest do not."""
    many = np.random.default_rng(1).normal(size=(3000, 64))
    targets = many[:, :1] * np.arange(1.0, 201.0) + np.arange(3000)[:, None] % 7
    found = LinearRegression().fit(many, targets).evidence_.verify(many, targets)
    assert found.stands is None
    assert "3,000 rows of 64 columns, 200 times, are too large for the referee" in found.words
    sides = np.arange(3000) % 100
    model = LinearModel("squared_hinge", "l2", max_iter=2, tol=1.0).fit(many, sides)
    assert "3,000 rows of 64 columns, 100 times, are too large" in model.evidence_.verify(many, sides).words
    counted = Objective(many[:300], targets[:300, 0], np.ones(300), "squared")
    assert single_coefficients(counted, 0.1, np.ones(64), 0.0, 1e-8).stands is False
    slow = Objective(np.zeros((100_000, 64)), np.zeros(100_000), np.ones(100_000), "squared")
    assert "100,000 rows of 64 columns are too large" in single_coefficients(slow, 0.1, np.ones(64), 0.0, 1e-8).words


@pytest.mark.parametrize("size", [1e14, 1e15, 1e16, 1e17, 1e18, 1e20, 1e30])
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "logistic"])
def test_one_huge_row_does_not_hide_the_others_from_the_referee(loss: str, size: float) -> None:
    """Beside it two columns look equal, and a constant is the best for all other rows; (1, −1) is far better.

    From 1e16 on the last digit of the huge row decides whether it is, so the claim need not be refuted.
    """
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    y = rows @ [1.0, -1.0] + 0.1 * rng.normal(size=60)
    y = np.where(y + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0) if loss == "logistic" else y
    rows[0], y[0] = size, 1.0
    start = float(np.ravel(LinearModel(loss, "none").fit(np.zeros((59, 1)), y[1:]).intercept_)[0])
    coef = np.array([(60.0 if loss == "logistic" else 1.0 - start) / size, 0.0])
    found = judge(Objective(rows, y, np.ones(60), loss, 1.35), coef, start, 1e-8)
    assert found.stands is not True, found
    assert found.stands is False or size >= 1e16


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_columns_that_are_sums_of_others_still_let_a_claim_stand(loss: str) -> None:
    whole = np.c_[X, X[:, 0] + 0.5, 1024 * X[:, 1], ONES]
    model = LinearModel(loss, "none").fit(X, Y)
    given = Objective(whole, Y, ONES, loss, 1.35)
    assert judge(given, np.r_[np.ravel(model.coef_), np.zeros(3)], model.intercept_, 1e-8).stands is True


def test_a_share_is_said_of_what_it_is_a_share() -> None:
    """Where the objective is below a millionth of the null model's, "of it" would be another number."""
    x = np.linspace(-1, 1, 40)[:, None]
    y = (x[:, 0] > 0).astype(int)
    model = LogisticRegression(C=np.inf).fit(x, y)
    told = str(model.evidence_.verify(x, y))
    assert model.evidence_.facts["objective"] < 1e-7
    assert "of it" not in told
