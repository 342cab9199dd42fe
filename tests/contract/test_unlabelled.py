"""The contract for estimators that learn without a target: the same promises as for those with one."""

from __future__ import annotations

import io
import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from instances import assert_close, assert_same, every
from recorder import Recorder
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_bad_fits import BAD_VALUES, BAD_WEIGHTS, spoiled
from test_inputs import CONTAINERS, NAMES, SPARSE
from test_state import assert_plain
from unlabelled import CASES, FIRST, Case, free, partition, said

import corollary
from corollary import Evidence, Status, TimeBudget
from corollary.core import parallel

CLOSE = {"rtol": 1e-6, "atol": 1e-6}
WEIGHTED = [case for case in CASES if case.weighted and not case.sampled]


# the checks use rows of zeros, which have no direction
CHECKED = [free(case).make() for case in CASES if case.parameters.get("metric") != "cosine"]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@every(CASES)
def test_evidence_is_a_sentence_and_holds(case: Case) -> None:
    model, _ = case.fitted()
    evidence = model.evidence_
    assert isinstance(evidence, Evidence)
    assert evidence.holds, str(evidence)
    assert evidence.certificate.value >= 0
    assert evidence.status in (Status.EXACT, Status.CONVERGED)
    assert str(evidence).startswith(f"{evidence.certificate.kind.word}: {evidence.certificate}")
    assert str(evidence).endswith(".")
    assert pickle.loads(pickle.dumps(evidence)) == evidence
    for values in evidence.history.values():
        assert len(values) == len(evidence.history["iteration"])


def agree(first: Any, second: Any, X: Any, rows: Any = slice(None), **tolerance: Any) -> None:
    """Two models that say the same of X; where both kept labels, those of ``rows`` are the first one's."""
    assert_close(said(first, X), said(second, X), **(tolerance or CLOSE))
    if hasattr(first, "labels_") and not isinstance(rows, str):
        np.testing.assert_array_equal(partition(first.labels_[rows]), partition(second.labels_))


@every(WEIGHTED)
def test_weights_are_repetitions(case: Case) -> None:
    X = case.rows()
    weights = np.random.default_rng(2).integers(1, 4, len(X))
    weighted = case.make(tol=1e-10).fit(X, sample_weight=weights.astype(float))
    repeated = case.make(tol=1e-10).fit(np.repeat(X, weights, axis=0))
    agree(weighted, repeated, X, np.repeat(np.arange(len(X)), weights))


@every(WEIGHTED)
def test_rows_of_weight_zero_do_not_matter(case: Case) -> None:
    X = case.rows()
    weights = np.random.default_rng(3).uniform(0.5, 1.5, len(X))
    weights[::4] = 0.0
    kept = np.flatnonzero(weights)
    wild = X.copy()
    wild[::4] *= 100.0
    all_rows = case.make(tol=1e-10).fit(wild, sample_weight=weights)
    without = case.make(tol=1e-10).fit(X[kept], sample_weight=weights[kept])
    agree(all_rows, without, X, kept)


@every([case for case in CASES if not case.sampled and case.name != "NearestNeighbors"])
def test_row_order_does_not_matter(case: Case) -> None:
    X = case.rows()
    order = np.random.default_rng(4).permutation(len(X))
    agree(case.make(tol=1e-10).fit(X), case.make(tol=1e-10).fit(X[order]), X, order)


@pytest.mark.parametrize("layout", ["C", "F", "sparse"])
@every(CASES)
def test_blocks_are_the_whole(case: Case, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = case.rows(n=300)
    held = {"C": np.ascontiguousarray, "F": np.asfortranarray, "sparse": sparse.csr_array}[layout](X)
    if layout == "sparse" and not case.sparse:
        return
    whole = case.make(tol=1e-9).fit(held)
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1)
    agree(whole, case.make(tol=1e-9).fit(held), X)


@every(CASES)
def test_threads_do_not_change_a_bit(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1)
    X, answers = case.rows(n=300), []
    for n in (1, 2, 3):
        with parallel.threads(n):
            model = case.make().fit(X)
            answers.append(said(model, X) | {"labels": getattr(model, "labels_", 0)})
    assert_same(answers[0], answers[1])
    assert_same(answers[0], answers[2])


