"""Naive Bayes against scikit-learn, and against what must be true of any of its models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.naive_bayes as peer
from scipy import sparse, stats
from sklearn.datasets import load_iris

import corollary
from corollary import Blocks
from corollary.bayes import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB

N = 150
rng = np.random.default_rng(0)
Y = rng.integers(3, size=N)
WEIGHTS = rng.random(N) * rng.integers(0, 3, size=N)
NUMBERS = rng.normal(size=(N, 4)) + Y[:, None]
COUNTS = rng.poisson(1 + Y[:, None] * np.array([0.0, 1.0, 0.5, 2.0, 0.0])).astype(float)
DATA = {GaussianNB: NUMBERS, BernoulliNB: COUNTS, MultinomialNB: COUNTS, CategoricalNB: COUNTS, MixedNB: NUMBERS}
NAMES = {
    "GaussianNB": ["theta_", "var_", "class_count_", "class_prior_"],
    "CategoricalNB": ["category_count_", "feature_log_prob_", "class_count_", "class_log_prior_", "n_categories_"],
}
PLAIN = ["feature_count_", "feature_log_prob_", "class_count_", "class_log_prior_"]
each_model = pytest.mark.parametrize("cls", list(DATA), ids=lambda cls: cls.__name__)


def with_holes(X: Any) -> Any:
    return np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)


def assert_same(one: Any, two: Any, X: Any, **tolerance: Any) -> None:
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), **{"rtol": 1e-8, "atol": 1e-10} | tolerance)
    np.testing.assert_allclose(one.class_count_, two.class_count_, rtol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("GaussianNB", {"var_smoothing": 1e-13}),  # of which scikit-learn takes the share of unweighted variances
        ("GaussianNB", {"var_smoothing": 1e-13, "priors": [0.2, 0.3, 0.5]}),
        ("BernoulliNB", {"alpha": 0.3, "binarize": 1.0}),
        ("BernoulliNB", {"alpha": 2.0, "fit_prior": False}),
        ("MultinomialNB", {"alpha": 0.3, "class_prior": [0.2, 0.3, 0.5]}),
        ("MultinomialNB", {"alpha": [0.3, 1.0, 2.0, 0.1, 0.2]}),
        ("CategoricalNB", {"alpha": 0.3, "min_categories": 9}),
    ],
)
def test_as_scikit_learn(name: str, settings: dict[str, Any], weights: Any, container: Any) -> None:
    if container is not np.asarray and name in ("GaussianNB", "CategoricalNB"):
        return
    X = NUMBERS if name == "GaussianNB" else container(COUNTS)
    X = X.astype(int) if name == "CategoricalNB" else X
    ours = getattr(corollary, name)(**settings).fit(X, Y, weights)
    theirs = getattr(peer, name)(**settings).fit(X, Y, weights)
    for attribute in NAMES.get(name, PLAIN):
        values = getattr(ours, attribute), getattr(theirs, attribute)
        for one, two in zip(*values, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12, err_msg=attribute)
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.evidence_.verify(X, Y, weights).stands


@pytest.mark.parametrize("holes", [False, True])
@each_model
def test_parts_are_the_whole(cls: Any, holes: bool) -> None:
    if holes and cls in (BernoulliNB, MultinomialNB):
        return
    X = with_holes(DATA[cls]) if holes else DATA[cls]
    whole, parts = cls().fit(X, Y, WEIGHTS), cls()
    for start in range(0, N, 40):
        own = slice(start, start + 40)
        parts.partial_fit(X[own], Y[own], classes=[0, 1, 2], sample_weight=WEIGHTS[own])
    assert_same(parts, whole, X)
    blocks = Blocks([(X[:60], Y[:60], WEIGHTS[:60]), (X[60:], Y[60:], WEIGHTS[60:])])
    assert_same(cls().fit(blocks), whole, X)
    assert whole.evidence_.verify(X, Y, WEIGHTS).stands


@each_model
def test_blocks_with_unknown_labels(cls: Any) -> None:
    y = np.where(np.arange(N) % 3 == 0, Y, -1)
    whole = cls(unknown=-1, tol=1e-9).fit(DATA[cls], y)
    blocks = Blocks([(DATA[cls][:60], y[:60]), (DATA[cls][60:], y[60:])])
    assert_same(cls(unknown=-1, tol=1e-9).fit(blocks), whole, DATA[cls], rtol=1e-6, atol=1e-6)
    assert whole.classes_.tolist() == [0, 1, 2]
    assert whole.evidence_.certificate.kind is corollary.Kind.STATIONARY
    assert np.diff(whole.evidence_.history["objective"]).max() <= 1e-9
    assert whole.evidence_.verify(DATA[cls], y).stands


def test_balanced_classes_in_blocks() -> None:
    whole = GaussianNB(class_weight="balanced").fit(NUMBERS[:100], Y[:100])
    np.testing.assert_allclose(whole.class_prior_, 1 / 3)
    blocks = Blocks([(NUMBERS[:30], Y[:30]), (NUMBERS[30:100], Y[30:100])])
    assert_same(GaussianNB(class_weight="balanced").fit(blocks), whole, NUMBERS)


def test_a_label_of_minus_one_is_a_class_unless_it_is_said_to_be_none() -> None:
    y = np.where(Y > 0, 1, -1)
    assert GaussianNB().fit(NUMBERS, y).classes_.tolist() == [-1, 1]
    assert GaussianNB(unknown="?").fit(NUMBERS, np.where(Y > 0, "yes", "no")).classes_.tolist() == ["no", "yes"]
    texts = np.where(np.arange(N) % 2, "?", np.where(Y > 0, "yes", "no"))
    assert GaussianNB(unknown="?").fit(NUMBERS, texts).classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="Every label in y is unknown=-1"):
        GaussianNB(unknown=-1).fit(NUMBERS, np.full(N, -1))
    with pytest.raises(ValueError, match="partial_fit learns from rows with a label"):
        GaussianNB(unknown=-1).partial_fit(NUMBERS, np.where(np.arange(N) % 2, Y, -1), classes=[0, 1, 2])


def test_what_is_missing_is_left_out() -> None:
    X = with_holes(NUMBERS)
    model = GaussianNB(var_smoothing=0.0).fit(X, Y)
    for k in range(3):
        np.testing.assert_allclose(model.theta_[k], np.nanmean(X[k == Y], axis=0))
        np.testing.assert_allclose(model.var_[k], np.nanvar(X[k == Y], axis=0))
    joint = np.log(model.class_prior_) + np.nansum(
        stats.norm(model.theta_, np.sqrt(model.var_)).logpdf(X[:, None, :]), axis=2
    )
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint)


def test_far_from_zero_no_digits_are_lost() -> None:
    X = NUMBERS + 1e9
    model, exact = GaussianNB(var_smoothing=0.0).fit(X, Y), X.astype(np.longdouble)
    for k in range(3):
        np.testing.assert_allclose(model.var_[k], exact[k == Y].var(axis=0).astype(float), rtol=1e-9)
    assert model.evidence_.holds
    assert model.evidence_.verify(X, Y).stands


def test_columns_that_do_not_vary_say_nothing() -> None:
    X = np.full((20, 3), 0.1)
    model = GaussianNB().fit(X, np.arange(20) < 15)
    np.testing.assert_allclose(model.predict_proba([[0.1, 0.1, 0.1], [7.0, -3.0, 0.0]])[:, 1], 0.75)
    with pytest.raises(ValueError, match="does not spread"):
        GaussianNB(var_smoothing=0.0).fit(np.column_stack([np.arange(20.0), X]), np.arange(20) < 15)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_of_frames(frame: Any) -> None:
    sky, wind = np.array(["blue", "grey", "red"])[COUNTS[:, 0].astype(int) % 3], COUNTS[:, 1]
    table = frame({"sky": sky, "wind": wind})
    model = CategoricalNB().fit(table, Y)
    codes = np.column_stack([COUNTS[:, 0] % 3, wind])
    np.testing.assert_allclose(model.predict_proba(table), CategoricalNB().fit(codes, Y).predict_proba(codes))
    assert model.categories_[0].tolist() == ["blue", "grey", "red"]
    new = frame({"sky": ["green"], "wind": [1.0]})  # nobody has seen green: it is left out
    np.testing.assert_allclose(
        model.predict_proba(new), CategoricalNB().fit(codes, Y).predict_proba([[np.nan, 1.0]]), rtol=1e-12
    )


MIXED = pd.DataFrame(
    {
        "number": NUMBERS[:, 0],
        "word": pd.Categorical(np.array(["a", "b", "c", "d"])[np.minimum(COUNTS[:, 1], 3).astype(int)]),
        "flag": COUNTS[:, 2] > 1,
        "events": COUNTS[:, 3].astype(int),
        "time": np.abs(NUMBERS[:, 1]),
        "other": NUMBERS[:, 2],
    }
)
KINDS = {"events": "poisson", "time": "exponential"}


def test_mixed_columns_are_the_product_of_their_models() -> None:
    model = MixedNB(columns=KINDS).fit(MIXED, Y)
    expected = ["gaussian", "categorical", "bernoulli", "poisson", "exponential", "gaussian"]
    assert model.kinds_.tolist() == expected
    joint = np.log(np.bincount(Y) / N)[None] + np.zeros((N, 3))
    joint += GaussianNB().fit(MIXED[["number", "other"]], Y).predict_joint_log_proba(MIXED[["number", "other"]])
    joint += CategoricalNB().fit(MIXED[["word"]], Y).predict_joint_log_proba(MIXED[["word"]])
    joint += BernoulliNB().fit(MIXED[["flag"]], Y).predict_joint_log_proba(MIXED[["flag"]])
    joint -= 3 * np.log(np.bincount(Y) / N)
    for k in range(3):
        own = k == Y
        events, time = MIXED["events"], MIXED["time"]
        rate = (events[own].sum() + events.mean()) / (own.sum() + 1)
        joint[:, k] += stats.poisson(rate).logpmf(events)
        joint[:, k] += stats.expon(scale=(time[own].sum() + time.mean()) / (own.sum() + 1)).logpdf(time)
    np.testing.assert_allclose(model.predict_joint_log_proba(MIXED), joint, rtol=1e-9)
    assert model.evidence_.verify(MIXED, Y).stands
    model.params_["poisson.rate"] = model.params_["poisson.rate"] * 1.01
    assert model.evidence_.verify(MIXED, Y).stands is False


def test_mixed_columns_with_gaps_and_unknown_labels(tmp_path: Path) -> None:
    table = MIXED.astype({"events": float, "flag": object})
    table = table.mask(np.random.default_rng(2).random(table.shape) < 0.1)
    table["word"], table["flag"] = table["word"].astype("category"), table["flag"].astype("boolean")
    y = np.where(np.arange(N) % 2, Y, -1)
    model = MixedNB(columns=KINDS, unknown=-1).fit(table, y)
    assert model.evidence_.holds
    assert model.evidence_.verify(table, y).stands
    model.save(tmp_path / "model")
    again = corollary.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_parts_of_a_frame() -> None:
    whole, parts = MixedNB(columns=KINDS).fit(MIXED, Y), MixedNB(columns=KINDS)
    parts.partial_fit(MIXED[:60], Y[:60], classes=[0, 1, 2]).partial_fit(MIXED[60:], Y[60:])
    np.testing.assert_allclose(parts.predict_proba(MIXED), whole.predict_proba(MIXED), rtol=1e-8)
    strange = MIXED[:3].assign(word=["a", "zebra", "b"])
    with pytest.raises(ValueError, match="has the category 'zebra'"):
        parts.partial_fit(strange, Y[:3])


def test_kinds_that_are_wrong() -> None:
    for columns, message in (
        ({"nobody": "poisson"}, "names 'nobody', which is no column of X"),
        ({"number": "round"}, "must be one of gaussian, bernoulli"),
        ({"number": "poisson"}, "Poisson needs whole numbers"),
        ({"number": "bernoulli"}, "Bernoulli needs zeros and ones"),
    ):
        with pytest.raises(ValueError, match=message):
            MixedNB(columns=columns).fit(MIXED, Y)


@pytest.mark.parametrize("classes", [2, 3])
@each_model
def test_log_odds(cls: Any, classes: int) -> None:
    X, y = DATA[cls], Y % classes
    model = cls(columns=dict.fromkeys(range(5), "poisson")) if cls is MixedNB else cls()
    X = COUNTS if cls is MixedNB else X
    model.fit(X, y)
    coef, intercept, *rest = model.log_odds()
    rows = (X > 0).astype(float) if cls is BernoulliNB else X
    if cls is CategoricalNB:
        rows = np.concatenate([X[:, [j]] == np.arange(size) for j, size in enumerate(model.n_categories_)], axis=1)
    scores = rows @ coef.T + intercept + (rows**2 @ rest[0].T if rest else 0.0)
    logs = model.predict_log_proba(X)
    if classes == 2:
        np.testing.assert_allclose(scores, logs[:, 1] - logs[:, 0], rtol=1e-8, atol=1e-8)
    else:
        np.testing.assert_allclose(scores - scores[:, :1], logs - logs[:, :1], rtol=1e-8, atol=1e-8)


def test_log_odds_that_are_not_linear() -> None:
    with pytest.raises(ValueError, match="not linear in columns that are gaussian"):
        MixedNB().fit(NUMBERS, Y).log_odds()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("cls", [BernoulliNB, MultinomialNB])
def test_without_smoothing_what_was_never_seen_is_impossible(cls: Any, container: Any) -> None:
    X, y = np.array([[1, 0, 1], [1, 0, 0], [0, 2, 1], [0, 1, 0]]), [0, 0, 0, 1]
    model = cls(alpha=0.0).fit(container(X), y)
    chances = model.predict_proba(container(np.array([[1, 0, 0], [0, 1, 0]])))
    assert chances[0].tolist() == [1.0, 0.0]  # of class 1 the first column is never there
    assert chances[1, 1] >= 0.5
    nowhere = cls(alpha=0.0).fit(container(X[:, :2]), [0, 0, 1, 1])  # a row of both kinds is of no class
    np.testing.assert_allclose(nowhere.predict_proba(container(np.array([[1, 1]]))), [[0.5, 0.5]])


def test_a_share_of_labels_is_enough() -> None:
    """Iris with a tenth of its labels: the others are found from where the rows lie."""
    X, y = load_iris(return_X_y=True)
    few = np.where(np.random.default_rng(0).random(len(y)) < 0.1, y, -1)
    assert GaussianNB(unknown=-1).fit(X, few).score(X, y) > 0.9


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 1.0, 1e12, 1e17])
def test_variances_of_parts_are_those_of_all_rows_however_large_the_smoothing(var_smoothing: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    whole, parts = GaussianNB(var_smoothing=var_smoothing).fit(X, y), GaussianNB(var_smoothing=var_smoothing)
    for begin in range(0, 200, 20):
        parts.partial_fit(X[begin : begin + 20], y[begin : begin + 20], classes=[0, 1])
    assert parts.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-13)
    np.testing.assert_allclose(parts.var_, whole.var_, rtol=1e-13)
    assert parts.evidence_.verify(X, y).stands


@pytest.mark.parametrize("seed", range(20))
def test_a_class_without_weight_has_the_mean_of_all_up_to_its_rounding(seed: int) -> None:
    """Means near zero of numbers that cancel: what rounding leaves is measured by the spread of all rows."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(90, 6)), np.r_[np.zeros(88), 1, 1]
    X -= X[:88].mean(axis=0) * (1 - 1e-6)
    weights = np.r_[np.ones(88), 0.0, 0.0]
    model = GaussianNB().fit(X, y, sample_weight=weights)
    assert model.evidence_.verify(X, y, weights).stands


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("offset", [1e6, 1e9, 1e13])
def test_the_floor_of_numbers_far_from_zero_stands(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50, 2)) * 0.01 + offset, rng.integers(0, 3, 50)
    assert GaussianNB().fit(X, y).evidence_.verify(X, y).stands
