"""Logistic regression with strength and mix chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping

from corollary.base import assigning, fitting, predicting
from corollary.core.design import as_design
from corollary.core.door.metadata import of_rows
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Fitted, Floats, Integers, Maybe, Number
from corollary.core.limits import ArrayLike, Boolean, Choice, Instance, Integer, Limit
from corollary.core.types import Array
from corollary.labels import encode_labels
from corollary.linear.folds import Fold, mean_over_folds, routes, splits
from corollary.linear.logistic import Labels, LogisticRegression, _attributes
from corollary.linear.logistic_folds import ENOUGH, along, judge_of, scorer_of
from corollary.linear.logistic_shapes import InBothShapes, counts_for_all, paths_by_class, repeated, scores_by_class
from corollary.linear.logistic_terms import check_classes, check_terms, mixes, warn_of_penalties
from corollary.linear.predict import dense
from corollary.referee.verdict import Verification
from corollary.solvers.linear.driver import State


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression whose C (and ``l1_ratio``) score best in cross-validation.

    For each mix, a grid of C is fitted on every fold from strong to weak penalty, each fit starting from the one
    before. The best pair is refitted on all rows. The objective is that of :class:`LogisticRegression`.

    Parameters
    ----------
    Cs : int or array, default 10
        Number of values between 1e-4 and 1e4, or the values themselves.
    l1_ratios : sequence of float in [0, 1]
        Mixes to try: 0 is the L2 penalty, 1 the L1 penalty. Left out, or None, it is (0.0,) with a FutureWarning.
    fit_intercept : bool, default True
        Whether to fit b; if not, b = 0.
    cv : int, splitter, iterable of (train, test) or None, default None
        None is five stratified folds.
    dual : bool, default False
        Accepted for compatibility, as in :class:`LogisticRegression`.
    penalty : {"l1", "l2", "elasticnet"}, deprecated in scikit-learn
        The same as ``l1_ratios`` of 1, of 0 or as given; with a FutureWarning.
    scoring : str, callable or None
        How what is held out is scored; ``"neg_log_loss"`` judges probabilities. None is accuracy, as it is if the
        parameter is left out, with scikit-learn's FutureWarning that this will change.
    solver : {"auto", "newton", "lbfgs", "prox-newton"} or one of scikit-learn's, default "auto"
        As in :class:`LogisticRegression`.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach in the refit; fits on folds reach 1e-5, which is enough for a choice.
    max_iter : int ≥ 0, default 1000
        Iterations of each fit.
    class_weight : dict, "balanced" or None, default None
        Of all rows, also in the folds.
    n_jobs : int or None, default None
        Threads; None uses all usable cores.
    verbose : int ≥ 0, default 0
        Above zero, progress is shown.
    refit : bool, default True
        Whether to fit all rows with the C and mix that score best on average. If not, coefficients, C and mix are
        means over folds of what scores best in each: a mean that minimises nothing, and is certified as no more.
    intercept_scaling : float > 0, default 1
        For ``solver="liblinear"``, as in :class:`LogisticRegression`.
    random_state : int, RandomState or None, default None
        Accepted for compatibility: nothing here is random.
    use_legacy_attributes : bool
        True, as it is if left out (with scikit-learn's FutureWarning that this will change), has attributes in
        scikit-learn's older shapes: ``C_`` and ``l1_ratio_`` repeated for every class (once for two classes),
        ``scores_`` and ``coefs_paths_`` as dictionaries by class, Cs before mixes, without the axis of mixes if
        ``l1_ratios`` was left out. False has the shapes below. It may be changed after the fit.

    Attributes
    ----------
    C_, l1_ratio_ : float
        The choice.
    Cs_, l1_ratios_ : arrays
        What was tried.
    scores_ : array of shape (folds, l1_ratios, Cs)
        Held-out scores; NaN where a callback ended the cross-validation first.
    coefs_paths_ : array of shape (folds, l1_ratios, Cs, 1 or k, d or d + 1)
        Coefficients of the fits on folds, and intercepts after them; NaN likewise.
    n_iter_ : array of shape (folds, l1_ratios, Cs)
        Iterations of the fits on folds; ``evidence_.n_iter`` counts those of the refit.
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
        Of the refit, as are ``intercept_`` and ``evidence_``.
    intercept_ : array of shape (1,) or (k,)
    evidence_ : Evidence
        Its facts count the fits on folds (``cross-validated fits``).
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* One fit of :class:`LogisticRegression` for each fold, mix and C, and one more; all but the first of a fold
    start from the one before and take a few iterations. The rows of one fold are copied at a time. Of data in blocks,
    the rows that a fold holds out are put together in memory. The coefficients of all fits are kept.

    *Evidence.* The relative duality gap of the refit (kind *optimal*). It says nothing about the choice of C, which is
    as good as the folds. A callback may end the cross-validation early: the best pair so far is then refitted as far as
    time allows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from corollary import LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> shape = {"l1_ratios": (0.0,), "use_legacy_attributes": False}
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0], scoring="neg_log_loss", **shape).fit(scale(X), y)
    >>> model.C_, model.scores_.shape
    (1.0, (5, 1, 3))
    """

    C_, l1_ratio_ = InBothShapes(repeated), InBothShapes(repeated)
    scores_, coefs_paths_ = InBothShapes(scores_by_class), InBothShapes(paths_by_class)
    n_iter_ = InBothShapes(counts_for_all)
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}  # the scorer may ask for it
    fitted: ClassVar[dict[str, Fitted]] = {
        "Cs_": Floats("c", low=0, finite=False),
        "l1_ratios_": Floats("r", low=0, high=1),
        "scores_": Floats("?", "r", "c", finite=False),
        "coefs_paths_": Maybe(Floats("?", "r", "c", "scores", "?", finite=False)),
        "n_iter_": Integers("?", "r", "c", low=0) | Integers("?", low=0),
        "C_": Number(low=0, finite=False),
        "l1_ratio_": Number(low=0, high=1),
    }
    limits: ClassVar[dict[str, Limit]] = {
        **{k: v for k, v in LogisticRegression.limits.items() if k not in ("C", "l1_ratio", "warm_start")},
        "Cs": Integer(1) | ArrayLike(),
        "l1_ratios": Choice(None, "warn") | ArrayLike(),
        "cv": Choice(None) | Integer(2) | Instance("a splitter or iterable", object),
        "penalty": Choice("deprecated", "l1", "l2", "elasticnet"),
        "scoring": Choice(None) | Instance("a scorer's name", str) | Instance("a callable", methods=("__call__",)),
        "refit": Boolean(),
        "use_legacy_attributes": Boolean() | Choice("warn"),
    }
    warm_start: ClassVar[bool] = False

    @assigning
    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = "warn",
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: Any = "deprecated",
        scoring: Any = "warn",
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: Any = "warn",
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> LogisticRegressionCV:
        """Choose C and the mix by cross-validation, then fit them on all rows of X and y, or of blocks of (X, y).

        ``params`` go to the splitter and the scorer, by metadata routing.
        """
        routed = routes(self, "fit", params, sample_weight)
        warn_of_penalties(self)
        self.Cs_ = np.geomspace(1e-4, 1e4, self.Cs) if np.ndim(self.Cs) == 0 else np.array(self.Cs, dtype=np.float64)
        if not (self.Cs_ > 0).all():
            raise ValueError(f"Cs must be numbers > 0, but they are {self.Cs_.tolist()}.")
        self.l1_ratios_ = mixes(self)
        check_terms(self, self.Cs_, self.l1_ratios_)
        X, y, weights = self._validate_fit(X, y, sample_weight, y_numeric=False, blocks=True)
        labels = encode_labels(y, weights, self.class_weight)  # one class is an error before any fold is tried
        check_classes(self, len(labels[0]))
        observe = self._observer(X, y, self.max_iter, partial(_attributes, labels[0], self._constant))
        folds = splits(self.cv, X, y, weights, classifier=True, **(routed.splitter.split if routed else {}))
        told = routed.scorer.score if routed else {} if (weights == 1).all() else {"sample_weight": weights}
        tried = self._tried(len(folds), X.shape[1], len(labels[0]))
        last: State | None = None
        for number, fold in enumerate(folds):
            last = self._score_fold(X, y, labels, fold, told, [part[number] for part in tried])
            if last is not None:
                break
        self.scores_, self.coefs_paths_, self.n_iter_, gaps = tried
        self.classes_ = labels[0]
        if self.refit:
            self._choose(mean_over_folds(np.moveaxis(tried[0], 0, -1), weights, folds))
            evidence = self._fit_at(X, labels, *self._strength_and_mix, observe, last)
            self.n_iter_ = tried[2]
        else:
            evidence = self._mean_of_folds(float(np.nanmax(gaps)))
        facts = {**evidence.facts, "cross-validated fits": float(np.isfinite(tried[0]).sum())}
        self._keep_evidence(replace(evidence, facts=facts, status=evidence.status if last is None else Status.BUDGET))
        return self

    @property
    def _strength_and_mix(self) -> tuple[float, float]:
        kept = vars(self)
        return float(kept["C_"]), float(kept["l1_ratio_"])

    def _tried(self, n_folds: int, n_columns: int, n_classes: int) -> tuple[Array, Array, Array, Array]:
        """Room for the scores, coefficients, iterations and gaps of all fits on folds."""
        grid = n_folds, len(self.l1_ratios_), len(self.Cs_)
        paths = *grid, 1 if n_classes == 2 else n_classes, n_columns + self.fit_intercept
        return np.full(grid, np.nan), np.full(paths, np.nan), np.zeros(grid, dtype=np.int32), np.full(grid, np.nan)

    def _score_fold(
        self, X: Any, y: Array, labels: Labels, fold: Fold, told: dict[str, Any], tried: list[Array]
    ) -> State | None:
        """Fill in what was tried on one fold; the last fit if a callback asked to stop there."""
        (train, test), (classes, codes, weights) = fold, labels
        design, held_out = as_design(X).rows(train), as_design(X).rows(test).matrix()
        judge, score = LogisticRegression(), judge_of(self.scoring, classes)
        judge.classes_, judge.n_features_in_ = classes, X.shape[1]
        extra = {name: of_rows(value, test, len(y)) for name, value in told.items()}
        there, order = (classes, codes[train], weights[train]), np.argsort(self.Cs_, kind="stable")
        scores, paths, counts, gaps = tried
        for m, mix in enumerate(self.l1_ratios_):
            problems = (self._problem(design, there, float(self.Cs_[c]), float(mix)) for c in order)
            for c, fit in zip(order, along(self, problems), strict=True):
                judge._keep_classifier(fit.coef.T, fit.intercept, np.float64)
                scores[m, c], counts[m, c], gaps[m, c] = score(judge, held_out, y[test], **extra), fit.n_iter, fit.gap
                paths[m, c, :, : X.shape[1]], paths[m, c, :, X.shape[1] :] = fit.coef, fit.intercept[:, None]
                if self._stop_between("strength"):
                    return fit.state or State(np.empty(0), 0.0)  # where to begin the refit, if anywhere
        return None

    def _choose(self, mean: Array) -> None:
        """The best of (mixes, Cs); of equals the first C, then the first mix."""
        at, mix = np.unravel_index(int(np.where(np.isnan(mean), -np.inf, mean).T.argmax()), mean.T.shape)
        self.C_, self.l1_ratio_ = float(self.Cs_[at]), float(self.l1_ratios_[mix])

    def _mean_of_folds(self, gap: float) -> Evidence:
        """Keep the means over folds of what scores best in each; nothing is minimised by them."""
        self.C_, self.l1_ratio_, coef = best_of_folds(vars(self))
        self._keep_classifier(*_parted(coef, self.n_features_in_), np.float64)
        certificate = Certificate(Kind.CHECKED, "largest relative duality gap on a fold", gap, max(self.tol, ENOUGH))
        note = "Coefficients are means over folds (refit=False): no objective is lowest there."
        counts = int(vars(self)["n_iter_"].sum())
        return Evidence(Status.CONVERGED, certificate, "mean over folds", counts, notes=(note,))

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        if self.refit:
            return super()._referee(X, y, sample_weight)
        C, mix, mean = best_of_folds(vars(self))
        coef, intercept = _parted(mean, self.n_features_in_)
        same = (C, mix) == self._strength_and_mix and np.array_equal(dense(self.coef_), coef.T)
        if not (same and np.array_equal(self.intercept_, intercept)):
            return Verification(False, "coefficients are not the means of the best of coefs_paths_ over folds")
        return Verification(None, "means of fits on folds are what was claimed; the fits themselves are not judged")

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """The score of ``scoring`` on these rows; ``score_params`` go to the scorer, by metadata routing."""
        routed = routes(self, "score", score_params, sample_weight)
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._scored(X, y, **(routed.scorer.score if routed else extra))

    @predicting
    def _scored(self, X: Any, y: Any, **extra: Any) -> float:
        return float(scorer_of(self.scoring)(self, X, y, **extra))

    def _get_scorer(self) -> Any:
        """The scorer of the parameter ``scoring``; what scikit-learn's own code asks such models for."""
        return scorer_of(self.scoring)

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` and ``score`` pass on: to the splitter, and to the scorer."""
        to_scorer = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router = router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router.add(scorer=scorer_of(self.scoring), method_mapping=to_scorer)


def best_of_folds(kept: Mapping[str, Any]) -> tuple[float, float, Array]:
    """Means over folds of the C, the mix and the coefficients (scores, d or d + 1) that score best in each."""
    scores = np.swapaxes(kept["scores_"], 1, 2)  # of equals the first C, then the first mix
    whole = ~np.isnan(scores).any(axis=(1, 2))
    folds = np.flatnonzero(whole if whole.any() else np.arange(len(scores)) == 0)
    flat = np.where(np.isnan(scores), -np.inf, scores)[folds].reshape(len(folds), -1)
    at, mix = np.unravel_index(flat.argmax(axis=1), scores.shape[1:])
    coef: Array = kept["coefs_paths_"][folds, mix, at].mean(axis=0)
    return float(kept["Cs_"][at].mean()), float(kept["l1_ratios_"][mix].mean()), coef


def _parted(coef: Array, n_columns: int) -> tuple[Array, Array]:
    """(d, scores) and intercepts, zero if there are none."""
    return coef[:, :n_columns].T, coef[:, n_columns:].sum(axis=1)
