"""Gradient boosting: against its definition, against peers' quality, and against the promises of the library."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_diabetes, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, mean_tweedie_deviance
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary import GradientBoostingClassifier, GradientBoostingRegressor
from corollary.core.loss import Huber, Logistic, Loss, Quantile, Squared, Tweedie
from corollary.core.parallel import threads
from corollary.io.errors import ModelFileError


@parametrize_with_checks(
    [
        GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1),
        GradientBoostingRegressor(n_estimators=5, min_samples_leaf=1),
        GradientBoostingRegressor(n_estimators=30, loss="absolute_error", min_samples_leaf=1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def _table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * rng.standard_normal(n)
    return X, y


def _best_stump(X, g, h, l1, l2, min_rows):
    """The naive twin of one split: every column, every threshold between distinct values."""

    def gain(gs, hs):
        s = max(abs(gs) - l1, 0.0)
        return 0.5 * s * s / (hs + l2)

    best = (0.0, None, None)
    for f in range(X.shape[1]):
        values = np.unique(X[:, f])
        for low, high in itertools.pairwise(values):
            left = X[:, f] <= 0.5 * (low + high)
            if min(left.sum(), (~left).sum()) < min_rows:
                continue
            found = gain(g[left].sum(), h[left].sum()) + gain(g[~left].sum(), h[~left].sum()) - gain(g.sum(), h.sum())
            if found > best[0] + 1e-9:
                best = (found, f, 0.5 * (low + high))
    return best


@pytest.mark.parametrize("l1", [0.0, 2.0])
@pytest.mark.parametrize("l2", [0.0, 5.0])
def test_first_tree_is_the_best_stump(l1, l2):
    X, y = _table(200)
    model = GradientBoostingRegressor(
        n_estimators=1, max_leaf_nodes=2, learning_rate=1.0, l1_regularization=l1, l2_regularization=l2
    ).fit(X, y)
    gain, feature, threshold = _best_stump(X, y.mean() - y, np.ones(len(y)), l1, l2, 20)
    trees = model.trees_
    assert trees.feature[0] == feature
    np.testing.assert_allclose(trees.threshold[0], threshold)
    np.testing.assert_allclose(trees.gain[0], gain, rtol=1e-4)
    left = X[:, feature] <= threshold
    for side, node in ((left, 1), (~left, 2)):
        g = (y.mean() - y[side]).sum()
        value = -np.sign(g) * max(abs(g) - l1, 0.0) / (side.sum() + l2)
        np.testing.assert_allclose(trees.value[node, 0], value, rtol=1e-9)


def test_leaf_penalty_is_the_price_of_a_leaf():
    X, y = _table(200)
    free = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=2).fit(X, y)
    price = float(free.trees_.gain[0])
    assert GradientBoostingRegressor(n_estimators=1, leaf_penalty=1.01 * price).fit(X, y).trees_.node_count == 1
    assert GradientBoostingRegressor(n_estimators=1, leaf_penalty=0.99 * price).fit(X, y).trees_.node_count >= 3


@pytest.mark.parametrize("seed", [0, 1])
def test_as_good_as_the_peer_at_the_same_settings(seed):
    X, y = _table(4000, seed)
    y += np.abs(X[:, 0]) - X[:, 0] * X[:, 1]  # a product of two columns alone is found by luck
    train, test = slice(0, 3000), slice(3000, None)
    ours = GradientBoostingRegressor().fit(X[train], y[train])
    peer = HistGradientBoostingRegressor(early_stopping=False).fit(X[train], y[train])
    assert np.mean((ours.predict(X[test]) - y[test]) ** 2) <= 1.05 * np.mean((peer.predict(X[test]) - y[test]) ** 2)
    labels = (y > 0).astype(int)
    ours = GradientBoostingClassifier().fit(X[train], labels[train])
    peer = HistGradientBoostingClassifier(early_stopping=False).fit(X[train], labels[train])
    limit = 1.05 * log_loss(labels[test], peer.predict_proba(X[test]))
    assert log_loss(labels[test], ours.predict_proba(X[test])) <= limit


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "tweedie", "epsilon_insensitive"]
)
def test_every_loss_falls_at_every_round(loss):
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(loss=loss, n_estimators=40).fit(X, y)
    losses = np.array(model.evidence_.history["objective"])
    assert (np.diff(losses) <= 1e-12 * losses[0]).all()
    assert losses[-1] < 0.8 * losses[0]
    assert model.evidence_.holds


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge", "squared_hinge"])
def test_every_margin_loss_learns(loss):
    X, y = _table(600)
    model = GradientBoostingClassifier(loss=loss, n_estimators=40).fit(X, y > 0)
    assert model.score(X, y > 0) > 0.9
    assert hasattr(model, "predict_proba") == (loss in ("log_loss", "exponential"))


class _Own(Loss):
    """The logistic loss, as a user would write it."""

    name, task = "own", "classification"

    def value(self, y, f):
        return np.logaddexp(0.0, -y * f)

    def gradient(self, y, f):
        return -y / (1 + np.exp(y * f))

    def hessian(self, y, f):
        p = 1 / (1 + np.exp(-f))
        return p * (1 - p)

    def conjugate(self, y, u):
        raise NotImplementedError  # boosting never asks for it


class _Flat(Squared):
    """A loss without curvature and without a kernel."""

    name, code, constant_curvature, curved = "flat", -1, False, False

    def hessian(self, y, f):
        return np.zeros_like(f)


def test_a_users_loss_gives_what_ours_gives():
    X, y = _table(500)
    own = GradientBoostingClassifier(loss=_Own(), n_estimators=20).fit(X, y > 0)
    ours = GradientBoostingClassifier(loss=Logistic(), n_estimators=20).fit(X, y > 0)
    np.testing.assert_allclose(own.decision_function(X), ours.decision_function(X), rtol=1e-6, atol=1e-9)


def test_a_loss_whose_curvature_is_zero_uses_exact_leaves():
    X, y = _table(300)
    flat = GradientBoostingRegressor(loss=_Flat(), n_estimators=10).fit(X, y)
    newton = GradientBoostingRegressor(n_estimators=10).fit(X, y)
    np.testing.assert_allclose(flat.predict(X), newton.predict(X), rtol=1e-6, atol=1e-8)


def test_a_tweedie_stump_is_the_best_of_all_stumps():
    """One round with two leaves against every threshold, with Newton's gain and step computed here."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(120, 3)).astype(float)
    y = rng.gamma(1.0, np.exp(0.2 * X[:, 0])) * (rng.random(120) < 0.6)
    w, p = rng.integers(1, 4, 120).astype(float), 1.6
    model = GradientBoostingRegressor(
        loss=Tweedie(p), n_estimators=1, learning_rate=0.5, max_leaf_nodes=2, min_samples_leaf=1
    ).fit(X, y, sample_weight=w)
    mu = np.average(y, weights=w)
    assert model.start_[0] == pytest.approx(np.log(mu))
    g, h = w * (mu ** (2 - p) - y * mu ** (1 - p)), w * ((2 - p) * mu ** (2 - p) + (p - 1) * y * mu ** (1 - p))

    def gain(left):
        return sum(g[part].sum() ** 2 / h[part].sum() for part in (left, ~left))

    cuts = [(gain(X[:, f] <= c), f, c) for f in range(3) for c in range(11)]
    _, f, c = max(cuts)
    left = X[:, f] <= c
    expected = np.empty(120)
    for part in (left, ~left):
        newton = -g[part].sum() / h[part].sum()
        step = np.copysign(min(0.5 * abs(newton), np.log1p(abs(newton))), newton)
        expected[part] = mu * np.exp(step)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_tweedie_improves_on_the_constant_in_any_unit(scale):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 4))
    y = scale * rng.gamma(1.0, np.exp(X[:, 0])) * (rng.random(800) < 0.6)
    model = GradientBoostingRegressor(loss="tweedie", n_estimators=30, max_leaf_nodes=4).fit(X[:600], y[:600])
    assert model.evidence_.holds
    constant = np.full(200, y[:600].mean())
    ours, trivial = (mean_tweedie_deviance(y[600:], p, power=1.5) for p in (model.predict(X[600:]), constant))
    assert ours < 0.9 * trivial
    training = mean_tweedie_deviance(y[:600], model.predict(X[:600]), power=1.5)
    assert training == pytest.approx(2 * model.evidence_.history["objective"][-1], rel=1e-9)
    with pytest.raises(ValueError, match="tweedie loss needs y ≥ 0"):
        model.fit(X, y - scale)


