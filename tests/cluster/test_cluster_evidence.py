"""What clusterings claim, and what is left of them when somebody stops the fit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from corollary import TimeBudget
from corollary.cluster import AgglomerativeClustering, KMeans, KMedoids, MiniBatchKMeans, SpectralClustering
from corollary.core.evidence import Kind, Status

X = make_blobs(400, 3, centers=6, cluster_std=3.0, random_state=0)[0]
SEARCHES = {
    "k-means": KMeans(7, random_state=0, tol=0),
    "restarts": KMeans(7, init="random", n_init=4, random_state=0, tol=0),
    "moves": KMeans(7, random_state=0, tol=0, moves=True),
    "mini-batches": MiniBatchKMeans(7, random_state=0, batch_size=50),
    "swaps": KMedoids(7, init="random", n_init=3, random_state=0),
    "alternation": KMedoids(7, method="alternate", init="random", random_state=0),
    "samples": KMedoids(7, method="clara", random_state=0),
    "spectral": SpectralClustering(5, gamma=0.02, random_state=0),
    "rotation": SpectralClustering(5, gamma=0.02, random_state=0, assign_labels="discretize"),
}


class Interrupt:
    """Ctrl-C after so many iterations."""

    def __init__(self, after: int) -> None:
        self.after = after

    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        if hasattr(context, "record"):
            self.after -= 1
            if self.after < 0:
                raise KeyboardInterrupt

    def teardown(self, estimator: Any, context: Any) -> None: ...


@pytest.mark.parametrize("after", [0, 1, 6])
@pytest.mark.parametrize("name", SEARCHES)
def test_control_c_keeps_the_best_and_is_raised(name: str, after: int) -> None:
    model = clone(SEARCHES[name]).set_callbacks(Interrupt(after))
    try:
        model.fit(X)
    except KeyboardInterrupt:
        assert model.evidence_.status is Status.INTERRUPTED
        assert model.evidence_.claim == "Interrupted"
        assert not model.evidence_.holds
    else:
        assert after == 6  # some are done by then
        assert model.evidence_.status is Status.CONVERGED
    assert len(model.labels_) == len(X)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.inertia_ == pytest.approx(-model.score(X))
        assert model.evidence_.facts["objective"] == model.inertia_


@pytest.mark.parametrize("name", SEARCHES)
def test_a_budget_stops_all_of_them(name: str) -> None:
    model = clone(SEARCHES[name]).set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model.fit(X)
    assert model.evidence_.status is Status.BUDGET
    assert model.evidence_.claim == "Stopped early"


def test_loops_around_a_fit_end() -> None:
    model = KMeans(7, random_state=0, tol=0).set_callbacks(Interrupt(0))
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(model, X, cv=3)


@pytest.mark.parametrize("name", SEARCHES)
def test_history(name: str) -> None:
    """Columns of equal length, under names that mean the same everywhere; the certificate's ends at its value."""
    evidence = clone(SEARCHES[name]).fit(X).evidence_
    history = evidence.history
    assert {"iteration", "objective", "seconds"} <= set(history)
    assert "gap" not in history
    assert len({len(column) for column in history.values()}) == 1
    assert history["iteration"][-1] == evidence.n_iter
    assert all(later == earlier + 1 for earlier, later in itertools.pairwise(history["iteration"]))
    if "certificate" in history:
        assert history["certificate"][-1] == evidence.certificate.value <= evidence.certificate.tolerance


def test_kinds_of_claims() -> None:
    def kind(model: Any) -> tuple[Kind, str]:
        evidence = model.fit(X).evidence_
        assert evidence.holds
        return evidence.certificate.kind, evidence.certificate.name

    assert kind(KMeans(3, random_state=0))[0] is Kind.STATIONARY
    assert kind(MiniBatchKMeans(3, random_state=0))[0] is Kind.STATIONARY
    assert kind(MiniBatchKMeans(3, random_state=0, compute_labels=False))[1].endswith("in one more batch")
    assert MiniBatchKMeans(3, random_state=0).partial_fit(X).evidence_.certificate.kind is Kind.CHECKED
    assert kind(KMedoids(3)) == (Kind.STATIONARY, "relative gain of any swap")
    assert kind(KMedoids(1)) == (Kind.EXACT, "relative gain of any other medoid")
    assert kind(KMedoids(1, method="clara")) == (
        Kind.STATIONARY,
        "relative gain of any other medoid within the sample",
    )
    for linkage in ("single", "ward"):
        assert kind(AgglomerativeClustering(3, linkage=linkage))[0] is Kind.CHECKED
    assert kind(SpectralClustering(3, gamma=0.02, random_state=0))[0] is Kind.CHECKED
    with pytest.warns(UserWarning, match="not fully connected"):
        pieces = SpectralClustering(3, affinity="radius", radius=0.01, random_state=0).fit(X).evidence_
    assert pieces.certificate.kind is Kind.OPTIMAL  # a cut of nothing cannot be bettered
    assert (pieces.status, pieces.certificate.value) == (Status.EXACT, 0.0)
