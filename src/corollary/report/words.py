"""The report's sentences."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from corollary.core.evidence import Evidence, Kind, Status
from corollary.evaluate.comparison import Comparison, Row, decimals_for
from corollary.report.charts import escaped


def plain_summary(comparison: Comparison) -> str:
    """What was found, for someone who will read nothing else."""
    evidence = comparison.best_row.evidence
    sentences = [comparison.summary(), _in_practice(comparison)]
    if evidence is not None:
        sentences.append(f"About its fit: {claim(evidence)}")
    open_points = sum(not check.fine for check in comparison.checks)
    if open_points:
        sentences.append(f"{open_points} of {len(comparison.checks)} checks on the data ask for a look.")
    return " ".join(each for each in sentences if each)


def claim(evidence: Evidence) -> str:
    """What is known about a fit, and what that means: ``"Optimal: relative duality gap 3e-10 ≤ 1e-08 (…)."``"""
    meaning = evidence.certificate.kind.value if evidence.holds else f"it {evidence.status.advice}"
    return f"{evidence.claim}: {evidence.certificate} ({meaning})."


def _in_practice(comparison: Comparison) -> str:
    scores, baseline = comparison.best_row.scores, comparison.baseline
    if "accuracy" in scores:
        text = f"It is right for {scores['accuracy'].mean:.1%} of the rows it had not seen, in the mean over folds"
        if baseline is not None and "accuracy" in baseline.scores:
            text += f" ({baseline.scores['accuracy'].mean:.1%} by always naming the commonest class)"
        return f"{text}."
    if "mae" in scores and "r2" in scores:
        error = scores["mae"]
        off = f"On rows it had not seen it is off by {error.mean:,.{decimals_for(error)}f} on average"
        share = scores["r2"].mean
        return f"{off} and explains {share:.0%} of the variation." if share > 0 else f"{off}."
    return ""


def lowered(evidence: Evidence) -> bool:
    """Whether the objective was lowered: not the zero of full leaves, nor members counted down, nor one that rose."""
    objective = [*evidence.history.get("objective", ())]
    if objective and objective[-1] > objective[0]:
        return False
    steps = {after - before for before, after in pairwise(objective)}
    return not steps or (steps != {0.0} and steps != {-1.0})


def evidence_words(row: Row) -> str:
    """How a row was fitted, with advice where its evidence does not hold, and the warnings of its fits."""
    if row.evidence is None:
        said = "This model keeps no evidence."
    else:
        evidence = row.evidence
        said = f"{evidence.solver[:1].upper()}{evidence.solver[1:]}"
        said += f", {evidence.n_iter:,} iteration{'s' * (evidence.n_iter != 1)}" if evidence.n_iter else ""
        shown = {name: value for name, value in evidence.facts.items() if name != "objective" or lowered(evidence)}
        facts = ", ".join(f"{name} {value:.3g}" for name, value in shown.items())
        said += f" ({facts})." if facts else "."
        if not evidence.holds or evidence.status not in (Status.EXACT, Status.CONVERGED):
            said += f" It {evidence.status.advice}."
        said = " ".join([said, *evidence.notes])
    return " ".join([said, *row.notes])


def kinds_explained(kinds: Iterable[Kind]) -> str:
    """What each word of the column of evidence means, as a list."""
    listing = "".join(f"<dt>{kind.name.lower()}</dt><dd>{escaped(kind.value)}</dd>" for kind in kinds)
    return f'<dl class="facts">{listing}</dl>' if listing else ""
