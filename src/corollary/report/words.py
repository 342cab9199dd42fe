"""The report's sentences."""

from __future__ import annotations

import shlex

from corollary.core.evidence import Status
from corollary.evaluate.comparison import Comparison, Row, decimals_for


def plain_summary(comparison: Comparison) -> str:
    """What was found, for someone who will read nothing else."""
    row = comparison.best_row
    sentences = [comparison.summary(), _in_practice(comparison)]
    if row.evidence is not None and row.evidence.holds:
        sentences.append("The fit is proved to be the optimum it claims to be.")
    elif row.evidence is not None:
        sentences.append(f"The fit is not proved: it {row.evidence.status.advice}.")
    open_points = sum(not check.fine for check in comparison.checks)
    if open_points:
        sentences.append(f"{open_points} of {len(comparison.checks)} checks on the data ask for a look.")
    return " ".join(each for each in sentences if each)


def _in_practice(comparison: Comparison) -> str:
    scores, baseline = comparison.best_row.scores, comparison.baseline
    if "accuracy" in scores:
        text = f"It is right for {scores['accuracy'].mean:.1%} of the rows it had not seen"
        if baseline is not None and "accuracy" in baseline.scores:
            text += f" ({baseline.scores['accuracy'].mean:.1%} by always naming the commonest class)"
        return f"{text}."
    if "mae" in scores and "r2" in scores:
        error = scores["mae"]
        off = f"On rows it had not seen it is off by {error.mean:,.{decimals_for(error)}f} on average"
        share = scores["r2"].mean
        return f"{off} and explains {share:.0%} of the variation." if share > 0 else f"{off}."
    return ""


def evidence_words(row: Row) -> str:
    """The evidence of a row in a sentence, with advice where it does not hold, and the warnings of its fits."""
    if row.evidence is None:
        said = "This model keeps no evidence."
    else:
        evidence = row.evidence
        said = f"{evidence.solver[:1].upper()}{evidence.solver[1:]}"
        said += f", {evidence.n_iter:,} iteration{'s' * (evidence.n_iter != 1)}" if evidence.n_iter else ""
        facts = ", ".join(f"{name} {value:.3g}" for name, value in evidence.facts.items())
        said += f" ({facts})." if facts else "."
        if not evidence.holds or evidence.status not in (Status.EXACT, Status.CONVERGED):
            said += f" It {evidence.status.advice}."
        said = " ".join([said, *evidence.notes])
    return " ".join([said, *row.remarks])


def command_line(comparison: Comparison) -> str:
    """The command, or the call, that does this again."""
    settings = comparison.settings
    if not settings["from_file"]:
        options = [f"{name}={settings[name]!r}" for name in ("task", "preset", "folds", "metric", "drop", "seed")
                   if settings[name] not in (None, "auto", ())]  # fmt: skip
        return f"corollary.compare(data, {settings['target']!r}, {', '.join(options)})"
    words = ["corollary", "compare", comparison.facts.source, "--target", settings["target"]]
    for option in ("task", "preset", "folds", "metric", "seed", "time_budget", "encoding"):
        if settings[option] not in (None, "auto", "utf-8"):
            words += [f"--{option.replace('_', '-')}", str(settings[option])]
    for name in settings["drop"]:
        words += ["--drop", name]
    words += ["--drop-missing-target"] * bool(settings["drop_missing_target"])
    words += ["--no-header"] * (not settings["header"])
    return shlex.join(words)
