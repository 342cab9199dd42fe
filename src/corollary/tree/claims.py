"""What a tree claims, in the plain words of the referee."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.base import check_weights
from corollary.core.door.weights import within_reach
from corollary.core.types import Array
from corollary.referee import trees as referee
from corollary.referee.verdict import Verification
from corollary.tree.counts import count_rows

CRITERIA = {
    "squared_error": "squared",
    "absolute_error": "absolute",
    "gini": "gini",
    "entropy": "entropy",
    "log_loss": "entropy",
}


def verify_tree(model: Any, X: Any, y: Array, sample_weight: Any) -> Verification:
    """One target, numbers only, and a criterion that the referee knows; else it is not decided."""
    # a weight that is 2^-400 of the largest or less counts as zero in every fit, so it does here
    weights, nodes = within_reach(check_weights(sample_weight, X))[0], model.trees_
    known = model.n_outputs_ == 1 and model.criterion in CRITERIA and not (nodes.category >= 0).any()
    if not known or getattr(model, "class_weight", None) is not None:
        return Verification(None, "the referee judges trees of numbers with one target and no class weights")
    y = y.ravel()
    if hasattr(model, "classes_"):
        y = y[:, None] == model.classes_[None, :]
    Y = y.reshape(len(y), -1).astype(np.float64)
    given = referee.Nodes(
        nodes.feature, nodes.threshold, nodes.left, nodes.value, nodes.weight, nodes.count, nodes.impurity, nodes.gain
    )
    return referee.judge(X, Y, weights, given, _rules(model, weights), model.evidence_.certificate.tolerance)


def _rules(model: Any, weights: Array) -> referee.Rules:
    """The parameters of a tree, with fractions made numbers as the fit does."""
    n = int((weights > 0).sum())
    least = count_rows(model.min_samples_leaf, n)
    directions = None if model.monotonic_cst is None else model._directions(model.monotonic_cst)
    free = directions is None or not np.any(directions)
    every = model.splitter == "best" and model.max_bins is None and model.max_features_ == model.n_features_in_
    return referee.Rules(
        CRITERIA[model.criterion],
        min_rows=least,
        min_split=max(2, count_rows(model.min_samples_split, n)),
        max_depth=np.inf if model.max_depth is None else model.max_depth,
        max_leaves=np.inf if model.max_leaf_nodes is None else model.max_leaf_nodes,
        min_share=model.min_weight_fraction_leaf,
        min_gain=model.min_impurity_decrease,
        pruned=model.ccp_alpha > 0,
        monotone=None if free else directions,
        searched=bool(every and free),
        claimed="splits" in model.evidence_.certificate.name,
    )
