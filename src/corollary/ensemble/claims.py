"""What ensembles claim, in the plain words of the referee: rows, trees and what members say, as arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corollary.base import check_weights, weights_by_class
from corollary.core.door.weights import within_reach
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.labels import encode_labels
from corollary.referee import boosting, ensembles
from corollary.referee.steps import Steps
from corollary.referee.trees import Nodes, Rules, misshapen
from corollary.referee.verdict import Verification
from corollary.solvers.draws import fingerprint
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.check.forest import GivenTree, columns_tried, draws_repeat
from corollary.solvers.trees.forest.out_of_bag import coded_trees
from corollary.solvers.trees.forest.storage import stored_binner
from corollary.tree.claims import CRITERIA


def plain_nodes(trees: Trees, *, told: bool = False) -> list[Nodes] | None:
    """Each tree as the referee takes it, with impurities and gains if ``told``; None if a split is of categories."""
    if (trees.category >= 0).any():
        return None
    each = (trees.tree(t) for t in range(trees.n_trees))
    names = ("feature", "threshold", "left", "value") + ("weight", "count", "impurity", "gain") * told
    return [Nodes(*(getattr(tree, name) for name in names)) for tree in each]


CATEGORIES = Verification(None, "the referee walks down trees of numbers only")


def verify_forest(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Predictions as the mean of the trees; and of some trees, the values of nodes from the rows that they drew."""
    trees = plain_nodes(model.trees_, told=True)
    if trees is None:
        return CATEGORIES
    mean = ensembles.forest(model._read_predict(X), trees, model._means(X))
    if not mean.stands:
        return mean
    if y is None or model.n_outputs_ > 1 or model.criterion not in CRITERIA:
        why = "without the y of the fit" if y is None else "of several targets, or by this criterion,"
        return Verification(None, f"{mean.words}; leaves and splits {why} are not judged")
    X, target = model._target(X, y, sample_weight)
    binner = stored_binner(model.nodes_)
    rows, order, keys = model._rows(X, target, binner, model._n_draws)
    if fingerprint(keys, target.weights) != model.data_key_:
        return Verification(None, "rows or weights are not those of the fit, and no tree drew from others")

    grown, d = model._rules(rows), len(rows.codes)
    coded = coded_trees(model.trees_, model.nodes_)

    def drawn(t: int) -> tuple[Array, Any]:
        """How much each row counts in a tree, and the columns that its nodes tried, where not all were."""
        seed, out = int(model.nodes_["seeds"][t]), np.zeros(rows.n)
        out[order] = mass = rows.mass(rows.drawn(seed) if rows.draws else None)
        if grown.max_features >= d or not draws_repeat(rows, grown):
            return out, None
        inside = np.flatnonzero(mass > 0).astype(np.int32)
        leaves = coded[t].walk(rows.codes, inside, binner.n_bins, binner.categorical)
        return out, columns_tried(rows, grown, GivenTree(model.trees_.tree(t), seed, mass, inside, leaves))

    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    counted = dense[target.weights > 0]
    coded_rows = rows.codes[:, rows.weights > 0]  # by bins of an earlier fit, where this one goes on from it
    unbinned = all(len(np.unique(x)) == len(np.unique(own)) for x, own in zip(counted.T, coded_rows, strict=True))
    rules = _forest_rules(model, grown, unbinned and (grown.max_features >= d or draws_repeat(rows, grown)))
    if rules is None:
        return Verification(None, f"{mean.words}; values that are kept within monotone constraints are not judged")
    Y = (np.asarray(y).ravel()[:, None] == model.classes_[None, :]) if hasattr(model, "classes_") else np.asarray(y)
    Y = Y.reshape(len(Y), -1).astype(np.float64)
    tolerance, begun = model.evidence_.certificate.tolerance, model._taken_over[0]
    if begun == len(trees):
        return Verification(None, f"{mean.words}; all trees are of earlier fits, on rows that need not be these")
    found = ensembles.forest_of_rows(dense, Y, map(drawn, range(begun, len(trees))), trees[begun:], rules, tolerance)
    others = f"; {begun} more trees, of earlier fits, are not judged" * (begun > 0 and found.stands is not False)
    return replace(found, words=found.words + others)