@every(CASES)
def test_dense_containers(case: Case) -> None:
    X = case.rows()
    plain = case.make().fit(X)
    for container, convert in CONTAINERS.items():
        held = convert(X)
        model = case.make().fit(held)
        assert_close(said(model, held), said(plain, X), **CLOSE)
        assert hasattr(model, "feature_names_in_") == (container in ("pandas", "polars", "pyarrow"))


@every([case for case in CASES if case.sparse])
def test_sparse_containers(case: Case) -> None:
    X = case.rows()
    X[np.abs(X) < 0.7] = 0.0
    plain = case.make().fit(X)
    for convert in SPARSE.values():
        held = convert(X)
        model = case.make().fit(held)
        agree(model, plain, X)
        assert_close(said(model, held), said(model, X), **CLOSE)


@every(CASES)
def test_float32_stays_float32(case: Case) -> None:
    narrow = case.rows().astype(np.float32)
    model, exact = case.make().fit(narrow), case.make().fit(narrow.astype(np.float64))
    found, expected = said(model, narrow), said(exact, narrow.astype(np.float64))
    for name, value in found.items():
        if name not in ("predict", "neighbors", "kneighbors"):  # distances are exact, as scikit-learn's are
            assert value.dtype == np.float32, name
    assert_close(found, expected, rtol=2e-3, atol=2e-3)


