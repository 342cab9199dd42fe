"""Fewer columns: a prepared table by its principal components, for models that cannot afford as many as there are."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.validation import check_is_fitted

from corollary.core.fitted import Count, Fitted, Model
from corollary.decomposition.pca import PCA


class Components(TransformerMixin, BaseEstimator):
    """At most ``n_components`` directions of a prepared table: PCA if it is dense, truncated SVD if it is sparse.

    Parameters
    ----------
    n_components : int ≥ 1
        No more are kept than there are rows or columns in ``fit``.
    random_state : int, default 0
        Of the start of an iteration.

    Attributes
    ----------
    model_ : PCA or TruncatedSVD

    Cost: that of a PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.tabular.columns import Components
    >>> Components(3).fit_transform(np.random.default_rng(0).normal(size=(10, 100))).shape
    (10, 3)
    """

    fitted: ClassVar[dict[str, Fitted]] = {"n_features_in_": Count("d", low=1), "model_": Model("transform")}

    def __init__(self, n_components: int, random_state: int = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions."""
        self.n_features_in_ = X.shape[1]
        kept = max(1, min(self.n_components, X.shape[0] - 1, X.shape[1]))
        if issparse(X) and kept < X.shape[1]:
            self.model_ = TruncatedSVD(kept, random_state=self.random_state).fit(X)
        else:
            # of a few directions the leading digits do, by iteration; all of them are found at once
            few: dict[str, Any] = {"svd_solver": "randomized", "tol": 1e-4} if 4 * kept <= min(X.shape) else {}
            pca = PCA(kept, random_state=self.random_state, **few)
            self.model_ = pca.fit(X.toarray() if issparse(X) else X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The rows of ``X`` in those directions."""
        check_is_fitted(self)
        found = self.model_.transform(X.toarray() if issparse(X) and isinstance(self.model_, PCA) else X)
        return np.asarray(found, dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``component1``, ``component2``, …"""
        check_is_fitted(self)
        width = len(self.model_.components_)
        return np.array([f"component{index + 1}" for index in range(width)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
