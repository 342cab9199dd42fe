"""What all naive Bayes models share: one fit for any distribution of rows, and what a fitted one says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin

from corollary.base import Estimator, fitting, predicting
from corollary.bayes.training import Training, first_classes, of_array, of_blocks, of_part
from corollary.core.blocks import as_blocks
from corollary.core.distribution import Distribution, Hard
from corollary.core.door.weights import within_reach
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Count, Fitted, Floats, Labels
from corollary.core.limits import N_JOBS, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.labels import agreeing
from corollary.solvers.bayes.naive import NAME, TOLERANCE, labelled, residual
from corollary.solvers.em.engine import em
from corollary.solvers.em.mixture import MixtureModel, MixtureSummary, Weighted

UNKNOWN: Limit = Choice(None) | Instance("a label", int, float, str, np.generic)
# parameters of every one of them
SHARED: dict[str, Limit] = {
    "unknown": UNKNOWN,
    "tol": Real(0),
    "max_iter": Integer(1),
    "n_jobs": N_JOBS,
}


class NaiveBayes(ClassifierMixin, Estimator, ABC):
    """A class is chosen by its probability and by how likely the row is if it is of that class."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels("k", low=1),
        "class_count_": Floats("k", low=0),
        "n_iter_": Count(),
    }
    _sparse: ClassVar[bool] = False
    _options: ClassVar[dict[str, Any]] = {}  # of the door
    _penalty_beside_sum: ClassVar[bool] = True

    class_weight: Any = None  # not of all: scikit-learn's check of it has negative numbers, which are no counts
    unknown: Any
    tol: float
    max_iter: int
    classes_: Array
    class_count_: Array
    n_iter_: int

    # what each of them says

    @abstractmethod
    def _distribution(self, training: Training) -> Distribution:
        """The distribution of rows, with what it has to know of all rows; smoothing may be left to ``_smoothed``."""

    def _smoothed(self, distribution: Distribution, statistics: Any) -> Distribution:
        """The same with smoothing that depends on what rows are like."""
        return distribution

    @abstractmethod
    def _fixed_prior(self, k: int) -> Array | None:
        """Probabilities of the classes if they are given, else None."""

    @abstractmethod
    def _keep(self, distribution: Distribution, summary: MixtureSummary, found: Weighted) -> None:
        """Make attributes of what was found."""

    @abstractmethod
    def _kept(self) -> tuple[Distribution, MixtureSummary]:
        """What the attributes say of all rows so far, for ``partial_fit``."""

    @abstractmethod
    def _joint(self, X: Any) -> Array:
        """Log probability of each class and the row, (n, k)."""

    @property
    @abstractmethod
    def _log_prior(self) -> Array:
        """Log probabilities of the classes."""

    # the door

    def _read(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, Array, Array]:
        X, y, weights = self._validate_fit(
            X, y, sample_weight, sparse=self._sparse, y_numeric=False, **self._options, **options
        )
        return self._prepared(X), y, weights

    def _read_new(self, X: Any) -> Any:
        return self._prepared(self._validate_predict(X, sparse=self._sparse, **self._options))

    def _prepared(self, X: Any) -> Any:
        """X as the distribution wants it; ValueError where it cannot have drawn it."""
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = self._options.get("ensure_all_finite") == "allow-nan"
        return tags

    # learning

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows X with labels y; a row of weight w counts w times.

        X may also be :class:`Blocks` of (X, y) or (X, y, sample_weight).
        """
        blocks = as_blocks(X, y, sample_weight)
        if blocks is None:
            rows, labels, weights = self._read(X, y, sample_weight)
            training = of_array(rows, labels, weights, self.class_weight, self.unknown)
        else:
            training = of_blocks(self._blocks(blocks), self._unit_of, self.class_weight, self.unknown)
        self._learn(training)
        return self

    def _blocks(self, blocks: Any) -> Any:
        source = self._validate_blocks(
            blocks, target=True, sparse=self._sparse, every=True, y_numeric=False, **self._options
        )
        return source.map(self._prepared_block)

    def _prepared_block(self, block: tuple[Any, ...]) -> tuple[Any, ...]:
        X, y, weights = block
        return self._prepared(X), y, weights

    def _unit_of(self, weights: Array) -> tuple[Array, float]:
        near = self._within_reach(weights)
        return near, within_reach(weights)[1]

    @fitting
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been there from the beginning.

        The first call must give all ``classes`` that are ever to come.
        """
        before = self._kept() if hasattr(self, "classes_") else None
        labels = first_classes(self, classes)
        rows, y, weights = self._read(X, y, sample_weight, reset=before is None)
        training = of_part(rows, y, weights, labels, self.class_weight, self.unknown)
        self._learn(training, before)
        return self

    def _learn(self, training: Training, before: tuple[Distribution, MixtureSummary] | None = None) -> None:
        self.classes_ = training.classes
        k = len(self.classes_)
        distribution = self._distribution(training)
        fixed = self._fixed_prior(k)
        summary = labelled(distribution, k, training.source)
        if training.partly:
            self._learn_partly(training, MixtureModel(distribution, fixed), summary)
            return
        self._observer(None, None, 1, lambda state: None)  # so that callbacks hear of a fit without iterations
        off = residual(distribution, summary, training.source)
        if before is not None:
            distribution, summary = self._merged(*before, distribution, summary)
        self._finish(MixtureModel(distribution, fixed), summary, off, before is not None)

    def _merged(
        self, old: Distribution, before: MixtureSummary, distribution: Distribution, summary: MixtureSummary
    ) -> tuple[Distribution, MixtureSummary]:
        return distribution, before + summary

    def _finish(self, model: MixtureModel, summary: MixtureSummary, off: float, more: bool) -> None:
        model = replace(model, distribution=self._smoothed(model.distribution, summary.statistics))
        self._keep(model.distribution, summary, model.m_step(summary))
        self.n_iter_ = 1
        notes = ("The sums of the rows of this call were taken again, not those of earlier ones.",) if more else ()
        certificate = Certificate(Kind.EXACT, NAME, off, TOLERANCE)
        evidence = Evidence(Status.EXACT, certificate, "counting", notes=notes + self._notes(summary))
        self._keep_evidence(evidence)

    def _notes(self, summary: MixtureSummary) -> tuple[str, ...]:
        empty = self.classes_[summary.counts == 0]
        if not len(empty):
            return ()
        return (f"No row of class {', '.join(map(repr, empty.tolist()[:5]))} has been seen; it is never predicted.",)

    def _learn_partly(self, training: Training, model: MixtureModel, start: MixtureSummary) -> None:
        everything = training.source.total(partial(_as_one, model.distribution))
        distribution = self._smoothed(model.distribution, everything.statistics)
        scores = self._scores_of(distribution)
        model = MixtureModel(distribution, model.fixed, scores, by_gain=False)
        width = self.n_features_in_ + 4 * len(self.classes_)
        observe = self._observer(None, None, self.max_iter, partial(self._working_copy, distribution, start))
        source = training.in_blocks(width)
        found = em(model, source, [model.m_step(start)], tol=self.tol, max_iter=self.max_iter, observe=observe)
        self._keep(distribution, found.summary, found.params)
        self.n_iter_ = max(1, found.evidence.n_iter)
        self._keep_evidence(found.evidence)

    def _scores_of(self, distribution: Distribution) -> Any:
        return None

    def _working_copy(self, distribution: Distribution, summary: MixtureSummary, found: Weighted) -> dict[str, Any]:
        """The attributes that make a copy of this model in the middle of EM, for callbacks."""
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__.update(classes_=self.classes_, n_features_in_=self.n_features_in_)
        copy._keep(distribution, summary, found)
        return {name: value for name, value in vars(copy).items() if name in type(self).fitted}

    # asking

    def _scored(self, X: Any) -> tuple[Array, Any]:
        """Joint log probabilities; where no class can have drawn a row, those of the classes alone. The type of X."""
        X = self._read_new(X)
        joint = self._joint(X)
        nowhere = np.isneginf(joint).all(axis=1)
        if nowhere.any():
            joint[nowhere] = self._log_prior
        return joint, X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)

    @predicting
    def predict_joint_log_proba(self, X: Any) -> Array:
        """log P(class) + log P(row | class), (n, k), up to what is the same for all classes of a row."""
        X = self._read_new(X)
        return self._joint(X).astype(X.dtype if X.dtype.kind == "f" else np.float64, copy=False)

    @predicting
    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        labels: Array = self.classes_[self._scored(X)[0].argmax(axis=1)]
        return labels

    @predicting
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the probability of each class, (n, k)."""
        joint, dtype = self._scored(X)
        logs = joint - logsumexp(joint, axis=1, keepdims=True)
        if dtype == np.float32:  # near one they are the logarithms of what ``predict_proba`` can say
            near = logs > -0.5
            logs[near] = np.log(np.exp(logs[near]).astype(dtype))
        return logs.astype(dtype, copy=False)

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, (n, k)."""
        joint, dtype = self._scored(X)
        chances = np.exp(joint - joint.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        return agreeing(chances.astype(dtype, copy=False), _decided(joint))


def _decided(joint: Array) -> Array:
    """Scores whose winner is that of ``joint``: of two classes one number, above zero for the second."""
    return joint if joint.shape[1] != 2 else np.where(joint[:, 1] > joint[:, 0], 1.0, -1.0)


def _as_one(distribution: Distribution, block: tuple[Any, ...]) -> MixtureSummary:
    """All rows as those of one class."""
    X, codes, weights = block
    shares = Hard(np.zeros(len(codes), dtype=np.int64), weights, 1)
    return MixtureSummary(shares.counts, distribution.summarize(X, shares))
