"""What both kinds of stacking share: held-out predictions as columns, and the final model that learns from them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.base import TransformerMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.types import Array
from corollary.ensemble.combine.held_out import HeldOut, hold_out, splits_of
from corollary.ensemble.combine.named import (
    NamedMembers,
    class_votes,
    float_type,
    is_frame,
    score_of,
    take_rows,
    without_weights,
)
from corollary.ensemble.members import fit_member, not_proved

METHODS = ("predict_proba", "decision_function", "predict")


def final_has(name: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        final = getattr(self, "final_estimator_", None)
        return hasattr(final if final is not None else self._final(), name)

    return check


class Stacking(TransformerMixin, NamedMembers):
    """Fits the final model to held-out predictions, and the members to all rows."""

    final_estimator: Any
    cv: Any
    passthrough: bool
    stack_method_: list[str]

    @abstractmethod
    def _default_final(self) -> Any:
        """The final model that None stands for."""

    def _final(self) -> Any:
        return self._default_final() if self.final_estimator is None else self.final_estimator

    def _methods(self, members: list[tuple[str, Any]]) -> list[str]:
        return ["predict"] * len(members)

    def _speaker(self, method: str) -> Callable[[Any, Any], Array]:
        """How a member's predictions become columns (n, m)."""
        labels = self._labels

        def say(member: Any, X: Any) -> Array:
            if method == "predict_proba" and labels is not None:
                votes = class_votes(member, X, labels)
                return votes[:, 1:] if votes.shape[1] == 2 else votes  # two classes: one column says it all
            said = getattr(member, method)(X)
            if method == "predict" and labels is not None:
                said = np.searchsorted(labels, said)
            said = np.asarray(said, dtype=np.float64)
            return said.reshape(len(said), -1)

        return say

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        began = time.perf_counter()
        X, y, given, row_weights = self._read(X, y, sample_weight)
        members, final = self._members(), clone(self._final())
        self._observer(X, y, 0, lambda state: {})
        self.stack_method_ = self._methods(members)
        found = self._held_out(members, X, y, given)
        table = self._joined(found.votes, take_rows(X, found.rows) if self.passthrough else None)
        target = self.classes_[y] if is_classifier(self) else y
        weights = None if given is None else given[found.rows]
        self.final_estimator_ = fit_member(final, table, target[found.rows], weights)
        if self.cv != "prefit":
            self._fit_members(members, X, y, given)
        self._widths = [votes.shape[1] for votes in found.votes]
        facts = self._scores(found, y[found.rows], row_weights[found.rows])
        known = {} if weights is None else {"sample_weight": weights}
        score = self.final_estimator_.score(table, target[found.rows], **known)
        facts["score of the final model on held-out columns"] = float(score)
        notes = without_weights([*members, ("final_estimator", final)], given)
        evidence = self._prove(found, facts, notes, time.perf_counter() - began)
        self._keep_evidence(not_proved(evidence, [*self.estimators_, *found.evidence]))

    def _held_out(self, members: list[tuple[str, Any]], X: Any, y: Array, weights: Array | None) -> HeldOut:
        if isinstance(self.cv, str):
            self._keep_prefit(members)
            return HeldOut(self._columns(X), np.arange(len(y)), 0.0, 0)
        self._labels = np.arange(len(self.classes_)) if is_classifier(self) else None
        splits = splits_of(self.cv, X, y, bool(is_classifier(self)))
        says = [self._speaker(method) for method in self.stack_method_]
        return hold_out(members, X, y, weights, splits, says, self.n_jobs)

    def _columns(self, X: Any) -> list[Array]:
        """What the fitted members say of rows that were read already."""
        pairs = zip(self.estimators_, self.stack_method_, strict=True)
        return [self._speaker(method)(member, X) for member, method in pairs]

    def _joined(self, columns: list[Array], X: Any) -> Any:
        table = np.hstack(columns)
        if X is None:
            return table
        if scipy.sparse.issparse(X):
            return scipy.sparse.hstack([scipy.sparse.csr_array(table), X], format="csr")
        rows = nw.from_native(X, eager_only=True).to_numpy() if is_frame(X) else X
        return np.hstack([table, rows])

    def _scores(self, found: HeldOut, truth: Array, weights: Array) -> dict[str, float]:
        """Held-out scores of the members whose columns are predictions of the target."""
        facts = {}
        for name, method, votes in zip(self._names, self.stack_method_, found.votes, strict=True):
            if not is_classifier(self):
                vote = votes[:, 0]
            elif method == "decision_function" and votes.shape[1] == 1:
                vote = np.column_stack([-votes, votes])
            elif method == "predict":
                vote = (np.rint(votes) == np.arange(len(self.classes_))).astype(float)
            else:
                vote = np.column_stack([1 - votes, votes]) if votes.shape[1] == 1 else votes
            facts[f"held-out score of {name}"] = score_of(vote, truth, weights)
        return facts

    def _prove(self, found: HeldOut, facts: dict[str, float], notes: tuple[str, ...], seconds: float) -> Evidence:
        if found.n_splits == 0:
            notes += ("The members came fitted: if they had seen these rows, the final model trusts them too much.",)
        inner = getattr(self.final_estimator_, "evidence_", None)
        leak = Certificate(
            Kind.CHECKED, "share of held-out predictions by a model that had seen the row", found.seen, 0.0
        )
        if isinstance(inner, Evidence) and leak.holds:
            return replace(
                inner,
                status=Status.EXACT if inner.holds else inner.status,
                solver=f"stacking, {inner.solver}",
                seconds=seconds,
                n_iter=0,
                history={},
                facts=facts,
                notes=(*notes, *inner.notes),
            )
        return Evidence(Status.EXACT, leak, "stacking", seconds=seconds, facts=facts, notes=notes)

    def _features(self, X: Any) -> tuple[Any, Any]:
        """(the columns that the final model sees, the type that results should have)."""
        check_is_fitted(self)
        X = self._table(X, reset=False)
        return self._joined(self._columns(X), X if self.passthrough else None), float_type(X)

    def _ask(self, method: str, X: Any) -> Array:
        table, dtype = self._features(X)
        said: Array = getattr(self.final_estimator_, method)(table)
        return said.astype(dtype) if said.dtype.kind == "f" and said.dtype != dtype else said

    def transform(self, X: Any) -> Any:
        """The columns that the final model sees: what the members say, and X itself with ``passthrough``."""
        table, dtype = self._features(X)
        return table.astype(dtype)

    def predict(self, X: Any) -> Array:
        """What the final model makes of the members' predictions."""
        return self._ask("predict", X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of ``transform``."""
        check_is_fitted(self)
        owner = type(self).__name__.lower()
        names = []
        for name, width in zip(self._names, self._widths, strict=True):
            names += [f"{owner}_{name}"] if width == 1 else [f"{owner}_{name}{j}" for j in range(width)]
        if self.passthrough:
            names += list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        return np.array(names, dtype=object)