def _forest_rules(model: Any, grown: Any, searched: bool) -> Rules | None:
    if grown.monotone is not None and np.any(grown.monotone):
        return None
    return Rules(
        CRITERIA[model.criterion],
        min_rows=grown.min_leaf,
        min_split=grown.min_split,
        max_depth=grown.max_depth,
        max_leaves=grown.max_leaves or np.inf,
        min_share=grown.min_mass_share,
        min_gain=grown.min_gain,
        pruned=grown.ccp_alpha > 0,
        searched=searched,
        draws=grown.max_features,
        claimed="splits" in model.evidence_.certificate.name,
    )


def verify_boosting(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Start and trees added up again, the training loss after every round, and the step of every leaf."""
    if "_init_model" in vars(model):
        return Verification(None, "boosting began with another model, which the referee does not know")
    if model._stops_early:
        return Verification(None, "rows were set aside, so which rows the training loss is of is not kept")
    trees = plain_nodes(model.trees_) if model.n_iter_ else []
    wrong = next((bad for nodes in trees or () if (bad := misshapen(nodes, model.n_features_in_)) is not None), None)
    if wrong is not None:  # before the model itself walks down
        return wrong
    if trees is None or y is None:
        return CATEGORIES if trees is None else Verification(None, "the training loss needs the y of the fit")
    X, (weights, unit) = model._read_predict(X), within_reach(check_weights(sample_weight, X))
    if hasattr(model, "classes_"):
        weights = weights_by_class(model.class_weight, model.classes_, y, weights)
        objective = model._objective(np.searchsorted(model.classes_, y), weights)
    else:
        y = y.ravel().astype(np.float64)
        objective = Objective(model._loss(y, weights), y, weights, 1)
    loss = objective.loss
    history = model.evidence_.history
    told = dict(zip(map(int, history["iteration"]), history["objective"], strict=True))
    begun = min(min(told, default=0), model.n_iter_)  # rounds before are of an earlier fit
    sampled = model.subsample < 1 or model.goss is not None
    certificate, steps = model.evidence_.certificate, None
    if "slope" in certificate.name:
        penalties = model.l1_regularization * unit, model.l2_regularization * unit
        steps = Steps(model.learning_rate, *penalties, objective.newton, first=begun)
    return boosting.gradient_boosting(
        X, objective.y, weights, model.start_, trees, model._raw_predict(X), (loss.name, loss.parameter), told,
        certificate.tolerance, not sampled, begun, steps,
    )  # fmt: skip


def verify_adaboost(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """The rounds once more, from what each learner says of the rows."""
    if y is None:
        return Verification(None, "errors of rounds need the y of the fit")
    weights = within_reach(check_weights(sample_weight, X))[0]
    weights = encode_labels(y, weights, model.class_weight, one_class=True)[2]
    weights = np.where(np.isin(y, model.classes_), weights, 0.0)
    rows = model._read_predict(X)
    if "trees_" in vars(model):
        trees = plain_nodes(model.trees_)
        dense = (rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)).astype(np.float64)
        if trees is None or np.isnan(dense).any():
            return CATEGORIES
        wrong = next((bad for nodes in trees if (bad := misshapen(nodes, dense.shape[1])) is not None), None)
        if wrong is not None:
            return wrong
        said = [ensembles.leaf_values(dense, nodes).argmax(axis=1) for nodes in trees]
    else:
        said = [np.searchsorted(model.classes_, member.predict(rows)) for member in model.estimators_]
    codes, k = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1), len(model.classes_)
    final = np.searchsorted(model.classes_, model.predict(X))
    return boosting.adaboost(
        said, codes, weights, k, model.learning_rate, model.estimator_errors_, model.estimator_weights_, final
    )
