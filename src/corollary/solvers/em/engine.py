"""Expectation–maximisation for any latent-variable model, as an algorithm of the one loop.

A model says two things. ``e_step(block, params)`` is what a block of rows contributes when the hidden variables are
averaged under ``params``: a Summary, which merges by ``+`` and knows the log-likelihood of its rows.
``m_step(summary)`` is the parameters that are best for such averages. Then no iteration can lower the log-likelihood
(plus the log prior, if the model has one), whatever the model is. EM is at rest when an iteration gains next to
nothing; that it never lost anything is measured on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from corollary.core.blocks import Source
from corollary.core.evidence import Certificate, Evidence, Kind
from corollary.core.parallel import one_blas_thread
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, Run, best_of

FALL = 1e-9  # a fall of the objective by less than this, relative to 1 + |objective|, is rounding
ROUNDING = 1e-14  # no gain below this is seen in float64
GAIN = "mean log-likelihood gained in the last iteration"


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

    Two methods are optional. ``log_prior(params)`` is what a prior adds; ``m_step`` must then maximise the sum.
    ``movement(before, after)`` is how far one iteration moved the parameters: EM then ends when this, and not the gain,
    is at most the tolerance, and ``movement_name`` is the name of the certificate.
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
    limit = tol if tol > 0 or hasattr(model, "movement") else -1.0  # no residual is below zero
    climbs = (_Climb(model, data, start) for start in starts)
    with one_blas_thread():  # also while starts are drawn: the same bits for any number of threads
        found = best_of(climbs, Rules(max_iter, limit, observe, seconds))
    return Estimate(found.state.params, found.state.summary, _evidence(found))


@dataclass(frozen=True)
class _Place(Generic[Params, S]):
    """Parameters, what the rows contribute under them, the objective there, and how it differs from the last one."""

    params: Params
    summary: S
    value: float
    gain: float = np.inf
    movement: float = np.inf


class _Climb(Algorithm[_Place[Params, S]], Generic[Params, S]):
    """EM from one start."""

    name = "EM"
    kind = Kind.STATIONARY

    def __init__(self, model: LatentModel[Params, S], data: Source, start: Params) -> None:
        self.model, self.data, self.start = model, data, start
        self.log_prior, self.movement = getattr(model, "log_prior", None), getattr(model, "movement", None)
        self.certificate_name = getattr(model, "movement_name", GAIN)

    def init(self) -> _Place[Params, S]:
        return self._at(self.start)

    def step(self, state: _Place[Params, S]) -> _Place[Params, S]:
        new = self._at(self.model.m_step(state.summary))
        moved = self.movement(state.params, new.params) if self.movement else np.inf
        return replace(new, gain=new.value - state.value, movement=moved)

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
        return _Place(params, summary, float(value))

    def measure(self, state: _Place[Params, S]) -> Measure:
        """At rest when nothing is gained, or nothing moves; a fall beyond rounding ends it as well."""
        yardstick = 1.0 + abs(state.value)
        fell = state.gain < -FALL * yardstick
        more = {"gain": state.gain} if self.movement else {}
        rest = state.movement if self.movement else state.gain if state.gain > ROUNDING * yardstick else 0.0
        return Measure(-state.value, np.inf if fell else rest, stalled=fell, more=more)

    def better(self, new: Measure, old: Measure) -> bool:
        return not new.stalled

    def snapshot(self, state: _Place[Params, S]) -> Params:
        return state.params

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return super().certify(measure, max(tol, 0.0))


def _e_step(model: LatentModel[Params, S], params: Params, block: Any) -> S:
    return model.e_step(block, params)


def _evidence(found: Run[_Place[Params, S]]) -> Evidence:
    """With the largest fall of the objective as a fact, and as the certificate that fails if it was no rounding."""
    objective = np.asarray(found.history["objective"])
    fall = float(np.max(np.diff(objective) / (1.0 + np.abs(objective[1:])), initial=0.0))
    if fall > FALL:
        name = "largest fall of the log-likelihood in any iteration"
        found = replace(found, certificate=Certificate(Kind.CHECKED, name, fall, FALL))
    facts = {"last gain": found.state.gain, "largest fall": fall}
    notes: tuple[str, ...] = ()
    if len(found.ends) > 1:
        best, worst = min(found.ends), max(found.ends)
        close = sum(end <= best + 1e-6 * (1 + abs(best)) for end in found.ends)
        notes = (f"{close} of {len(found.ends)} starts ended at the best mean log-likelihood, {-best:.6g}.",)
        facts |= {"starts": float(len(found.ends)), "worst objective": worst}
    return found.evidence(facts=facts, notes=notes)
