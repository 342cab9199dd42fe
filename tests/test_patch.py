"""Our classes in the place of scikit-learn's, for a process: what is replaced and what is not; nothing is lost."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from sklearn import cluster, decomposition, ensemble, linear_model, mixture, neighbors, tree
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import corollary
from corollary.patch import patch_sklearn, report, unpatch_sklearn
from corollary.patch.ledger import LEDGER

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X @ np.array([1.0, -1.0, 0.5, 0.0]) + RNG.normal(size=60)

THEIRS = {name: getattr(linear_model, name) for name in ("Ridge", "LogisticRegression", "SGDRegressor", "lasso_path")}


@pytest.fixture
def patched() -> Iterator[None]:
    LEDGER.clear()
    patch_sklearn()
    yield
    unpatch_sklearn()
    LEDGER.clear()


@pytest.mark.usefixtures("patched")
def test_names_are_replaced_and_intact() -> None:
    model = linear_model.Ridge(alpha=2.0).fit(X, Y)
    assert isinstance(model, corollary.Ridge)
    assert model.evidence_.holds
    assert repr(model) == "Ridge(alpha=2.0)"
    assert type(model).__name__ == "Ridge"
    assert type(model) is linear_model.Ridge
    assert inspect.signature(linear_model.Ridge) == inspect.signature(corollary.Ridge)
    assert linear_model.SGDRegressor is THEIRS["SGDRegressor"]  # which we do not have
    for module in (cluster, decomposition, ensemble, neighbors, tree):
        assert any(getattr(each, "_plain", None) is not None for each in vars(module).values())


@pytest.mark.usefixtures("patched")
def test_nothing_of_ours_is_hidden() -> None:
    """What a class that stands in adds has names of its own, which ours does not use for anything else."""
    for module in (linear_model, cluster, decomposition, ensemble, neighbors, tree):
        for each in vars(module).values():
            if (plain := getattr(each, "_plain", None)) is not None:
                assert not [
                    name for name in vars(each) if re.match("_(?!_|abc_|sklearn_)", name) and hasattr(plain, name)
                ], each


def test_scikit_learn_gets_its_classes_back() -> None:
    before = {name: getattr(linear_model, name) for name in linear_model.__all__}
    patch_sklearn()
    patch_sklearn()  # twice is once
    assert linear_model.Ridge is not before["Ridge"]
    unpatch_sklearn()
    assert {name: getattr(linear_model, name) for name in linear_model.__all__} == before
    unpatch_sklearn()


def test_some_names_only() -> None:
    patch_sklearn(["Ridge"])
    assert issubclass(linear_model.Ridge, corollary.Ridge)
    assert linear_model.LogisticRegression is THEIRS["LogisticRegression"]
    unpatch_sklearn()
    with pytest.raises(ValueError, match=r"names must be of .* but SGDRegressor is not"):
        patch_sklearn(["SGDRegressor"])


@pytest.mark.usefixtures("patched")
def test_old_models_stay_what_they_are() -> None:
    old = THEIRS["Ridge"](alpha=3.0).fit(X, Y)
    again = pickle.loads(pickle.dumps(old))  # written and read under the patch
    assert type(again) is THEIRS["Ridge"]
    np.testing.assert_array_equal(again.predict(X), old.predict(X))
    assert isinstance(again, linear_model.Ridge)
    assert issubclass(THEIRS["Ridge"], linear_model.Ridge)
    assert isinstance(corollary.Ridge(), linear_model.Ridge)
    assert not isinstance(corollary.Lasso(), linear_model.Ridge)
    assert not isinstance(linear_model.Ridge(), THEIRS["Ridge"])


def test_every_class_that_stands_in_knows_strangers() -> None:
    for module in (cluster, decomposition, ensemble, linear_model, mixture, neighbors, tree):
        for name in module.__all__:
            if isinstance(cls := getattr(module, name), type):
                assert not isinstance(StandardScaler(), cls)
                assert not issubclass(dict, cls)


def test_pickles_cross_the_patch(tmp_path: Path) -> None:
    old = pickle.dumps(THEIRS["Ridge"]().fit(X, Y))
    patch_sklearn()
    try:
        assert type(pickle.loads(old)) is THEIRS["Ridge"]
        model = linear_model.Ridge().fit(X, Y)
        ours = pickle.dumps(model)
        joblib.dump(model, tmp_path / "model.joblib")
        assert type(pickle.loads(ours)) is type(copy.deepcopy(model)) is type(clone(model)) is linear_model.Ridge
        assert pickle.loads(pickle.dumps(linear_model.Ridge)) is linear_model.Ridge
    finally:
        unpatch_sklearn()
    assert type(pickle.loads(old)) is THEIRS["Ridge"]
    for loaded in (pickle.loads(ours), joblib.load(tmp_path / "model.joblib", mmap_mode="r")):
        assert isinstance(loaded, corollary.Ridge)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_pickles_load_in_another_process(tmp_path: Path) -> None:
    patch_sklearn()
    try:
        model = ensemble.RandomForestClassifier(5, random_state=0).fit(X, Y > 0)
        (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    finally:
        unpatch_sklearn()
    code = f"import pickle; m = pickle.load(open({str(tmp_path / 'model.pickle')!r}, 'rb')); print(m, m.evidence_)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("RandomForestClassifier(n_estimators=5, random_state=0) Checked: ")


def test_model_files(tmp_path: Path) -> None:
    """A file says what a model is; neither the class that stands in nor the one whose place it takes is mistaken."""
    theirs = make_pipeline(decomposition.PCA(2), corollary.Ridge()).fit(X, Y)
    patch_sklearn()
    try:
        ours = make_pipeline(decomposition.PCA(2), linear_model.Ridge()).fit(X, Y)
        corollary.save(theirs, tmp_path / "theirs.corollary")
        corollary.save(ours, tmp_path / "ours.corollary")
        assert type(corollary.load(tmp_path / "theirs.corollary")[0]) is type(theirs[0])
    finally:
        unpatch_sklearn()
    assert type(corollary.load(tmp_path / "theirs.corollary")[0]) is type(theirs[0])
    loaded = corollary.load(tmp_path / "ours.corollary")
    assert [type(step) for _, step in loaded.steps] == [corollary.PCA, corollary.Ridge]


@pytest.fixture
def stricter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours refuses a solver of scikit-learn's."""
    check = corollary.Ridge._check_parameters

    def refuse(self: Any) -> None:
        if self.solver == "lsqr":
            raise ValueError("Ridge: solver must be another, but it is 'lsqr'.")
        check(self)

    monkeypatch.setattr(corollary.Ridge, "_check_parameters", refuse)


