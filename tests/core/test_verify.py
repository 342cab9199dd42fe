"""``evidence_.verify``: evidence knows its model, and the referee tells true claims from false ones."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from corollary import Certificate, KMeans, Lasso, LinearModel, LinearRegression, LogisticRegression, load
from corollary.base import Estimator
from corollary.core.evidence import Evidence, Kind
from corollary.registry import ESTIMATORS


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=80)


def test_a_true_claim_stands_and_reads_as_a_sentence(data):
    found = Lasso(alpha=0.1).fit(*data).evidence_.verify(*data)
    assert found.stands is True
    assert found.found <= 1e-8
    assert str(found).startswith("Stands: the objective is ")
    assert "relative duality gap" in found.claim


@pytest.mark.parametrize("model", [LinearRegression(), LinearModel("absolute", "l1"), LinearModel("huber", "group")])
def test_coefficients_that_were_tampered_with_are_refuted(data, model):
    model.fit(*data)
    assert model.evidence_.verify(*data).stands is True
    model.coef_ = model.coef_ * 1.01
    found = model.evidence_.verify(*data)
    assert found.stands is False
    assert "exist, lower by" in str(found)


def test_the_false_proofs_of_an_audit_are_refuted_by_their_numbers():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 400))
    X, y = np.c_[x, x + 1e-10 * z], 2 * z + 0.3 * rng.normal(size=400)
    model = LinearModel("squared", "none").fit(X, y)
    for loss in ("huber", "absolute", "quantile", "epsilon_insensitive"):
        model.loss, model.coef_, model.intercept_ = loss, np.zeros(2), 0.0
        assert model.evidence_.verify(X, y).stands is False, loss


def test_k_means_stands_and_is_refuted(data):
    X = data[0] + 8 * np.random.default_rng(1).normal(size=(3, 4))[np.arange(80) % 3]
    model = KMeans(3, random_state=0).fit(X)
    assert model.evidence_.verify(X).stands is True
    model.cluster_centers_ = model.cluster_centers_ + 0.5
    assert model.evidence_.verify(X).stands is False


def test_what_was_not_claimed_is_not_judged(data):
    model = Lasso(alpha=0.1).fit(*data)
    certificate = replace(model.evidence_.certificate, value=1.0)
    model.evidence_ = replace(model.evidence_, certificate=certificate)
    assert model.evidence_.verify(*data).stands is None


def test_wrong_data_are_refused_in_words(data):
    X, y = data
    model = Lasso(alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.evidence_.verify(X[:, :2], y)
    with pytest.raises(ValueError, match="one entry for each row"):
        model.evidence_.verify(X, y[:-1])
    with pytest.raises(ValueError, match="needs the y"):
        model.evidence_.verify(X)
    labels = LogisticRegression().fit(X, y > 0)
    with pytest.raises(ValueError, match="not fitted to"):
        labels.evidence_.verify(X, np.arange(80) % 3)


def test_other_rows_than_those_of_the_fit_do_not_pass(data):
    X, y = data
    assert Lasso(alpha=0.1).fit(X, y).evidence_.verify(X[:40], y[:40]).stands is False


def test_evidence_alone_says_so(data):
    model = Lasso(alpha=0.1).fit(*data)
    for alone in (vars(model)["evidence_"], replace(model.evidence_), pickle.loads(pickle.dumps(model.evidence_))):
        assert alone == model.evidence_
        with pytest.raises(ValueError, match="no longer with the model"):
            alone.verify(*data)


def test_the_attribute_is_like_any_other(data, tmp_path):
    model = Lasso(alpha=0.1)
    assert not hasattr(model, "evidence_")
    assert not hasattr(Lasso, "evidence_")
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.fit(*data)
    check_is_fitted(model)
    assert isinstance(vars(model)["evidence_"], Evidence)
    assert not hasattr(clone(model), "evidence_")
    model.save(tmp_path / "model")
    for twin in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model)), load(tmp_path / "model")):
        assert twin.evidence_ == model.evidence_
        assert twin.evidence_.verify(*data).stands is True
    del model.evidence_
    assert not hasattr(model, "evidence_")


def test_a_model_is_not_kept_alive_by_its_own_evidence(data):
    model = Lasso(alpha=0.1).fit(*data)
    assert model.evidence_.holds
    gone = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()


def test_evidence_of_another_kind_is_not_judged_as_optimal(data):
    model = LinearModel("squared", "l0", alpha=0.01).fit(*data)
    assert model.evidence_.certificate.kind is Kind.STATIONARY
    assert isinstance(model.evidence_.certificate, Certificate)
    assert model.evidence_.verify(*data).stands is not False


def test_the_page_names_every_estimator_and_what_the_referee_does():
    page = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text(encoding="utf-8")
    table = page.split("| model | kind | what the referee does |")[1].split("\n\n")[0]
    rows = [line.split("|")[1:4] for line in table.splitlines() if line.startswith("| `")]
    named = {name: kind.strip() for names, kind, _ in rows for name in re.findall(r"`(\w+)`", names)}
    assert set(named) == set(ESTIMATORS)
    judged = {name for names, _, does in rows for name in re.findall(r"`(\w+)`", names) if "nothing yet" not in does}
    for name, entry in ESTIMATORS.items():
        assert (entry.load()._referee is not Estimator._referee) == (name in judged), name