def test_log_loss_by_any_of_its_names():
    X, y = make_classification(200, n_informative=4, n_classes=3, random_state=0)
    named, ours, softmax = (
        GradientBoostingClassifier(loss=loss, n_estimators=3).fit(X, y).predict_proba(X)
        for loss in ("log_loss", Logistic(), "softmax")
    )
    np.testing.assert_array_equal(named, ours)
    np.testing.assert_array_equal(named, softmax)


def test_quantile_leaves_cover_their_share():
    X, y = _table(2000)
    model = GradientBoostingRegressor(loss=Quantile(0.8), n_estimators=150).fit(X, y)
    assert abs(np.mean(y <= model.predict(X)) - 0.8) < 0.03


def test_huber_ignores_wild_answers():
    X, y = _table(1000)
    wild = y.copy()
    wild[::50] += 1e4
    model = GradientBoostingRegressor(loss=Huber(0.5), n_estimators=100).fit(X, wild)
    clean = np.ones(len(y), dtype=bool)
    clean[::50] = False
    assert np.sqrt(np.mean((model.predict(X) - y)[clean] ** 2)) < 0.6


@pytest.mark.parametrize(
    "model", [GradientBoostingRegressor(n_estimators=15), GradientBoostingClassifier(n_estimators=15)]
)
def test_weights_are_repetitions(model):
    X, y = _table(150)
    y = y if isinstance(model, GradientBoostingRegressor) else (y > 0).astype(int) + (y > 1)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    model.set_params(min_samples_leaf=1, max_leaf_nodes=4)
    weighted = model.fit(X, y, sample_weight=w)
    raw = weighted._raw_predict(X)
    repeated = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(repeated._raw_predict(X), raw, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"goss": (0.2, 0.1)}, {"loss": "absolute_error"}])
