"""The books of AdaBoost: row weights, votes, and for every round its α, its weighted error and the proved bound.

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
import time
from dataclasses import dataclass, field

import numpy as np

from corollary.core.evidence import Certificate, Kind
from corollary.core.parallel import each_block, map_blocks
from corollary.core.types import Array

ROWS = 1 << 15  # rows of a block; sums of blocks are added in order, so threads do not change a bit
_LARGE = 2.0**200


@dataclass(frozen=True)
class Growth:
    """The rows that gained weight in a round, in the segments starts[s] : stops[s] of the arrays."""

    rows: Array
    labels: Array
    amounts: Array
    starts: Array
    stops: Array


@dataclass
class Ledger:
    """The state of a run. ``labels`` are class numbers int32 (n,), ``first`` the weights at the start, all > 0."""

    labels: Array
    first: Array
    n_classes: int
    learning_rate: float
    history: dict[str, list[float]] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        n = len(self.labels)
        self.weights = self.first.copy()  # not normalised: multiply by ``scale`` for weights that sum to first.sum()
        self.total = self.mass = float(self.first.sum())
        self._base = self.first / self.total
        self.votes = np.zeros((n, self.n_classes))
        self._leader = np.zeros(n, dtype=np.int32)
        self._space = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n)
        self._began = time.perf_counter()
        names = ("iteration", "alpha", "weighted error", "bound", "objective", "training error", "seconds")
        self.history = {name: [] for name in names}

    @property
    def normalised(self) -> Array:
        """The weights, summing to what they summed to at the start."""
        return self.weights * (self.total / self.mass)

    @property
    def rounds(self) -> int:
        return len(self.history["alpha"])

    def judge(self, said: Array) -> Growth | None:
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
            return self._enter(said, 0.0, 1.0 + math.fsum(self.history["alpha"]))  # outvotes all that came before
        odds = math.log1p(-error) - math.log(error) + math.log(self.n_classes - 1)
        return self._enter(said, error, self.learning_rate * odds)

    def _enter(self, said: Array, error: float, alpha: float) -> Growth:
        from corollary._compiled.trees.stump import reweigh

        n, (rows, labels, amounts) = len(said), self._space
        state = self.weights, self._base, self.votes, self._leader
        parts = list(
            map_blocks(lambda a, b: reweigh(a, b, said, self.labels, alpha, *state, rows, labels, amounts), n, ROWS)
        )
        starts = np.arange(0, n, ROWS)
        stops = starts + np.array([count for count, _ in parts])
        k = self.n_classes
        grown = (1 - error) + error * math.exp(alpha) if error else 0.0
        self.mass *= grown or 1.0
        last = {name: values[-1] if values else 1.0 for name, values in self.history.items()}
        entry = {
            "iteration": float(self.rounds + 1),
            "alpha": alpha,
            "weighted error": error,
            "bound": last["bound"] * grown * math.exp(-alpha / 2),
            "objective": last["objective"] * grown * math.exp(-alpha * (k - 1) / k),
            "training error": float(sum(part for _, part in parts)),
            "seconds": time.perf_counter() - self._began,
        }
        for name, value in entry.items():
            self.history[name].append(value)
        return Growth(rows, labels, amounts, starts, stops)

    def rescale(self) -> float:
        """Divide the weights by a power of two if they have become large; returns what they were multiplied by."""
        if self.mass < _LARGE:
            return 1.0
        factor = 2.0 ** -math.floor(math.log2(self.mass))
        each_block(lambda a, b: np.multiply(self.weights[a:b], factor, out=self.weights[a:b]), len(self.weights), ROWS)
        self.mass *= factor
        return factor

    def certificate(self) -> Certificate:
        """How far the training error of any round exceeds its bound, and the votes at the end the loss; 0 in truth."""
        error, bound = np.array(self.history["training error"]), np.array(self.history["bound"])
        votes = self.votes[np.arange(len(self.labels)), self.labels]
        short = votes * self.n_classes < self.votes.sum(axis=1) * (1 - 1e-12)
        share = float(self._base[short].sum())
        excess = max(float((error - bound).max()), share - self.history["objective"][-1], 0.0)
        return Certificate(Kind.CHECKED, "training error above its bound", excess, 1e-9)
