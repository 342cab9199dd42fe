"""CascadeClassifier: rates that are what they claim, stages that end for a reason, the same answer on any threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import corollary
from corollary import registry
from corollary.callbacks import TimeBudget
from corollary.core import memory
from corollary.core.evidence import Status
from corollary.ensemble.cascade import CascadeClassifier, HaarFeatures
from corollary.solvers.trees.cascade import boosting
from corollary.solvers.trees.cascade.features import FeatureSpace, brute_response
from corollary.solvers.trees.cascade.integral import window_integrals
from corollary.solvers.trees.cascade.scenes import Scenes

RATES = ("detection rate", "false positive rate")
FACES = Path(__file__).parents[2] / ".." / "shared" / "data" / "images" / "cbcl_faces_train.npz"


@parametrize_with_checks(
    [CascadeClassifier(random_state=0), CascadeClassifier(stride=2, max_candidates=None, max_stages=3, random_state=0)]
)
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


def crosses(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Noisy windows of 8 × 8; half of them with a bright cross."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, 8, 8)), np.arange(n) % 2
    X[y == 1, 3:5, :] += 0.5
    X[y == 1, :, 3:5] += 0.5
    return X, y


def scenes(n: int, side: int = 40, seed: int = 1) -> list[Any]:
    """Noise with bright bars, some of which meet."""
    rng = np.random.default_rng(seed)
    pictures = rng.random((n, side, side))
    for picture in pictures:
        for row, column in rng.integers(0, side - 2, (3, 2)):
            picture[row : row + 2] += 0.5
            picture[:, column : column + 2] += 0.5 * rng.random()
    return list(pictures)


@pytest.fixture(scope="module")
def fitted() -> CascadeClassifier:
    X, y = crosses(300)
    model = CascadeClassifier(random_state=0, max_candidates=300, max_false_positive_rate=0.3, max_stages=6)
    return model.fit(X, y, negatives=scenes(4))


def test_learns_crosses(fitted: CascadeClassifier) -> None:
    X, y = crosses(400, seed=9)
    assert fitted.score(X, y) > 0.95
    assert fitted.evidence_.holds
    assert fitted.evidence_.certificate.name == (
        "worst shortfall of a stage's detection rate, or error of the product of rates"
    )


def test_cumulative_rates_are_products(fitted: CascadeClassifier) -> None:
    history = fitted.evidence_.history
    assert len(history["iteration"]) == len(fitted.stage_ends_) == fitted.evidence_.n_iter > 1
    for name in RATES:
        np.testing.assert_allclose(history[f"cumulative {name}"], np.cumprod(history[name]), rtol=1e-12)
        assert fitted.evidence_.facts[name] == history[f"cumulative {name}"][-1]
    assert min(history["detection rate"]) >= 0.995
    assert max(history["false positive rate"]) <= 0.3
    assert sum(history["features"]) == len(fitted.cuts_) == fitted.stage_ends_[-1]
    assert fitted.evidence_.facts["windows scanned"] > 1000


def test_decision_is_monotone_in_the_stage_that_rejects(fitted: CascadeClassifier) -> None:
    """Recomputed from the fitted arrays, with sums over pixels."""
    X, _ = crosses(40, seed=3)
    flat = X.reshape(len(X), -1)
    pixels = ((flat - flat.mean(axis=1, keepdims=True)) / flat.std(axis=1, keepdims=True)).reshape(X.shape)
    responses = np.array([[brute_response(image, feature) for feature in fitted.features_] for image in pixels])
    votes = np.where(responses <= fitted.cuts_, fitted.left_, fitted.right_)
    found, n_stages = fitted.decision_function(X), len(fitted.stage_ends_)
    starts = np.concatenate([[0], fitted.stage_ends_[:-1]])
    for row, value in zip(votes, found, strict=True):
        margins = np.array([row[a:b].sum() for a, b in zip(starts, fitted.stage_ends_, strict=True)])
        margins -= fitted.stage_thresholds_
        rejected = np.flatnonzero(margins < 0)
        if rejected.size:
            k = rejected[0]
            assert value == pytest.approx(k - n_stages + np.exp(margins[k]), abs=1e-9)
            assert value <= k - n_stages + 1 <= 0
        else:
            assert value == pytest.approx(1 + margins.sum(), abs=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), (found > 0).astype(int))


def test_the_stump_found_is_the_best_of_all() -> None:
    """With at most 256 windows codes are ranks, so the first stump minimises the weighted squared error exactly."""
    X, y = crosses(60)
    rows = window_integrals(X.reshape(60, -1), (8, 8), True)
    part = boosting.Windows(rows[y == 1], rows[y == 0])
    goals = boosting.Goals(1.0, 0.0, 1)
    stage = boosting.train_stage(FeatureSpace((8, 8)), True, part, part, goals, None, np.random.RandomState(0))
    signs = np.where(np.arange(60) < 30, 1.0, -1.0)
    transformer = HaarFeatures().fit(X)
    responses = transformer.transform(np.concatenate([X[y == 1], X[y == 0]]))
    best = 0.0
    for column in responses.T:
        order = np.argsort(column)
        signed, left = np.cumsum(signs[order])[:-1], np.arange(1, 60)
        gain = (signed**2 / left + signed**2 / (60 - left))[np.diff(column[order]) > 1e-9]
        best = max(best, gain.max())
    [column] = np.flatnonzero((transformer.features_ == stage.features[0]).all(axis=1))
    left = responses[:, column] <= stage.cuts[0]
    mine = sum(signs[side].sum() ** 2 / side.sum() for side in (left, ~left))
    assert mine == pytest.approx(best, rel=1e-9)
    assert stage.left[0] == pytest.approx(signs[left].mean())
    assert stage.right[0] == pytest.approx(signs[~left].mean())


def test_the_threshold_keeps_the_rate_and_no_more_than_it_must() -> None:
    scores = np.array([0.9, 0.5, -0.1, -0.3, -2.0])
    assert boosting._threshold(scores, 1.0) == -2.0
    assert boosting._threshold(scores, 0.8) == -0.3
    assert boosting._threshold(scores, 0.79) == -0.3
    assert boosting._threshold(scores, 0.3) == 0.0  # never raised above AdaBoost's own


def test_negatives_that_run_out_are_a_note_not_an_error() -> None:
    X, y = crosses(200)
    model = CascadeClassifier(random_state=0, max_candidates=300).fit(X, y)
    assert "the negatives ran out" in " ".join(model.evidence_.notes)
    assert model.evidence_.status is Status.CONVERGED
    assert model.evidence_.holds
    flat = CascadeClassifier(random_state=0, max_candidates=300).fit(X, y, negatives=[np.zeros((20, 20))])
    assert "the negatives ran out" in " ".join(flat.evidence_.notes)
    assert flat.evidence_.facts["windows scanned"] > 0


def test_pictures_bring_more_stages(fitted: CascadeClassifier) -> None:
    X, y = crosses(300)
    alone = CascadeClassifier(random_state=0, max_candidates=300, max_false_positive_rate=0.3).fit(X, y)
    assert len(alone.stage_ends_) < len(fitted.stage_ends_)


def test_an_iterator_of_pictures_is_used_up_and_an_endless_one_is_fine() -> None:
    X, y = crosses(200)
    settings = {"random_state": 0, "max_candidates": 200, "max_false_positive_rate": 0.3, "max_stages": 3}
    pictures = iter(scenes(3))
    CascadeClassifier(**settings).fit(X, y, negatives=pictures)

    def endless() -> Any:
        seed = 0
        while True:
            seed += 1
            yield scenes(1, seed=seed)[0]

    model = CascadeClassifier(**settings).fit(X, y, negatives=endless())
    assert len(model.stage_ends_) <= 3


def test_a_harvest_holds_only_what_the_cascade_mistakes(fitted: CascadeClassifier) -> None:
    source = Scenes(scenes(3, seed=5), (8, 8))
    stages = replace(fitted._stages(), ends=fitted.stage_ends_[:1], thresholds=fitted.stage_thresholds_[:1])
    rows = source.harvest(stages, 40, np.random.RandomState(0))
    assert 0 < len(rows) <= 40
    assert (stages.judge(window_integrals(rows, (8, 8), True)) > 0).all()
    assert 0 < source.rate < 1


@pytest.mark.parametrize(
    ("negatives", "message"),
    [
        (
            [np.zeros((30, 30)), np.zeros((7, 30))],
            r"negatives\[1\] of 7 × 30 pixels is smaller than the window of 8 × 8",
        ),
        ([np.zeros(30)], r"negatives\[0\] must have shape"),
        (5, "negatives must be a list or iterator of pictures"),
    ],
)
def test_bad_pictures_get_a_sentence(negatives, message: str) -> None:
    X, y = crosses(40)
    model = CascadeClassifier(random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, negatives=negatives)
    assert not hasattr(model, "classes_")


def test_bad_windows_get_a_sentence(fitted: CascadeClassifier) -> None:
    X, y = crosses(40)
    with pytest.raises(ValueError, match="X of dim 3 holds 40 windows, but y has 39 labels"):
        CascadeClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="only one class"):
        CascadeClassifier().fit(X, np.ones(40))
    with pytest.raises(ValueError, match="X holds windows of 4 × 16 pixels, but window is 8 × 8"):
        fitted.predict(X.reshape(40, 4, 16))


def test_windows_that_say_nothing() -> None:
    X, y = np.zeros((40, 6, 6)), np.arange(40) % 2
    model = CascadeClassifier(random_state=0).fit(X, y)
    assert len(set(model.predict(X))) == 1
    assert "rejects no negative" in " ".join(model.evidence_.notes)


def test_two_windows_are_enough() -> None:
    X, y = crosses(2)
    model = CascadeClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0


def test_any_number_of_threads_gives_the_same_cascade() -> None:
    X, y = crosses(300)
    one, two = (
        CascadeClassifier(random_state=3, max_candidates=500, max_stages=3, n_jobs=n).fit(X, y, negatives=scenes(2))
        for n in (1, 2)
    )
    for name in ("features_", "cuts_", "left_", "right_", "stage_ends_", "stage_thresholds_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_labels_of_any_kind_and_flat_windows() -> None:
    X, y = crosses(120)
    names = np.array(["background", "cross"])[y]
    model = CascadeClassifier(random_state=0, max_candidates=300).fit(X.reshape(120, -1), names)
    assert model.classes_.tolist() == ["background", "cross"]
    assert (model.predict(X) == names).mean() > 0.95
    single = CascadeClassifier(random_state=0, max_candidates=300).fit(X.astype(np.float32), names)
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32


def test_a_budget_keeps_the_stages_so_far() -> None:
    X, y = crosses(200)
    model = CascadeClassifier(random_state=0, max_candidates=200, max_false_positive_rate=0.4)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model.set_callbacks(TimeBudget(seconds=1e-9)).fit(X, y, negatives=scenes(2))
    assert model.evidence_.status is Status.BUDGET
    assert len(model.stage_ends_) == 1
    assert np.isfinite(model.decision_function(X)).all()


def test_ctrl_c_keeps_the_stages_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = crosses(200)
    model = CascadeClassifier(random_state=0, max_candidates=200, max_false_positive_rate=0.4)

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Scenes, "harvest", interrupt)
    with pytest.raises(KeyboardInterrupt, match="interrupted from the keyboard"):
        model.fit(X, y, negatives=scenes(2))
    assert model.evidence_.status is Status.INTERRUPTED
    assert len(model.stage_ends_) == 1


def test_memory_is_checked_before_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = crosses(40)
    monkeypatch.setattr(memory, "_free_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"Training on 40 windows with .* Instead, lower max_candidates"):
        CascadeClassifier(random_state=0).fit(X, y)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two classes as model files know them, whether or not the table has them already."""
    for name, module in (("CascadeClassifier", "ensemble.cascade.cascade"), ("HaarFeatures", "ensemble.cascade.haar")):
        if name not in registry.ESTIMATORS:
            monkeypatch.setitem(registry.ESTIMATORS, name, registry.Entry(name, module, "T7", ("classification",)))


