"""Columns of categories as codes, for models that split on them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin

from corollary.core.fitted import Booleans, Fitted, ListOf, Names
from corollary.core.limits import Integer, Limit
from corollary.tabular.readers import ColumnReader, named_columns
from corollary.tabular.values import labels


class CategoryCodes(OneToOneFeatureMixin, ColumnReader):
    """Columns of labels as codes 0, 1, 2, …; a missing value is NaN, as models that split on categories take it.

    Parameters
    ----------
    at_least : int ≥ 1, default 1
        Labels with fewer rows share one code, the last, ``(rare)``.
    most : int ≥ 2, default 255
        Codes of a column, that of ``(rare)`` among them: the labels with the most rows have one of their own.

    Attributes
    ----------
    labels_ : list of ndarray
        The labels with a code of their own, in increasing order.
    has_rare_ : ndarray of bool
        Whether there is a code for the others. If so, a label that was not there in ``fit`` has it too; if not, it is
        NaN.

    Cost: one pass over the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.tabular.columns import CategoryCodes
    >>> codes = CategoryCodes(at_least=2).fit(pd.DataFrame({"a": ["x", "y", "y", "x", "z"]}))
    >>> codes.transform(pd.DataFrame({"a": ["y", "z", None, "new"]})).ravel()
    array([ 1.,  2., nan,  2.])
    """

    fitted: ClassVar[dict[str, Fitted]] = ColumnReader.fitted | {
        "labels_": ListOf(Names("?"), "d"),
        "has_rare_": Booleans("d"),
    }

    limits: ClassVar[dict[str, Limit]] = {"at_least": Integer(1), "most": Integer(2)}

    def __init__(self, at_least: int = 1, most: int = 255) -> None:
        self.at_least = at_least
        self.most = most

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the labels of every column that have a code of their own."""
        super().fit(X)
        found = [self._chosen(labels(series)) for _, series in named_columns(X)]
        self.labels_ = [kept for kept, _ in found]
        self.has_rare_ = np.array([rare for _, rare in found])
        return self

    def _chosen(self, texts: NDArray[np.object_]) -> tuple[NDArray[np.str_], bool]:
        kept, counts = np.unique(texts[texts != None].astype(str), return_counts=True)  # noqa: E711 (elementwise)
        enough = counts >= self.at_least
        if enough.sum() + (not enough.all()) > self.most:
            common = np.argsort(-counts, kind="stable")[: self.most - 1]
            enough &= np.isin(np.arange(len(kept)), common)
        return kept[enough], not enough.all()

    def _read(self, series: Any, index: int) -> NDArray[np.float64]:
        known = self.labels_[index].tolist()
        other = float(len(known)) if self.has_rare_[index] else np.nan
        codes = {label: float(code) for code, label in enumerate(known)}
        at, distinct = pd.factorize(labels(series))
        table = np.array([*(codes.get(label, other) for label in distinct), np.nan])  # code −1 (missing) picks the NaN
        found: NDArray[np.float64] = table[at]
        return found

    def _check_state(self) -> None:
        if any(len(np.unique(known)) != len(known) for known in self.labels_):
            raise ValueError("labels_ must be different in every column.")
