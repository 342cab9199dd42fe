"""Weights of any size: their digits count, their power of two does so only where the documentation says it does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import unlabelled
from instances import CASES, Case, assert_close, every, outputs

from corollary import Blocks, HuberRegressor, KMeans, Lasso, LogisticRegression, Ridge, RidgeCV
from corollary.core.door.weights import LARGEST, NONE, within_reach
from corollary.core.judging import amiss_in

POWERS = (500, -500, 1000, -1000)

# a sum over rows is measured against a penalty, a count of rows or a least mass
PENALISED = {"Ridge": "alpha", "RidgeCV": "alphas", "HuberRegressor": "alpha"}
PENALISED |= dict.fromkeys(("BernoulliNB", "MultinomialNB", "CategoricalNB", "MixedNB"), "alpha")
INVERSE = {"LogisticRegression": "C", "LogisticRegressionCV": "Cs"}
OF_MEMBERS = {f"{kind}{task}" for kind in ("Voting", "Blending", "Stacking") for task in ("Classifier", "Regressor")}
OF_MEMBERS.add("CostSensitiveClassifier")
COUNTED = {
    f"{kind}{task}" for kind in ("KNeighbors", "Bagging", "GradientBoosting") for task in ("Classifier", "Regressor")
} | {"PCA", "BayesianNetwork", "BayesianNetworkClassifier"}  # pseudo-counts are rows
COUNTED |= {"ChowLiu", "HillClimb", "TreeAugmentedNB"}

WEIGHTED: list[Any] = [case for case in [*CASES, *unlabelled.CASES] if case.weighted]
FREE = [case for case in WEIGHTED if case.name not in COUNTED | OF_MEMBERS | PENALISED.keys() | INVERSE.keys()]


def data_of(case: Any) -> tuple[Any, ...]:
    return case.data() if isinstance(case, Case) else (case.rows(),)


def answers(model: Any, X: Any) -> dict[str, Any]:
    found = outputs(model, X) | unlabelled.said(model, X)
    return found | ({"labels_": model.labels_} if hasattr(model, "labels_") else {})


def usual_weights(case: Any) -> Any:
    return np.random.default_rng(2).uniform(0.5, 1.5, len(data_of(case)[0]))


def fit(case: Any, weights: Any, **changes: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not converge says so, and is looked at by the test
        return case.make(**changes).fit(*data_of(case), sample_weight=weights)


@every(FREE)
def test_a_power_of_two_changes_nothing(case: Any) -> None:
    X, weights = data_of(case)[0], usual_weights(case)
    plain = fit(case, weights)
    for power in POWERS:
        scaled = fit(case, np.ldexp(weights, power))
        assert_close(answers(scaled, X), answers(plain, X), rtol=1e-12, atol=1e-12)
        assert scaled.evidence_.holds == plain.evidence_.holds, (power, scaled.evidence_)
        assert "sample_weight was multiplied by 2^" in str(scaled.evidence_)
        if hasattr(plain, "inertia_"):
            assert scaled.inertia_ == pytest.approx(np.ldexp(plain.inertia_, power), rel=1e-12)


@every([case for case in WEIGHTED if case.name in PENALISED.keys() | INVERSE.keys()])
def test_a_penalty_is_measured_against_the_weights_that_were_given(case: Any) -> None:
    """Σ w ℓ + α‖β‖² with weights 2ᵏ w is the problem with weights w and a penalty of 2⁻ᵏ α."""
    X, weights = data_of(case)[0], usual_weights(case)
    for power in POWERS[:2]:
        name = PENALISED.get(case.name) or INVERSE[case.name]
        strength = np.ldexp(np.asarray(getattr(case.make(), name), dtype=float), -power if name[0] == "a" else power)
        changed = fit(case, weights, **{name: strength.tolist()})
        scaled = fit(case, np.ldexp(weights, power))
        if changed.evidence_.holds and scaled.evidence_.holds:  # not all solvers can do without a penalty
            assert_close(answers(scaled, X), answers(changed, X), rtol=1e-6, atol=1e-6)


@every([case for case in WEIGHTED if case.name in COUNTED | OF_MEMBERS])
def test_counts_are_those_of_many_or_few_rows(case: Any) -> None:
    """1e27 rows and 1e300 rows of the same kind are the same; so is the refusal of less than one row."""
    X, weights = data_of(case)[0], usual_weights(case)
    for power in POWERS:
        ends = []
        for size in (90 * np.sign(power), power):
            try:
                ends.append(answers(fit(case, np.ldexp(weights, size)), X))
            except ValueError as refusal:
                ends.append(str(refusal).split(":")[0].split()[0])
        if isinstance(ends[0], str):
            assert ends[0] == ends[1]
        else:
            # the last digits of models without a penalty are those of the way to them
            close = 1e-3 if case.name in OF_MEMBERS else 1e-9
            assert_close(ends[1], ends[0], rtol=close, atol=close)


EXTREME = {
    "1e308": lambda n: np.full(n, 1e308),
    "1e155": lambda n: np.full(n, 1e155),
    "1e300": lambda n: np.full(n, 1e300),
    "1e-300": lambda n: np.full(n, 1e-300),
    "1e-320": lambda n: np.full(n, 1e-320),
    "1e300 and 1e-300": lambda n: np.where(np.arange(n) % 2, 1e300, 1e-300),
    "1 and 1e-320": lambda n: np.where(np.arange(n) % 2, 1.0, 1e-320),
    "1e308, one 1": lambda n: np.where(np.arange(n) == 3, 1.0, 1e308),
    "one row": lambda n: (np.arange(n) == 3) * 1e-310,
}


@pytest.mark.parametrize("what", EXTREME)
@every(WEIGHTED)
def test_extreme_weights_give_an_answer_or_a_sentence(case: Any, what: str) -> None:
    X = data_of(case)[0]
    try:
        model = fit(case, EXTREME[what](len(X)))
    except np.linalg.LinAlgError:
        pytest.fail("an error of linear algebra is no sentence")
    except ValueError:
        return
    assert not np.isnan(model.evidence_.certificate.value) or not model.evidence_.holds
    assert amiss_in(model) is None  # a file of it can be read
    for name, value in answers(model, X).items():
        assert np.asarray(value).dtype.kind not in "fc" or np.isfinite(value).all(), name


def test_within_reach() -> None:
    weights = np.array([0.0, 0.3, 1.0])
    same, unit = within_reach(weights)
    assert same is weights
    assert unit == 1.0
    for power in (101, 1023, -101, -1000):
        given = np.ldexp(weights, power)
        moved, unit = within_reach(given)
        assert 1 / LARGEST <= moved.max() <= LARGEST
        np.testing.assert_array_equal(moved / moved.max(), given / given.max())
        np.testing.assert_array_equal(moved / unit, given)
    moved, _ = within_reach(np.array([1.0, 1e-320, NONE]))
    np.testing.assert_array_equal(moved, [1.0, 0.0, NONE])


@every([case for case in CASES if case.name in ("LinearRegression", "Ridge", "LogisticRegression", "Lasso")])
def test_blocks_share_one_power(case: Case) -> None:
    X, y = case.data()
    weights = np.ldexp(usual_weights(case), 600)
    weights[30:] = np.ldexp(weights[30:], -20)
    whole = fit(case, weights)
    blocks = Blocks([(X[:30], y[:30], weights[:30]), (X[30:], y[30:], weights[30:])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = case.make().fit(blocks)
    if whole.evidence_.holds and parts.evidence_.holds:
        assert_close(outputs(parts, X), outputs(whole, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["KMeans", "MiniBatchKMeans", "SoftKMeans", "GaussianMixture", "Mixture", "PCA"])
def test_rows_in_parts_are_refused_where_no_power_can_be_shared(name: str) -> None:
    case = next(case for case in unlabelled.FIRST if case.name == name)
    X, weights = case.rows(), np.full(unlabelled.N_ROWS, 1e150)
    with pytest.raises(ValueError, match=r"largest sample_weight of these rows is 1e\+150"):
        case.make().fit(Blocks([(X, None, weights)]))
    if hasattr(case.make(), "partial_fit"):
        with pytest.raises(ValueError, match="divide the weights of all parts"):
            case.make().partial_fit(X, sample_weight=weights)


@pytest.mark.parametrize("model", [LogisticRegression(), Ridge(), RidgeCV(), HuberRegressor(), Lasso(), KMeans(2)])
@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
def test_weights_beside_which_a_penalty_is_nothing_say_so(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + rng.normal(size=60)
    target = None if isinstance(model, KMeans) else y > 0 if isinstance(model, LogisticRegression) else y
    said = str(model.fit(X, target, sample_weight=np.full(60, 1e300)).evidence_)
    summed = not isinstance(model, (Lasso, KMeans))  # a mean over rows does not grow with their weights
    assert ("leave a penalty of ordinary strength without effect" in said) == summed
    assert "without effect" not in str(model.fit(X, target, sample_weight=np.full(60, 1e-300)).evidence_)


@pytest.mark.parametrize("weights", [np.ones(3), ["a"] * 60, np.ones((60, 2)), 1j, [[1.0], [1.0, 2.0]]])
def test_weights_that_are_none_are_refused_by_name(weights: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    for model in (Ridge(), KMeans(2)):
        with pytest.raises((ValueError, TypeError), match="sample_weight"):
            model.fit(X, X[:, 0], sample_weight=weights)
