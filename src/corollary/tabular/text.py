"""Columns of free text as numbers: counted or hashed words, weighted by how rare they are."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import normalize

from corollary.core.fitted import Fitted, Flag, Floats, ListOf, Names
from corollary.tabular.readers import ColumnReader, named_columns
from corollary.tabular.values import labels

_HASHES = 2**17
_READING = {"ngram_range": (1, 2), "token_pattern": r"(?u)\w+|[^\w\s]", "dtype": np.float64}


class TextColumns(ColumnReader):
    """Columns of free text as their words and pairs of words, weighted by tf-idf; all texts have one length.

    The weight of a word is (1 + log of how often it stands in the text) · (1 + log((1 + n) / (1 + texts with it))).

    Parameters
    ----------
    most_words : int ≥ 1, default 20 000
        The words and pairs kept, those in the most texts; one that stands in one text only is left out.
    count_up_to : int ≥ 1, default 100 000
        With more rows, words are not counted by name but by a hash into 131 072 columns, in bounded memory.
    components : int ≥ 1, optional
        Instead of its words, a text has this many components of a truncated SVD of them (dense, for trees), and its
        length in characters.

    Attributes
    ----------
    words_ : list of ndarray
        The words of every column (none if they are hashed).
    weights_ : list of ndarray
        1 + log((1 + n) / (1 + texts with it)) of each.
    components_ : list of ndarray
        The directions of the SVD (none without ``components``).
    scales_ : ndarray
        The length that a text is given: the root of how many of its words are known, on average, so that text counts
        like as many standardised numbers.
    hashed_ : bool

    Cost: one pass over the texts; the SVD adds some passes over their word counts.

    References
    ----------
    K. Spärck Jones (1972), A statistical interpretation of term specificity and its application in retrieval.

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.tabular.columns import TextColumns
    >>> texts = TextColumns().fit(pd.DataFrame({"note": ["free prize", "free lunch", "no lunch"]}))
    >>> [str(name) for name in texts.get_feature_names_out()]
    ['note_free', 'note_lunch']
    """

    fitted: ClassVar[dict[str, Fitted]] = ColumnReader.fitted | {
        "words_": ListOf(Names("?"), "d"),
        "weights_": ListOf(Floats("?"), "d"),
        "components_": ListOf(Floats("?", "?"), "d"),
        "scales_": Floats("d", low=0.0),
        "hashed_": Flag(),
    }

    def __init__(self, most_words: int = 20_000, count_up_to: int = 100_000, components: int | None = None) -> None:
        self.most_words = most_words
        self.count_up_to = count_up_to
        self.components = components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the words of every column and how rare each is."""
        super().fit(X)
        texts = [_texts(series) for _, series in named_columns(X)]
        self.hashed_ = len(texts[0]) > self.count_up_to
        self.words_ = [np.array([], dtype=str) if self.hashed_ else self._frequent(each) for each in texts]
        self.weights_, self.components_, self.scales_ = [], [], np.ones(len(texts))
        for index, each in enumerate(texts):
            counts = self._counts(each, index)
            with_it = np.bincount(counts.indices, minlength=counts.shape[1])
            self.weights_.append(1.0 + np.log((1.0 + len(each)) / (1.0 + with_it)))
            self.scales_[index] = np.sqrt(max(1.0, counts.nnz / max(1, np.count_nonzero(np.diff(counts.indptr)))))
            self.components_.append(self._directions(_weighted(counts, self.weights_[index])))
        return self

    def _frequent(self, texts: NDArray[np.object_]) -> NDArray[Any]:
        for texts_with_it in (2, 1):
            try:
                words = CountVectorizer(min_df=texts_with_it, max_features=self.most_words, **_READING).fit(texts)
            except ValueError:  # no word is in two texts, or there is none at all
                continue
            return np.array(words.get_feature_names_out(), dtype=str)
        return np.array([""])

    def _directions(self, rows: Any) -> NDArray[np.float64]:
        width = rows.shape[1]
        if self.components is None:
            return np.zeros((0, width))
        if width <= self.components:
            return np.eye(width)
        kept = TruncatedSVD(self.components, random_state=0).fit(rows).components_
        return np.ascontiguousarray(kept, dtype=np.float64)

    def _counts(self, texts: NDArray[np.object_], index: int) -> Any:
        if self.hashed_:
            reader = HashingVectorizer(n_features=_HASHES, alternate_sign=False, norm=None, **_READING)
        else:
            reader = CountVectorizer(vocabulary=self.words_[index].tolist(), **_READING)
        return reader.transform(texts)

    def _read(self, series: Any, index: int) -> Any:
        texts = _texts(series)
        rows = _weighted(self._counts(texts, index), self.weights_[index]) * self.scales_[index]
        if self.components is None:
            return rows
        length = np.array([len(text) or np.nan for text in texts])
        return np.column_stack([length, rows @ self.components_[index].T])

    def _joined(self, found: list[Any]) -> Any:
        return scipy.sparse.hstack(found, format="csr") if self.components is None else np.column_stack(found)

    def parts(self) -> list[list[str]]:
        """The words of every column; or its length and the numbers of its components."""
        if self.components is not None:
            return [["length", *(f"component {k + 1}" for k in range(len(each)))] for each in self.components_]
        if self.hashed_:
            return [[f"words {k + 1}" for k in range(_HASHES)] for _ in self.words_]
        return [each.tolist() for each in self.words_]

    def described(self, column: str, part: str) -> str:
        """A feature in words: ``message has 'free'``, ``message (component 1)``."""
        counted = self.components is None and not self.hashed_
        return f"{column} has {part!r}" if counted else super().described(column, part)

    def _check_state(self) -> None:
        for words, weights, directions in zip(self.words_, self.weights_, self.components_, strict=True):
            width = _HASHES if self.hashed_ else len(words)
            if weights.shape != (width,) or directions.shape[1] != width or len(np.unique(words)) != len(words):
                raise ValueError(f"words_, weights_ and components_ must be of {width} different words.")


def _texts(series: Any) -> NDArray[np.object_]:
    found = labels(series)
    found[found == None] = ""  # noqa: E711 (elementwise)
    return found


def _weighted(counts: Any, weights: NDArray[np.float64]) -> Any:
    rows = counts.astype(np.float64).tocsr()
    rows.data = (1.0 + np.log(rows.data)) * weights[rows.indices]
    return normalize(rows, copy=False)
