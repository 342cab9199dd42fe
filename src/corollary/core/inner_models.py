"""Models inside models: what they are told, which rows they see, and what their evidence leaves of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

from corollary.core.evidence import Evidence, worst_of
from corollary.core.types import Array


def asks_for_weights(owner: Any) -> bool:
    """Whether somebody said, by ``set_fit_request``, that a model made of others itself takes ``sample_weight``.

    It then hands them on to all of them, as without routing.
    """
    return BaseEstimator.get_metadata_routing(owner).fit.requests.get("sample_weight") not in (None, False)


def weight_argument(estimator: Any) -> str | None:
    """The name under which ``fit`` takes row weights; a pipeline's is that of its last step; None if it takes none."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    steps = getattr(estimator, "steps", None)
    if steps and not isinstance(steps[-1][1], str) and has_fit_parameter(steps[-1][1], "sample_weight"):
        return f"{steps[-1][0]}__sample_weight"
    return None


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns, which members may want to see."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def take_rows(X: Any, rows: Array) -> Any:
    """Some rows of an array, a sparse matrix or a frame of any kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if is_frame(X):
        return nw.from_native(X, eager_only=True)[rows].to_native()
    return X[rows]


def weakened(evidence: Evidence, members: Iterable[Any]) -> Evidence:
    """The evidence of a model made of others, with the number of the worst of these if what it claims does not hold.

    ``members`` are models or evidence; those that carry none say nothing. The kind of the claim is the weaker of the
    whole's and the member's.
    """
    found = [getattr(member, "evidence_", member) for member in members]
    weak = [each for each in found if isinstance(each, Evidence) and not each.holds]
    if not weak:
        return evidence
    worst = worst_of(weak)
    status = evidence.status if evidence.status.cut_short else worst.status
    note = f"This is the worst of {len(weak)} fits of members that fall short, out of {len(found)}."
    kind = max(evidence.certificate.kind, worst.certificate.kind, key=lambda each: each.rank)
    certificate = replace(worst.certificate, kind=kind)
    return replace(evidence, status=status, certificate=certificate, notes=(note, *evidence.notes))
