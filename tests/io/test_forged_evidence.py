"""Evidence in a file is shown to people, so it is one that a fit could have left, in plain lines."""

from __future__ import annotations

import numpy as np
import pytest
from model_files import estimator, forge

from corollary import LinearRegression, Ridge, io
from corollary.core.evidence import Certificate, Evidence, Kind, Status

CERTIFICATE = {"kind": {"kind": "OPTIMAL"}, "name": "relative duality gap", "value": 0.0, "tolerance": 1e-8}
EVIDENCE = {
    "status": {"status": "EXACT"},
    "certificate": {"certificate": CERTIFICATE},
    "solver": "Cholesky",
    "n_iter": 0,
    "seconds": 0.1,
    "history": {"dict": {}},
    "facts": {"dict": {"rank": 1.0}},
    "notes": {"tuple": ["One note."]},
}


def model(**changes):
    evidence = {"evidence": EVIDENCE | changes}
    return estimator("sklearn:StandardScaler", a=evidence)


def certified(**changes):
    return model(certificate={"certificate": CERTIFICATE | changes})


@pytest.mark.parametrize("shown", ["fine", "naïve Σ wᵢ ≤ 1 · é", "tab-free"])
def test_what_a_fit_leaves_is_read(tmp_path, shown):
    path = forge(tmp_path / "m", model(solver=shown, notes={"tuple": [shown]}))
    assert io.load(path).a == Evidence(
        Status.EXACT, Certificate(Kind.OPTIMAL, "relative duality gap", 0.0, 1e-8), shown, 0, 0.1, {}, {"rank": 1.0},
        (shown,),
    )  # fmt: skip


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_certificate_that_failed_is_read(tmp_path, value):
    path = forge(tmp_path / "m", certified(value={"float": value}))
    assert not io.load(path).a.holds


@pytest.mark.parametrize("bad", ["\x1b[2Jgone", "two\nlines", "\r", "\x9b31m", "x" * 100_000, "a\u2028b"])
@pytest.mark.parametrize(
    "forged",
    [
        lambda bad: model(solver=bad),
        lambda bad: model(notes={"tuple": [bad]}),
        lambda bad: model(facts={"dict": {bad: 1.0}}),
        lambda bad: model(history={"dict": {bad: [1.0]}}),
        lambda bad: certified(name=bad),
    ],
)
def test_lines_that_are_no_lines_are_refused(tmp_path, forged, bad):
    path = forge(tmp_path / "m", forged(bad))
    with pytest.raises(io.ModelFileError, match=r"control characters|characters where at most") as refused:
        io.load(path)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        (certified(value=-1.0), "certificate of -1.0"),
        (certified(value={"float": "-inf"}), "certificate of -inf"),
        (certified(tolerance=-1.0), "tolerance -1.0"),
        (certified(tolerance={"float": "inf"}), "tolerance inf"),
        (certified(tolerance={"float": "nan"}), "tolerance nan"),
        (model(n_iter=-1), "-1 iterations"),
        (model(n_iter=10**30), "iterations in"),
        (model(n_iter=True), "True where a number"),
        (model(n_iter=1.5), "n_iter is 1.5"),
        (model(seconds=-0.5), "in -0.5 s"),
        (model(seconds={"float": "inf"}), "in inf s"),
        (model(seconds={"float": "nan"}), "in nan s"),
        (model(notes={"tuple": ["x"] * 5_000}), "5,000 notes"),
    ],
)
def test_numbers_that_no_fit_leaves_are_refused(tmp_path, forged, reason):
    path = forge(tmp_path / "m", forged)
    with pytest.raises(io.ModelFileError, match=reason):
        io.load(path)


@pytest.mark.parametrize("alpha", [[[Ridge()]], range(2**62), range(2**70), [Ridge()], 10**400, [1.0, object()]])
def test_an_alpha_that_is_no_numbers_is_refused_at_every_door(tmp_path, alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        Ridge(alpha=alpha).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(io.ModelFileError):
        Ridge(alpha=alpha).save(tmp_path / "m")


def test_an_alpha_of_numbers_is_not(tmp_path):
    for alpha in (1, [1.0], (np.float32(2),), np.ones(1), range(1, 2)):
        Ridge(alpha=alpha).fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "m")
    assert LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]).evidence_.holds
