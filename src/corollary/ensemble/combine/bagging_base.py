"""What both kinds of bagging share: fitting members, growing on, votes in and out of the bag, and evidence."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from corollary.base import Estimator, check_weights
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.limits import N_JOBS, RANDOM_STATE, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.ensemble.combine.bagging_sample import Sampler, columns_of, fit_one
from corollary.ensemble.members import (
    SEEDS,
    generator,
    is_ours,
    not_proved,
    run_all,
)
from corollary.solvers.draws import Urn

BAGGING_LIMITS: dict[str, Limit] = {
    "estimator": Choice(None) | Instance("an estimator", methods=("fit", "predict")),
    "n_estimators": Integer(1),
    "max_samples": Choice(None) | Integer(1) | Real(0, 1, above=True),
    "max_features": Integer(1) | Real(0, 1, above=True),
    "bootstrap": Boolean(),
    "bootstrap_features": Boolean(),
    "oob_score": Boolean() | Instance("a metric of (y, prediction)", methods=("__call__",)),
    "warm_start": Boolean(),
    "n_jobs": N_JOBS,
    "random_state": RANDOM_STATE,
}


class Bagging(Estimator):
    """Members fitted to random samples of the rows and columns. Subclasses say how votes are counted."""

    _several: ClassVar[bool]  # whether y may have several columns
    estimators_: list[Any]
    estimators_features_: list[Array]

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator_)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    @property
    def estimator_(self) -> Any:
        """The estimator whose copies are fitted."""
        return self._default() if self.estimator is None else self.estimator

    @abstractmethod
    def _default(self) -> Any:
        """The estimator that None stands for."""

    @abstractmethod
    def _target(self, y: Array, weights: Array) -> tuple[Array, Array]:
        """y as the members see it (keeps what is needed to translate back), and the weights to draw by."""

    @abstractmethod
    def _votes(self, member: Any, X: Any) -> Array:
        """What a member says of rows, float64 (n, outputs)."""

    @abstractmethod
    def _out_of_bag(self, votes: Array, target: Array, y: Array, weights: Array, voted: Array) -> dict[str, float]:
        """Keep out-of-bag predictions and their score; returns facts about them."""

    @abstractmethod
    def _as_votes(self, target: Array) -> Array:
        """The target in the form of votes (n, outputs)."""

    def _constant(self) -> Any:
        """A model for samples of one class, where there are classes."""
        return None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        began = time.perf_counter()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=None,
            ensure_all_finite=False,  # members know what they can take
            multi_output=self._several,
        )
        self._observer(X, y, 0, lambda state: {})
        weights = check_weights(sample_weight, X)
        target, drawn = self._target(y, weights)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        sampler = self._sampler(X, target, drawn)
        seeds, members, columns = self._continued(sampler)
        template = self.estimator_
        jobs = [(template, X, target, sampler, int(seed), self._constant()) for seed in seeds[len(members) :]]
        made = run_all(fit_one, jobs, ours=is_ours(template), n_jobs=self.n_jobs)
        self.estimators_ = members + [member for member, _, _ in made]
        self.estimators_features_ = columns + [each for _, each, _ in made]
        self._seeds, self._rows = seeds, (sampler.urn.order, drawn)
        self._sampling = (sampler.size, sampler.bootstrap, sampler.n_drawn_columns)
        measured = np.array([facts for _, _, facts in made]).reshape(-1, 2)
        self._keep_evidence(self._prove(X, y, target, weights, sampler, measured, began))

    def _sampler(self, X: Any, target: Array, weights: Array) -> Sampler:
        n, d = int((weights > 0).sum()), X.shape[1]
        rows = max(round(float(weights.sum())), n)  # weights are repetitions, unless they are shares of one
        urn = Urn.of(X, target, weights * max(1.0, n / weights.sum()))
        size = rows if self.max_samples is None else self.max_samples
        size = size if isinstance(size, (int, np.integer)) else max(1, round(size * rows))
        if size > rows:
            raise ValueError(f"max_samples must be at most the number of rows, {rows}, but it is {size}.")
        wanted = self.max_features
        wanted = wanted if isinstance(wanted, (int, np.integer)) else max(1, int(wanted * d))
        if wanted > d:
            raise ValueError(f"max_features must be at most the number of columns, {d}, but it is {wanted}.")
        sampler = Sampler(urn, weights, int(size), self.bootstrap, d, int(wanted), self.bootstrap_features)
        if self.oob_score and sampler.whole:
            raise ValueError(
                "oob_score needs rows that a member has not seen: set bootstrap=True, or max_samples below 1.0."
            )
        return sampler

    def _continued(self, sampler: Sampler) -> tuple[Array, list[Any], list[Array]]:
        """Seeds of all members, and the members that ``warm_start`` keeps."""
        old = self._seeds if self.warm_start and hasattr(self, "estimators_") else np.empty(0, dtype=np.int64)
        if len(old) > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(old)} members that warm_start keeps."
            )
        if len(old) == self.n_estimators:
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new members.", stacklevel=4)
        seeds = generator(self.random_state).randint(SEEDS, size=self.n_estimators)
        seeds[: len(old)] = old
        return (
            seeds,
            (list(self.estimators_) if len(old) else []),
            (list(self.estimators_features_) if len(old) else []),
        )

    @property
    def estimators_samples_(self) -> list[Array]:
        """Row numbers that each member was fitted to, in increasing order, repeated as often as they were drawn."""
        check_is_fitted(self)
        order, weights = self._rows
        size, bootstrap, drawn = self._sampling
        urn = Urn(order, order[:0], np.cumsum((weights * max(1.0, (weights > 0).sum() / weights.sum()))[order]))
        sampler = Sampler(urn, weights, size, bootstrap, self.n_features_in_, drawn, self.bootstrap_features)
        amounts = (sampler.sample(int(seed))[0] for seed in self._seeds)
        return [np.repeat(np.arange(len(order)), np.ceil(each).astype(np.int64)) for each in amounts]

    def _said(self, X: Any, rows: Callable[[int], Array] | None = None) -> Iterator[tuple[Any, Array]]:
        """(rows, votes on them) of the members in order; all rows, or those that a member's seed stands for."""
        ours = is_ours(self.estimator_)

        def say(t: int) -> tuple[Any, Array]:
            at: Any = slice(None) if rows is None else rows(int(self._seeds[t]))
            if rows is not None and not len(at):
                return at, np.zeros((0, 1))
            part = columns_of(X, self.estimators_features_[t])
            return at, self._votes(self.estimators_[t], part if rows is None else part[at])

        n = len(self.estimators_)
        for start in range(0, n, 16):  # a few at a time: votes of all members may not fit
            numbers = [(t,) for t in range(start, min(start + 16, n))]
            yield from run_all(say, numbers, ours=ours, n_jobs=self.n_jobs, prefer="threads")

    def _mean_vote(self, X: Any) -> tuple[Array, Any]:
        """(mean of the members' votes (n, outputs), the type that results should have)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=None, ensure_all_finite=False, reset=False)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        total: Any = 0.0
        for _, votes in self._said(X):
            total = total + votes
        return total / len(self.estimators_), np.float32 if X.dtype == np.float32 else np.float64

    def _prove(
        self, X: Any, y: Array, target: Array, weights: Array, sampler: Sampler, measured: Array, began: float
    ) -> Evidence:
        facts = {"members": float(len(self.estimators_))}
        wanted = sampler.weights.sum() if sampler.whole else float(sampler.size)
        # the last unit of weights that do not sum to a whole number is not a whole one
        short = 0.0 if sampler.whole or sampler.bootstrap else np.ceil(sampler.urn.total) - sampler.urn.total
        drawn = np.maximum(np.abs(measured[:, 1] - wanted) - short, 0.0).max(initial=0.0) / wanted
        certificate = Certificate(Kind.CHECKED, "relative error of the weight drawn", float(drawn), 1e-9)
        if len(measured):
            facts["coverage"] = float(measured[:, 0].mean())
        if sampler.bootstrap:  # 1 − 1/e = 63.2 % when as many rows are drawn as there are
            share = sampler.weights / sampler.weights.sum()
            facts["expected coverage"] = float(share @ (1 - (1 - share) ** sampler.size))
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        notes: tuple[str, ...] = ()
        if self.oob_score:
            certificate, found = self._out_of_bag_votes(X, y, target, weights, sampler)
            facts |= found
            missing = found["rows without out-of-bag vote"]
            if missing > 0:
                notes = (
                    f"{missing:.2%} of the rows were in every bag and have no out-of-bag vote; raise n_estimators.",
                )
        seconds = time.perf_counter() - began
        evidence = Evidence(Status.EXACT, certificate, "bagging", seconds=seconds, facts=facts, notes=notes)
        return not_proved(evidence, self.estimators_)

    def _out_of_bag_votes(
        self, X: Any, y: Array, target: Array, weights: Array, sampler: Sampler
    ) -> tuple[Certificate, dict[str, float]]:
        """A mean vote has at most the mean squared error of its voters (Jensen): checked on rows out of the bag."""

        def unseen(seed: int) -> Array:
            return np.flatnonzero((sampler.sample(seed)[0] == 0) & (weights > 0))

        truth = self._as_votes(target)
        votes, count, single = np.zeros_like(truth), np.zeros(len(truth)), np.zeros(len(truth))
        for at, said in self._said(X, unseen):
            votes[at] += said
            count[at] += 1
            single[at] += np.square(said - truth[at]).sum(axis=1)
        voted = count > 0
        votes[voted] /= count[voted, None]
        votes[~voted] = np.nan
        w = weights[voted] / weights[voted].sum() if voted.any() else np.zeros(0)
        alone = float(w @ (single[voted] / count[voted]))
        mean = float(w @ np.square(votes[voted] - truth[voted]).sum(axis=1))
        facts = self._out_of_bag(votes, target, y, weights, voted)
        facts |= {
            "out-of-bag squared error of the vote": mean,
            "out-of-bag squared error of a member": alone,
            "rows without out-of-bag vote": float(weights[~voted].sum() / weights.sum()),
        }
        excess = max(0.0, mean - alone) / (alone or 1.0)
        return Certificate(
            Kind.CHECKED, "excess error of the vote over its members out of the bag", excess, 1e-9
        ), facts
