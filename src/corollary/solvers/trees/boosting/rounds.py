"""Gradient boosting: add, one after another, trees that each take a Newton step on the loss.

With raw predictions F, a tree is grown on the gradients ∂ℓ/∂F and curvatures ∂²ℓ/∂F² of the rows, and each leaf then
gets the step that is best for its own rows. Losses whose curvature is zero or unreliable are grown with curvature one,
and their leaves are set by exact minimisation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status, carried_over
from corollary.core.membership import is_member
from corollary.core.trees import Trees
from corollary.core.trees.binning import Binner
from corollary.core.types import Array
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, run
from corollary.solvers.trees.boosting.grown import Grown
from corollary.solvers.trees.boosting.growth import Growth
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.boosting.rules import HistogramRules
from corollary.solvers.trees.check.leaves import Boosted

TOLERANCE = 1e-9
RISE_OR_SLOPE = "rise of the training loss, or slope left in checked leaves"


@dataclass(frozen=True)
class Plan:
    """How to boost."""

    learning_rate: float = 0.1
    n_rounds: int = 100
    rules: HistogramRules = field(default_factory=HistogramRules)
    subsample: float = 1.0
    columns_per_tree: float = 1.0
    columns_per_node: float = 1.0
    top_rate: float | None = None  # gradient-based one-sided sampling: keep these, draw ``other_rate`` of the rest
    other_rate: float = 0.1
    patience: int = 10  # rounds without a lower validation loss after which no more are tried
    tol: float = 1e-7  # what counts as lower

    @property
    def samples_rows(self) -> bool:
        return self.subsample < 1 or self.top_rate is not None


@dataclass(frozen=True)
class Start:
    """Where boosting starts: a constant, or the trees of an earlier fit and what they say of the training rows."""

    constant: Array
    trees: Trees | None = None
    raw: Array | None = None  # (outputs, rows)
    offset: Array | None = None  # what another model says of the training rows, (rows, outputs)
    of_judges: Array | None = None  # and of those that only judge

    def before(self, n: int) -> Array:
        """Raw predictions (outputs, rows) before the first round."""
        raw = np.repeat(self.constant[:, None], n, axis=1)
        return raw if self.offset is None else raw + self.offset.T


class Boosting(Algorithm[int]):
    """Rounds of boosting. The state is their number; tree r · outputs + k is that of output k in round r.

    ``validation`` is (X, objective) of rows that only judge: the best state is the one with the lowest loss on them.
    With ``X``, the numbers that ``words`` stand for, steps of leaves are worked out again in the end.
    """

    name = "gradient boosting on histograms"
    kind = Kind.CHECKED

    def __init__(
        self,
        words: Array,
        binner: Binner,
        objective: Objective,
        plan: Plan,
        random: np.random.RandomState,
        start: Start,
        validation: tuple[Any, Objective] | None = None,
        X: Any = None,
    ) -> None:
        self.X, self.start, self.slope_left, self.leaves_checked = X, start, 0.0, 0
        self.binner, self.objective, self.plan, self.random = binner, objective, plan, random
        n, k = len(objective.y), objective.n_outputs
        raw = start.before(n) if start.raw is None else start.raw
        steps = plan.learning_rate, plan.columns_per_node, plan.samples_rows
        self.growth = Growth(words, binner, objective, raw, plan.rules, *steps)
        self.gradient, self.hessian = self.growth.gradient, self.growth.hessian
        self.rows = np.flatnonzero(objective.weights > 0).astype(np.int32)
        self.begun = 0 if start.trees is None else start.trees.n_trees // k
        self.grown: list[Grown] = []
        self.judges = None if validation is None else _Judges(*validation, start, self.growth)
        self.losses: list[float] = []
        self.outside: list[tuple[float, float]] = []  # loss on the rows that a round's trees did not see, their weight
        self.outside_before = 0.0  # on those of the first round, before it
        self.loss: float | None = None  # of the state, from when its derivatives are there
        self.first_slope = 0.0
        self.lowest, self.best_round, self.improved = np.inf, self.begun, True
        self.mark, self.mark_round = np.inf, self.begun  # the last validation loss that counted as lower
        self.scale = 0.0  # of losses, if they start low because another model came first
        if start.offset is not None:
            constant = np.repeat(objective.start()[:, None], n, axis=1)
            self.scale = abs(self.growth.loss_of(objective, constant))

    def init(self) -> int:
        return self.begun

    def step(self, state: int) -> int:
        rows = self._sample(state)
        d, outputs = len(self.binner.n_bins), self.objective.n_outputs
        used = np.zeros(d, dtype=np.uint8)
        used[_draw(np.arange(d), self.plan.columns_per_tree, self.random)] = 1
        # rounding depends on the number of the round, not on chance: two fits of the same data agree
        rounding = np.arange(state * outputs, (state + 1) * outputs)
        seeds = np.stack([rounding, self.random.randint(2**31 - 1, size=outputs)], axis=1).astype(np.uint64)
        unseen = self._unseen(rows)
        if unseen is not None and not self.outside:
            self.outside_before = self.growth.loss_of(unseen, self.growth.raw)
        grown, self.loss = self.growth.round(rows, used, seeds)
        if unseen is not None:
            self.outside.append((self.growth.loss_of(unseen, self.growth.raw), float(unseen.weights.sum())))
        if self.judges is not None:
            self.judges.add(grown.as_trees(self.binner))
        self.grown.append(grown)
        return state + 1

    def measure(self, state: int) -> Measure:
        loss = self.growth.derive() if self.loss is None else self.loss
        if not self.losses:
            self.first_slope = float(np.abs(self.gradient).sum())
        self.losses.append(loss)
        finite, done, more = bool(np.isfinite(loss)), state >= self.plan.n_rounds, {}
        self.improved = finite
        if self.judges is not None:
            more["validation loss"] = judged = self.judges.loss()
            self.improved &= judged < self.lowest or self.best_round == 0  # a model has a round, if any was made
            if self.improved:
                self.lowest, self.best_round = judged, state
            if judged < self.mark - self.plan.tol:
                self.mark, self.mark_round = judged, state
            done |= state - self.mark_round >= self.plan.patience
        return Measure(loss, done=done and finite, stalled=not finite, more=more)

    def better(self, new: Measure, old: Measure) -> bool:
        return self.improved

    def rewind(self, iteration: int) -> int:
        return iteration

    def snapshot(self, state: int) -> Trees | None:
        """All trees of the rounds so far, or None."""
        parts = [] if self.start.trees is None else [self.start.trees]
        if state > self.begun:
            parts.append(Grown.join(self.grown[: state - self.begun]).as_trees(self.binner))
        return Trees.join(parts) if parts else None

    def finish(self, state: int, measure: Measure) -> tuple[int, Measure]:
        """Leaves of the last tree and of another are worked out again, where their rows and bounds are known."""
        rules, objective = self.plan.rules, self.objective
        known = self.X is not None and not self.plan.samples_rows and rules.monotone is None
        trees = self.snapshot(state)
        if known and trees is not None and state > self.begun and not is_member():
            boosted = Boosted(
                self.X, objective.loss, objective.y, objective.weights, self.start.constant, trees,
                self.plan.learning_rate, rules.l1, rules.l2, objective.newton, self.start.offset,
            )  # fmt: skip
            self.slope_left, self.leaves_checked = boosted.slope_left(self.begun)
        return state, measure

    @property
    def rise(self) -> float:
        """Largest rise of the training loss in a round, relative to its start."""
        losses = np.array(self.losses)
        if not np.isfinite(losses).all():
            return np.inf
        return float(np.max(np.diff(losses), initial=0.0)) / max(abs(losses[0]), self.scale, np.finfo(float).tiny)

    def certify(self, measure: Measure, tol: float) -> Certificate:
        """The training loss never rose, and leaves that were worked out again have no slope left after their step.

        If trees see some of the rows only, the loss is not above its start.
        """
        if self.plan.samples_rows and np.isfinite(self.rise):  # a sample's step may be wrong for the rest by its noise
            scale = max(abs(self.losses[0]), self.scale, np.finfo(float).tiny)
            rise = max(0.0, float(self.losses[-1] - self.losses[0]) / scale)
            return Certificate(self.kind, "training loss above its start", rise, 1.0 / np.sqrt(len(self.objective.y)))
        name = "rise of the training loss" if not self.leaves_checked else RISE_OR_SLOPE
        return Certificate(self.kind, name, max(self.rise, self.slope_left), TOLERANCE)

    def _unseen(self, rows: Array) -> Objective | None:
        """The loss on rows that are not among those drawn; None if all are, or stand for others."""
        if self.plan.subsample >= 1.0 or self.plan.top_rate is not None or len(rows) == len(self.rows):
            return None
        weights = self.objective.weights.copy()
        weights[rows] = 0.0
        return replace(self.objective, weights=weights)

    def seen_losses(self) -> Array:
        """The mean loss after each round, on the rows that its trees saw."""
        losses = np.array(self.losses[1:])
        if not self.outside:
            return losses
        total, (unseen, weight) = float(self.objective.weights.sum()), np.array(self.outside[: len(losses)]).T
        return (losses * total - unseen * weight) / (total - weight)

    def _sample(self, iteration: int) -> Array:
        """The rows of this round, ascending; with one-sided sampling, some stand for others."""
        plan, rows = self.plan, self.rows
        if plan.top_rate is not None and iteration * plan.learning_rate >= 1.0:
            size = np.abs(self.gradient[:, rows]).sum(axis=0)
            top = max(1, int(plan.top_rate * len(rows)))
            order = np.argpartition(-size, top - 1)
            rest = order[top:]
            drawn = self.random.choice(rest, min(len(rest), int(plan.other_rate * len(rows))), replace=False)
            if len(drawn):
                self.gradient[:, rows[drawn]] *= len(rest) / len(drawn)
                self.hessian[:, rows[drawn]] *= len(rest) / len(drawn)
            return rows[np.sort(np.concatenate([order[:top], drawn]))]
        if plan.subsample < 1.0:
            size = max(1, int(plan.subsample * len(rows)))
            return rows[np.sort(self.random.choice(len(rows), size, replace=False))]
        return rows


class _Judges:
    """Rows that only judge, and the raw predictions for them."""

    def __init__(self, X: Any, objective: Objective, start: Start, growth: Growth) -> None:
        self.X, self.objective, self.growth = X, objective, growth
        self.raw = np.repeat(start.constant[:, None], X.shape[0], axis=1)
        if start.of_judges is not None:
            self.raw += start.of_judges.T
        if start.trees is not None:
            self.add(start.trees)

    def add(self, trees: Trees) -> None:
        for t in range(trees.n_trees):
            self.raw[t % len(self.raw)] += trees.tree(t).predict_sum(self.X)[:, 0]

    def loss(self) -> float:
        return self.growth.loss_of(self.objective, self.raw)


def _draw(columns: Array, share: float, random: np.random.RandomState) -> Array:
    if share >= 1.0 or len(columns) < 2:
        return columns
    return np.sort(random.choice(columns, max(1, round(share * len(columns))), replace=False))


def boost(boosting: Boosting, observe: Observer | None = None) -> tuple[Trees | None, Evidence]:
    """The trees of the rounds that are kept, and the evidence."""
    plan = boosting.plan
    found = run(boosting, Rules(plan.n_rounds, observe=observe))
    if not (found.certificate.holds or found.stopped) and found.certificate.value > boosting.slope_left:
        found = replace(found, status=Status.RISING)
    trees = boosting.snapshot(found.state)
    facts = {"training loss": float(found.measure.objective), "trees": float(trees.n_trees if trees else 0)}
    facts["leaves worked out again"] = float(boosting.leaves_checked)
    facts["slope left in leaves"] = boosting.slope_left
    if not found.stopped and found.state == found.history["iteration"][-1] and boosting.first_slope > 0:
        facts["slopes of the rows over those at the start"] = float(
            np.abs(boosting.gradient).sum() / boosting.first_slope
        )
    notes = carried_over(boosting.begun, found.state, "rounds")
    if boosting.judges is not None:
        judged = found.history["validation loss"]
        facts["validation loss"], facts["best round"] = float(min(judged)), float(boosting.best_round)
        further = int(found.history["iteration"][-1]) - found.state
        if found.status is Status.CONVERGED and not found.notes:
            notes += (_judgement(found.state, facts["validation loss"], further, plan),)
    return trees, found.evidence(facts=facts, notes=notes)


def _judgement(kept: int, loss: float, further: int, plan: Plan) -> str:
    """What the rows that only judge have said."""
    if further == 0:
        return f"The validation loss, {loss:.4g}, was lowest after the last round: more rounds may lower it."
    return (
        f"Kept {kept} rounds: their validation loss, {loss:.4g}, was not lowered by more than {plan.tol:g} in the "
        f"{further} rounds that followed."
    )
