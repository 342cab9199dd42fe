"""What fits of all mixtures share: a survey of the rows, their labels, and what is told of the components."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from corollary.core.evidence import Evidence, Status
from corollary.core.types import Array
from corollary.mixture.labels import Labels
from corollary.solvers.em import Estimate
from corollary.solvers.em.start import survey

EMPTY = 1e-8  # a component with less than this of one row is empty
NOT_CONVERGED = (
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)


class AnyRun:
    """What the parameters of an estimator mean for rows that come in blocks (X, weights, labels)."""

    def __init__(self, parameters: Any, blocks: Iterable[Any], sample: int) -> None:
        self.parameters, self.rng = parameters, check_random_state(parameters.random_state)
        self.seen = survey(blocks, sample, np.random.RandomState(self.rng.randint(2**31 - 1)))
        self.labels = Labels(self.seen.labels, parameters.n_components)
        self.k, self.d = self.labels.n_components, len(self.seen.low)
        if self.seen.n_rows < self.k:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.k}, n_samples = {self.seen.n_rows}."
            )

    def _coded(self, block: Any) -> Any:
        """The block with components in the place of labels."""
        X, weights, y = block
        return X, weights, self.labels.codes(y)

    def _empty(self, found: Estimate[Any, Any]) -> Array:
        empty: Array = found.params.weights * self.seen.n_rows < EMPTY
        return empty

    def _notes(self, evidence: Evidence, empty: int) -> list[str]:
        """What is worth knowing of the components."""
        notes = [*evidence.notes, *self.labels.notes]
        if evidence.status is Status.MAX_ITER and self.parameters.max_iter:
            notes.append(NOT_CONVERGED)
        if empty:
            notes.append(f"Of {self.k} components {empty} are empty: the rows ask for fewer.")
        return notes

    def _history(self, found: Estimate[Any, Any]) -> dict[str, Any]:
        """The fitted attributes that tell of the fit."""
        evidence = found.evidence
        return {
            "component_labels_": self.labels.names,
            # a start that is not followed by a step has not converged, be it as good as it may
            "converged_": self.parameters.max_iter > 0 and evidence.status in (Status.CONVERGED, Status.TOL),
            "n_iter_": evidence.n_iter,
            "lower_bound_": np.float64(found.objective),
            "lower_bounds_": [np.float64(-value) for value in evidence.history["objective"][1:]],
        }
