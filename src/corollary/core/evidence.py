"""Evidence: what can be shown about a fit, measured and kept with it.

A fitted model answers "is this the answer?" with ``model.evidence_``. Reports, the command line and plots read only
this object, so a solver that fills it in is understood everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from corollary.core.drawing import axes
from corollary.referee.verdict import Verification

TONES = {"good": "#2b8a45", "plain": "inherit", "bad": "#d0352b"}  # can be read on light and on dark pages
NOTHING = 1e-16  # a relative number below the rounding of what it is relative to is shown as zero


class Status(Enum):
    """How a fit ended. The value is advice to the person reading it."""

    EXACT = "was solved in closed form; nothing to tune"
    CONVERGED = "converged; the certificate holds"
    MAX_ITER = "stopped at max_iter before the certificate held; raise max_iter, loosen tol, or add regularisation"
    TOL = "stopped where tol allows it, before the certificate held; lower tol"
    STALLED = "cannot make further progress in this precision; rescale the data, loosen tol, or use float64"
    BUDGET = "was stopped by a callback; the best answer so far, by its own objective, was kept"
    INTERRUPTED = "was interrupted from the keyboard; the best answer so far was kept"
    MUTE = "cannot be checked, for some of its members cannot predict; drop them"
    RISING = "let the training loss rise; lower learning_rate or raise l2_regularization, or rescale y"
    SEPARABLE = "separates all rows but those that lie in a plane, so no finite optimum exists; add a penalty"

    @property
    def advice(self) -> str:
        return self.value

    @property
    def cut_short(self) -> bool:
        """Whether somebody ended the fit before it was done."""
        return self in (Status.BUDGET, Status.INTERRUPTED)


class Kind(Enum):
    """What sort of claim a certificate makes, from the strongest to the weakest. The value says it in plain words."""

    OPTIMAL = "a bound was computed: nothing whatever is better by more than this"
    EXACT = "the answer comes from a closed form or from trying everything, and its residual was checked"
    STATIONARY = "no move of the stated kind improves it by more than this; something quite different might"
    CHECKED = "the algorithm's bookkeeping was worked out again and agrees; nothing is claimed about better answers"

    @property
    def word(self) -> str:
        """How lines that people read begin."""
        return self.name.capitalize()

    @property
    def rank(self) -> int:
        """0 for the strongest kind; a larger number is a weaker claim."""
        return list(Kind).index(self)


@dataclass(frozen=True)
class Certificate:
    """A number that shows (or fails to show) that a fit is what it claims to be, and what kind of claim that is.

    ``value`` is a non-negative measure of how far the fit can be from what is claimed; it ``holds`` when it is at most
    ``tolerance``. For a relative duality gap of 1e-9 (kind *optimal*), for instance, no coefficients whatever can have
    an objective that is lower by more than one part in a billion.
    """

    kind: Kind
    name: str
    value: float
    tolerance: float

    @property
    def holds(self) -> bool:
        return bool(self.value <= self.tolerance)

    def __str__(self) -> str:
        shown = 0.0 if abs(self.value) < NOTHING else self.value  # NaN is shown as what it is
        return f"{self.name} {shown:.2g} {'≤' if self.holds else '>'} {self.tolerance:.2g}"


def honest(status: Status, certificate: Certificate) -> Status:
    """The status, but not one of success over a certificate that fails."""
    return Status.STALLED if status in (Status.EXACT, Status.CONVERGED) and not certificate.holds else status


def carried_over(begun: int, count: int, what: str) -> tuple[str, ...]:
    """The note of a fit that went on from earlier ones, whose ``begun`` of its ``count`` trees or rounds it took over.

    They may have been fitted to other rows, with other parameters: evidence is about what a fit has done itself.
    """
    if not begun:
        return ()
    some = f"{begun} of the {count} {what} are of earlier fits" if begun < count else f"All {what} are of earlier fits"
    rest = "what is said is said of the others" if begun < count else "nothing is said of them"
    return (f"{some}, on rows that need not be these; {rest}.",)


@dataclass(frozen=True)
class Evidence:
    """Status, certificate, history and cost of one fit.

    Parameters
    ----------
    status : Status
        How the fit ended; ``status.advice`` says what to do about it.
    certificate : Certificate
        The strongest statement that holds for this kind of model.
    solver : str
        The algorithm that produced the answer, for instance ``"coordinate descent"``.
    n_iter : int
        Iterations of that algorithm (0 for closed forms).
    seconds : float
        Wall-clock time of the fit.
    history : mapping of str to sequence of float
        One entry per iteration under each name. The same name means the same thing in every model: ``"iteration"``
        (steps done), ``"objective"`` (what is being lowered), ``"certificate"`` (the certificate's value then, to be
        compared with its tolerance), ``"validation loss"``, ``"seconds"`` since the start.
    facts : mapping of str to float
        Further measured numbers: ``"condition number"``, ``"rank"``, ``"objective"``, ``"effective dof"`` ...
    notes : tuple of str
        Sentences worth reading: rank deficiency, rescaled columns, ignored rows.
    """

    status: Status
    certificate: Certificate
    solver: str
    n_iter: int = 0
    seconds: float = 0.0
    history: Mapping[str, Sequence[float]] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Verification:
        """Judge the claim anew from the rows it was fitted to: does it stand, is it refuted, or can it not be decided?

        Data are checked and the problem is put into plain words by the model, as in a fit; the judging itself
        (``corollary.referee``) shares no code with the fit. It reads the fitted attributes, computes in extended
        precision, and looks for what the claim says cannot be. What was learnt from y is not judged without it.
        """
        model = self.__dict__.get("_model")
        if model is None:
            raise ValueError(
                "This evidence is no longer with the model that it speaks of, so there is nothing to judge: ask for "
                "model.evidence_.verify(X, y) on the fitted model."
            )
        if model.__dict__.get("evidence_") is not self.__dict__["_kept"]:
            raise ValueError(
                "The model was fitted again since, or its evidence replaced, so this evidence no longer speaks of it: "
                "ask for model.evidence_.verify(X, y)."
            )
        found: Verification = model._verify(X, y, sample_weight)
        return found

    def bound_to(self, model: Any) -> Evidence:
        """A copy that knows its model, for ``verify``. Copies made of it, by ``replace`` or pickle, do not."""
        bound = replace(self)
        object.__setattr__(bound, "_model", model)
        object.__setattr__(bound, "_kept", self)  # what the model holds, as long as it is not fitted again
        return bound

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_model", "_kept")}

    @property
    def holds(self) -> bool:
        """Whether the certificate is met by a fit that was not cut short."""
        return self.certificate.holds and not self.status.cut_short

    @property
    def claim(self) -> str:
        """What is claimed, in a word or a few: ``"Optimal"``, ``"Stationary"``, ``"Not shown to be optimal"`` …"""
        kind = self.certificate.kind
        if self.status.cut_short:
            return self.status.name.capitalize() if self.status is Status.INTERRUPTED else "Stopped early"
        if self.holds:
            return kind.word
        return "Check failed" if kind is Kind.CHECKED else f"Not shown to be {kind.name.lower()}"

    @property
    def verdict(self) -> str:
        """The claim as a cell of a table has it: ``"✓ optimal"``, ``"✓ checked"``, ``"✗ not shown"`` …"""
        kind = self.certificate.kind.name.lower()
        return f"✓ {kind}" if self.holds else f"✗ {self.claim.lower().removesuffix(f' to be {kind}')}"

    @property
    def tone(self) -> str:
        """How it is coloured: ``"good"`` (optimal, exact), ``"plain"`` (a weaker kind that holds) or ``"bad"``.

        A weaker kind must not look like a stronger one.
        """
        if not self.holds:
            return "bad"
        return "good" if self.certificate.kind in (Kind.OPTIMAL, Kind.EXACT) else "plain"

    def __str__(self) -> str:
        took = f"{self.seconds:.3g} s"
        if self.n_iter or (self.status.cut_short and self.history):  # of a closed form, iterations are not spoken of
            took = f"{self.n_iter} iteration{'s' * (self.n_iter != 1)}, {took}"
        lines = [f"{self.claim}: {self.certificate} by {self.solver} ({took})."]
        if not self.holds or self.status not in (Status.EXACT, Status.CONVERGED):
            lines.append(f"It {self.status.advice}.")
        lines.extend(self.notes)
        return " ".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        colour = TONES[self.tone]
        return f'<span style="color:{colour};font-weight:600">{self.verdict[0]}</span> {html.escape(str(self))}'

    @property
    def certificate_history(self) -> Any:
        """The certificate's value after each iteration, as an array; empty where it is known at the end only."""
        kept = self.history.get("certificate", self.history.get("gap", ()))  # "gap" in files of version 0.1
        return np.asarray(kept, dtype=float)

    def plot(self, ax: Any = None) -> Any:
        """Draw the convergence history (objective and certificate against iterations); returns the matplotlib axes."""
        ax = axes(ax, (6, 4))
        iterations = np.asarray(self.history.get("iteration", ()), dtype=float)
        values = self.certificate_history
        if iterations.size and values.size == iterations.size:
            positive = np.maximum(values, np.finfo(float).tiny)
            ax.semilogy(iterations, positive, marker="o", ms=3, label=self.certificate.name)
            ax.axhline(self.certificate.tolerance, color="0.5", ls="--", lw=1, label="tolerance")
            ax.legend(frameon=False)
        elif iterations.size:
            for name in ("objective", "validation loss"):
                if len(self.history.get(name, ())) == iterations.size:
                    ax.plot(iterations, self.history[name], marker="o", ms=3, label=name)
            ax.legend(frameon=False)
        else:
            ax.text(0.5, 0.5, f"{self.solver}:\nno iterations to draw", ha="center", transform=ax.transAxes)
        label = self.certificate.name if values.size else "objective"
        ax.set(xlabel="iteration", ylabel=label, title=str(self.certificate))
        return ax


def share_wrong_at_most(checked: int, total: int) -> float:
    """The share of all items that can be wrong, with 95 % confidence, if a random sample of them has none wrong.

    Were a share s wrong, m items drawn at random would all be right with probability at most (1 − s)^m, which is below
    5 % for s > 1 − 0.05^(1/m). Where every item was checked the share is 0, and where none was it is 1.
    """
    if checked >= total:
        return 0.0
    return float(1.0 - 0.05 ** (1.0 / checked)) if checked > 0 else 1.0


def worst_of(parts: Sequence[Evidence]) -> Evidence:
    """The evidence of several fits as one: the weakest claim, the summed time, the longest run."""
    if len(parts) == 1:
        return parts[0]

    def weakness(part: Evidence) -> tuple[bool, bool, int, float]:
        certificate = part.certificate
        return (
            part.status.cut_short,
            not part.holds,
            certificate.kind.rank,
            np.nan_to_num(certificate.value / max(certificate.tolerance, 1e-300), nan=np.inf),
        )

    return replace(
        max(parts, key=weakness),
        n_iter=max(part.n_iter for part in parts),
        seconds=sum(part.seconds for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
