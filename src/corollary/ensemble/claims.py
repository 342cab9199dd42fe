"""What ensembles claim, in the plain words of the referee: rows, trees and what members say, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from corollary.base import check_weights, weights_by_class
from corollary.core.door.weights import within_reach
from corollary.core.judging import Judged
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.members import weight_argument
from corollary.referee import boosting, ensembles
from corollary.referee.trees import Nodes, Rules, misshapen
from corollary.referee.verdict import Verification, weakest
from corollary.tree.claims import CRITERIA

ROWS = 200  # whose predictions are put together again
OUT_OF_BAG_ROWS = 1000  # beyond which a bag judges itself by some of its rows, unless it is asked for more


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
    from corollary.solvers.draws import fingerprint
    from corollary.solvers.trees.forest.storage import stored_binner

    trees = plain_nodes(model.trees_, told=True)
    if trees is None:
        return CATEGORIES
    mean = ensembles.forest(model._read_predict(X), trees, model._means(X))
    if not mean.stands or y is None or model.n_outputs_ > 1 or model.criterion not in CRITERIA:
        return mean
    X, target = model._target(X, y, sample_weight)
    binner = stored_binner(model.nodes_)
    rows, order, keys = model._rows(X, target, binner, model._n_draws)
    if fingerprint(keys, target.weights) != model.data_key_:
        return Verification(None, "rows or weights are not those of the fit, and no tree drew from others")

    def mass_of(seed: int) -> Array:
        mass = np.zeros(rows.n)
        mass[order] = rows.mass(rows.drawn(seed) if rows.draws else None)
        return mass

    masses = (mass_of(int(seed)) for seed in model.nodes_["seeds"])
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    unbinned = all(len(np.unique(dense[:, f])) <= binner.n_bins[f] for f in range(dense.shape[1]))
    rules = _forest_rules(model, model._rules(rows), dense.shape[1], unbinned)
    if rules is None:
        return Verification(None, f"{mean.words}; values that are kept within monotone constraints are not judged")
    Y = (np.asarray(y).ravel()[:, None] == model.classes_[None, :]) if hasattr(model, "classes_") else np.asarray(y)
    Y = Y.reshape(len(Y), -1).astype(np.float64)
    tolerance = model.evidence_.certificate.tolerance
    return ensembles.forest_of_rows(dense, Y, masses, trees, rules, tolerance)


def _forest_rules(model: Any, grown: Any, d: int, unbinned: bool) -> Rules | None:
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
        searched=unbinned and grown.max_features >= d,
        claimed="splits" in model.evidence_.certificate.name,
    )


def verify_boosting(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Start and trees added up again, and the training loss after every round."""
    if model.early_stopping:
        return Verification(None, "rows were set aside, so which rows the training loss is of is not kept")
    trees = plain_nodes(model.trees_) if model.n_iter_ else []
    wrong = next((bad for nodes in trees or () if (bad := misshapen(nodes, model.n_features_in_)) is not None), None)
    if wrong is not None:  # before the model itself walks down
        return wrong
    if trees is None or y is None:
        return CATEGORIES if trees is None else Verification(None, "the training loss needs the y of the fit")
    X, weights = model._read_predict(X), within_reach(check_weights(sample_weight, X))[0]
    if hasattr(model, "classes_"):
        weights = weights_by_class(model.class_weight, model.classes_, y, weights)
        objective = model._objective(np.searchsorted(model.classes_, y), weights)
        loss, y = objective.loss, objective.y
    else:
        y = y.ravel().astype(np.float64)
        loss = model._loss(y, weights)
    history = model.evidence_.history
    told = dict(zip(map(int, history["iteration"]), history["objective"], strict=True))
    sampled = model.subsample < 1 or model.goss is not None
    return boosting.gradient_boosting(
        X, y, weights, model.start_, trees, model._raw_predict(X), (loss.name, loss.parameter), told,
        model.evidence_.certificate.tolerance, not sampled,
    )  # fmt: skip