def test_threads_do_not_change_a_bit(options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 6))
    y = X[:, 0] * X[:, 1] + rng.standard_normal(len(X))
    models = []
    for n in (1, 2, 4):
        with threads(n):
            models.append(GradientBoostingRegressor(n_estimators=4, random_state=0, **options).fit(X, y))
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].trees_.threshold, other.trees_.threshold)
        np.testing.assert_array_equal(models[0].trees_.value, other.trees_.value)


def test_classes_side_by_side_do_not_change_a_bit():
    X, y = make_classification(20_000, n_informative=5, n_classes=3, random_state=0)
    models = []
    for n in (1, 2, 4):
        with threads(n):
            models.append(GradientBoostingClassifier(n_estimators=3, max_features=0.5, random_state=0).fit(X, y))
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].trees_.value, other.trees_.value)


def test_monotone_constraints_hold_everywhere():
    X, y = _table(1500)
    model = GradientBoostingRegressor(monotonic_cst=[1, -1, 0, 0, 0], n_estimators=60).fit(X, y + X[:, 0] - X[:, 1])
    rows = np.repeat(X[:50], 40, axis=0)
    for f, sign in ((0, 1), (1, -1)):
        grid = rows.copy()
        grid[:, f] = np.tile(np.linspace(-3, 3, 40), 50)
        steps = np.diff(model.predict(grid).reshape(50, 40), axis=1)
        assert (sign * steps >= -1e-12).all()


