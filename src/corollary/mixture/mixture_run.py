"""One fit of a mixture of any distributions: survey of the rows, starts, EM, and what is worth telling of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from corollary.core.blocks import Source
from corollary.core.distribution import Distribution
from corollary.core.evidence import Evidence, Status
from corollary.core.types import Array
from corollary.mixture.labels import Labels
from corollary.mixture.run import EMPTY, NOT_CONVERGED
from corollary.solvers.em import Estimate, em
from corollary.solvers.em.mixture import MixtureModel, MixtureSummary, Weighted, block_size
from corollary.solvers.em.seeds import Seeds
from corollary.solvers.em.start import SAMPLE, survey
from corollary.solvers.loop import Observer

Found = Estimate[Weighted, MixtureSummary]


class GeneralRun:
    """What the parameters of the estimator mean for these rows, which come in blocks (X, weights, labels)."""

    def __init__(self, parameters: Any, distribution: Distribution, source: Source) -> None:
        self.parameters, self.rng = parameters, check_random_state(parameters.random_state)
        size, seed = max(SAMPLE, 64 * parameters.n_components), self.rng.randint(2**31 - 1)
        self.seen = survey(_checked(source, distribution), size, np.random.RandomState(seed))
        self.labels = Labels(self.seen.labels, parameters.n_components)
        self.k, self.d = self.labels.n_components, len(self.seen.low)
        if self.seen.n_rows < self.k:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.k}, n_samples = {self.seen.n_rows}."
            )
        self.distribution = distribution.spanning(self.seen.low, self.seen.high)
        self.model = MixtureModel(self.distribution.weighing(parameters._weight_unit))
        self.data = source.map(self._coded, block_size(self.d, self.k))

    def _coded(self, block: Any) -> Any:
        """The block with components in the place of labels."""
        X, weights, y = block
        return X, weights, self.labels.codes(y)

    def climb(self, observe: Observer | None) -> Found:
        """EM from all starts."""
        p = self.parameters
        found = em(self.model, self.data, self._starts(), tol=p.tol, max_iter=p.max_iter, observe=observe)
        return replace(found, evidence=self._told(found))

    def _starts(self) -> Iterator[Weighted]:
        p = self.parameters
        if p.warm_start and hasattr(p, "params_"):
            if len(p.weights_) != self.k or p.distribution_ != self.distribution:
                raise ValueError(
                    f"warm_start: the last fit has {len(p.weights_)} components of {p.distribution_!r}, and this one "
                    f"{self.k} of {self.distribution!r}."
                )
            try:
                self.distribution.check_params(p.params_, self.k, self.d)
            except ValueError as error:
                raise ValueError(f"warm_start: the last fit was one of other columns: {error}.") from None
            yield Weighted(p.weights_, p.params_)
            return
        X, weights, y = self.seen.sample
        sample = X, weights, self.labels.codes(y)
        begin = Seeds(self.model, self.k, p.init if isinstance(p.init, str) else self._rows(p.init, sparse=issparse(X)))
        for _ in range(p.n_init if isinstance(p.init, str) else 1):
            yield begin.draw(sample, self.rng)

    def _rows(self, init: Any, *, sparse: bool) -> Any:
        """The rows to start from, checked."""
        rows = np.asarray(init, dtype=np.float64)
        if rows.shape != (self.k, self.d):
            raise ValueError(
                f"init must be 'seeds', 'random' or rows of shape {(self.k, self.d)}, one for each component, but its "
                f"shape is {rows.shape}."
            )
        try:
            self.distribution.check(rows)
        except ValueError as error:
            raise ValueError(f"init: {error}") from None
        return type(self.seen.sample[0])(rows) if sparse else rows

    def _told(self, found: Found) -> Evidence:
        """The evidence with what is worth knowing of the components."""
        notes, empty = [*found.evidence.notes, *self.labels.notes], int(self._empty(found).sum())
        if found.evidence.status is Status.MAX_ITER and self.parameters.max_iter:
            notes.append(NOT_CONVERGED)
        if empty:
            notes.append(f"Of {self.k} components {empty} are empty: the rows ask for fewer.")
        return replace(found.evidence, notes=tuple(notes))

    def _empty(self, found: Found) -> Array:
        empty: Array = found.params.weights * self.seen.n_rows < EMPTY
        return empty

    def attributes(self, found: Found) -> dict[str, Any]:
        """The fitted attributes."""
        evidence = found.evidence
        return {
            **self.shown(found.params),
            "component_labels_": self.labels.names,
            "converged_": self.parameters.max_iter > 0 and evidence.status in (Status.CONVERGED, Status.TOL),
            "n_iter_": evidence.n_iter,
            "lower_bound_": np.float64(found.objective),
            "lower_bounds_": [np.float64(-value) for value in evidence.history["objective"][1:]],
        }

    def shown(self, params: Weighted) -> dict[str, Any]:
        """What makes a working model, in the middle of a fit too."""
        return {"weights_": params.weights, "params_": dict(params.params), "distribution_": self.distribution}


def _checked(blocks: Iterable[Any], distribution: Distribution) -> Iterator[Any]:
    for block in blocks:
        distribution.check(block[0])
        yield block