@pytest.mark.usefixtures("patched", "stricter")
def test_a_setting_that_we_lack_falls_back() -> None:
    model = linear_model.Ridge(solver="lsqr", alpha=2.0)
    assert model.fit(X, Y) is model
    assert type(model) is THEIRS["Ridge"]
    assert isinstance(model, linear_model.Ridge)
    assert model.tol == THEIRS["Ridge"]().tol  # what nobody has asked for is scikit-learn's to choose
    np.testing.assert_allclose(model.coef_, THEIRS["Ridge"](solver="lsqr", alpha=2.0).fit(X, Y).coef_)
    assert "1× scikit-learn's Ridge, because solver must be another, but it is 'lsqr'." in report()
    search = GridSearchCV(make_pipeline(StandardScaler(), linear_model.Ridge()), {"ridge__solver": ["auto", "lsqr"]})
    search.fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_what_was_learnt_is_not_thrown_away(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that goes on from the last one cannot be handed over; one that begins can."""

    def refuse(self: Any) -> None:
        raise ValueError("not this time.")

    def make() -> Any:
        if method == "fit":
            return linear_model.Lasso(alpha=0.1, warm_start=True)
        return cluster.MiniBatchKMeans(2, n_init=1, random_state=0)

    model = getattr(make(), method)(X, Y)
    kind, before = type(model), model.predict(X)
    monkeypatch.setattr(corollary.Lasso, "_check_parameters", refuse)
    monkeypatch.setattr(corollary.MiniBatchKMeans, "_check_parameters", refuse)
    with pytest.raises(ValueError, match="not this time"):
        getattr(model, method)(X[:30], Y[:30])
    assert type(model) is kind
    np.testing.assert_array_equal(model.predict(X), before)
    assert "because" not in report()
    fresh = getattr(make(), method)(X, Y)
    assert type(fresh) is kind._theirs
    if method == "fit":
        assert type(model.set_params(warm_start=False).fit(X, Y)) is kind._theirs


@pytest.mark.usefixtures("patched")
def test_boosting_with_our_leaves_in_scikit_learns_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> None:
        raise ValueError("not this time.")

    monkeypatch.setattr(corollary.GradientBoostingRegressor, "_check_parameters", refuse)
    model = ensemble.GradientBoostingRegressor(n_estimators=3, max_leaf_nodes=31).fit(X, Y)
    assert (model.max_leaf_nodes, model.max_depth, model.min_samples_leaf) == (31, 3, 1)
    assert ensemble.GradientBoostingRegressor(n_estimators=3).fit(X, Y).max_leaf_nodes is None


@pytest.mark.usefixtures("patched", "stricter")
def test_what_was_asked_for_falls_back_too(tmp_path: Path) -> None:
    """A value that is our default and not scikit-learn's is passed on if somebody has named it."""
    ours, theirs = corollary.Ridge().tol, THEIRS["Ridge"]().tol
    assert ours != theirs
    named = linear_model.Ridge(solver="lsqr", tol=ours)
    both = linear_model.Ridge(solver="lsqr"), linear_model.Ridge().set_params(solver="lsqr", tol=ours)
    whole = linear_model.Ridge(**linear_model.Ridge(solver="lsqr").get_params())  # nobody has named what it has
    for model, tol in ((named, ours), (both[0], theirs), (both[1], ours), (whole, theirs)):
        for each in (clone(model), clone(clone(model)), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model):
            assert type(each.fit(X, Y)) is THEIRS["Ridge"]
            assert each.tol == tol
            assert "_patch_given" not in vars(each)
    fitted = linear_model.Ridge(tol=ours).fit(X, Y)
    assert fitted.evidence_.verify(X, Y)
    corollary.save(fitted, tmp_path / "model.corollary")
    assert vars(corollary.load(tmp_path / "model.corollary")).keys() == vars(corollary.Ridge().fit(X, Y)).keys()


@pytest.mark.usefixtures("patched", "stricter")
def test_bad_input_is_refused_in_our_words() -> None:
    with pytest.raises(ValueError, match="Ridge: alpha must be a number ≥ 0"):
        linear_model.Ridge(alpha=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="must be another"):
        linear_model.Ridge(solver="lsqr", alpha=-1.0).fit(X, Y)
    with pytest.raises(TypeError, match="unexpected keyword"):
        linear_model.Ridge(alhpa=1.0)
    assert "because" not in report()


@pytest.mark.usefixtures("patched")
def test_a_parameter_that_we_lack_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = linear_model.Ridge._theirs
    init = theirs.__init__

    def taking_more(self: Any, alpha: float = 1.0, *, new: int = 0, **rest: Any) -> None:
        init(self, alpha, **rest)

    monkeypatch.setattr(theirs, "__init__", taking_more)
    assert type(linear_model.Ridge(new=3)) is theirs
    assert "unexpected keyword argument 'new'" in report()


@pytest.mark.usefixtures("patched")
def test_derived_classes_stay_scikit_learns() -> None:
    """They may use what is inside, as those of other libraries do."""

    class Own(linear_model.Ridge):
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y)

    model = Own().fit(X, Y)
    assert Own.__mro__[1] is THEIRS["Ridge"]
    assert isinstance(model, linear_model.Ridge)
    assert issubclass(Own, linear_model.Ridge)
    assert Own.__module__ == __name__
    assert "1× scikit-learn's Ridge, because the class Own is derived from it" in report()


