"""Naive Bayes: of many dense rows, learnt and asked for classes, and of sparse counts like those of words in texts.

All candidates have the same closed form, so the rule of equal quality is the log-loss of the first rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

WORDS, TOPICS = 100, 20
ASKED = 20_000  # rows that the quality is measured on
_models: dict[tuple[str, int, int], Any] = {}


def numbers(n: int, d: int) -> Data:
    """Two classes of normal rows, a tenth of a standard deviation apart in every column."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, d))
    X += 0.1 * y[:, None]
    return Data(X, y)


def texts(n: int, d: int) -> Data:
    """Counts of some hundred words a text, by a law that favours the first; each topic prefers words of its own."""
    rng = np.random.default_rng(0)
    y = rng.integers(TOPICS, size=n)
    words = (d * rng.random((n, WORDS)) ** 3).astype(np.int32)
    own = rng.random((n, WORDS)) < 0.05
    words[own] = (words[own] // TOPICS * TOPICS + np.repeat(y, own.sum(axis=1))) % d
    X = scipy.sparse.csr_array(
        (np.ones(n * WORDS), words.ravel(), np.arange(0, n * WORDS + 1, WORDS, dtype=np.int32)), shape=(n, d)
    )
    X.sum_duplicates()
    return Data(X, y)


def log_loss(data: Data, fit: Any) -> float:
    """Of the first rows."""
    rows = slice(0, ASKED)
    logs = fit.predict_log_proba(data.X[rows])
    return float(-logs[np.arange(len(logs)), data.y[rows]].mean())


def wrong(data: Data, labels: Any) -> float:
    """The share of rows whose class is not the one that was predicted."""
    return float((labels != data.y).mean())


def _fit(module: str, name: str) -> Callable[[Data, float], Any]:
    return lambda data, tolerance: load(module, name)().fit(data.X, data.y)


def _predict(package: str, module: str, name: str) -> Callable[[Data, float], Any]:
    """Predictions of a model that was fitted before the clock starts."""

    def predict(data: Data, tolerance: float) -> Any:
        key = (f"{package} {name}", *data.X.shape)
        if key not in _models:
            _models[key] = load(module, name)().fit(data.X, data.y)
        return _models[key].predict(data.X)

    return predict


def _candidates(name: str, make: Callable[..., Callable[[Data, float], Any]], *, named: bool) -> tuple[Candidate, ...]:
    places = ((OURS, OURS, OURS), ("scikit-learn", "sklearn", "sklearn.naive_bayes"))
    return tuple(
        Candidate(label, package, make(package, module, name) if named else make(module, name))
        for label, package, module in places
    )


WORKLOADS = (
    Workload(
        "gaussian-nb",
        "Gaussian naive Bayes, 2 classes",
        numbers,
        sizes=(1_000_000, 50),
        quick_sizes=(5_000, 8),
        candidates=_candidates("GaussianNB", _fit, named=False),
        quality=Quality("log-loss", log_loss, 1e-6),
        bar=3.0,
    ),
    Workload(
        "gaussian-nb-predict",
        "Classes by Gaussian naive Bayes",
        numbers,
        sizes=(1_000_000, 50),
        quick_sizes=(5_000, 8),
        candidates=_candidates("GaussianNB", _predict, named=True),
        quality=Quality("share of errors", wrong, 1e-6),
        bar=3.0,
    ),
    Workload(
        "multinomial-nb",
        f"Multinomial naive Bayes of sparse counts, {TOPICS} classes",
        texts,
        sizes=(200_000, 50_000),
        quick_sizes=(2_000, 500),
        candidates=_candidates("MultinomialNB", _fit, named=False),
        quality=Quality("log-loss", log_loss, 1e-6),
        bar=1.5,
    ),
    Workload(
        "multinomial-nb-predict",
        f"Classes by multinomial naive Bayes of sparse counts, {TOPICS} classes",
        texts,
        sizes=(200_000, 50_000),
        quick_sizes=(2_000, 500),
        candidates=_candidates("MultinomialNB", _predict, named=True),
        quality=Quality("share of errors", wrong, 1e-6),
    ),
)
