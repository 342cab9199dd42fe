"""The luck of a search: intervals that cover it, whatever the way to measure it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, GroupKFold, RandomizedSearchCV, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.evaluate.one_column_search import OneColumnSearch, world

from corollary import LogisticRegression, Ridge
from corollary.evaluate import OptimisationBias, bootstrap_optimisation_bias, optimisation_bias

WORLDS = {
    "nothing to find": np.full(20, 0.5),
    "weak, graded": np.linspace(0.5, 0.65, 20),
    "one column": np.array([0.75] + [0.5] * 19),
    "all good": np.full(20, 0.9),
}


def covered(method: str, right: Any, rows: int, simulations: int) -> float:
    """The share of simulations whose interval holds the best score less the true score of what was chosen."""
    hits = 0
    for simulation in range(simulations):
        X, y = world(np.random.default_rng([7, simulation, rows]), rows, right)
        search = OneColumnSearch().fit(X, y)
        chosen = right[search.column_]
        truth = search.best_score_ - (chosen if search.sign_ > 0 else 1 - chosen)
        if method == "bootstrap":
            low, high = of_held_out(X, y, simulation).interval
        else:
            low, high = optimisation_bias(OneColumnSearch(), X, y, method=method, repeats=15, seed=simulation).interval
        hits += low <= truth <= high
    return hits / simulations


def of_held_out(X: Any, y: Any, seed: int) -> OptimisationBias:
    agree, fold = np.sign(X) * y[:, None], np.arange(len(y)) % 5
    hit = np.empty(agree.shape)
    for number in range(5):
        sign = np.where(agree[fold != number].mean(axis=0) >= 0, 1, -1)
        hit[fold == number] = agree[fold == number] * sign > 0
    return bootstrap_optimisation_bias(
        lambda column, rows: hit[rows, column].mean(),
        X.shape[1],
        len(y),
        greater_is_better=True,
        draws=100,
        seed=seed,
    )


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize(("method", "simulations"), [("nesting", 150), ("permutation", 50), ("bootstrap", 50)])
def test_the_interval_covers_the_luck(method: str, simulations: int, name: str) -> None:
    assert covered(method, WORLDS[name], 60, simulations) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("rows", [60, 200])
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("method", ["nesting", "permutation", "bootstrap"])
def test_the_interval_covers_the_luck_in_many_simulations(method: str, name: str, rows: int) -> None:
    assert covered(method, WORLDS[name], rows, 200) >= 0.9


def test_luck_is_found_where_there_is_nothing_else() -> None:
    biases = []
    for simulation in range(40):
        X, y = world(np.random.default_rng([3, simulation]), 100, np.full(30, 0.5))
        biases.append(optimisation_bias(OneColumnSearch(), X, y).bias)
    assert 0.08 < np.mean(biases) < 0.16  # the best of 30 means of 100 coins is about 0.5 + 2 × 0.05


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    X, y = make_classification(120, 6, flip_y=0.2, random_state=0)
    return X, y


@pytest.mark.parametrize("scoring", [None, "roc_auc", "neg_log_loss"])
@pytest.mark.parametrize("method", ["nesting", "permutation", "bootstrap"])
def test_searches_and_scorers(rows: tuple[Any, Any], method: str, scoring: str | None) -> None:
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 9, 21]}, cv=3)
    found = optimisation_bias(search, *rows, method=method, scoring=scoring, repeats=5, cv=3)
    assert found.configurations == 3
    assert found.interval[0] <= found.bias <= found.interval[1]
    np.testing.assert_allclose(found.corrected, found.best_score - found.bias)
    if method != "bootstrap":
        fitted = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 9, 21]}, cv=3, scoring=scoring).fit(*rows)
        np.testing.assert_allclose(found.best_score, fitted.best_score_)
    assert (found.p_value is None) == (method != "permutation")


def test_models_by_name_pipelines_random_searches_groups_and_time(rows: tuple[Any, Any]) -> None:
    X, y = rows
    weights, groups = np.linspace(0.5, 2, len(y)), np.arange(len(y)) // 4
    models = {"logistic": make_pipeline(StandardScaler(), LogisticRegression()), "bayes": GaussianNB()}
    assert optimisation_bias(models, X, y, method="bootstrap", repeats=20).configurations == 2
    drawn = RandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}, n_iter=3, random_state=0, cv=3)
    found = optimisation_bias(drawn, X, X[:, 0] + y, method="bootstrap", sample_weight=weights, repeats=20)
    assert found.configurations == 3
    grouped = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}, cv=GroupKFold(3))
    for method in ("nesting", "bootstrap"):
        assert optimisation_bias(grouped, X, y, cv=GroupKFold(4), groups=groups, method=method, repeats=20).repeats > 3
    later = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}, cv=TimeSeriesSplit(3))
    assert optimisation_bias(later, X, y, cv=TimeSeriesSplit(3), method="bootstrap", repeats=20).repeats == 20


@pytest.mark.parametrize("seed", [0, 1])
def test_the_settings_of_a_random_search_are_drawn_with_its_groups(seed: int) -> None:
    X, y = make_classification(60, 4, random_state=seed)
    settings = {"n_neighbors": [1, 3, 5, 7, 9]}
    search = RandomizedSearchCV(KNeighborsClassifier(), settings, n_iter=3, cv=GroupKFold(3), random_state=seed)
    groups = np.arange(60) // 4
    luck = optimisation_bias(search, X, y, groups=groups, method="bootstrap", repeats=20)
    assert luck.configurations == 3
    assert luck == optimisation_bias(
        search.fit(X, y, groups=groups), X, y, groups=groups, method="bootstrap", repeats=20
    )


def test_losses_run_the_other_way() -> None:
    error = np.random.default_rng(0).normal(1.0, 0.5, (10, 80))
    found = bootstrap_optimisation_bias(lambda c, r: error[c, r].mean(), 10, 80, greater_is_better=False)
    mirrored = bootstrap_optimisation_bias(lambda c, r: -error[c, r].mean(), 10, 80, greater_is_better=True)
    assert found.best_score == error.mean(axis=1).min() == -mirrored.best_score
    assert found.bias == mirrored.bias
    np.testing.assert_allclose(found.corrected, found.best_score + found.bias)
    assert found.corrected_interval[0] < found.corrected < found.corrected_interval[1]


def test_groups_are_drawn_whole_and_draws_without_a_score_are_drawn_again() -> None:
    groups = np.repeat(np.arange(10), 3)

    def score(configuration: int, rows: Any) -> float:
        assert len(rows) % 3 == 0
        if len(np.unique(rows)) < 9:
            raise ValueError("no score")
        return float(configuration)

    assert bootstrap_optimisation_bias(score, 2, 30, greater_is_better=True, draws=3, groups=groups).bias == 0
    with pytest.raises(ValueError, match="gives no number for 21 bootstrap samples in a row"):
        bootstrap_optimisation_bias(
            lambda c, r: 1.0 if len(np.unique(r)) == 30 else np.nan, 2, 30, greater_is_better=True
        )


def test_it_reads_as_a_sentence() -> None:
    found = OptimisationBias("nesting", 0.91234, 0.0123, (0.0021, 0.0225), True, 20, 5)
    assert str(found) == (
        "The best score of 20 configurations, 0.912, is too good by 0.012 (95 % interval 0.002 to 0.022, 5 outer "
        "folds): expect 0.900 on new rows."
    )
    shuffled = OptimisationBias("permutation", 0.5, -0.01, (-0.2, 0.18), True, 1, 30, 0.032258)
    assert str(shuffled) == (
        "The best score of 1 configuration, 0.50, shows no luck (95 % interval −0.20 to 0.18, 30 permutations): expect "
        "0.51 on new rows. Searches on shuffled targets get as far with p = 0.032."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "jackknife"}, "method must be one of 'nesting', 'permutation', 'bootstrap', but it is 'jackknife'"),
        ({"repeats": 1}, "repeats must be at least 2, but it is 1"),
        ({"search": GaussianNB()}, r"search must have a best_score_ after its fit .* but GaussianNB has none"),
        ({"search": GaussianNB(), "method": "bootstrap"}, "needs a search such as GridSearchCV, not GaussianNB"),
        ({"search": 3}, "search must be a search or models by name, but it is a int"),
        ({"search": {}}, "at least one model, but the mapping is empty"),
        ({"search": GaussianNB(), "inner": 3}, "cv can be set for a search such as GridSearchCV, not for GaussianNB"),
        ({"groups": [1, 2]}, r"groups must have one entry for each row of X \(120\), but it has 2"),
    ],
)
def test_bad_input(rows: tuple[Any, Any], arguments: dict[str, Any], message: str) -> None:
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}, cv=2)
    with pytest.raises(ValueError, match=message):
        optimisation_bias(**({"search": search, "X": rows[0], "y": rows[1]} | arguments))
