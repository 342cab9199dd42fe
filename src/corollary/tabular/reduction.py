"""Fewer columns: a prepared table by its principal components, for models that cannot afford as many as there are."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.validation import check_is_fitted

from corollary.base import EvidenceWarning
from corollary.core.fitted import Count, Fitted, Floats
from corollary.core.limits import Integer, Limit
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
    components_ : ndarray of shape (k, d)
    mean_ : ndarray of shape (d,)
        What is taken off before (zeros for a sparse table).

    Cost: that of a PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.tabular.columns import Components
    >>> Components(3).fit_transform(np.random.default_rng(0).normal(size=(10, 100))).shape
    (10, 3)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_features_in_": Count("d", low=1),
        "components_": Floats("k", "d", low=-1.01, high=1.01),  # unit rows
        "mean_": Floats("d", low=-1e150, high=1e150),
    }
    limits: ClassVar[dict[str, Limit]] = {"n_components": Integer(1), "random_state": Integer(0)}

    def __init__(self, n_components: int = 50, random_state: int = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions."""
        self.n_features_in_ = X.shape[1]
        kept = max(1, min(self.n_components, X.shape[0] - 1, X.shape[1]))
        if issparse(X) and kept < X.shape[1]:
            self.components_ = TruncatedSVD(kept, random_state=self.random_state).fit(X).components_
            self.mean_ = np.zeros(X.shape[1])
            return self
        # of a few directions the leading digits do, by iteration; all of them are found at once
        few: dict[str, Any] = {"svd_solver": "randomized", "tol": 1e-4} if 4 * kept <= min(X.shape) else {}
        pca = PCA(kept, random_state=self.random_state, **few)
        with warnings.catch_warnings():  # any directions near these do: what is claimed is claimed of the model
            warnings.simplefilter("ignore", EvidenceWarning)
            pca.fit(X.toarray() if issparse(X) else X)
        self.components_, self.mean_ = pca.components_, pca.mean_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The rows of ``X`` in those directions."""
        check_is_fitted(self)
        return np.asarray(X @ self.components_.T - self.components_ @ self.mean_, dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``component1``, ``component2``, …"""
        check_is_fitted(self)
        return np.array([f"component{index + 1}" for index in range(len(self.components_))], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
