"""What members are told at their fit beside X and y: weights, or what scikit-learn's metadata routing sends them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from corollary.core.door.metadata import of_rows
from corollary.core.inner_models import asks_for_weights as asks_for_weights
from corollary.core.types import Array
from corollary.ensemble.members import weight_argument


def router_of(owner: Any, pairs: Iterable[tuple[str, Any]], **more: tuple[Any, dict[str, str]]) -> MetadataRouter:
    """The router of an ensemble whose ``fit`` calls that of its members; ``more`` maps methods of other parts."""
    router = MetadataRouter(owner=owner)
    for name, member in pairs:
        if hasattr(member, "fit"):
            router.add(**{name: member}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    for name, (part, methods) in more.items():
        mapping = MethodMapping()
        for caller, callee in methods.items():
            mapping.add(caller=caller, callee=callee)
        if part is not None:
            router.add(**{name: part}, method_mapping=mapping)
    return router


@dataclass(frozen=True)
class Told:
    """Weights of the rows, None if all count the same, and what routing sends each member, None without routing."""

    weights: Array | None = None
    routed: dict[str, dict[str, Any]] | None = None

    @classmethod
    def by_routing(cls, owner: Any, names: list[str], sample_weight: Any, metadata: dict[str, Any]) -> Told:
        """What the router of an ensemble makes of the weights and metadata that its fit was given."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        sent = process_routing(owner, "fit", **given, **metadata)
        return cls(routed={name: dict(sent[name]["fit"]) for name in names})

    def of(self, name: str, member: Any, rows: Array | None = None, n: int = 0) -> dict[str, Any]:
        """What a member's fit is called with; of some of the n rows, where it is about rows."""
        found = {} if self.routed is None else self.routed.get(name, {})
        if self.weights is not None and (key := _key_of_weights(member)) is not None:
            found = {**found, key: self.weights}
        return found if rows is None else {key: of_rows(value, rows, n) for key, value in found.items()}


def deaf(members: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The members that cannot be told how much each row counts."""
    return [(name, member) for name, member in members if _key_of_weights(member) is None]


def _key_of_weights(member: Any) -> str | None:
    """As ``weight_argument``, and a fit that takes any keyword takes weights too."""
    known = weight_argument(member)
    if known is not None or hasattr(member, "steps"):
        return known
    kinds = {each.kind for each in inspect.signature(member.fit).parameters.values()}
    return "sample_weight" if inspect.Parameter.VAR_KEYWORD in kinds else None
