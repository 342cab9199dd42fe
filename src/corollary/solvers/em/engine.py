"""Expectation–maximisation for any latent-variable model, as an algorithm of the one loop.

A model says two things. ``e_step(block, params)`` is what a block of rows contributes when the hidden variables are
averaged under ``params``: a Summary, which merges by ``+`` and knows the log-likelihood of its rows.
``m_step(summary)`` is the parameters that are best for such averages. Then no iteration can lower the log-likelihood
(plus the log prior, if the model has one), whatever the model is. EM is at rest when an iteration gains next to
nothing; that it never lost anything is measured on the way.

A small gain says little of where one is: EM can be slow. A model that can tell how far apart two parameters are in
units of their own is certified by the step that comes next: at a stationary point, and nowhere else, it has no length.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from corollary.core.blocks import Source
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.parallel import one_blas_thread
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, Run, best_of

FALL = 1e-9  # a fall of the objective by less than this, relative to 1 + |objective|, is rounding
ROUNDING = 1e-14  # no gain below this is seen in float64
GAIN = "mean log-likelihood gained in the last iteration"
SLOW = 3.0  # times the tolerance: a way to go that is worth telling
TO_GO = "way to where EM would rest, if its steps went on shrinking as the last one did"


class Expected(Protocol):
    """What a block of rows contributes: anything that merges and knows how likely its rows are."""

    @property
    def log_likelihood(self) -> float:
        """Σ weight · log density of the rows."""

    @property
    def weight(self) -> float:
        """Σ weight of the rows."""

    def __add__(self, other: Self, /) -> Self: ...


Params = TypeVar("Params")
S = TypeVar("S", bound=Expected)


class LatentModel(Protocol[Params, S]):
    """A latent-variable model.

    Three methods are optional. ``log_prior(params)`` is what a prior adds; ``m_step`` must then maximise the sum.
    ``movement(before, after)`` is how far one iteration moves the parameters, and ``movement_name`` the name of the
    certificate: that of the step that would come next. EM then ends when this, and not the gain, is at most the
    tolerance; unless ``movement_tol(tol)`` says what movement is to be certified with a gain of ``tol``: EM then goes
    on until both are small enough.
    """

    def e_step(self, block: Any, params: Params) -> S: ...

    def m_step(self, summary: S) -> Params: ...


@dataclass(frozen=True)
class Estimate(Generic[Params, S]):
    """The best parameters that were found, what the rows contribute under them, and the evidence."""

    params: Params
    summary: S
    evidence: Evidence

    @property
    def objective(self) -> float:
        """Mean log-likelihood (plus the log prior over the weight of the rows)."""
        return -self.evidence.facts["objective"]


def em(
    model: LatentModel[Params, S],
    data: Source,
    starts: Iterable[Params],
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    observe: Observer | None = None,
    seconds: float = np.inf,
) -> Estimate[Params, S]:
    """Climb from each of ``starts`` and keep the best end; see the module's first lines.

    Parameters
    ----------
    model : LatentModel
    data : Source
        Where blocks come from (``ArraySource``, ``BlockSource``); every iteration is one pass.
    starts : iterable of parameters
        A generator draws a start only when the one before has been climbed from.
    tol : float ≥ 0
        A gain of the mean log-likelihood in one iteration that is too small to go on. With 0 no gain is too small:
        ``max_iter`` iterations are made.
    max_iter : int ≥ 0
        The most iterations from each start.
    observe : function of a record and a snapshot of the parameters, or None
        Called after each iteration; True ends the fit.
    seconds : float
        The most seconds of wall clock, all starts together.
    """
    measured = getattr(model, "movement_tol", None)
    limit = tol if tol > 0 or (hasattr(model, "movement") and not measured) else -1.0  # no gain is below zero
    short = measured(tol) if measured else limit
    climbs = (_Climb(model, data, start, limit, short) for start in starts)
    with one_blas_thread():  # also while starts are drawn: the same bits for any number of threads
        found = best_of(climbs, Rules(max_iter, short, observe, seconds))
    return Estimate(found.state.params, found.state.summary, _evidence(found))


@dataclass(frozen=True)
class _Place(Generic[Params, S]):
    """Parameters, what the rows contribute under them, the objective there, and the parameters that follow.

    ``gain`` is how the objective differs from that of the place ``before``.
    """

    params: Params
    summary: S
    value: float
    following: Params
    gain: float = np.inf
    before: Params | None = None


class _Climb(Algorithm[_Place[Params, S]], Generic[Params, S]):
    """EM from one start."""

    name = "EM"
    kind = Kind.STATIONARY

    def __init__(self, model: LatentModel[Params, S], data: Source, start: Params, enough: float, short: float) -> None:
        self.model, self.data, self.start, self.enough, self.short = model, data, start, enough, short
        self.log_prior, self.movement = getattr(model, "log_prior", None), getattr(model, "movement", None)
        # whether the movement is measured only where the gain is small enough
        self.at_end = getattr(model, "movement_tol", None) is not None
        self.certificate_name = getattr(model, "movement_name", GAIN)

    def init(self) -> _Place[Params, S]:
        return self._at(self.start)

    def step(self, state: _Place[Params, S]) -> _Place[Params, S]:
        new = self._at(state.following)
        return replace(new, gain=new.value - state.value, before=state.params)

    def _at(self, params: Params) -> _Place[Params, S]:
        summary = self.data.total(partial(_e_step, self.model, params))
        prior = self.log_prior(params) if self.log_prior else 0.0
        value = (summary.log_likelihood + prior) / summary.weight
        if not np.isfinite(value):
            raise ValueError(
                f"The log-likelihood is {value}: some row has no density under the parameters, or squares of the data "
                "overflow float64. Rescale the columns of X to magnitudes below 1e100 (StandardScaler does), or start "
                "from other parameters."
            )
        return _Place(params, summary, float(value), self.model.m_step(summary))

    def measure(self, state: _Place[Params, S]) -> Measure:
        """Done when nothing is gained or nothing moves; a fall of the objective beyond rounding ends it as well."""
        yardstick = 1.0 + abs(state.value)
        fell = state.gain < -FALL * yardstick
        rest = state.gain if state.gain > ROUNDING * yardstick else 0.0
        if not self.movement:
            return Measure(-state.value, np.inf if fell else rest, stalled=fell)
        if self.at_end:
            done = not fell and rest <= self.enough
            done = done and (rest == 0.0 or self.movement(state.params, state.following) <= self.short)
            return Measure(-state.value, stalled=fell, done=done, more={"gain": state.gain})
        rest = self.movement(state.params, state.following)
        return Measure(-state.value, np.inf if fell else rest, stalled=fell, more={"gain": state.gain})

    def better(self, new: Measure, old: Measure) -> bool:
        return not new.stalled

    def snapshot(self, state: _Place[Params, S]) -> Params:
        return state.params

    def finish(self, state: _Place[Params, S], measure: Measure) -> tuple[_Place[Params, S], Measure]:
        if not (self.movement and self.at_end):
            return state, measure
        length, more = self.movement(state.params, state.following), dict(measure.more)
        last = 0.0 if state.before is None else self.movement(state.before, state.params)
        if length < last:
            more[TO_GO] = length / (1.0 - length / last)
        return state, replace(measure, residual=length, more=more)

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return super().certify(measure, max(tol, 0.0))


def _e_step(model: LatentModel[Params, S], params: Params, block: Any) -> S:
    return model.e_step(block, params)


def _evidence(found: Run[_Place[Params, S]]) -> Evidence:
    """The evidence, with the largest fall of the objective as a fact. If it exceeds rounding, the certificate fails."""
    objective = np.asarray(found.history["objective"])
    fall = float(np.max(np.diff(objective) / (1.0 + np.abs(objective[1:])), initial=0.0))
    if fall > FALL:
        name = "largest fall of the log-likelihood in any iteration"
        found = replace(found, certificate=Certificate(Kind.CHECKED, name, fall, FALL))
    facts, notes = {"last gain": found.state.gain, "largest fall": fall}, list[str]()
    if found.status is Status.STALLED and fall <= FALL:
        found = replace(found, status=Status.TOL)  # the gain was small enough, the next step is not
    if (way := found.measure.more.get(TO_GO)) is not None:
        facts[TO_GO] = way
        if way > SLOW * found.certificate.tolerance:
            notes.append(f"If steps go on shrinking as the last one did, EM has a way of {way:.2g} to go: lower tol.")
    if len(found.ends) > 1:
        best, worst = min(found.ends), max(found.ends)
        close = sum(end <= best + 1e-6 * (1 + abs(best)) for end in found.ends)
        notes.append(f"{close} of {len(found.ends)} starts ended at the best mean log-likelihood, {-best:.6g}.")
        facts |= {"starts": float(len(found.ends)), "worst objective": worst}
    return found.evidence(facts=facts, notes=tuple(notes))
