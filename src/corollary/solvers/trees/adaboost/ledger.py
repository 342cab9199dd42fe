"""The rounds of AdaBoost: row weights, votes, and for every round its α, its weighted error and its bound.

SAMME with K classes: a learner with weighted error ε gets α = η (ln((1 − ε) / ε) + ln(K − 1)), and the weight of every
row that it got wrong is multiplied by e^α. Write S = Σ α. A row's weight is then its first weight times e^L with
L = Σ α [wrong], and the weights of all rows sum to Π ((1 − ε) + ε e^α). Two facts follow from that sum, for any K:

* Where the vote is wrong, another class has as many votes as the right one, so L ≥ S / 2. Hence

      training error ≤ Π ((1 − ε) e^(−α/2) + ε e^(α/2)),

  which for K = 2 and η = 1 is Π 2 √(ε (1 − ε)).
* Where the right class gets at most its 1 / K of the votes, L ≥ S (K − 1) / K. The share of such rows is hence at most
  the multi-class exponential loss Π ((1 − ε) + ε e^α) e^(−α (K − 1) / K), which every round with ε < 1 − 1 / K lowers.
  For K = 2 both facts are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from corollary.core.evidence import Certificate, Kind
from corollary.core.parallel import each_block, map_blocks
from corollary.core.scaling import power_of_two
from corollary.core.types import Array
from corollary.solvers.loop import Algorithm, Measure

ROWS = 1 << 15  # rows of a block; sums of blocks are added in order, so threads do not change a bit
_LARGE = 2.0**200
_LOUDEST = 400.0  # α beyond this would take weights out of float64; the bound holds for any α


@dataclass(frozen=True)
class Heavier:
    """The rows that gained weight in a round, in the segments starts[s] : stops[s] of the arrays."""

    rows: Array
    labels: Array
    amounts: Array
    starts: Array
    stops: Array


class Ledger:
    """The books of a run. ``labels`` are class numbers int32 (n,), ``first`` the weights at the start, all > 0."""

    def __init__(self, labels: Array, first: Array, n_classes: int, learning_rate: float) -> None:
        n = len(labels)
        self.labels, self.n_classes, self.learning_rate = labels, n_classes, learning_rate
        self.weights = first.copy()  # not normalised: see ``normalised``
        self.total = self.mass = float(first.sum())
        self.votes = np.zeros((n, n_classes))
        self.alphas: list[float] = []
        self.errors: list[float] = []
        self.bound = self.objective = self.training_error = 1.0
        self.excess = 0.0  # by how much the training error of any round was above its bound
        self.whole = True  # False while a round is being entered
        self.note = ""  # why there is nothing left to learn
        self.limited = 0  # the first round whose α is less than it should be
        self._base = first / self.total
        self._leader = np.zeros(n, dtype=np.int32)
        self._space = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n)

    @property
    def normalised(self) -> Array:
        """The weights, summing to what they summed to at the start."""
        return self.weights * (self.total / self.mass)

    @property
    def rounds(self) -> int:
        return len(self.alphas)

    def judge(self, said: Array) -> Heavier | None:
        """Enter a learner that said these class numbers; None if it is no better than chance and is not kept.

        Sets ``note`` when there is nothing left to learn.
        """
        from corollary._compiled.trees.stump import wrong_weight

        parts = map_blocks(
            lambda a, b: np.array(wrong_weight(said[a:b], self.labels[a:b], self.weights[a:b])), len(said), ROWS
        )
        wrong, self.mass = (float(value) for value in np.sum(list(parts), axis=0))
        error, chance = wrong / self.mass, 1.0 - 1.0 / self.n_classes
        if error >= chance * (1 - 1e-12):
            self.note = (
                f"Boosting ended after {max(self.rounds, 1)} of the rounds: the next weak learner's weighted error, "
                f"{error:.3g}, is no better than chance ({chance:.3g})."
            )
            return None if self.rounds else self._enter(said, error, 0.0)
        if wrong == 0.0:
            self.note = f"Boosting ended after round {self.rounds + 1}: its learner makes no mistake on these rows."
            return self._enter(said, 0.0, 1.0 + math.fsum(self.alphas))  # outvotes all that came before
        alpha = self.learning_rate * (math.log1p(-error) - math.log(error) + math.log(self.n_classes - 1))
        self.limited = self.limited or (self.rounds + 1 if alpha > _LOUDEST else 0)
        return self._enter(said, error, min(alpha, _LOUDEST))

    def _enter(self, said: Array, error: float, alpha: float) -> Heavier:
        from corollary._compiled.trees.stump import reweigh

        n, k, (rows, labels, amounts) = len(said), self.n_classes, self._space
        state = self.weights, self._base, self.votes, self._leader
        self.whole = False
        parts = list(
            map_blocks(lambda a, b: reweigh(a, b, said, self.labels, alpha, *state, rows, labels, amounts), n, ROWS)
        )
        starts = np.arange(0, n, ROWS)
        stops = starts + np.array([count for count, _ in parts])
        grown = (1 - error) + error * math.exp(alpha) if error else 0.0
        self.mass *= grown or 1.0
        self.bound *= grown * math.exp(-alpha / 2)
        self.objective *= grown * math.exp(-alpha * (k - 1) / k)
        self.training_error = float(sum(part for _, part in parts))
        self.excess = max(self.excess, self.training_error - self.bound)
        self.alphas.append(alpha)
        self.errors.append(error)
        self.whole = True
        return Heavier(rows, labels, amounts, starts, stops)

    def rescale(self) -> float:
        """Divide the weights by a power of two if they have become large; returns what they were multiplied by."""
        if self.mass < _LARGE:
            return 1.0
        factor = power_of_two(self.mass)
        each_block(lambda a, b: np.multiply(self.weights[a:b], factor, out=self.weights[a:b]), len(self.weights), ROWS)
        self.mass *= factor
        return factor

    def above_bounds(self) -> float:
        """By how much the training error of any round was above its bound, or the votes now are above the loss."""
        if not self.whole:
            return self.excess
        votes = self.votes[np.arange(len(self.labels)), self.labels]
        short = votes * self.n_classes < self.votes.sum(axis=1) * (1 - 1e-12)
        return max(self.excess, float(self._base[short].sum()) - self.objective)

    def margins(self) -> Array:
        """Of each row, the votes of its class less those of the best other class, over all votes: in [−1, 1]."""
        rows, total = np.arange(len(self.labels)), math.fsum(self.alphas)
        if total <= 0:
            return np.zeros(len(rows))
        others = self.votes.copy()
        others[rows, self.labels] = -np.inf
        margins: Array = (self.votes[rows, self.labels] - others.max(axis=1)) / total
        return margins

    def margin_facts(self) -> dict[str, float]:
        """The smallest margin of the training rows, and weighted quantiles."""
        margins = self.margins()
        found = {"smallest margin": float(margins.min())}
        for name, level in (("5 % quantile", 0.05), ("lower quartile", 0.25), ("median", 0.5)):
            level_of = np.quantile(margins, level, weights=self._base, method="inverted_cdf")
            found[f"{name} of the margins"] = float(level_of)
        return found

    def miscounted(self, rows: Array, scores: Array) -> float:
        """How far the votes of some rows are from ``scores`` of the kept learners, as a part of all votes.

        A learner adds α to the score of the class that it says and −α / (K − 1) to the others.
        """
        total, k = math.fsum(self.alphas), self.n_classes
        expected = (k * self.votes[rows] - total) / (k - 1)
        return float(np.abs(scores - expected).max(initial=0.0)) / (total if total > 0 else 1.0)

    @property
    def bound_sentence(self) -> str:
        """What the bound says of the training error, if anything."""
        plain = self.n_classes == 2 and self.learning_rate == 1.0
        product = "Π √(4 ε (1 − ε))" if plain else "Π ((1 − ε) e^(−α/2) + ε e^(α/2))"
        if self.bound >= 1.0:
            return f"The bound, {product} = {self.bound:.3g}, is vacuous: no error is above 1."
        return f"The bound, {product}, is {self.bound:.3g}."


class Learner(Protocol):
    """Fits weak models to row weights and keeps them all in ``models``."""

    name: str
    foreign: bool
    models: list[Any]

    def learn(self, weights: Array) -> Array:
        """Fit one more model, and return the class number int32 (n,) that it says of each row."""

    def follow(self, heavier: Heavier, factor: float) -> None:
        """Hear that weights grew and were then multiplied by ``factor``."""


class Samme(Algorithm[int]):
    """Boosting round by round; a state is the number of rounds that are whole."""

    kind = Kind.CHECKED
    certificate_name = "training error above its bound"

    def __init__(self, ledger: Ledger, learner: Learner, n_rounds: int) -> None:
        self.ledger, self.learner, self.n_rounds = ledger, learner, n_rounds
        self.name, self.foreign = learner.name, learner.foreign

    def init(self) -> int:
        return 0

    def step(self, state: int) -> int | None:
        heavier = self.ledger.judge(self.learner.learn(self.ledger.weights))
        if heavier is None:
            return None
        self.learner.follow(heavier, self.ledger.rescale())
        return self.ledger.rounds

    def measure(self, state: int) -> Measure | None:
        ledger = self.ledger
        if not state:
            return None
        return Measure(
            objective=ledger.objective,
            done=bool(ledger.note) or state >= self.n_rounds,
            more={
                "alpha": ledger.alphas[-1],
                "weighted error": ledger.errors[-1],
                "training error": ledger.training_error,
                "bound": ledger.bound,
            },
        )

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return Certificate(self.kind, self.certificate_name, self.ledger.above_bounds(), tol)
