"""One fit of a Gaussian mixture: survey of the rows, starts, EM, repair of components that died out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from corollary.core.blocks import Source
from corollary.core.distribution.covariances import DENSE
from corollary.core.distribution.gaussian_summary import RESOLUTION, GaussianSummary
from corollary.core.distribution.weighted_gaussians import Gaussians, Units, attributes
from corollary.core.evidence import Evidence, Kind
from corollary.core.memory import check_memory
from corollary.core.types import Array
from corollary.mixture.any_run import AnyRun
from corollary.solvers.em import Estimate, em
from corollary.solvers.em.gaussian import GaussianModel, part_rows, sums_shape
from corollary.solvers.em.start import SAMPLE, TYPICAL, Start, revived, starts
from corollary.solvers.loop import Observer

Found = Estimate[Gaussians, GaussianSummary]


class MixtureRun(AnyRun):
    """What the parameters of the estimator mean for these rows, which come in blocks (X, weights, labels)."""

    def __init__(self, parameters: Any, source: Source) -> None:
        self.kind = parameters.covariance_type
        given = (parameters.weights_init, parameters.means_init, parameters.precisions_init)
        self.warm = parameters.warm_start and hasattr(parameters, "weights_")
        whole = not self.warm and any(part is None for part in given)
        super().__init__(parameters, source, max(SAMPLE, 64 * parameters.n_components) if whole else TYPICAL)
        if self.kind in DENSE:  # covariances, roots and sums, before and after, and what factorising them takes
            length = int(np.prod(sums_shape(self.kind, self.k, self.d)))
            parts = -(-self.seen.n_rows // part_rows(self.seen.n_rows, length))
            check_memory(8 * (8 + parts) * length, "Covariances of all columns", 'use covariance_type="diag"')
        self.units = Units.spanning(
            self.seen.typical,
            self.seen.low,
            self.seen.high,
            float(np.sqrt(parameters.reg_covar)),
            common=self.kind == "spherical",
        )
        # divided twice, so that no square of a scale is taken that could leave the range of float64
        self.model = GaussianModel(self.units, parameters.reg_covar / self.units.scale / self.units.scale)
        self.data = source.map(self._coded)

    def climb(self, observe: Observer | None) -> Found:
        """EM from all starts, and once more from the best end if components died out there."""
        p = self.parameters
        codes = self.labels.codes(self.seen.sample[2])
        begin = Start(self.model, self.kind, self.k, p.init_params, *self._given())
        n_init = 1 if begin.given else p.n_init
        found = self._em(starts(begin, self.seen, codes, n_init, self.rng), observe)
        found = self._revive(found, observe)
        self._refuse_spikes(found)
        return replace(found, evidence=self._told(found))

    def _em(self, begin: Iterable[Gaussians], observe: Observer | None) -> Found:
        p = self.parameters
        return em(self.model, self.data, begin, tol=p.tol, max_iter=p.max_iter, observe=observe)

    def _revive(self, found: Found, observe: Observer | None) -> Found:
        empty = self._empty(found)
        if not empty.any() or found.evidence.status.cut_short or not self.parameters.max_iter:
            return found
        again = self._em([revived(found.params, empty, self.model.regular)], observe)
        if again.objective <= found.objective + 1e-9 * (1 + abs(found.objective)):
            status = again.evidence.status if again.evidence.status.cut_short else found.evidence.status
            return replace(found, evidence=replace(found.evidence, status=status))
        died = int(empty.sum())
        note = f"{died} component{'s' * (died != 1)} had died out, and went on as half of another."
        return replace(again, evidence=replace(again.evidence, notes=(*found.evidence.notes, note)))

    def _refuse_spikes(self, found: Found) -> None:
        """Without regularisation, rows that coincide within all components have a density without a bound."""
        params, used = found.params, found.params.weights > 0
        bounded = (params.floor > RESOLUTION).any() or not (params.widened | ~used).all()
        if not (bounded or self.model.regular.any()):
            raise ValueError(
                "Fitting the mixture model failed because some components have ill-defined empirical covariance (for "
                "instance caused by singleton or collapsed samples). Try to decrease the number of components, "
                "increase reg_covar, or scale the input data. Here rows do not spread within any component, and "
                "reg_covar is 0."
            )

    def _told(self, found: Found) -> Evidence:
        """The evidence with what is worth knowing of the components."""
        notes = self._notes(found.evidence, int(self._empty(found).sum()))
        wide = int(found.params.widened.sum())
        if wide:
            what = (
                "The common covariance" if self.kind == "tied" else f"The covariance of {wide} of {self.k} components"
            )
            notes.append(
                f"{what} is singular, or nearly, and was widened to 1e-5 of the standard deviation within components; "
                "raise reg_covar, drop columns that follow from others, or ask for fewer components."
            )
        certificate = found.evidence.certificate
        if certificate.kind is Kind.STATIONARY:
            # the next step from the means that are delivered, rounded in the units of the data, is longer by that
            rounded = replace(found.params, means=self.units.enter(self.units.leave(found.params.means)))
            longer = 2.0 * (found.params.distance(rounded) + found.params.blur)
            certificate = replace(certificate, value=certificate.value + longer)
        return replace(found.evidence, notes=tuple(notes), certificate=certificate)

    def _given(self) -> tuple[Array | None, Array | None, Array | None]:
        """Weights, means and roots to start from, in our units, where they are known."""
        p, units = self.parameters, self.units
        weights, means, roots = None, None, None
        if self.warm:
            weights, means, roots = p.weights_, p.means_, p.precisions_cholesky_
            if means.shape != (self.k, self.d):
                raise ValueError(
                    f"warm_start: the last fit has means of shape {means.shape}, and this one {(self.k, self.d)}."
                )
        else:
            if p.weights_init is not None:
                weights = check_start_weights(p.weights_init, self.k)
            if p.means_init is not None:
                means = check_start_means(p.means_init, self.k, self.d)
            if p.precisions_init is not None:
                roots = check_roots(p.precisions_init, self.kind, self.k, self.d)
        means = None if means is None else units.enter(means)
        if roots is not None and self.kind in DENSE:
            roots = np.reshape(roots, (-1, self.d, self.d)) * units.scale[:, None]
        elif roots is not None:
            roots = np.reshape(roots, (self.k, -1)) * units.scale
        return weights, means, roots

    def attributes(self, found: Found) -> dict[str, Any]:
        """The fitted attributes, checked to be numbers."""
        kept = attributes(found.params, self.units)
        used = found.params.weights > 0
        for name in ("covariances_", "precisions_"):
            values = kept[name] if self.kind == "tied" else kept[name][used]
            if not np.isfinite(values).all():
                raise ValueError(
                    f"{name} is beyond the range of float64: squares of the columns of X overflow or vanish. Rescale "
                    "the columns to magnitudes between 1e-100 and 1e100 (StandardScaler does)."
                )
        return {**kept, **self._history(found)}


def _wrong_shape(name: str, wanted: tuple[int, ...], got: tuple[int, ...], why: str) -> str:
    return f"The parameter '{name}' should have the shape of {wanted}, but got {got}: {why}."


def check_start_weights(weights_init: Any, k: int) -> Array:
    weights = np.asarray(weights_init, dtype=np.float64)
    if weights.shape != (k,):
        raise ValueError(_wrong_shape("weights", (k,), weights.shape, "weights_init needs one for each component"))
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights <= 1).all()):
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got min value "
            f"{weights.min():.5f}, max value {weights.max():.5f}: correct weights_init."
        )
    if not abs(weights.sum() - 1) <= 1e-6:
        raise ValueError(
            f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}: divide "
            "weights_init by its sum."
        )
    return weights / weights.sum()


def check_start_means(means_init: Any, k: int, d: int) -> Array:
    means = np.asarray(means_init, dtype=np.float64)
    if means.shape != (k, d):
        raise ValueError(_wrong_shape("means", (k, d), means.shape, "means_init is components by columns"))
    if not np.isfinite(means).all():
        raise ValueError("means_init must be finite numbers, but some are NaN or infinite.")
    return means


def check_roots(precisions: Any, kind: str, k: int, d: int) -> Array:
    """Upper U with precision = U Uᵀ from user's precisions, checked."""
    shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    P = np.asarray(precisions, dtype=np.float64)
    if P.shape != shapes[kind]:
        what = f"precisions_init for covariance_type={kind!r}"
        raise ValueError(_wrong_shape(f"{kind} precision", shapes[kind], P.shape, what))
    if kind not in DENSE:
        if not (np.isfinite(P).all() and (P > 0).all()):
            raise ValueError(f"'{kind} precision' should be positive, but some of precisions_init are not.")
        return np.sqrt(P)
    wanted = f"'{kind} precision' should be symmetric, positive-definite, but precisions_init"
    # the Cholesky factor of the matrix turned upside down is upper triangular when it is turned back
    try:
        flipped = np.linalg.cholesky(P[..., ::-1, ::-1])
    except np.linalg.LinAlgError:
        raise ValueError(f"{wanted} is not positive-definite.") from None
    if not np.allclose(P, np.swapaxes(P, -1, -2)):
        raise ValueError(f"{wanted} is not symmetric.")
    return np.ascontiguousarray(flipped[..., ::-1, ::-1])