@every(CASES)
def test_inputs_are_not_modified(case: Case, tmp_path: Path) -> None:
    X = case.rows()
    for layout in (np.ascontiguousarray, np.asfortranarray):
        held = layout(X.copy())
        said(case.make().fit(held), held)
        np.testing.assert_array_equal(held, X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_close(said(case.make().fit(mapped), mapped), said(case.make().fit(X), X), rtol=0, atol=0)


def refuses(case: Case, message: str, X: Any, changes: dict[str, Any] | None = None, **arguments: Any) -> None:
    """A fitted model refuses and stays the same to the last bit; a fresh one refuses and stays unfitted."""
    model, good = case.fitted()
    model.set_params(**(changes or {}))
    state = joblib.hash(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, **arguments)
    assert joblib.hash(vars(model)) == state
    fresh = case.make().set_params(**(changes or {}))
    with pytest.raises(ValueError, match=message):
        fresh.fit(X, **arguments)
    assert vars(fresh).keys() == vars(case.make()).keys()
    for method in ("predict", "transform", "kneighbors"):
        if hasattr(fresh, method):
            with pytest.raises(NotFittedError):
                getattr(case.make(), method)(good)


BAD_ROWS = {
    "NaN": (lambda X: spoiled(X, np.nan), "X contains NaN"),
    "inf": (lambda X: spoiled(X, np.inf), "X contains infinity"),
    "one-dimensional": (lambda X: X[:, 0], "Expected 2D array"),
    "three-dimensional": (lambda X: X[None], "dim 3"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "no columns": (lambda X: X[:, :0], "0 feature"),
    "text": (lambda X: spoiled(X.astype(object), "five"), "five"),
    "complex": (lambda X: X + 0j, "Complex data"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
@every(FIRST)
def test_bad_rows(case: Case, what: str) -> None:
    if what == "NaN" and case.tags.input_tags.allow_nan:
        return  # a gap, which the model sums out
    change, message = BAD_ROWS[what]
    refuses(case, message, change(case.rows()))


@pytest.mark.parametrize("what", BAD_WEIGHTS)
@every([case for case in FIRST if case.weighted])
def test_bad_weights(case: Case, what: str) -> None:
    X = case.rows()
    make, message = BAD_WEIGHTS[what]
    refuses(case, message, X, sample_weight=make(len(X)))


@every(FIRST)
def test_bad_parameters(case: Case) -> None:
    X = case.rows()
    for name, limit in type(case.make()).limits.items():
        for value in [value for value in BAD_VALUES if not limit.accepts(value)]:
            message = re.escape(f"{case.name}: {name} must be {limit}, but it is {value!r}.")
            model = case.make().set_params(**{name: value})
            with pytest.raises(ValueError, match=message):
                model.fit(X)


@every([case for case in FIRST if "n_clusters" in case.parameters])
def test_more_clusters_than_rows(case: Case) -> None:
    refuses(free(case), "n_clusters", case.rows()[:5], {"n_clusters": 9})


@every(CASES)
def test_round_trips(case: Case, tmp_path: Path) -> None:
    model, X = case.fitted()
    path = tmp_path / "model.corollary"
    model.save(path)
    for copy in (pickle.loads(pickle.dumps(model)), corollary.load(path)):
        assert_same(said(copy, X), said(model, X))
        assert copy.evidence_ == model.evidence_
    assert vars(clone(model)).keys() == vars(case.make()).keys()


@every(CASES)
def test_fitted_attributes_are_plain(case: Case) -> None:
    model, _ = case.fitted()
    parameters = model.get_params(deep=False)
    for name, value in vars(model).items():
        if name not in parameters:
            assert_plain(value, name)


@every(CASES)
def test_parameters_are_not_touched_by_fit(case: Case) -> None:
    model = case.make()
    before = {name: (id(value), repr(value)) for name, value in model.get_params(deep=False).items()}
    model.fit(case.rows())
    assert {name: (id(value), repr(value)) for name, value in model.get_params(deep=False).items()} == before


@every(FIRST)
def test_names_and_pictures(case: Case) -> None:
    X = case.rows()
    model = case.make().fit(pd.DataFrame(X, columns=NAMES))
    assert model.feature_names_in_.tolist() == NAMES
    assert case.name in estimator_html_repr(model)
    assert repr(model).startswith(case.name)
    if hasattr(model, "transform"):
        framed = case.make().set_output(transform="pandas").fit(X).transform(X)
        assert list(framed.columns) == list(model.get_feature_names_out())


@every(CASES)
def test_fits_in_four_threads(case: Case) -> None:
    def answer(seed: int) -> dict[str, Any]:
        X = case.rows(n=130, seed=seed)
        return said(case.make().fit(X), X)

    alone = [answer(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(answer, range(4)))
    for first, second in zip(alone, together, strict=True):
        assert_close(first, second, rtol=1e-9, atol=1e-9)


@every(CASES)
def test_callbacks(case: Case) -> None:
    """They show progress, change nothing, see working models, and can stop the fit; so can Ctrl-C."""
    X = case.rows()
    plain = case.make().fit(X)
    with redirect_stdout(io.StringIO()) as shown:
        case.make().set_callbacks(ProgressBar()).fit(X)
    assert case.name in shown.getvalue()
    recorder = Recorder()
    assert_same(said(case.make().set_callbacks(recorder).fit(X), X), said(plain, X))
    for model in recorder.models:
        for name, value in said(model, X).items():
            assert np.isfinite(value).all(), name
    if plain.evidence_.status is Status.EXACT:
        return
    assert recorder.seen >= 1
    stopped = case.make().set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        stopped.fit(X)
    assert stopped.evidence_.status is Status.BUDGET
    interrupted = case.make().set_callbacks(Recorder(0, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt, match="interrupted from the keyboard"):
        interrupted.fit(X)
    assert interrupted.evidence_.status is Status.INTERRUPTED
    for model in (stopped, interrupted):
        for name, value in said(model, X).items():
            assert np.isfinite(value).all(), name
    broken = case.make().set_callbacks(Recorder(0, OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        broken.fit(X)
    assert not hasattr(broken, "n_features_in_")


HARD = {
    "duplicates": lambda X: np.repeat(X[:15], 4, axis=0),
    "constant column": lambda X: np.column_stack([X, np.full(len(X), 7.0)])[:, 1:],
    "columns of 1e8": lambda X: X + 1e8,
    "scale 1e-150": lambda X: X * 1e-150,
    "scale 1e150": lambda X: X * 1e150,
    "one column": lambda X: np.column_stack([X[:, 0]] + [np.zeros(len(X))] * (X.shape[1] - 1)),
}


@pytest.mark.parametrize("what", HARD)
@every(CASES)
def test_hard_rows(case: Case, what: str) -> None:
    """A clear error or finite numbers; never a silent NaN."""
    X = HARD[what](case.rows())
    model = case.make()
    for name in ("init", "means_init"):  # a start far from such rows is another question
        if name in case.parameters:
            model.set_params(**{name: X[:3] if name == "init" else None})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it says so, and that is all that is asked here
        warnings.filterwarnings("ignore", ".*not fully connected")
        try:
            model.fit(X)
        except ValueError:
            return
    for name, value in said(model, X).items():
        assert np.isfinite(value).all(), name
