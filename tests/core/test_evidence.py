"""Evidence reads like a sentence, draws itself and merges to its weakest part."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from corollary.core.evidence import Certificate, Evidence, Status, worst_of

mpl.use("Agg")

GOOD = Evidence(
    Status.CONVERGED,
    Certificate("relative duality gap", 3e-9, 1e-8),
    "coordinate descent",
    n_iter=2,
    seconds=0.5,
    history={"iteration": [0, 1, 2], "gap": [1.0, 1e-3, 3e-9]},
)
BAD = Evidence(Status.MAX_ITER, Certificate("relative duality gap", 0.2, 1e-8), "L-BFGS", n_iter=1, seconds=1.0)


def test_a_proof_reads_like_a_sentence() -> None:
    assert str(GOOD) == "Proved: relative duality gap 3e-09 ≤ 1e-08 by coordinate descent (2 iterations, 0.5 s)."
    assert GOOD.holds
    assert "✓" in GOOD._repr_html_()


def test_what_rounding_hides_is_shown_as_nothing() -> None:
    assert str(Certificate("relative duality gap", 1.6e-59, 1e-8)) == "relative duality gap 0 ≤ 1e-08"
    assert str(Certificate("relative duality gap", 2.2e-16, 1e-8)) == "relative duality gap 2.2e-16 ≤ 1e-08"


def test_a_failure_says_what_to_do() -> None:
    assert str(BAD).startswith("Not proved: relative duality gap 0.2 > 1e-08 by L-BFGS (1 iteration, 1 s).")
    assert "raise max_iter" in str(BAD)
    assert "✗" in BAD._repr_html_()


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