@pytest.mark.usefixtures("registered")
def test_saved_and_loaded(fitted: CascadeClassifier, tmp_path: Path) -> None:
    X, _ = crosses(50, seed=4)
    path = tmp_path / "crosses.corollary"
    corollary.save(fitted, path)
    loaded = corollary.load(path)
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert loaded.window_ == (8, 8)
    assert str(loaded.evidence_) == str(fitted.evidence_)
    loaded._check_state()
    features = HaarFeatures(max_features=20, random_state=0).fit(X)
    corollary.save(features, path)
    np.testing.assert_array_equal(corollary.load(path).transform(X), features.transform(X))


FORGERIES = {
    "features_": [
        lambda a: a + np.int32(100),
        lambda a: a - np.int32(1),
        lambda a: a.astype(float),
        lambda a: a[:, :4],
        lambda a: np.where(np.arange(5) == 3, np.int32(2**31 - 1), a),
    ],
    "stage_ends_": [lambda a: a + 1, lambda a: a[:-1], lambda a: a[::-1].copy(), lambda a: a * 0, lambda a: a[:0]],
    "cuts_": [lambda a: a[:-1], lambda a: a.astype(str), lambda a: a[:, None]],
    "left_": [lambda a: a[:1]],
    "stage_thresholds_": [lambda a: a[:-1]],
    "window_": [lambda a: (7, 8), lambda a: [8, 8], lambda a: (2**40, 2**40), lambda a: (8.0, 8.0), lambda a: (-8, -8)],
    "n_features_in_": [lambda a: 63],
    "normalized_": [lambda a: "yes"],
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_state_is_recognised(fitted: CascadeClassifier, name: str) -> None:
    fitted._check_state()
    for change in FORGERIES[name]:
        forged = CascadeClassifier()
        forged.__dict__.update(vars(fitted))
        setattr(forged, name, change(getattr(fitted, name)))
        with pytest.raises(ValueError, match="are not valid"):
            forged._check_state()


def test_rates_are_drawn(fitted: CascadeClassifier) -> None:
    import matplotlib.pyplot as plt

    ax = fitted.plot()
    assert len(ax.lines) == 2
    assert "objects that pass" in ax.texts[0].get_text()
    plt.close(ax.figure)


def test_digits_of_one_kind() -> None:
    digits = load_digits()
    train, test = digits.images[:1200], digits.images[1200:]
    model = CascadeClassifier(random_state=0).fit(train, digits.target[:1200] == 0)
    assert model.score(test, digits.target[1200:] == 0) > 0.97


@pytest.mark.skipif(not FACES.exists(), reason="the faces are not in the repository: their licence is for research")
def test_faces() -> None:
    with np.load(FACES, allow_pickle=False) as data:
        faces, others = data["faces"][::4], data["nonfaces"][::6]
    X, y = np.concatenate([faces, others]), np.repeat([1, 0], [len(faces), len(others)])
    held_out = np.arange(len(X)) % 3 == 0
    model = CascadeClassifier(random_state=0, max_candidates=2000, max_false_positive_rate=0.03).fit(
        X[~held_out], y[~held_out]
    )
    verdict = model.predict(X[held_out])
    assert verdict[y[held_out] == 1].mean() > 0.9
    assert verdict[y[held_out] == 0].mean() < 0.05


def test_a_cascade_that_is_stricter_than_its_stages_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from corollary.solvers.trees.cascade.stages import Stages

    X, y = crosses(300)
    model = CascadeClassifier(random_state=0, max_candidates=300, max_false_positive_rate=0.3, max_stages=1)
    assert model.fit(X, y, negatives=scenes(4)).evidence_.holds
    joined = Stages.__add__

    def stricter(self: Stages, stage: Stages) -> Stages:
        both = joined(self, stage)
        return replace(both, thresholds=both.thresholds + 100.0)

    monkeypatch.setattr(Stages, "__add__", stricter)
    with pytest.warns(UserWarning, match="error of the product of rates"):
        assert not model.fit(X, y, negatives=scenes(4)).evidence_.holds