def verify_adaboost(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """The rounds once more, from what each learner says of the rows."""
    if y is None:
        return Verification(None, "errors of rounds need the y of the fit")
    weights = within_reach(check_weights(sample_weight, X))[0]
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


def verify_votes(model: Any, X: Any, members: list[tuple[Any, Any]], shares: Array | None, total: Any) -> Verification:
    """Predictions of some rows from those of ``members``, pairs of (model, its rows), asked one by one."""
    whole, labels = getattr(model, "voting", "soft") == "hard", getattr(model, "_labels", None)
    if not hasattr(model, "classes_"):
        return ensembles.mean_of_members([member.predict(part) for member, part in members], shares, model.predict(X),
                                         total)  # fmt: skip
    labels = np.arange(len(model.classes_)) if labels is None else labels
    said = []
    for member, part in members:
        votes = np.zeros((part.shape[0], len(labels)))
        if whole or not hasattr(member, "predict_proba"):
            votes[np.arange(len(votes)), np.searchsorted(labels, member.predict(part))] = 1.0
        else:
            votes[:, np.searchsorted(labels, member.classes_)] = member.predict_proba(part)
        said.append(votes)
    return ensembles.mean_of_members(said, shares, model.predict_proba(X), total)


def refuted_member(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification | None:
    """Members of ours were fitted to these rows, each with a claim of its own; the first that is refuted, or None."""
    if y is None or getattr(model, "_prefit", False) or getattr(model, "class_weight", None) is not None:
        return None  # then they were fitted to other rows or weights than these
    table, k = model._table(X, reset=False), len(getattr(model, "classes_", ()))
    target = np.minimum(np.searchsorted(model.classes_, y), k - 1) if k else y
    for name, member in zip(model._names, model.estimators_, strict=True):
        if isinstance(member, Judged):
            weights = None if weight_argument(member) is None else sample_weight
            found = member.evidence_.verify(table, target, weights)
            if found.stands is False:
                return Verification(False, f"the member {name}: {found.words}", found.found)
    return None


def verify_bag(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """The mean of members, the rows that each was given, and the error on those that it was not given."""
    few = X.tocsr()[:ROWS] if hasattr(X, "tocsr") else np.asarray(X)[:ROWS]
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    found = verify_votes(model, few, [(member, few[:, columns]) for member, columns in pairs], None, None)
    size, bootstrap, _ = model._sampling
    drawn = {len(sample) for sample in model.estimators_samples_} if bootstrap else {size}
    if drawn != {size}:
        return Verification(False, f"members drew {sorted(drawn)} rows, where {size} were to be drawn")
    told = {name: error for name, error in model.evidence_.facts.items() if name in ensembles.OUT_OF_BAG}
    if not found.stands or y is None or not told or X.shape[0] > OUT_OF_BAG_ROWS:
        return found
    weights, y = within_reach(check_weights(sample_weight, X))[0], np.asarray(y)
    if hasattr(model, "classes_"):
        weights = weights_by_class(model.class_weight, model.classes_, y, weights)
    rows = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    truth = (y[:, None] == model.classes_[None, :]) if hasattr(model, "classes_") else y.reshape(len(y), -1)
    seen = [np.isin(np.arange(len(y)), sample) for sample in model.estimators_samples_]
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    said = (model._votes(member, rows[:, columns]) for member, columns in pairs)
    wrong = ensembles.out_of_bag(said, seen, truth.astype(np.float64), weights, told)
    return found if wrong is None else wrong


def verify_blend(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Predictions from those of the members; and the weights, on held-out predictions that are made once more."""
    few = model._table(X, reset=False)[:ROWS]
    sums = verify_votes(model, few, [(member, few) for member in model.estimators_], model.weights_, 1)
    wrong = refuted_member(model, X, y, sample_weight)
    if wrong is not None or not sums.stands or model.weighting != "linear" or y is None:
        return sums if wrong is None else wrong
    if model._prefit or not isinstance(model.cv, (int, type(None))) or getattr(model, "class_weight", None) is not None:
        return Verification(None, "on which rows weights were found cannot be told again from these settings")
    weights, k = within_reach(check_weights(sample_weight, X))[0], len(getattr(model, "classes_", ()))
    codes = np.searchsorted(model.classes_, y) if k else y.ravel().astype(np.float64)

    def held_out() -> tuple[Array, Array, Array]:
        given = None if sample_weight is None else check_weights(sample_weight, X)
        found = model._held_out(model._members(), model._table(X, reset=False), codes, given)
        counted = weights[found.rows] > 0
        rows = found.rows[counted]
        P = np.stack([votes[counted].reshape(-1) for votes in found.votes], axis=1)
        truth = np.eye(k)[codes[rows]].ravel() if k else codes[rows]
        return P, truth, np.repeat(weights[rows], k or 1)

    P, truth, s = held_out()
    to_one = bool(k) or model.sum_to_one
    found = ensembles.blend(P, truth, s, model.weights_, to_one, model.evidence_.certificate.tolerance)
    if found.stands is False and not np.array_equal(P, held_out()[0]):
        return Verification(None, "members are random, so that held-out predictions cannot be made once more")
    return weakest([found, sums])


def verify_stack(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """The final model's answer to what members say; and whether a fold predicts rows that its models had seen."""
    few = model._table(X, reset=False)[:ROWS]
    if model.passthrough or model._prefit or isinstance(model.cv, float) or y is None:
        return Verification(None, "which rows were held out cannot be told again from these settings")
    wrong = refuted_member(model, X, y, sample_weight)
    if wrong is not None:
        return wrong
    labels, columns = model._labels, []
    for method, member in zip(model.stack_method_, model.estimators_, strict=True):
        said = np.asarray(getattr(member, method)(few))
        if method == "predict_proba" and labels is not None:
            said, part = np.zeros((len(said), len(labels))), said
            said[:, np.searchsorted(labels, member.classes_)] = part
            said = said[:, 1:] if len(labels) == 2 else said
        columns.append(said.reshape(len(said), -1).astype(np.float64))
    table, final = np.hstack(columns), model.final_estimator_
    if hasattr(final, "predict_proba") and labels is not None:
        found = ensembles.mean_of_members([final.predict_proba(table)], None, model.predict_proba(few))
    else:
        own, said = final.predict(table), model.predict(few)
        own, said = (np.asarray(own == said, dtype=float), np.ones(len(said))) if labels is not None else (own, said)
        found = ensembles.mean_of_members([own], None, said)
    if not found.stands or not isinstance(model.cv, (int, type(None))):
        return found
    codes = np.minimum(np.searchsorted(model.classes_, y), len(labels) - 1) if labels is not None else y.ravel()
    folds = check_cv(model.cv, codes, classifier=labels is not None).split(np.zeros(len(codes)), codes)
    seen = sum(len(np.intersect1d(fit, held)) for fit, held in folds)
    if seen:
        return Verification(False, f"{seen} rows are predicted by a model that had seen them")
    wrong = _refuted_final(model, X, codes, sample_weight)
    return found if wrong is None else wrong


def _refuted_final(model: Any, X: Any, codes: Array, sample_weight: Any) -> Verification | None:
    """What is wrong with the claim of the final model, on held-out predictions that are made once more; else None."""
    final, given = model.final_estimator_, None if sample_weight is None else check_weights(sample_weight, X)
    if not isinstance(final, Judged) or getattr(model, "class_weight", None) is not None:
        return None

    def held_out() -> tuple[Array, Array]:
        found = model._held_out(model._members(), model._table(X, reset=False), codes, given)
        return np.hstack(found.votes), found.rows

    table, rows = held_out()
    target = model.classes_[codes[rows]] if hasattr(model, "classes_") else codes[rows].astype(np.float64)
    weights = None if given is None or weight_argument(final) is None else given[rows]
    found = final.evidence_.verify(table, target, weights)
    if found.stands is not False:
        return None
    if not np.array_equal(table, held_out()[0], equal_nan=True):
        return Verification(None, "members are random, so that held-out predictions cannot be made once more")
    return Verification(False, f"the final model: {found.words}", found.found)
