r"""L1 logistic regression on data that look like text: word counts with a Zipf law, weighted as tf-idf.

.. math:: C \sum_i \log(1 + e^{-y_i x_i^\top w}) + \lVert w \rVert_1

No candidate fits an intercept: celer cannot, and LIBLINEAR would penalise it. X is CSR, as a vectoriser makes it;
whoever works by columns converts it within the time that is measured. ``C`` leaves some two thousand words.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import expit

from benchmarks.linear.logistic import LIMIT, estimator, liblinear, logistic_loss
from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, decades, load

WORDS = 120  # in a document on average, of which some ninety are different


def tf_idf(n: int, d: int) -> Any:
    """n documents by d words in CSR: (1 + log count) (1 + log((1 + n) / (1 + documents with the word))), unit rows."""
    rng = np.random.default_rng(0)
    popularity = np.cumsum(1.0 / np.arange(1, d + 1))
    lengths = np.maximum(1, rng.poisson(rng.gamma(3.0, WORDS / 3.0, n)))
    words = np.searchsorted(popularity, rng.random(lengths.sum()) * popularity[-1])
    places = (np.repeat(np.arange(n), lengths), words)
    X = scipy.sparse.csr_matrix((np.ones(len(words)), places), shape=(n, d))
    X.sum_duplicates()
    documents = np.bincount(X.indices, minlength=d)
    X.data = (1.0 + np.log(X.data)) * (np.log((1.0 + n) / (1.0 + documents)) + 1.0)[X.indices]
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def make(n: int, d: int) -> Data:
    """Labels (-1 and 1) from a logistic model on a hundredth of the words, all of them frequent."""
    X = tf_idf(n, d)
    rng = np.random.default_rng(1)
    frequent = max(1, d // 10)
    support = rng.choice(frequent, max(1, frequent // 10), replace=False)
    signal = X[:, support] @ rng.standard_normal(len(support))
    positive = rng.random(n) < expit(3.0 * signal / signal.std())
    return Data(X, np.where(positive, 1, -1), {"C": 2.0})


def objective(data: Data, fit: Any) -> float:
    return logistic_loss(data, fit) + float(np.abs(fit.coef_).sum())


def _skglm(data: Data, tolerance: float) -> Any:
    alpha = 1.0 / (data.settings["C"] * len(data.y))
    model = load("skglm", "SparseLogisticRegression")(alpha=alpha, tol=tolerance, fit_intercept=False, max_iter=100)
    return model.fit(data.X, data.y)


def _celer(data: Data, tolerance: float) -> Any:
    model = load("celer", "LogisticRegression")(C=data.settings["C"], tol=tolerance)
    return SimpleNamespace(coef_=model.fit(data.X, data.y).coef_, intercept_=0.0)


_ARGUMENTS = {"l1_ratio": 1.0, "fit_intercept": False}
_sklearn = estimator("sklearn.linear_model", solver="liblinear", max_iter=LIMIT, random_state=0, **_ARGUMENTS)


def reference(data: Data) -> float:
    return objective(data, _sklearn(data, 1e-8))


WORKLOADS = (
    Workload(
        "logistic-l1-text",
        "Logistic regression, L1, sparse text",
        make,
        sizes=(20_000, 50_000),
        quick_sizes=(300, 800),
        candidates=(
            Candidate(OURS, OURS, estimator(OURS, **_ARGUMENTS), decades(1e-1, 1e-9)),
            Candidate("celer", "celer", _celer, decades(1e-1, 1e-8)),
            Candidate("skglm", "skglm", _skglm, decades(1e-3, 1e-9)),
            Candidate("scikit-learn liblinear", "sklearn", _sklearn, decades(1e-1, 1e-8)),
            Candidate("LIBLINEAR", "liblinear", liblinear("-s 6", bias=False), decades(1e-1, 1e-8)),
        ),
        quality=Quality("objective", objective, 1e-6, reference=reference),
    ),
)
