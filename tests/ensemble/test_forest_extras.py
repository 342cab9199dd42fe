"""What else a forest knows: proximity and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_regression

from corollary.ensemble.forest.extra_trees import ExtraTreesRegressor
from corollary.ensemble.forest.random_forest import RandomForestClassifier, RandomForestRegressor
from corollary.solvers.trees.forest import shared_leaves


def test_proximity_by_hand() -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=15, random_state=0).fit(X, y)
    leaves = model.apply(X)
    expected = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    found = model.proximity(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (np.diag(found) == 1).all()
    np.testing.assert_allclose(model.proximity(X[:7], X[60:]), expected[:7, 60:], atol=1e-6)
    same = y[:, None] == y[None, :]
    assert found[same].mean() > 10 * found[~same].mean()


def test_the_nearest_rows_alone() -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    whole, few = model.proximity(X), model.proximity(X, top=5)
    assert few.shape == (150, 150)
    assert np.diff(few.indptr).max() <= 5
    best = -np.sort(-whole, axis=1)[:, :5]
    np.testing.assert_allclose(-np.sort(-few.toarray(), axis=1)[:, :5], best, atol=1e-6)


def test_too_many_pairs_are_refused_before_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)

    def refuse(needed: int, what: str, instead: str) -> None:
        assert needed == 4 * 150 * 150
        raise MemoryError(f"{what}: {instead}")

    monkeypatch.setattr(shared_leaves, "check_memory", refuse)
    with pytest.raises(MemoryError, match=r"150 × 150 rows: use top="):
        model.proximity(X)
    assert model.proximity(X, top=3).shape == (150, 150)
    with pytest.raises(ValueError, match="top must be"):
        model.proximity(X, top=0)


@pytest.mark.parametrize("cls", [RandomForestRegressor, ExtraTreesRegressor])
def test_quantiles_by_hand(cls: type) -> None:
    X, y = make_regression(150, 3, noise=10.0, random_state=0)
    model = cls(n_estimators=9, min_samples_leaf=4, keep_targets=True, bootstrap=False, random_state=0).fit(X, y)
    new = X[:20] + 0.1
    train, leaves = model.apply(X), model.apply(new)
    levels = [0.0, 0.25, 0.5, 0.9, 1.0]
    found = model.predict_quantiles(new, levels)
    for i in range(20):
        together = train == leaves[i]
        weights = (together / together.sum(axis=0)).mean(axis=1)
        order = np.argsort(y)
        cumulated = np.cumsum(weights[order])
        for level, value in zip(levels, found[i], strict=True):
            if level == 0:
                assert value == y[order][weights[order] > 0][0]
            else:
                assert value == y[order][np.searchsorted(cumulated, level - 1e-9)]
        assert weights @ y == pytest.approx(model.predict(new[i : i + 1])[0])


def test_quantiles_cover_what_they_promise() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(2000, 2))
    y = (0.2 + X[:, 0]) * rng.normal(size=2000)  # noise that depends on the row
    model = RandomForestRegressor(min_samples_leaf=20, keep_targets=True, random_state=0).fit(X[:1000], y[:1000])
    low, middle, high = model.predict_quantiles(X[1000:], [0.1, 0.5, 0.9]).T
    assert np.all(low <= middle)
    assert np.all(middle <= high)
    inside = (low <= y[1000:]) & (y[1000:] <= high)
    assert 0.75 < inside.mean() < 0.86
    assert np.corrcoef(high - low, X[1000:, 0])[0, 1] > 0.8
    np.testing.assert_array_equal(
        model.predict_quantiles(X[:5], [0.9, 0.1]), model.predict_quantiles(X[:5], [0.1, 0.9])[:, ::-1]
    )


def test_quantiles_need_their_targets() -> None:
    X, y = make_regression(60, 3, random_state=0)
    with pytest.raises(ValueError, match="keep_targets=True"):
        RandomForestRegressor(n_estimators=2).fit(X, y).predict_quantiles(X)
    model = RandomForestRegressor(n_estimators=2, keep_targets=True).fit(X, y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_quantiles(X, [1.5])
    with pytest.raises(ValueError, match="for one output"):
        RandomForestRegressor(keep_targets=True).fit(X, np.column_stack([y, y]))
    assert not hasattr(model.set_params(keep_targets=False).fit(X, y), "leaf_targets_")
