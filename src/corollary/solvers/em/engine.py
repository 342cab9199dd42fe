"""Expectation–maximisation for any latent-variable model: restarts, tolerance, budget, history, callbacks, Ctrl-C.

A model says two things. ``e_step(block, params)`` is what a block of rows contributes when the hidden variables are
averaged under ``params``: a Summary, which merges by ``+`` and knows the log-likelihood of its rows.
``m_step(summary)`` is the parameters that are best for such averages. Then no iteration can lower the log-likelihood
(plus the log prior, if the model has one), whatever the model is; the engine measures that: it is the certificate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.parallel import one_blas_thread, sum_blocks
from corollary.solvers.loop import Observer

FALL = 1e-9  # a fall of the objective by less than this, relative to 1 + |objective|, is rounding
ROUNDING = 1e-14  # no gain below this is seen in float64


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
    """A latent-variable model. One with a prior also has ``log_prior(params)``, which ``m_step`` takes into account."""

    def e_step(self, block: Any, params: Params) -> S: ...

    def m_step(self, summary: S) -> Params: ...


class Rows:
    """Rows in memory: arrays of equal length, of which a block is the tuple of its slices; blocks run on threads."""

    def __init__(self, *arrays: Any, size: int) -> None:
        self.arrays, self.size = arrays, size

    def total(self, task: Callable[[Any], S]) -> S:
        """Σ task(block), added in the order of the rows."""
        n = len(self.arrays[0])
        return sum_blocks(lambda start, stop: task(tuple(part[start:stop] for part in self.arrays)), n, self.size)


class Stream:
    """Blocks that are read again for every pass: anything that can be iterated over more than once.

    With a ``size``, blocks are tuples of arrays, and each is divided further as by :class:`Rows`.
    """

    def __init__(self, blocks: Iterable[Any], size: int | None = None) -> None:
        if iter(blocks) is blocks:
            raise ValueError(
                "blocks must be something that can be read more than once, such as a list or an object whose __iter__ "
                f"starts again, but it is a {type(blocks).__name__}, which is empty after one pass."
            )
        self.blocks, self.size = blocks, size

    def total(self, task: Callable[[Any], S]) -> S:
        """Σ task(block), added in the order of the blocks."""
        total: S | None = None
        for block in self.blocks:
            part = task(block) if self.size is None else Rows(*block, size=self.size).total(task)
            total = part if total is None else total + part
        if total is None:
            raise ValueError("blocks is empty: there are no rows to learn from.")
        return total


@dataclass(frozen=True)
class Rules:
    """When to stop: ``tol`` is the gain of the mean log-likelihood in one iteration that is too small to go on.

    With ``tol=0`` no gain is too small: ``max_iter`` iterations are made.
    """

    tol: float = 1e-3
    max_iter: int = 100
    seconds: float = np.inf  # wall clock, all starts together
    observe: Observer | None = None


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
    model: LatentModel[Params, S], data: Rows | Stream, starts: Iterable[Params], rules: Rules
) -> Estimate[Params, S]:
    """Climb from each of ``starts`` (read one by one) and keep the best end; see the module's first lines.

    Parameters
    ----------
    model : object with ``e_step`` and ``m_step``, and ``log_prior`` if it has one
    data : Rows or Stream
        Where blocks come from; every iteration is one pass.
    starts : iterable of parameters
        A generator draws a start only when the one before has been climbed from.
    rules : Rules
    """
    began, stopped = time.perf_counter(), None
    ends: list[Estimate[Params, S]] = []
    with one_blas_thread():  # the threads are ours, over blocks
        try:
            for start in starts:
                ends.append(_climb(model, data, start, rules, began))
                status = ends[-1].evidence.status
                if status in (Status.BUDGET, Status.INTERRUPTED):
                    stopped = status
                    break
        except KeyboardInterrupt:
            if not ends:
                raise
            stopped = Status.INTERRUPTED
    if not ends:
        raise ValueError("starts is empty: EM needs parameters to start from.")
    return _best(ends, stopped, time.perf_counter() - began)


def _best(ends: list[Estimate[Params, S]], stopped: Status | None, seconds: float) -> Estimate[Params, S]:
    best = max(ends, key=lambda end: end.objective)
    evidence = replace(best.evidence, seconds=seconds, status=stopped or best.evidence.status)
    if len(ends) > 1:
        values = [end.objective for end in ends]
        close = sum(value >= best.objective - 1e-6 * (1 + abs(best.objective)) for value in values)
        note = f"{close} of {len(ends)} starts ended at the best mean log-likelihood, {max(values):.6g}."
        evidence = replace(
            evidence,
            notes=(*evidence.notes, note),
            facts={**evidence.facts, "starts": float(len(ends)), "worst objective": -min(values)},
        )
    return replace(best, evidence=evidence)


def _climb(
    model: LatentModel[Params, S], data: Rows | Stream, params: Params, rules: Rules, began: float
) -> Estimate[Params, S]:
    """EM from one start."""
    history: dict[str, list[float]] = {"iteration": [], "objective": [], "gain": [], "seconds": []}
    log_prior = getattr(model, "log_prior", None)
    status, best, last, gain, fall, iteration = Status.MAX_ITER, None, -np.inf, np.inf, 0.0, 0
    try:
        while True:
            summary = data.total(partial(_e_step, model, params))
            value = (summary.log_likelihood + (log_prior(params) if log_prior else 0.0)) / summary.weight
            _check_finite(value)
            gain, last = value - last, value
            fall = max(fall, -gain / (1.0 + abs(value)))
            if best is None or gain >= 0:
                best = params, summary, value
            record = _record(history, iteration, value, gain, began)
            if rules.tol > 0 and gain <= max(rules.tol, ROUNDING * (1.0 + abs(value))):
                status = Status.CONVERGED if fall <= FALL else Status.STALLED
                break
            if record["seconds"] >= rules.seconds or (
                rules.observe is not None and rules.observe(record, partial(_same, params))
            ):
                status = Status.BUDGET
                break
            if iteration == rules.max_iter:
                break
            params = model.m_step(summary)
            iteration += 1
    except KeyboardInterrupt:
        if best is None:
            raise
        status = Status.INTERRUPTED
    evidence = Evidence(
        status=status,
        certificate=_certificate(status, fall, gain, rules.tol),
        solver="EM",
        n_iter=iteration,
        seconds=time.perf_counter() - began,
        history=history,
        facts={"objective": -best[2], "last gain": gain, "largest fall": fall},
    )
    return Estimate(best[0], best[1], evidence)


def _e_step(model: LatentModel[Params, S], params: Params, block: Any) -> S:
    return model.e_step(block, params)


def _same(params: Params) -> Params:
    return params


def _certificate(status: Status, fall: float, gain: float, tol: float) -> Certificate:
    """That the objective never fell and has come to rest; else the one of the two that is not so."""
    if fall <= FALL and status is not Status.CONVERGED:
        return Certificate(Kind.STATIONARY, "mean log-likelihood gained in the last iteration", max(gain, 0.0), tol)
    return Certificate(Kind.CHECKED, "largest fall of the log-likelihood in any iteration", fall, FALL)


def _record(
    history: dict[str, list[float]], iteration: int, value: float, gain: float, began: float
) -> dict[str, float]:
    entries = (float(iteration), -value, gain, time.perf_counter() - began)
    for kept, entry in zip(history.values(), entries, strict=True):
        kept.append(entry)
    return dict(zip(history, entries, strict=True))


def _check_finite(value: float) -> None:
    if not np.isfinite(value):
        raise ValueError(
            f"The log-likelihood is {value}: some row has no density under the parameters, or squares of the data "
            "overflow float64. Rescale the columns of X to magnitudes below 1e100 (StandardScaler does), or start from "
            "other parameters."
        )
