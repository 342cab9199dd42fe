"""The attentional cascade: stages of boosted stumps, each of which lets objects pass and stops half of the rest."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target

from corollary.base import Estimator, assigning, fitting, predicting
from corollary.core.fitted import Count, Fitted, Flag, Floats, Integers, Labels, Maybe, Record
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Choice, Integer, Limit, Real
from corollary.core.memory import check_memory
from corollary.core.types import Array
from corollary.ensemble.cascade.windows import is_normalized, read_windows, window_of
from corollary.ensemble.members import generator
from corollary.labels import encode_labels
from corollary.referee.verdict import Verification
from corollary.solvers.loop import Rules, run
from corollary.solvers.trees.cascade.boosting import Goals, Windows
from corollary.solvers.trees.cascade.features import FeatureSpace
from corollary.solvers.trees.cascade.integral import window_integrals
from corollary.solvers.trees.cascade.scenes import Scenes
from corollary.solvers.trees.cascade.stages import Stages
from corollary.solvers.trees.cascade.training import Training, split

# fitted attributes, and what they are of the stages
PARTS = {
    "window_": "window",
    "normalized_": "normalize",
    "features_": "features",
    "cuts_": "cuts",
    "left_": "left",
    "right_": "right",
    "stage_ends_": "ends",
    "stage_thresholds_": "thresholds",
}


class CascadeClassifier(ClassifierMixin, Estimator):
    r"""Two classes of image windows, told apart by a cascade of boosted Haar features.

    Stage k scores a window by :math:`F_k(x) = \sum_t f_t(x)`, stumps on Haar features found by gentle AdaBoost, and
    passes it on if :math:`F_k(x) \ge \theta_k`; a window is positive if it passes all stages. Stages get stumps until,
    with the threshold lowered to keep ``min_detection_rate`` of the positives, at most ``max_false_positive_rate`` of
    the negatives pass, both measured on windows that the stage was not trained on. The next stage sees only what
    passed, and new negatives that the cascade still mistakes. Nearly all windows of a picture are rejected by the first
    few stumps, which is what makes ``Detector`` fast.

    Parameters
    ----------
    min_detection_rate : float in (0, 1], default 0.995
        Of the validation positives that reach a stage, the part it must pass. Over 10 stages 0.995 leaves 95 %.
    max_false_positive_rate : float in [0, 1], default 0.5
        Of the validation negatives that reach a stage, the part it may pass. To classify windows without ``negatives``
        to draw on, 0.05 or less makes fewer and stronger stages.
    target_false_positive_rate : float in [0, 1], default 1e-5
        Stop once the product of the stages' false positive rates is below this.
    max_stages : int ≥ 1, default 20
    max_features : int ≥ 1, default 100
        Stumps in one stage.
    max_candidates : int ≥ 1 or None, default 10 000
        Features that a stage may choose from, drawn at random for each; None is all of them.
    n_negatives : int ≥ 2 or None
        Negatives to train and validate a stage with, found in ``negatives``; None is as many as X has.
    validation_fraction : float in (0, 1), default 0.25
        The part of the windows that measures the rates.
    window : (height, width) or None
        What the columns of X stand for, row by row. None: a square if their number is one, else a single row. X may
        also be of shape (n, height, width), and then says it itself.
    stride : int ≥ 1, default 1
        Places and cell sizes of Haar features go up in steps of this many pixels.
    normalize : {"auto", True, False}
        Bring windows to equal contrast, as :class:`HaarFeatures` does. "auto" does for pictures, but not for windows of
        one row.
    random_state : int, RandomState or None
        Draws candidates and the validation part.
    n_jobs : int or None
        Threads; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The second is the positive one.
    n_features_in_ : int
        Pixels of a window.
    window_ : (height, width)
    normalized_ : bool
        Whether windows are brought to equal contrast.
    features_, cuts_, left_, right_ : arrays with one row for each stump
        Its Haar feature (as in ``HaarFeatures.features_``), and what it adds below and above the cut.
    stage_ends_, stage_thresholds_ : arrays of shape (number of stages,)
        Where the stumps of each stage end, and the score it demands.
    validation_rows_ : array
        The windows of X that were set aside to measure the rates.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* A stage takes candidates × windows bytes for ranks of responses, read once for each stump, beside a few
    float64 copies of the windows; responses are never kept in floating point. More than the machine has free is refused
    before it starts. Prediction: O(pixels) and a few stumps for most windows.

    *Evidence.* Checked: the worst shortfall of a stage's detection rate on the validation part, measured with the code
    that predicts; in the end all stages together judge all of its positives again. ``history`` has the rates of each
    stage and their products; "objective" is the false positive rate of all stages so far, which on n windows cannot be
    known below about 1/n.

    References: P. Viola and M. Jones, Rapid object detection using a boosted cascade of simple features (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from corollary.ensemble.cascade import CascadeClassifier
    >>> digits = load_digits()
    >>> model = CascadeClassifier(random_state=0).fit(digits.images, digits.target == 0)
    >>> model.score(digits.images, digits.target == 0) > 0.98, model.evidence_.holds
    (True, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(high=2),
        "window_": Record(Count(low=1), Count(low=1)),
        "normalized_": Flag(),
        "features_": Integers("m", 5, low=0),
        "cuts_": Floats("m"),
        "left_": Floats("m"),
        "right_": Floats("m"),
        "stage_ends_": Integers("stages", low=1),
        "stage_thresholds_": Floats("stages"),
        "validation_rows_": Maybe(Integers("aside", low=0)),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "min_detection_rate": Real(low=0, high=1, above=True),
        "max_false_positive_rate": Real(low=0, high=1),
        "target_false_positive_rate": Real(low=0, high=1),
        "max_stages": Integer(1),
        "max_features": Integer(1),
        "max_candidates": Choice(None) | Integer(1),
        "n_negatives": Choice(None) | Integer(2),
        "validation_fraction": Real(low=0, high=1, above=True),
        "window": Choice(None) | ArrayLike(),
        "stride": Integer(1),
        "normalize": Choice("auto", True, False),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        *,
        min_detection_rate: float = 0.995,
        max_false_positive_rate: float = 0.5,
        target_false_positive_rate: float = 1e-5,
        max_stages: int = 20,
        max_features: int = 100,
        max_candidates: int | None = 10_000,
        n_negatives: int | None = None,
        validation_fraction: float = 0.25,
        window: Any = None,
        stride: int = 1,
        normalize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags

    @fitting
    def fit(self, X: Any, y: Any, negatives: Any = None) -> CascadeClassifier:
        """Train the stages.

        Parameters
        ----------
        X : array of shape (n, pixels) or (n, height, width)
            Windows that show the object and windows that do not.
        y : array of n labels of two classes
        negatives : list or iterator of pictures, optional
            Pictures of any size without the object, grey or in colour. After each stage, windows of them that the
            cascade mistakes for the object replace the negatives that it now rejects. A list is gone through again and
            again; an iterator gives each picture once. Without pictures, training stops when X has no negatives left.
        """
        training, classes, aside = self._training(X, y, negatives)

        def attributes(stages: Stages) -> dict[str, Any]:
            return {"classes_": classes, "validation_rows_": aside} | {
                name: getattr(stages, part) for name, part in PARTS.items()
            }

        observe = self._observer(X, y, self.max_stages, attributes)
        found = run(training, Rules(self.max_stages, 1e-9, observe))
        self.__dict__.update(attributes(found.state))
        self._keep_evidence(training.evidence(found))
        return self

    def _training(self, X: Any, y: Any, negatives: Any) -> tuple[Training, Array, Array]:
        """Everything checked and split before the first stage, the two classes, and the rows that are set aside."""
        X, declared = read_windows(X, self.window)
        if declared is not None and y is not None and len(X) != np.shape(y)[0]:
            raise ValueError(f"X of dim 3 holds {len(X)} windows, but y has {np.shape(y)[0]} labels.")
        X, y, weights = self._validate_fit(X, y, sparse=False, y_numeric=False)
        classes, codes, _ = encode_labels(y, weights)
        if len(classes) > 2:
            kind = type_of_target(y, input_name="y", raise_unknown=True)
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        window = window_of(X.shape[1], declared)
        normalize, rng = is_normalized(self.normalize, window), generator(self.random_state)
        scenes, space = Scenes(negatives, window), FeatureSpace(window, self.stride)
        self._check_memory(codes, space)
        integrals = window_integrals(X, window, normalize)
        places = [np.flatnonzero(codes == code) for code in (1, 0)]
        positive, negative = (split(rows, self.validation_fraction, rng) for rows in places)
        training = Training(
            space=space,
            normalize=normalize,
            train=Windows(integrals[positive[0]], integrals[negative[0]]),
            check=Windows(integrals[positive[1]], integrals[negative[1]]),
            scenes=scenes,
            goals=Goals(self.min_detection_rate, self.max_false_positive_rate, self.max_features),
            max_stages=self.max_stages,
            max_candidates=self.max_candidates,
            n_negatives=self.n_negatives or int((codes == 0).sum()),
            fraction=self.validation_fraction,
            target=self.target_false_positive_rate,
            rng=rng,
        )
        return training, classes, np.sort(np.concatenate([positive[1], negative[1]]))

    def _check_memory(self, codes: Array, space: FeatureSpace) -> None:
        """Say how much a stage takes, before anything is allocated, if there is not so much."""
        n_positive = int(codes.sum())
        n = n_positive + max(len(codes) - n_positive, self.n_negatives or 0)
        count = len(space) if self.max_candidates is None else min(self.max_candidates, len(space))
        corners = (space.window[0] + 1) * (space.window[1] + 1)
        check_memory(
            count * (n + 200) + 24 * n * corners,
            f"Training on {n:,} windows with {count:,} candidate features",
            "lower max_candidates or n_negatives, or raise stride",
        )

    @predicting
    def decision_function(self, X: Any) -> Array:
        """Positive for windows that pass all stages; else at most 0, and the lower the earlier they are rejected.

        One that passes gets 1 plus its margins over the stages' thresholds; one that stage k of K (from 0) rejects by
        a margin m < 0 gets k − K + exp(m).
        """
        X, _ = read_windows(X, self.window_)
        X = self._validate_predict(X, sparse=False)
        verdicts = self._stages().judge(window_integrals(X, self.window_, self.normalized_))
        return verdicts.astype(X.dtype, copy=False)

    @predicting
    def predict(self, X: Any) -> Array:
        """The second class for windows that pass all stages, the first for the others."""
        passed = self.decision_function(X) > 0
        return self.classes_[passed.astype(np.intp)]

    @predicting
    def plot(self, ax: Any = None) -> Any:
        """Draw the detection and false positive rates over the stages; returns the matplotlib axes."""
        from corollary.ensemble.cascade.plots import draw_rates

        return draw_rates(self.evidence_.history, ax)

    def _verify(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        if sample_weight is not None:
            raise ValueError("CascadeClassifier takes no sample_weight, so there is none to verify with.")
        return super()._verify(read_windows(X, self.window_)[0], y, None)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.cascade.claims import verify_cascade

        return verify_cascade(self, self._validate_predict(X, sparse=False), y)

    def _check_state(self) -> None:
        """Raise ValueError unless the fitted attributes, read from a file, are safe to compute with."""
        self._stages().check(self.n_features_in_)

    def _stages(self) -> Stages:
        return Stages(**{part: getattr(self, name) for name, part in PARTS.items()})
