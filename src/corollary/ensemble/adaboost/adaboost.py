"""AdaBoost: weak learners that each attend to the rows that the ones before got wrong, and a weighted vote of all."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.utils import get_tags

from corollary.base import assigning, caller_level, fitting
from corollary.core.evidence import Certificate, Evidence, Kind, Status, honest
from corollary.core.limits import (
    CLASS_WEIGHT,
    N_JOBS,
    RANDOM_STATE,
    ArrayLike,
    Choice,
    Instance,
    Integer,
    Limit,
    Real,
)
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.adaboost.learner import AnyLearner, binned_tree
from corollary.ensemble.adaboost.vote import BoostedVote
from corollary.ensemble.members import generator, refuse_other_kind, weakened, weight_argument
from corollary.labels import encode_labels
from corollary.solvers.loop import Rules, run
from corollary.solvers.trees.adaboost.ledger import Ledger, Samme
from corollary.solvers.trees.adaboost.stumps import BinnedLearner

_RECOUNTED = 256  # rows whose votes are counted again, from the learners that are kept
_BOUND_AND_VOTES = "training error above its bound, or error of votes counted again"
_VOTES = "error of votes counted again"
TOLERANCE = 1e-9  # rounding of the sums that the training error and its bound are


class AdaBoostClassifier(BoostedVote):
    r"""Boosting by reweighting rows (SAMME), for two classes or more.

    Learner t is fitted to the rows with their present weights and has the weighted error ε\ :sub:`t`. Its vote counts

    .. math:: \alpha_t = \eta \Big( \ln \frac{1 - \varepsilon_t}{\varepsilon_t} + \ln (K - 1) \Big),

    and the weight of each row that it got wrong is multiplied by :math:`e^{\alpha_t}`. The class with most votes wins.

    Parameters
    ----------
    estimator : classifier or None, default None
        The weak learner; None is a decision stump (with ``class_weight`` one whose leaves have 1 % of the weight, or
        rows of a light class would get leaves of their own). Stumps and trees of this library with at most 6 levels,
        and no other limits, are grown on columns rounded to 255 bins (or ``max_bins``, if fewer), exactly if no column
        has more values. A learner without ``sample_weight`` is fitted to rows drawn with their weights as
        probabilities. Since a fit whose first learner is no better than chance is an error, and a draw of few rows may
        be the reason, rows of the first one are drawn up to ten times, until it is.
    n_estimators : int ≥ 1, default 50
    learning_rate : float > 0, default 1.0
        η above.
    random_state : int, RandomState or None
        Seeds learners that are random, and draws.
    class_weight : dict, "balanced" or None, default None
        What the rows of each class count, times ``sample_weight``.
    n_jobs : int or None
        Threads of the binned learner; None means all usable cores. The answer does not depend on it.
    categorical_features : "from_dtype", None, mask, column numbers or names
        Columns that are categories: those of a frame that are, by default. A category is on one side of a split or on
        the other; one that was not there in training is a missing value.

    Attributes
    ----------
    classes_ : array of shape (K,)
    n_classes_, n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    estimator_ : classifier
        The learner that was cloned.
    estimators_ : list of fitted learners
    estimator_weights_, estimator_errors_ : arrays of shape (rounds,)
        α and ε of each round.
    feature_importances_ : array of shape (d,)
        Those of the learners, averaged with weights α.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* Binned stumps: O(n d) for the first round, then O(m d) with m the rows that the last one got wrong; memory
    n d bytes and some twenty vectors of length n. Other learners: their cost times ``n_estimators``.

    *Evidence.* Checked. History: "alpha", "weighted error", "training error" and "bound" of each round, where

    .. math:: \text{training error} \le \prod_t \big( (1 - \varepsilon_t) e^{-\alpha_t / 2}
              + \varepsilon_t e^{\alpha_t / 2} \big) = \prod_t 2 \sqrt{\varepsilon_t (1 - \varepsilon_t)}
              \text{ for } K = 2, \eta = 1.

    That is a theorem about any learners, so by how much the error is ever above its bound checks the bookkeeping: it is
    0 unless something is wrong. A bound that is not below 1 says nothing; then it is called vacuous and is no part of
    the certificate. The votes of some rows are counted again from the learners that are kept. Facts: margins of the
    training rows (votes for the class less those for the best other, over all votes). "objective" is the exponential
    loss, for two classes the bound.

    References
    ----------
    Freund and Schapire (1997), A decision-theoretic generalization of on-line learning. Zhu, Zou, Rosset and Hastie
    (2009), Multi-class AdaBoost.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary.ensemble.adaboost.adaboost import AdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.evidence_.holds
    (True, True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimator": Choice(None) | Instance("a classifier", methods=("fit", "predict")),
        "n_estimators": Integer(1),
        "learning_rate": Real(low=0, above=True),
        "random_state": RANDOM_STATE,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
        "categorical_features": Choice(None, "from_dtype") | ArrayLike(),
    }

    @assigning
    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.sparse = inner is None or inner.sparse
        tags.input_tags.allow_nan = inner is None or inner.allow_nan
        return tags

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoostClassifier:
        """Boost ``n_estimators`` rounds, or until a learner makes no mistake or is no better than chance."""
        refuse_other_kind(self, self.estimator)
        own, csc = binned_tree(self.estimator_) is not None, getattr(X, "format", None) == "csc"
        X, y, weights, categorical = self._read_fit(X, y, sample_weight, y_numeric=False, allow_nd=not own)
        X = X.tocsc() if csc and not own else X  # a learner that is not ours gets what came
        classes, codes, weights = encode_labels(y, weights, self.class_weight, one_class=True)
        kept = np.flatnonzero(weights > 0)
        if len(kept) < len(weights):
            X, y, codes, weights = X[kept], y[kept], codes[kept], weights[kept]
        # a class that only has rows of weight zero takes no part
        present, labels = np.unique(codes, return_inverse=True)
        classes = classes[present]
        if len(classes) == 1:
            return self._of_one_class(X, classes)
        ledger = Ledger(labels.astype(np.int32), weights, len(classes), self.learning_rate)
        learner = self._learner(X, classes, ledger, categorical)

        def attributes(rounds: int) -> dict[str, Any]:
            models = learner.models[:rounds]
            held = {"trees_": Trees.join(models)} if isinstance(learner, BinnedLearner) else {"_members": models}
            return held | {
                "classes_": classes,
                "n_classes_": len(classes),
                "estimator_weights_": np.array(ledger.alphas[:rounds]),
                "estimator_errors_": np.array(ledger.errors[:rounds]),
            }

        for name in ("trees_", "_members"):  # of an earlier fit
            self.__dict__.pop(name, None)
        observe = self._observer(X, y, self.n_estimators, attributes)
        found = run(Samme(ledger, learner, self.n_estimators), Rules(self.n_estimators, TOLERANCE, observe))
        self.__dict__.update(attributes(found.state))
        facts = {name: found.measure.more[name] for name in ("training error", "bound")}
        notes = (ledger.note,) if ledger.note and not found.stopped else ()
        if ledger.limited:
            warnings.warn(
                f"Sample weights have reached infinite values in round {ledger.limited}, or would have: its vote is "
                "limited. Lower learning_rate.",
                stacklevel=caller_level(),
            )
        if self.estimator is not None and not own and not ledger.alphas[0]:
            self._refuse_learner(ledger.errors[0])
        evidence = found.evidence(facts=facts, notes=notes)
        if ledger.whole and found.state == ledger.rounds:
            evidence = self._with_margins(evidence, X, ledger)
        self._keep_evidence(weakened(evidence, vars(self).get("_members", ())))
        return self

    def _refuse_learner(self, error: float) -> None:
        name = type(self.estimator).__name__
        told = f" {name} doesn't support sample_weight, so it was fitted to rows drawn by weight."
        raise ValueError(
            f"{type(self).__name__}: {name} is worse than random on these rows, or no better: its weighted error is "
            f"{error:.3g}. Such learners cannot be boosted.{told if weight_argument(self.estimator) is None else ''}"
        )

    def _of_one_class(self, X: Any, classes: Array) -> AdaBoostClassifier:
        """One learner, which has nothing to learn."""
        for name in ("trees_", "_members"):
            self.__dict__.pop(name, None)
        self._members = [DummyClassifier().fit(np.zeros((1, self.n_features_in_)), classes)]
        self.classes_, self.n_classes_ = classes, 1
        self.estimator_weights_, self.estimator_errors_ = np.ones(1), np.zeros(1)
        certificate = Certificate(Kind.EXACT, "error of votes counted again", 0.0, TOLERANCE)
        note = f"All rows that count are of one class, {classes[0]!r}, which is always predicted."
        self._keep_evidence(Evidence(Status.EXACT, certificate, "SAMME", notes=(note,)))
        return self

    def _with_margins(self, evidence: Evidence, X: Any, ledger: Ledger) -> Evidence:
        """The evidence with margins, with what the bound is worth, and with the votes of some rows counted again."""
        n = X.shape[0]
        rows = np.sort(np.random.default_rng(n).permutation(n)[:_RECOUNTED])
        scores = sum(self._votes(X[rows]), np.zeros((len(rows), ledger.n_classes)))
        above, wrong, margins = evidence.certificate.value, ledger.miscounted(rows, scores), ledger.margin_facts()
        # a bound that is not below 1 cannot be broken, so that it was not says nothing
        name = _VOTES if ledger.bound >= 1 else _BOUND_AND_VOTES
        certificate = Certificate(evidence.certificate.kind, name, max(above, wrong), TOLERANCE)
        told = f"Margins: smallest {margins['smallest margin']:.2g}, median {margins['median of the margins']:.2g}."
        return replace(
            evidence,
            certificate=certificate,
            status=honest(evidence.status, certificate),
            facts={**evidence.facts, **margins},
            notes=(ledger.bound_sentence, told, *evidence.notes),
        )

    def _learner(self, X: Any, classes: Array, ledger: Ledger, categorical: Array) -> BinnedLearner | AnyLearner:
        small = binned_tree(self.estimator_)
        if small is not None:
            return BinnedLearner(X, ledger.labels, len(classes), ledger.weights, *small, categorical)
        if categorical.any():
            raise ValueError(
                f"Columns {np.flatnonzero(categorical).tolist()} are categories, which only the default learner "
                "and small trees of this library take here. Encode them as numbers."
            )
        return AnyLearner(self.estimator_, X, classes, ledger, generator(self.random_state))