@pytest.mark.usefixtures("patched")
def test_functions() -> None:
    alphas = [1.0, 0.5, 0.1]
    theirs = THEIRS["lasso_path"](X, Y, alphas=alphas)
    np.testing.assert_allclose(linear_model.lasso_path(X, Y, alphas=alphas)[1], theirs[1], atol=1e-3)
    graph = neighbors.kneighbors_graph(X, 3)
    assert graph.nnz == 180
    assert "kneighbors_graph" in report()


@pytest.mark.usefixtures("patched")
def test_the_report() -> None:
    assert "nothing was fitted" in report()
    linear_model.Ridge().fit(X, Y)
    linear_model.Ridge().fit(X, Y)
    cluster.KMeans(3, random_state=0).fit_predict(X)
    decomposition.PCA(2).fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster.KMeans(5, max_iter=1, n_init=1, random_state=0).fit(X)
    lines = {line.split()[0]: line for line in report().splitlines()[1:]}
    assert lines.keys() == {"KMeans", "PCA", "Ridge"}
    assert "2 times" in lines["Ridge"]
    assert lines["Ridge"].endswith("2 optimal")
    assert lines["KMeans"].endswith("1 stationary, NOT PROVED: 1 not shown to be stationary")
    assert "1 time" in lines["PCA"]


@pytest.mark.usefixtures("patched")
def test_what_scikit_learn_builds_around_them() -> None:
    """Metadata routing, set_output and callbacks are those of our classes; workers get models that they understand."""
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = linear_model.Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(weighted, {"alpha": [0.1, 1.0]}).fit(X, Y, sample_weight=np.ones(60))
        assert isinstance(search.best_estimator_, corollary.Ridge)
    assert decomposition.PCA(2).set_output(transform="pandas").fit_transform(X).shape == (60, 2)
    both = GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1.0]}, n_jobs=2).fit(X, Y)
    assert type(both.best_estimator_) is linear_model.Ridge