def test_interaction_constraints_keep_columns_apart():
    X, y = _table(1000)
    model = GradientBoostingRegressor(interaction_cst="no_interactions", n_estimators=30).fit(X, y)
    trees = model.trees_
    for t in range(trees.n_trees):
        assert len(set(trees.tree(t).feature[trees.tree(t).feature >= 0])) <= 1
    model.set_params(interaction_cst=[[0, 1], [2]]).fit(X, y)
    for t in range(model.trees_.n_trees):
        used = set(model.trees_.tree(t).feature.tolist()) - {-1}
        # a path may not mix groups; a tree starts anywhere, so look at parents and children
        tree = model.trees_.tree(t)
        for node in np.flatnonzero(tree.feature >= 0):
            for child in (tree.left[node], tree.left[node] + 1):
                pair = {int(tree.feature[node]), int(tree.feature[child])} - {-1}
                assert pair <= {0, 1} or pair <= {2} or pair <= {3, 4}
        assert used


def test_categories_are_split_as_sets():
    rng = np.random.default_rng(0)
    c = rng.integers(0, 30, 3000)
    effect = rng.permutation(30) % 2
    y = effect[c] + 0.1 * rng.standard_normal(3000)
    frame = pd.DataFrame({"kind": pd.Categorical([f"k{v:02d}" for v in c]), "noise": rng.standard_normal(3000)})
    model = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=2, learning_rate=1.0, category_smoothing=0.0)
    model.fit(frame, y)
    assert model.trees_.category[0] == 0
    assert model.score(frame, y) > 0.95  # one split finds the two groups of categories
    unseen = pd.DataFrame({"kind": pd.Categorical(["k99", None]), "noise": [0.0, 0.0]})
    predictions = model.predict(unseen)
    assert predictions[0] == predictions[1]  # a category that was not there is missing


def test_categories_by_mask_number_and_name_agree():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(5, 9, 500), rng.standard_normal(500)])
    y = np.where(X[:, 0] == 6, 1.0, 0.0) + 0.1 * X[:, 1]
    frame = pd.DataFrame(X, columns=["a", "b"])
    predictions = [
        GradientBoostingRegressor(n_estimators=5, categorical_features=[True, False]).fit(X, y).predict(X),
        GradientBoostingRegressor(n_estimators=5, categorical_features=[0]).fit(X, y).predict(X),
        GradientBoostingRegressor(n_estimators=5, categorical_features=["a"]).fit(frame, y).predict(frame),
    ]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    np.testing.assert_array_equal(predictions[0], predictions[2])


def test_missing_values_are_information():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 3))
    y = np.where(rng.random(1000) < 0.5, 1.0, 0.0)
    X[y == 1, 0] = np.nan
    model = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=2, learning_rate=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_sparse_and_dense_agree():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8)) * (rng.random((500, 8)) < 0.3)
    y = X[:, 0] + X[:, 1] ** 2
    dense = GradientBoostingRegressor(n_estimators=10).fit(X, y)
    sparse = GradientBoostingRegressor(n_estimators=10).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(scipy.sparse.csc_array(X)))


def test_early_stopping_keeps_the_best_rounds():
    X, y = _table(1000)
    X_val, y_val = _table(300, 7)
    rng = np.random.default_rng(0)
    model = GradientBoostingRegressor(n_estimators=500, learning_rate=0.3).fit(
        X, y + rng.standard_normal(1000), X_val=X_val, y_val=y_val
    )
    losses = model.evidence_.history["validation loss"]
    assert model.n_iter_ < 500
    assert model.n_iter_ == int(np.argmin(losses))
    assert "rounds" in str(model.evidence_)
    by_fraction = GradientBoostingClassifier(n_estimators=500, early_stopping=True, random_state=0).fit(X, y > 0)
    assert by_fraction.n_iter_ < 500


def test_warm_start_goes_on_where_it_stopped():
    X, y = _table(500)
    whole = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    half = GradientBoostingRegressor(n_estimators=10, warm_start=True).fit(X, y)
    half.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_allclose(half.predict(X), whole.predict(X), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="at least the 20 rounds"):
        half.set_params(n_estimators=5).fit(X, y)


