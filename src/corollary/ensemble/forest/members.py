"""The trees of a forest one by one, as decision trees, and the rows that each of them drew."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.derived import Derived
from corollary.core.fitted import Count, Floats, Integers, Maybe, Record
from corollary.core.types import Array
from corollary.solvers.trees.forest.rows import BinnedRows, draw_counts
from corollary.tree.counts import count_features

# what the draws of rows repeat from: how many there were, in which order they lay end to end, and where each ends
DRAWN_FROM = Maybe(Record(n=Count(low=1), order=Integers("?", low=0), ends=Floats("?", low=0)))
_SHARED = (
    "criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_features",
    "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha", "monotonic_cst", "max_bins", "categorical_features",
)  # fmt: skip

_members: Derived[list[Any]] = Derived()


def unfitted_member(forest: Any, random_state: int | None = None) -> Any:
    """A decision tree with the parameters of the forest's trees."""
    from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if hasattr(forest, "class_weight") else DecisionTreeRegressor
    splitter = "random" if forest._random_cuts else "best"
    return kind(splitter=splitter, random_state=random_state, **{name: getattr(forest, name) for name in _SHARED})


def members(forest: Any) -> list[Any]:
    """The trees as fitted decision trees, which know classes by their numbers; the same list as long as they are."""
    return _members.of(forest, forest.nodes_, lambda: _new_members(forest))


def _new_members(forest: Any) -> list[Any]:
    trees, seeds = forest.trees_, forest.nodes_["seeds"].tolist()
    return [_member(forest, trees.tree(t), seed % 2**31) for t, seed in enumerate(seeds)]


def _member(forest: Any, trees: Any, seed: int) -> Any:
    member = unfitted_member(forest, seed)
    member.n_features_in_, member.n_outputs_ = forest.n_features_in_, forest.n_outputs_
    member.categories_ = forest.categories_
    member.max_features_ = count_features(forest.max_features, forest.n_features_in_)
    if hasattr(forest, "classes_"):
        member._keep_classes([np.arange(float(len(classes))) for classes in forest._classes])
    member.trees_ = trees
    return member


def drawn_from(rows: BinnedRows, order: Array) -> dict[str, Any]:
    """What is kept so that the draws of each tree can be told in terms of the rows of X; nothing if there are none."""
    kept = order.astype(np.int32) if rows.draws else np.empty(0, dtype=np.int32)
    return {"n": rows.n, "order": kept, "ends": rows.ends if rows.draws else np.empty(0)}


def samples(forest: Any) -> list[Array]:
    """The rows of X that each tree drew, as often as it did; all of them without draws."""
    known = forest.__dict__.get("_drawn_from")
    if known is None or forest._taken_over[1]:
        raise ValueError(
            "estimators_samples_: some trees are of earlier fits, and the rows that these drew are not kept."
        )
    n, order, seeds = known["n"], known["order"], forest.nodes_["seeds"]
    if not forest._n_draws:
        return [np.arange(n, dtype=np.int32) for _ in seeds]
    return [np.repeat(order, draw_counts(known["ends"], n, forest._n_draws, int(seed))) for seed in seeds]


def check_drawn_from(forest: Any) -> None:
    """Raise ValueError unless draws can be repeated."""
    known = forest.__dict__.get("_drawn_from")
    if known is None or not forest._n_draws:
        return
    n, order, ends = known["n"], known["order"], known["ends"]
    whole = len(order) == n and (np.bincount(order, minlength=n) == 1).all() and len(np.bincount(order)) == n
    if not whole or len(ends) not in (0, n) or (np.diff(ends) < 0).any():
        raise ValueError("forest: what is kept of the rows does not tell which of them trees drew.")
