"""Haar features: differences of mean brightness between neighbouring rectangles, enumerated for a window."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from corollary.base import Estimator, assigning, fitting, predicting
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Count, Fitted, Integers, Record
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Choice, Integer, Limit
from corollary.core.memory import check_memory
from corollary.core.parallel import each_block
from corollary.core.scaling import answer_type, magnitude
from corollary.core.types import Array
from corollary.ensemble.cascade.windows import is_normalized, read_windows, window_of
from corollary.ensemble.members import generator
from corollary.referee.verdict import Verification
from corollary.solvers.trees.cascade.features import BLOCK, Corners, FeatureSpace, brute_response, check_features
from corollary.solvers.trees.cascade.integral import normalized, window_integrals


class HaarFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Responses of windows to all Haar features of two, three and four rectangles.

    .. math:: r = \frac{1}{\sigma |c|} \sum_{\text{cells } c} v_c \sum_{p \in c} x_p, \qquad
              v \in \{(1, -1),\ (1, -2, 1),\ \text{their transposes},\ ((1, -1), (-1, 1))\}

    where σ is the standard deviation of the window and |c| the pixels of a cell: how many standard deviations some
    rectangles are brighter than their neighbours. A window of 24 × 24 pixels has 162 336 features.

    Parameters
    ----------
    window : (height, width) or None
        What the columns of X stand for, row by row. None: a square if their number is one, else a single row. X may
        also be of shape (n, height, width), and then says it itself.
    stride : int ≥ 1, default 1
        Places and cell sizes go up in steps of this many pixels: about ``stride⁴`` times fewer features.
    max_features : int ≥ 1 or None
        Draw this many features at random; None keeps all.
    normalize : {"auto", True, False}
        Divide by σ. "auto" does for pictures, but not for windows of one row. A window whose σ is below 1e-5 of the
        root mean square of its pixels has no contrast: its responses are 0.
    random_state : int, RandomState or None
        For ``max_features``.
    n_jobs : int or None
        Threads; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    n_features_in_ : int
        Pixels of a window.
    features_ : int32 array of shape (m, 5)
        (shape, top, left, height, width) of each: shapes in the order of ``features.SHAPES``, sizes of one cell.
    window_ : (height, width)
    evidence_ : Evidence

    Notes
    -----
    *Cost.* O(n p) for p pixels, then at most 9 additions a response. ``fit`` keeps 20 bytes a feature. The result has
    n × m numbers; more than the machine has room for is refused beforehand (``CascadeClassifier`` never holds all).

    *Evidence.* Checked: the largest difference between responses from integral images and from plain sums over pixels,
    on a sample of windows and features; as sums (times the pixels of a cell), over the sum of \|x\| of the window.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.ensemble.cascade import HaarFeatures
    >>> windows = np.random.default_rng(0).random((5, 24, 24))
    >>> features = HaarFeatures(max_features=100, random_state=0).fit(windows)
    >>> features.transform(windows).shape, features.evidence_.holds
    ((5, 100), True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "window_": Record(Count(low=1), Count(low=1)),
        "features_": Integers("m", 5, low=0),
        "_n_features_out": Count("m"),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "window": Choice(None) | ArrayLike(),
        "stride": Integer(1),
        "max_features": Choice(None) | Integer(1),
        "normalize": Choice("auto", True, False),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        *,
        window: Any = None,
        stride: int = 1,
        max_features: int | None = None,
        normalize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None) -> HaarFeatures:
        """Enumerate the features of the windows in X; the pixels themselves only serve to check the arithmetic."""
        X, declared = read_windows(X, self.window)
        X = validate_data(self, X, dtype=(np.float64, np.float32))
        self.window_ = window_of(X.shape[1], declared)
        space = FeatureSpace(self.window_, self.stride)
        kept = len(space) if self.max_features is None else min(self.max_features, len(space))
        check_memory(60 * kept, f"Describing {kept:,} features", "raise stride, or set max_features")
        self.features_ = space.rows(space.sample(self.max_features, generator(self.random_state)))
        self._n_features_out = len(self.features_)
        self._keep_evidence(self._evidence(X))
        return self

    @predicting
    def transform(self, X: Any) -> Array:
        """Responses (n, m) of n windows, in the type of X (float64 where float32 might not hold them)."""
        X, _ = read_windows(X, self.window_)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        n, m = len(X), len(self.features_)
        check_memory(
            n * m * X.itemsize,
            f"The responses of {n:,} windows to {m:,} features",
            "raise stride, set max_features, transform fewer windows at a time, or use CascadeClassifier",
        )
        normalize = is_normalized(self.normalize, self.window_)
        out = np.empty((n, m), dtype=X.dtype if normalize else answer_type(X.dtype, 4 * magnitude(X)))
        table = window_integrals(X, self.window_, normalize)
        columns, corners = np.ascontiguousarray(table.T), Corners.of(self.features_, self.window_[1] + 1)

        def fill(start: int, stop: int) -> None:
            out[:, start:stop] = corners.responses(columns, start, stop).T

        each_block(fill, m, BLOCK)
        return out

    def _check_state(self) -> None:
        """Raise ValueError unless the fitted attributes, read from a file, are safe to compute with."""
        check_features(self.features_, self.window_, self.n_features_in_)

    def _verify(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        return super()._verify(read_windows(X, self.window_)[0], None, None)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.cascade.claims import verify_haar

        return verify_haar(self, self._validate_predict(X, sparse=False))

    def _evidence(self, X: Array) -> Evidence:
        """Compare some responses with sums over pixels; times the pixels of a cell, over those of the window."""
        window, normalize = self.window_, is_normalized(self.normalize, self.window_)
        features = self.features_[np.unique(np.linspace(0, len(self.features_) - 1, 50).astype(np.intp))]
        some = X[np.linspace(0, len(X) - 1, 5).astype(np.intp)].astype(np.float64)
        table = window_integrals(some, window, normalize)
        fast = Corners.of(features, window[1] + 1).responses(np.ascontiguousarray(table.T), 0, len(features))
        pixels = (normalized(some) if normalize else some).reshape(-1, *window)
        slow = np.array([[brute_response(image, feature) for image in pixels] for feature in features])
        bright = np.abs(pixels).sum(axis=(1, 2))
        off = np.abs(fast - slow) * features[:, 3:].prod(axis=1)[:, None] / np.where(bright > 0, bright, 1.0)
        return Evidence(
            Status.EXACT,
            Certificate(Kind.CHECKED, "error of sampled responses over the sum of |pixels|", float(off.max()), 1e-9),
            "integral images",
            facts={"features": float(len(self.features_))},
        )