@pytest.mark.parametrize("k", [2, 3])
def test_staged_predictions_end_in_the_prediction(k):
    X, y = make_classification(400, n_informative=4, n_classes=k, random_state=0)
    model = GradientBoostingClassifier(n_estimators=7).fit(X, y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 7
    last = stages[-1][:, 0] if k == 2 else stages[-1]  # a column for two classes, as in scikit-learn
    np.testing.assert_allclose(last, model.decision_function(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


@pytest.mark.parametrize("leaves", [2, 31, 80])
def test_one_row_few_rows_and_many_rows_give_the_same_bits(leaves):
    X, y = _table(6000)
    X[::7, 2] = np.nan
    model = GradientBoostingRegressor(n_estimators=40, max_leaf_nodes=leaves, min_samples_leaf=5).fit(X, y)
    many = model.predict(X)  # by masks where leaves allow
    few = np.concatenate([model.predict(X[i : i + 500]) for i in range(0, 6000, 500)])
    one = np.concatenate([model.predict(X[i : i + 1].copy()) for i in range(50)])
    np.testing.assert_array_equal(many, few)
    np.testing.assert_array_equal(many[:50], one)


def test_growth_by_depth_makes_balanced_trees():
    X, y = _table(2000)
    model = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=8, growth="depth").fit(X, y)
    assert model.trees_.depth() == 3
    assert GradientBoostingRegressor(n_estimators=3, max_depth=2).fit(X, y).trees_.depth() == 2


def test_importances_name_the_columns_that_matter():
    X, y = _table(2000)
    model = GradientBoostingRegressor().fit(X, y)
    for kind in ("gain", "split"):
        importances = model.importances(kind)
        np.testing.assert_allclose(importances.sum(), 1.0)
    assert set(np.argsort(model.feature_importances_)[-3:]) == {0, 1, 2}


def test_learning_curve_is_drawn():
    X, y = _table(300)
    model = GradientBoostingRegressor(n_estimators=20).fit(X, y, X_val=X, y_val=y)
    ax = model.plot()
    assert {text.get_text() for text in ax.get_legend().get_texts()} >= {"training", "validation"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (np.where(X[0, 0] == X, np.inf, X), y), "infinity"),
        (lambda X, y: (X, np.zeros(len(y)) + (np.arange(len(y)) < 0)), "only one class"),
    ],
)
def test_bad_data_are_refused(change, words):
    X, y = _table(100)
    X, y = change(X, (y > 0).astype(float))
    with pytest.raises(ValueError, match=words):
        GradientBoostingClassifier(n_estimators=2).fit(X, y)


def test_columns_without_information_do_no_harm():
    X, y = _table(300)
    plain = GradientBoostingRegressor(n_estimators=5).fit(X, y).predict(X)
    padded = np.column_stack([X, np.full(300, np.nan), np.full(300, 7.0)])
    model = GradientBoostingRegressor(n_estimators=5).fit(padded, y)
    np.testing.assert_array_equal(model.predict(padded), plain)
    assert not model.feature_importances_[5:].any()


