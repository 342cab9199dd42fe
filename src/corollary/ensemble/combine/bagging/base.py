"""What both kinds of bagging share: fitting members, growing on, votes in and out of the bag, and evidence."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from corollary.base import Estimator, assigning, caller_level, check_weights, fitting
from corollary.core.door.metadata import refuse
from corollary.core.door.sparse_input import sound
from corollary.core.door.target import refuse_missing
from corollary.core.door.weights import within_reach
from corollary.core.evidence import Evidence, carried_over
from corollary.core.fitted import Anything, Count, Fitted, Flag, Floats, Integers, ListOf, Maybe, Model, Record
from corollary.core.limits import N_JOBS, RANDOM_STATE, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.ensemble.combine.bagging.interval import ErrorInterval
from corollary.ensemble.combine.bagging.sample import Bag, Sampler, columns_of
from corollary.ensemble.combine.votes import NoVoteError, float_type
from corollary.ensemble.members import (
    SEEDS,
    generator,
    in_order,
    is_ours,
    refuse_other_columns,
    refuse_other_kind,
    weakened,
)
from corollary.ensemble.routing import Told, asks_for_weights, router_of
from corollary.labels import encode_labels
from corollary.referee.verdict import Verification
from corollary.solvers.draws import Urn
from corollary.solvers.loop import Rules, run

MOST_ROWS = 2**26  # that are drawn for a member; more would take minutes each
UNRELIABLE = 1 / 3  # the share of rows without an out-of-bag vote from which more than a note is called for
ASKED = 1000  # rows that judge members out of the bag where nobody asked for more

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
    "verbose": Boolean() | Integer(0),
}


class Bagging(Estimator):
    """Members fitted to random samples of the rows and columns. Subclasses say how votes are counted."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "estimators_": ListOf(Model("predict"), "members", low=1),
        "estimators_features_": ListOf(Integers("?", low=0, below="d"), "members"),
        "_seeds": Integers("members", low=0, high=SEEDS),
        "_rows": Record(Integers("rows", low=0, below="rows"), Floats("rows", low=0)),
        "_sampling": Record(Count(low=1), Flag(), Count(low=1)),
        "_before": Maybe(Record(Count(), Count())),
        "_key": Maybe(Count(low=-(2**63))),
        "oob_score_": Maybe(Anything()),
    }
    _several: ClassVar[bool]  # whether y may have several columns
    estimators_: list[Any]
    estimators_features_: list[Array]

    @assigning
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
        verbose: Any = 0,
    ) -> None: ...

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator_)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _check_state(self) -> None:
        for member, columns in zip(self.estimators_, self.estimators_features_, strict=True):
            if getattr(member, "n_features_in_", len(columns)) != len(columns):
                raise ValueError(f"a member takes {member.n_features_in_} columns, but was given {len(columns)}.")
        weights, (size, _, drawn) = self._rows[1], self._sampling
        if size > max(len(weights), round(float(weights.sum()))) or drawn > self.n_features_in_:
            raise ValueError(f"{size} rows and {drawn} columns for each member are more than there are.")
        if not (np.bincount(self._rows[0], minlength=len(weights)) == 1).all():
            raise ValueError("the order of the rows must name each of them once.")
        if not len(self.estimators_) >= self._taken_over[0] >= self._taken_over[1]:
            raise ValueError(f"of {len(self.estimators_)} members, {self._taken_over} cannot be of earlier fits.")

    @property
    @abstractmethod
    def estimator_(self) -> Any:
        """The estimator whose copies are fitted."""

    @abstractmethod
    def _target(self, y: Array, weights: Array) -> tuple[Array, Array]:
        """y as the members see it (keeps what is needed to translate back), and the weights to draw by."""

    @abstractmethod
    def _votes(self, member: Any, X: Any) -> Array:
        """What a member says of rows, float64 (n, outputs)."""

    @abstractmethod
    def _as_votes(self, target: Array) -> Array:
        """The target in the form of votes (n, outputs)."""

    @abstractmethod
    def _out_of_bag(self, votes: Array, target: Array, y: Array, weights: Array, voted: Array) -> dict[str, float]:
        """Keep out-of-bag predictions and their score; returns facts about them."""

    def get_metadata_routing(self) -> Any:
        """Who gets which metadata (see scikit-learn's guide): the members do, of fit and of predictions.

        ``sample_weight`` of ``fit`` says how often rows are drawn, whoever asks for it.
        """
        has = partial(hasattr, self.estimator_)
        votes = "predict_proba" if has("predict_proba") else "predict"
        methods = {"fit": "fit", "predict": votes, "predict_proba": votes, "decision_function": "decision_function"}
        methods["predict_log_proba"] = votes if not has("predict_log_proba") else "predict_log_proba"
        if asks_for_weights(self):
            return super().get_metadata_routing()
        return router_of(self, (), estimator=(self.estimator_, methods))

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **metadata: Any) -> Self:
        """Fit the members to samples of X (n × d, dense or sparse) and y.

        ``metadata`` goes to the members, if they ask for it, with scikit-learn's metadata routing enabled.
        """
        refuse(self, "fit", metadata)
        told = Told.by_routing(self, ["estimator"], None, metadata) if metadata else Told()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        refuse_other_kind(self, self.estimator)
        refuse_missing(y, numeric=not is_classifier(self))
        before = self.n_features_in_ if self.warm_start and hasattr(self, "estimators_") else None
        # members know what numbers they can take
        X, y = validate_data(
            self,
            sound(X),
            y,
            accept_sparse=("csr", "csc"),
            dtype=None,
            ensure_all_finite=False,
            multi_output=self._several,
        )
        if before is not None:
            refuse_other_columns(before, X.shape[1])
        weights = self._within_reach(check_weights(sample_weight, X))
        target, drawn = self._target(y, weights)
        if hasattr(X, "tocsr") and is_ours(self.estimator_):  # all of them want it so; others get what came
            X = X.tocsr()
        sampler = self._sampler(X, target, drawn)
        seeds, members, columns = self._continued()
        before = self._drawn_before(sampler, len(members))
        constant = DummyClassifier(strategy="most_frequent") if is_classifier(self) else None
        bag = Bag(self.estimator_, X, target, sampler, seeds, len(members), constant, self.n_jobs, told)

        def attributes(count: int) -> dict[str, Any]:
            new = bag.members[: count - len(members)]
            return {
                "estimators_": members + [member.model for member in new],
                "estimators_features_": columns + [member.columns for member in new],
                "_seeds": seeds[:count],
                "_rows": (sampler.urn.order, drawn),
                "_sampling": (sampler.size, sampler.bootstrap, sampler.n_drawn_columns),
                "_before": before,
                "_key": sampler.urn.key,
            }

        observe = self._observer(X, y, self.n_estimators, attributes)
        with closing(bag.coming):  # however the run ends, nothing goes on in the background
            found = run(bag, Rules(self.n_estimators, 1e-9, observe))
        self.__dict__.update(attributes(found.state))
        notes = carried_over(len(members), found.state, "members")
        evidence = replace(found.evidence(notes=notes), facts=bag.facts(found.state))
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        if self.oob_score or not (sampler.whole or found.stopped):
            evidence = self._if_judged(evidence, X, y, target, weights, sampler)
        self._keep_evidence(weakened(evidence, self.estimators_))
        return self

    def _sampler(self, X: Any, target: Array, weights: Array) -> Sampler:
        n, d = int((weights > 0).sum()), X.shape[1]
        rows = max(round(float(weights.sum())), n)  # weights are repetitions, unless they are shares of one
        urn = Urn.of(X, target, weights * max(1.0, n / weights.sum()))
        size = rows if self.max_samples is None else self.max_samples
        size = size if isinstance(size, (int, np.integer)) else max(1, int(size * rows))
        if size > MOST_ROWS:
            raise ValueError(
                f"sample_weight sums to {weights.sum() / self._weight_unit:.3g}, and a weight counts how many times a "
                "row is there: a member cannot be drawn so many rows. Divide the weights, or set max_samples."
            )
        if size > rows and not self.bootstrap:
            raise ValueError(
                f"max_samples={size} must be <= n_samples={rows} to be able to sample without replacement; set "
                "bootstrap=True, or draw fewer."
            )
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

    def _continued(self) -> tuple[Array, list[Any], list[Array]]:
        """Seeds of all members, and the members that ``warm_start`` keeps, with their columns."""
        seeds = np.asarray(generator(self.random_state).randint(SEEDS, size=self.n_estimators))
        if not (self.warm_start and hasattr(self, "estimators_")):
            return seeds, [], []
        old = len(self._seeds)
        if old > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {old} members that warm_start keeps."
            )
        if old == self.n_estimators:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new members.",
                stacklevel=caller_level(),
            )
        seeds[:old] = self._seeds
        return seeds, list(self.estimators_), list(self.estimators_features_)

    @property
    def _taken_over(self) -> tuple[int, int]:
        """How many members are of earlier fits, and how many of these drew from other rows."""
        found: tuple[int, int] = self.__dict__.get("_before", (0, 0))  # which older files do not tell
        return found

    def _drawn_before(self, sampler: Sampler, begun: int) -> tuple[int, int]:
        """How many members are of earlier fits, and how many of them were drawn other rows than seeds draw now."""
        drawn = sampler.urn.key, (sampler.size, sampler.bootstrap)
        return begun, self._taken_over[1] if begun and drawn == (
            self.__dict__.get("_key"),
            tuple(self._sampling[:2]),
        ) else begun

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.combine.claims import verify_bag

        weights = within_reach(check_weights(sample_weight, X))[0]
        if is_classifier(self):
            weights = encode_labels(y, weights, self.class_weight, one_class=True)[2]
        if len(weights) != len(self._rows[1]) or not np.allclose(self._rows[1], weights, rtol=1e-9, atol=0):
            return Verification(False, "the weights by which rows are said to be drawn are not those of the rows")
        return verify_bag(self, X, y, sample_weight)

    @property
    def _max_samples(self) -> int:
        """Rows that a member draws, by scikit-learn's name."""
        return int(self._sampling[0])

    @property
    def estimators_samples_(self) -> list[Array]:
        """Row numbers that each member was fitted to, in the order it saw them, repeated as often as they were drawn.

        None of a member that ``warm_start`` has kept from a fit to other rows than the last.
        """
        check_is_fitted(self)
        order, weights = self._rows
        size, bootstrap, drawn = self._sampling
        urn = Urn(order, order[:0], np.cumsum((weights * max(1.0, (weights > 0).sum() / weights.sum()))[order]))
        sampler = Sampler(urn, weights, size, bootstrap, self.n_features_in_, drawn, self.bootstrap_features)
        others = self._taken_over[1]
        amounts = (sampler.sample(int(seed))[0] for seed in self._seeds[others:])
        known = [urn.listed(np.ceil(each)) for each in amounts]
        return [np.empty(0, dtype=np.intp) for _ in range(others)] + known

    def _routed(self, method: str, metadata: dict[str, Any]) -> dict[str, Any]:
        """What routing sends the members' counterpart of a method."""
        refuse(self, method, metadata)
        sent = process_routing(self, method, **metadata).estimator if metadata else {}
        return next(({**each} for each in sent.values() if each), {})

    def _said(
        self, X: Any, rows: Callable[[int], Array] | None = None, ask: Callable[..., Array] | None = None
    ) -> Iterator[tuple[Any, Array]]:
        """(rows, votes on them) of the members in order; all rows, or those that a member's seed stands for.

        ``ask(member, X)`` is asked for something else than votes.
        """
        ask = self._votes if ask is None else ask

        def say(t: int) -> tuple[Any, Array]:
            at: Any = slice(None) if rows is None else rows(int(self._seeds[t]))[: None if t >= others else 0]
            if rows is not None and not len(at):
                return at, np.zeros((0, 1))
            part = columns_of(X, self.estimators_features_[t])
            return at, ask(self.estimators_[t], part if rows is None else part[at])

        n, others = len(self.estimators_), self._taken_over[1]  # which rows these have not seen is not known
        for start in range(0, n, 16):  # a few at a time: votes of all members may not fit
            calls = [partial(say, t) for t in range(start, min(start + 16, n))]
            yield from in_order(calls, [self.estimator_], self.n_jobs, "threads")

    def _vote(self, X: Any, ask: Callable[..., Array] | None = None) -> tuple[Array, Any]:
        """(mean of what the members say (n, outputs), the type that results should have)."""
        X = validate_data(
            self, sound(X), accept_sparse=("csr", "csc"), dtype=None, ensure_all_finite=False, reset=False
        )
        X = X.tocsr() if hasattr(X, "tocsr") else X
        total: Any = 0.0
        for _, votes in self._said(X, ask=ask):
            total = total + votes
        return total / len(self.estimators_), float_type(X)

    def _if_judged(self, evidence: Evidence, *data: Any) -> Evidence:
        """As ``_judged``; members without a vote are no reason to refuse a fit which nobody asked to judge.

        These say nothing of rows that they are asked about, or are not fitted after their fit.
        """
        try:
            return self._judged(evidence, *data)
        except (NoVoteError, NotFittedError) as error:
            if self.oob_score:
                raise
            note = f"Nothing is known of the error out of the bag, since a member has no vote: {error}"
            return replace(evidence, notes=(*evidence.notes, note))

    def _judged(
        self, evidence: Evidence, X: Any, y: Array, target: Array, weights: Array, sampler: Sampler
    ) -> Evidence:
        """The error of votes out of the bag, with its interval: of all rows with ``oob_score``, else of some."""
        asked = weights > 0
        if not self.oob_score and asked.sum() > ASKED:
            drawn = np.random.default_rng(len(weights)).permutation(np.flatnonzero(asked))[:ASKED]
            asked = np.isin(np.arange(len(weights)), drawn)

        def unseen(seed: int) -> Array:
            return np.flatnonzero((sampler.sample(seed)[0] == 0) & asked)

        truth = self._as_votes(target)
        votes, count, single = np.zeros_like(truth), np.zeros(len(truth)), np.zeros(len(truth))
        for at, said in self._said(X, unseen):
            votes[at] += said
            count[at] += 1
            single[at] += np.square(said - truth[at]).sum(axis=1)
        voted = count > 0
        votes[voted] /= count[voted, None]
        votes[~voted] = np.nan
        missing = float(weights[asked & ~voted].sum() / weights[asked].sum())
        facts = {"rows without out-of-bag vote": missing} if self.oob_score else {}
        notes: tuple[str, ...] = ()
        if voted.any():
            w = weights[voted] / weights[voted].sum()
            facts["out-of-bag squared error of the vote"] = float(w @ np.square(votes - truth)[voted].sum(axis=1))
            facts["out-of-bag squared error of a member"] = float(w @ (single[voted] / count[voted]))
            error = self._error_out_of_bag(votes[voted], truth[voted], weights[voted])
            facts |= error.facts
            notes += (error.sentence,)
        if self.oob_score:
            facts |= self._out_of_bag(votes, target, y, weights, voted)
            if missing > 0:
                told = f"{missing:.2%} of the rows were in every bag and have no out-of-bag vote; raise n_estimators."
                notes += (told,)
            if missing > UNRELIABLE and not evidence.status.cut_short:
                warnings.warn(
                    "Some inputs do not have OOB scores. This probably means too few estimators were used to compute "
                    f"any reliable oob estimates. {told}",
                    stacklevel=caller_level(),
                )
        return replace(evidence, facts={**evidence.facts, **facts}, notes=evidence.notes + notes)

    @abstractmethod
    def _error_out_of_bag(self, votes: Array, truth: Array, weights: Array) -> ErrorInterval:
        """The error of mean votes on rows that the voters had not seen."""
