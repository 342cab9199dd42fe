"""Evidence reads like a sentence, draws itself and merges to its weakest part."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import pytest

from corollary.core.evidence import TONES, Certificate, Evidence, Kind, Status, honest, worst_of
from corollary.core.inner_models import weakened

mpl.use("Agg")

GOOD = Evidence(
    Status.CONVERGED,
    Certificate(Kind.OPTIMAL, "relative duality gap", 3e-9, 1e-8),
    "coordinate descent",
    n_iter=2,
    seconds=0.5,
    history={"iteration": [0, 1, 2], "certificate": [1.0, 1e-3, 3e-9]},
)
BAD = Evidence(
    Status.MAX_ITER, Certificate(Kind.OPTIMAL, "relative duality gap", 0.2, 1e-8), "L-BFGS", n_iter=1, seconds=1.0
)


def test_evidence_reads_like_a_sentence() -> None:
    assert str(GOOD) == "Optimal: relative duality gap 3e-09 ≤ 1e-08 by coordinate descent (2 iterations, 0.5 s)."
    assert GOOD.holds
    assert "✓" in GOOD._repr_html_()


def test_what_rounding_hides_is_shown_as_nothing() -> None:
    assert str(Certificate(Kind.OPTIMAL, "relative duality gap", 1.6e-59, 1e-8)) == "relative duality gap 0 ≤ 1e-08"
    assert (
        str(Certificate(Kind.OPTIMAL, "relative duality gap", 2.2e-16, 1e-8)) == "relative duality gap 2.2e-16 ≤ 1e-08"
    )


def test_a_number_that_is_none_is_shown_and_never_holds() -> None:
    broken = Certificate(Kind.OPTIMAL, "relative duality gap", float("nan"), 1e-8)
    assert not broken.holds
    assert str(broken) == "relative duality gap nan > 1e-08"
    assert honest(Status.CONVERGED, broken) is Status.STALLED
    spoiled = replace(BAD, certificate=broken)
    assert worst_of([BAD, spoiled, BAD]).certificate is broken


def test_a_failure_says_what_to_do() -> None:
    assert str(BAD).startswith(
        "Not shown to be optimal: relative duality gap 0.2 > 1e-08 by L-BFGS (1 iteration, 1 s)."
    )
    assert "raise max_iter" in str(BAD)
    assert "✗" in BAD._repr_html_()


@pytest.mark.parametrize(
    ("status", "start"), [(Status.INTERRUPTED, "Interrupted: "), (Status.BUDGET, "Stopped early: ")]
)
def test_a_fit_that_was_cut_short_claims_nothing(status: Status, start: str) -> None:
    evidence = replace(GOOD, status=status)
    assert evidence.certificate.holds
    assert not evidence.holds
    assert str(evidence).startswith(start)
    assert "Optimal" not in str(evidence)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_its_word(kind: Kind) -> None:
    certificate = Certificate(kind, "distance", 0.0, 1e-9)
    assert str(replace(GOOD, certificate=certificate)).startswith(f"{kind.name.capitalize()}: distance 0 ≤ 1e-09")
    claim = replace(GOOD, certificate=replace(certificate, value=1.0)).claim
    assert claim == ("Check failed" if kind is Kind.CHECKED else f"Not shown to be {kind.name.lower()}")


def test_a_weaker_kind_does_not_look_like_a_stronger_one() -> None:
    looks = {}
    for kind in Kind:
        evidence = replace(GOOD, certificate=Certificate(kind, "distance", 0.0, 1e-9))
        looks[kind] = evidence.tone
        assert evidence.verdict == f"✓ {kind.name.lower()}"
        assert (TONES["good"] in evidence._repr_html_()) == (evidence.tone == "good")
    assert looks == {Kind.OPTIMAL: "good", Kind.EXACT: "good", Kind.STATIONARY: "plain", Kind.CHECKED: "plain"}
    assert (BAD.verdict, BAD.tone) == ("✗ not shown", "bad")
    assert replace(BAD, certificate=Certificate(Kind.CHECKED, "balance", 1.0, 0.0)).verdict == "✗ check failed"
    assert replace(GOOD, status=Status.BUDGET).verdict == "✗ stopped early"


def test_the_weakest_claim_speaks_for_several_fits() -> None:
    weaker = replace(GOOD, certificate=Certificate(Kind.STATIONARY, "gain", 0.0, 1e-9))
    assert worst_of([GOOD, weaker, GOOD]).certificate.kind is Kind.STATIONARY
    assert worst_of([weaker, BAD]).claim == "Not shown to be optimal"


@pytest.mark.parametrize("status", list(Status))
def test_every_status_completes_the_sentence_it(status: Status) -> None:
    first = status.advice.split()[0]
    assert first in {"was", "converged", "converged;", "stopped", "cannot", "separates", "let"}


def test_several_fits_are_as_good_as_the_worst() -> None:
    merged = worst_of([GOOD, BAD, GOOD])
    assert not merged.holds
    assert merged.seconds == 2.0
    assert merged.n_iter == 2
    assert worst_of([GOOD]) is GOOD


def test_plots() -> None:
    import matplotlib.pyplot as plt

    assert len(GOOD.plot().lines) == 2
    assert "no iterations" in BAD.plot().texts[0].get_text()
    plt.close("all")


@pytest.mark.parametrize("status", [Status.EXACT, Status.CONVERGED])
def test_no_success_over_a_certificate_that_fails(status: Status) -> None:
    assert honest(status, GOOD.certificate) is status
    assert honest(status, BAD.certificate) is Status.STALLED
    assert honest(Status.BUDGET, BAD.certificate) is Status.BUDGET


def test_a_member_that_falls_short_never_gets_a_stronger_word() -> None:
    exact = Evidence(Status.EXACT, Certificate(Kind.EXACT, "cost of a decision", 0.0, 1e-9), "counting")
    for kind in Kind:
        member = Evidence(Status.MAX_ITER, Certificate(kind, "something", 1.0, 1e-3), "EM")
        found = weakened(exact, [member]).certificate
        assert found.kind is max(kind, Kind.EXACT, key=lambda each: each.rank)
        assert not found.holds