def test_fewer_rows_than_a_leaf_needs_is_a_constant():
    X, y = _table(10)
    model = GradientBoostingRegressor(min_samples_leaf=20).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"monotonic_cst": [1, 0]}, "X has 5 features"),
        ({"interaction_cst": [[0, 9]]}, "columns 0 to 4"),
        ({"categorical_features": ["a"]}, "does not have"),
        ({"max_bins": 70_000}, "≤ 65535"),
        ({"loss": "cubic"}, "loss must be"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(options, words):
    X, y = _table(100)
    with pytest.raises(ValueError, match=words):
        GradientBoostingRegressor(**options).fit(X, y)


def test_a_margin_loss_for_three_classes_is_refused():
    X, y = make_classification(200, n_informative=4, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match="two classes"):
        GradientBoostingClassifier(loss="hinge").fit(X, y)


@pytest.mark.parametrize("k", [2, 3])
def test_the_history_is_true(k):
    """The losses in the evidence, recomputed from the staged predictions."""
    X, y = make_classification(400, n_informative=4, n_classes=k, random_state=1)
    model = GradientBoostingClassifier(n_estimators=8).fit(X, y)
    losses = [log_loss(y, p) for p in model.staged_predict_proba(X)]
    np.testing.assert_allclose(model.evidence_.history["objective"][1:], losses, rtol=1e-9)
    assert model.evidence_.certificate.value == max(0.0, *np.diff(model.evidence_.history["objective"]))


def test_a_loss_that_rises_is_not_called_proved():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = rng.poisson(np.exp(3 * X[:, 0])).astype(float)
    model = GradientBoostingRegressor(learning_rate=8.0, n_estimators=4, min_samples_leaf=1)
    with pytest.warns(ConvergenceWarning, match="lower learning_rate"):
        model.fit(X, y)
    assert not model.evidence_.holds
    # a loss whose steps have a safe length cannot be driven up that way
    assert model.set_params(loss="poisson").fit(X, y).evidence_.holds


def test_trees_that_were_forged_are_refused(tmp_path):
    X, y = _table(100)
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    model.trees_.feature[0] = 1000
    with pytest.raises(ModelFileError, match="beyond the 5"):
        model.save(tmp_path / "forged.corollary")
    assert not list(tmp_path.iterdir())


def test_a_side_without_curvature_gains_nothing():
    """Weights of many sizes leave sums of curvatures that are zero as they are counted; division by them is no gain."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weights = rng.normal(size=(40, 5)), 10.0 ** rng.uniform(-300, 300, 40)
        y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
        model = GradientBoostingClassifier(n_estimators=8, min_samples_leaf=2).fit(X, y, sample_weight=weights)
        assert np.isfinite(model.trees_.gain).all()
        assert model.evidence_.verify(X, y, sample_weight=weights).stands is not False


def test_huber_counts_a_weight_as_that_many_rows():
    rng = np.random.default_rng(3)
    X, y, times = rng.normal(size=(80, 3)), rng.standard_t(2, size=80), rng.integers(0, 4, size=80)
    settings = {"loss": "huber", "n_estimators": 8, "min_samples_leaf": 1, "max_leaf_nodes": 5}
    weighted = GradientBoostingRegressor(**settings).fit(X, y, sample_weight=times)
    repeated = GradientBoostingRegressor(**settings).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@pytest.mark.parametrize("changes", [{}, {"loss": "absolute_error"}, {"growth": "depth"}, {"max_leaf_nodes": 120}])
def test_threads_that_split_different_leaves_grow_the_same_trees(changes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20_000, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.sin(4 * np.nan_to_num(X[:, 1])) + rng.normal(size=len(X))
    one, two, three = (
        GradientBoostingRegressor(n_estimators=3, n_jobs=n_jobs, **changes).fit(X, y) for n_jobs in (1, 2, 3)
    )
    np.testing.assert_array_equal(one.trees_.threshold, two.trees_.threshold)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.predict(X), three.predict(X))


@pytest.mark.parametrize("rare", [3, 12])
def test_rare_classes_do_not_let_the_loss_rise(rare):
    """Where nearly all rows of a leaf are certain, Newton's step is absurd; see ``Booster._steps``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] > 0).astype(int)
    y[rng.choice(3000, rare, replace=False)] = 2
    model = GradientBoostingClassifier(n_estimators=80, learning_rate=0.3).fit(X, y)
    assert model.evidence_.holds, str(model.evidence_)


def test_more_threads_than_share_a_node_and_no_seed_give_the_same_trees():
    """Six threads, of which four share large nodes; more rows than bins are learned from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(420_000, 2)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=len(X))
    one, six = (GradientBoostingRegressor(n_estimators=2, n_jobs=n, early_stopping=False).fit(X, y) for n in (1, 6))
    for name in ("feature", "threshold", "value", "count"):
        np.testing.assert_array_equal(getattr(one.trees_, name), getattr(six.trees_, name))
