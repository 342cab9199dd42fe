"""A real Ctrl-C in another process, for every family: the best so far is kept, said to be so, and loops end."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CHILD = r'''
import json, os, signal, threading, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("error")

import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
import corollary as c

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 8))
y = X @ rng.normal(size=8) + rng.normal(size=3000)
z = (y > 0).astype(int)
D = rng.integers(0, 3, size=(2000, 12)).astype(float)
LONG = 10**7


class Finger:
    """Presses Ctrl-C a moment after an iteration of a fit, when compiled code is likely to be at work."""

    def __init__(self, after=0):
        self.after, self.fits = after, 0

    def setup(self, estimator, context):
        self.fits, self.seen, self.pressed = self.fits + 1, 0, False

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        if self.seen > self.after and not self.pressed:
            self.pressed = True
            threading.Timer(0.03, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        return False

    def teardown(self, estimator, context): ...


def member():
    return c.GradientBoostingRegressor(n_estimators=LONG)


MODELS = {
    "LinearModel": (c.LinearModel("softmax", "group", alpha=1e-6, tol=1e-300, max_iter=LONG), X, z),
    "RandomForestClassifier": (c.RandomForestClassifier(LONG // 100, n_jobs=2), X, z),
    "ExtraTreesRegressor": (c.ExtraTreesRegressor(LONG // 100), X, y),
    "BaggingRegressor": (c.BaggingRegressor(c.Ridge(), LONG // 100), X, y),
    "AdaBoostClassifier": (c.AdaBoostClassifier(n_estimators=LONG), X, z),
    "GradientBoostingRegressor": (c.GradientBoostingRegressor(n_estimators=LONG, n_jobs=2), X, y),
    "GradientBoostingClassifier": (c.GradientBoostingClassifier(n_estimators=LONG), X, z),
    "KMeans": (c.KMeans(20, n_init=LONG // 100, n_jobs=2), X, None),
    "MiniBatchKMeans": (c.MiniBatchKMeans(20, max_iter=LONG, max_no_improvement=None, n_init=1), X, None),
    "SoftKMeans": (c.SoftKMeans(20, n_init=LONG // 100, stiffness=0.5), X, None),
    "GaussianMixture": (c.GaussianMixture(8, n_init=LONG // 100), X, None),
    "Mixture": (c.Mixture(n_components=8, n_init=LONG // 100), X, None),
    "HillClimb": (c.HillClimb(restarts=LONG), D, None),
}


def pressed_during(run):
    try:
        run()
    except KeyboardInterrupt as stopped:
        return str(stopped)
    return "went on"


def told(name):
    model, rows, target = MODELS[name]
    model.set_callbacks(Finger())
    raised = pressed_during(lambda: model.fit(rows) if target is None else model.fit(rows, target))
    evidence = vars(model).get("evidence_")
    finite = None
    if hasattr(model, "predict"):
        finite = bool(np.isfinite(np.asarray(model.predict(rows[:20]), dtype=float)).all())
    return {"raised": raised, "evidence": str(evidence), "holds": evidence.holds, "status": evidence.status.name,
            "shown": model._html_repr()[:2000], "finite": finite}


def loop(run, finger):
    return {"raised": pressed_during(run), "fits": finger.fits}


found = {name: told(name) for name in MODELS}
finger = Finger(after=1)
long = member().set_callbacks(finger)
found["cross_val_score"] = loop(lambda: cross_val_score(long, X, y, cv=5), finger)
finger = Finger(after=1)
search = GridSearchCV(member().set_callbacks(finger), {"max_leaf_nodes": [3, 4, 5]}, cv=3)
found["GridSearchCV"] = loop(lambda: search.fit(X, y), finger)
finger = Finger(after=1)
long = member().set_callbacks(finger)
found["for"] = loop(lambda: [long.fit(X, y) for _ in range(3)], finger)
finger = Finger(after=1)
table = __import__("pandas").DataFrame(X[:200]).add_prefix("x").assign(y=y[:200])
models = {"a": member().set_callbacks(finger), "b": c.Ridge()}
found["compare"] = loop(lambda: c.compare(table, "y", models=models), finger)
print(json.dumps(found))
'''

FAMILIES = (
    *("LinearModel", "RandomForestClassifier", "ExtraTreesRegressor", "BaggingRegressor", "AdaBoostClassifier"),
    *("GradientBoostingRegressor", "GradientBoostingClassifier", "KMeans", "MiniBatchKMeans", "SoftKMeans"),
    *("GaussianMixture", "Mixture", "HillClimb"),
)


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, object]]:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, dict[str, object]] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("name", FAMILIES)
def test_a_fit_that_is_interrupted_keeps_its_best_and_raises(name: str, found: dict[str, dict[str, object]]) -> None:
    told = found[name]
    assert told["status"] == "INTERRUPTED"
    assert told["holds"] is False
    assert str(told["evidence"]).startswith("Interrupted: ")
    assert told["raised"] == f"{name}: {told['evidence']}"
    assert told["finite"] in (True, None)
    assert ">✗</span> Interrupted: " in str(told["shown"])


@pytest.mark.parametrize("name", ["cross_val_score", "GridSearchCV", "for", "compare"])
def test_loops_around_fits_end(name: str, found: dict[str, dict[str, object]]) -> None:
    assert found[name]["raised"] != "went on"
    assert found[name]["fits"] == 1
