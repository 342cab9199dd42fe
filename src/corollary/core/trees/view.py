"""A tree under the names that scikit-learn gives its arrays: what tools that draw, explain or convert trees read."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sklearn.utils import check_array

from corollary.core.derived import Derived
from corollary.core.door.sparse_input import sound
from corollary.core.trees.arrays import Trees
from corollary.core.trees.dependence import partial_dependence
from corollary.core.trees.paths import decision_paths, depth_first
from corollary.core.types import Array

UNDEFINED = -2  # feature and threshold of a leaf; its children are −1


class TreeView:
    """One tree as ``sklearn.tree`` describes it. Arrays are made when they are first asked for and cannot be written.

    Nodes are numbered depth first, as ``apply`` and ``decision_path`` of models number them.
    """

    n_features: int
    n_classes: Array
    _trees: Trees
    _places: Array
    _order: Array

    def __init__(self, trees: Trees, n_features: int, n_classes: list[int]) -> None:
        places = depth_first(trees)
        self.__dict__.update(
            _trees=trees,
            n_features=n_features,
            n_classes=_fixed(np.array(n_classes, dtype=np.intp)),
            _places=places,
            _order=np.argsort(places),
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"tree_ shows the tree of a model and cannot be changed, so neither can its {name!r}.")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    @property  # type: ignore[misc]  # read only: it answers those who ask, and is not the class that this is
    def __class__(self) -> type[Any]:
        """Scikit-learn's class of trees: shap asks for it before it reads the arrays."""
        return _scikit_learns()

    def __reduce__(self) -> Any:
        return TreeView, (self._trees, self.n_features, self.n_classes.tolist())

    def __repr__(self) -> str:
        return f"<tree of {self.node_count} nodes over {self.n_features} columns>"

    @property
    def n_outputs(self) -> int:
        return len(self.n_classes)

    @property
    def max_n_classes(self) -> int:
        return int(self.n_classes.max())

    @property
    def node_count(self) -> int:
        return self._trees.node_count

    @property
    def capacity(self) -> int:
        return self.node_count

    @functools.cached_property
    def n_leaves(self) -> int:
        return int(self._trees.is_leaf.sum())

    @functools.cached_property
    def max_depth(self) -> int:
        return self._trees.depth()

    @functools.cached_property
    def children_left(self) -> Array:
        return self._children(self._trees.left)

    @functools.cached_property
    def children_right(self) -> Array:
        return self._children(self._trees.right)

    @functools.cached_property
    def feature(self) -> Array:
        return _fixed(np.where(self._trees.is_leaf, UNDEFINED, self._trees.feature)[self._order].astype(np.intp))

    @functools.cached_property
    def threshold(self) -> Array:
        return _fixed(np.where(self._trees.is_leaf, float(UNDEFINED), self._trees.threshold)[self._order])

    @functools.cached_property
    def missing_go_to_left(self) -> Array:
        return _fixed(self._trees.missing_left[self._order].astype(np.uint8))

    @functools.cached_property
    def impurity(self) -> Array:
        return _fixed(self._trees.impurity[self._order])

    @functools.cached_property
    def n_node_samples(self) -> Array:
        return _fixed(self._trees.count[self._order].astype(np.intp))

    @functools.cached_property
    def weighted_n_node_samples(self) -> Array:
        return _fixed(self._trees.weight[self._order])

    @functools.cached_property
    def value(self) -> Array:
        """(nodes, outputs, classes): shares of classes, zero beyond those that an output has; or one number."""
        given, table = self._trees.value[self._order], np.zeros((self.node_count, self.n_outputs, self.max_n_classes))
        ends = np.cumsum(self.n_classes)
        for o, (end, count) in enumerate(zip(ends, self.n_classes, strict=True)):
            table[:, o, :count] = given[:, end - count : end]
        return _fixed(table)

    def _children(self, given: Array) -> Array:
        return _fixed(np.where(given >= 0, self._places[given], -1)[self._order])

    def _leaves(self, X: Any) -> Array:
        """(rows, 1), after a look at X: a walk down a tree does not ask whether a column is there."""
        X = check_array(sound(X), accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False,
                        ensure_min_samples=0, input_name="X")  # fmt: skip
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, but the tree was grown on {self.n_features}.")
        return self._trees.apply(X)

    def apply(self, X: Any) -> Array:
        """The leaf of each row of X, a dense or sparse matrix of numbers."""
        found: Array = self._places[self._leaves(X)[:, 0]]
        return found

    def predict(self, X: Any) -> Array:
        """The values at the leaves: (rows, classes), or (rows, outputs, classes) for several outputs."""
        found: Array = self.value[self.apply(X)]
        return found[:, 0] if self.n_outputs == 1 else found

    def decision_path(self, X: Any) -> Any:
        """The nodes that each row passes, a CSR matrix (rows, nodes) of ones."""
        return decision_paths(self._trees, self._leaves(X), self._places)

    def compute_node_depths(self) -> Array:
        """1 for the root, 2 for its children, and so on."""
        return self._trees.node_depths()[self._order].astype(np.int64) + 1

    def compute_feature_importances(self, normalize: bool = True) -> Array:
        """Fall of impurity by each column, for each unit of weight; with ``normalize`` they sum to one."""
        if normalize:
            return self._trees.importances(self.n_features)
        inner = np.flatnonzero(~self._trees.is_leaf)
        gains = self._trees.gain[inner] / self._trees.weight[0]
        return np.bincount(self._trees.feature[inner], weights=gains, minlength=self.n_features)

    def compute_partial_dependence(self, X: Array, target_features: Array, out: Array) -> None:
        """Add the mean prediction at each row of ``X``, whose columns are the ``target_features``, to ``out``.

        Of the other columns rows go to both sides, in proportion to the training weight that did.
        """
        out += partial_dependence(self._trees, X, [int(f) for f in target_features])[:, 0]


@functools.cache
def _scikit_learns() -> type[Any]:
    from sklearn.tree import ExtraTreeClassifier

    return type(ExtraTreeClassifier().fit([[0.0]], [0]).tree_)


def _fixed(array: Array) -> Array:
    """A copy that nobody can make writable again, for bytes are not."""
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


_views: Derived[TreeView] = Derived()


def numbered(model: Any, trees: Trees, n_classes: list[int]) -> TreeView:
    """The view of a model's tree, the same one as long as the tree is."""
    return _views.of(model, trees, lambda: TreeView(trees, model.n_features_in_, n_classes))


def view_of(model: Any, trees: Trees, n_classes: list[int]) -> TreeView:
    """The view for tools to read; AttributeError if the tree splits by categories."""
    if (trees.category >= 0).any():
        raise AttributeError(
            f"{type(model).__name__} has no tree_, for thresholds cannot say which categories go left; read "
            "trees_, or fit with categorical_features=None on columns encoded as numbers."
        )
    return numbered(model, trees, n_classes)
