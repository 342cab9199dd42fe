"""One fit of a mixture of any distributions: survey of the rows, starts, EM, and what is worth telling of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from corollary.core.blocks import Source
from corollary.core.distribution import Distribution
from corollary.mixture.any_run import AnyRun
from corollary.solvers.em import Estimate, em
from corollary.solvers.em.mixture import MixtureModel, MixtureSummary, Weighted, block_size
from corollary.solvers.em.seeds import Seeds
from corollary.solvers.em.start import SAMPLE
from corollary.solvers.loop import Observer

Found = Estimate[Weighted, MixtureSummary]


class GeneralRun(AnyRun):
    """What the parameters of the estimator mean for these rows, which come in blocks (X, weights, labels)."""

    def __init__(self, parameters: Any, distribution: Distribution, source: Source) -> None:
        super().__init__(parameters, _checked(source, distribution), max(SAMPLE, 64 * parameters.n_components))
        self.distribution = distribution.spanning(self.seen.low, self.seen.high)
        self.model = MixtureModel(self.distribution.weighing(parameters._weight_unit))
        self.data = source.map(self._coded, block_size(self.d, self.k))

    def climb(self, observe: Observer | None) -> Found:
        """EM from all starts."""
        p = self.parameters
        found = em(self.model, self.data, self._starts(), tol=p.tol, max_iter=p.max_iter, observe=observe)
        notes = self._notes(found.evidence, int(self._empty(found).sum()))
        return replace(found, evidence=replace(found.evidence, notes=tuple(notes)))

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

    def attributes(self, found: Found) -> dict[str, Any]:
        """The fitted attributes."""
        return {**self.shown(found.params), **self._history(found)}

    def shown(self, params: Weighted) -> dict[str, Any]:
        """What makes a working model, in the middle of a fit too."""
        return {"weights_": params.weights, "params_": dict(params.params), "distribution_": self.distribution}


def _checked(blocks: Iterable[Any], distribution: Distribution) -> Iterator[Any]:
    for block in blocks:
        distribution.check(block[0])
        yield block