@pytest.mark.usefixtures("patched")
def test_derived_classes_call_what_they_are_derived_from() -> None:
    class Logistic(linear_model.LogisticRegression):
        def __init__(self, C: float = 1.0) -> None:
            linear_model.LogisticRegression.__init__(self, C=C)

    class Doubled(linear_model.Ridge):
        def fit(self, X: Any, y: Any) -> Any:
            return linear_model.Ridge.fit(self, X, 2 * y)

        def predict(self, X: Any) -> Any:
            return linear_model.Ridge.predict(self, X) / 2

    assert Logistic(C=0.5).fit(X, Y > 0).C == 0.5
    assert clone(Logistic(C=0.5)).C == 0.5
    np.testing.assert_allclose(Doubled().fit(X, Y).predict(X), THEIRS["Ridge"]().fit(X, Y).predict(X))
    ours = linear_model.Ridge.fit(linear_model.Ridge(), X, Y)
    assert ours.evidence_.holds
    np.testing.assert_array_equal(linear_model.Ridge.predict(ours, X), ours.predict(X))


SCRIPT = """\
import sys
from sklearn.linear_model import Ridge
import beside

model = Ridge().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
print(__name__, sys.argv[1:], hasattr(model, "evidence_"), beside.WORD)
if "--exit" in sys.argv:
    sys.exit(3)
if "--raise" in sys.argv:
    raise RuntimeError("as it happens")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n")
    return tmp_path


def corollary_runs(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "corollary", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(corollary.__file__).parents[1])}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=environment)


def test_a_script_runs_as_it_would(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    done = corollary_runs(str(folder / "script.py"), "--report", "a", cwd=elsewhere)  # an argument of the script's
    assert (done.returncode, done.stdout, done.stderr) == (0, "__main__ ['--report', 'a'] True beside\n", "")
    module = corollary_runs("--report", "-m", "script", "b", cwd=folder)
    assert module.stdout == "__main__ ['b'] True beside\n"
    assert "Ridge     1 time" in " ".join(module.stderr.split("\n"))


@pytest.mark.parametrize(("flag", "code"), [("--exit", 3), ("--raise", 1)])
def test_the_report_comes_however_it_ends(flag: str, code: int, folder: Path) -> None:
    done = corollary_runs("--report", "script.py", flag, cwd=folder)
    assert done.returncode == code
    assert "1 optimal" in done.stderr
    if flag == "--raise":
        lines = done.stderr.splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert "script.py" in lines[1]  # and not ours
        assert "RuntimeError: as it happens" in lines


def test_what_cannot_be_run(folder: Path) -> None:
    done = corollary_runs("nothing.py", cwd=folder)
    assert (done.returncode, done.stderr) == (2, "corollary: nothing.py: there is no such file to run\n")
    done = corollary_runs("-m", "nothing", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "corollary: No module named nothing\n")
    assert "models" in corollary_runs("--help", cwd=folder).stdout


def test_a_report_needs_a_program(folder: Path) -> None:
    for arguments in (["--report"], ["--report", "-m"], ["--report", "models"]):
        done = corollary_runs(*arguments, cwd=folder)
        assert done.returncode == 2
        assert done.stderr.startswith("corollary: --report needs a program to run after it: ")


LATER = """\
import atexit, pickle, sys, threading, time

class Own:
    pass

def later(when):
    from sklearn.linear_model import Ridge
    model = Ridge().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    pickle.dumps(Own())  # which needs __main__
    print(when, hasattr(model, "evidence_"), sys.argv[1:], flush=True)

def thread():
    time.sleep(0.5)
    later("thread")
    threading.Thread(target=later, args=["another"]).start()

atexit.register(later, "end")
threading.Thread(target=thread).start()
"""


def test_threads_and_what_comes_at_the_end_of_the_process(folder: Path) -> None:
    (folder / "later.py").write_text(LATER)
    for arguments in (["later.py"], ["-m", "later"]):
        done = corollary_runs("--report", *arguments, "a", cwd=folder)
        assert done.stdout == "thread True ['a']\nanother True ['a']\nend True ['a']\n"
        assert "Ridge    2 times" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("close", ["sys.stdout.close()", "sys.stdout = None", "import os; os.close(1)"])
def test_the_report_comes_without_an_output(close: str, folder: Path) -> None:
    (folder / "silent.py").write_text(SCRIPT + f"{close}\n")
    done = corollary_runs("--report", "silent.py", cwd=folder)
    assert "1 optimal" in done.stderr
    assert "corollary" not in done.stderr.replace("corollary in the place of", "")
