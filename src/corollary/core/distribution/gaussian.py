"""Gaussians with covariances of any of four kinds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.core.by_class import gaussian_scores
from corollary.core.distribution.base import Distribution, Params
from corollary.core.distribution.covariances import (
    DENSE,
    LOG_2_PI,
    free_numbers,
    roots_of,
    sampled,
    squared_distance,
)
from corollary.core.distribution.moments import Moments, Moved
from corollary.core.distribution.shares import Hard, Shares
from corollary.core.distribution.totals import PRIOR, check_arrays, prior_of, refuse
from corollary.core.limits import Choice, Limit
from corollary.core.types import Array

EPS = float(np.finfo(np.float64).eps)


class Gaussian(Distribution):
    r"""N(μ, Σ). ``covariance`` is "full" (one Σ for each of the K), "tied" (one for all), "diag" or "spherical".

    ``regular`` = ε, one number or one for each column, is added to variances: Σ = scatter + diag ε is the maximiser of
    Σ share (log N(x; μ, Σ) − ½ tr Σ⁻¹ diag ε), where each row stands for a cloud of variances ε about it
    (:meth:`log_fit`). The parameters are ``mean`` (K, d) and ``variance`` of shape (K, d), (K,) if "spherical"; or
    ``covariance`` and ``root`` of shape (K, d, d), (1, d, d) if "tied", with upper triangular roots U, Σ⁻¹ = U Uᵀ.
    """

    name = "gaussian"
    covariance: str
    regular: Any
    limits: ClassVar[dict[str, Limit]] = {
        "covariance": Choice("full", "tied", "diag", "spherical"),
        "regular": PRIOR,
    }

    def __init__(self, covariance: str = "diag", regular: Any = 0.0) -> None:
        super().__init__(covariance=covariance, regular=regular)
        self.by_column = not self._dense

    @property
    def _dense(self) -> bool:
        return self.covariance in DENSE

    def check(self, X: Any) -> None:
        refuse(X, np.isinf, "Gaussian", "finite numbers")
        if self._dense:
            refuse(X, np.isnan, f'Gaussian(covariance="{self.covariance}")', "all numbers of a row")

    def summarize(self, X: Any, shares: Shares) -> Moments:
        return Moments.of(X, shares, self.covariance)

    def again(self, X: Any, shares: Hard, statistics: Moments) -> Moved:
        return statistics.moved(X, shares)

    def error(self, statistics: Moments, again: Moved) -> float:
        return statistics.error(again)

    def finish(self, statistics: Moments) -> Params:
        mean, present, scatter = statistics.mean, statistics.present, statistics.scatter
        regular, absent = prior_of("regular", self.regular, mean.shape[1]), ~(present > 0)
        total = np.sum(present, axis=0)
        some = np.where(total > 0, total, 1.0)
        mean = np.where(absent, (present * mean).sum(axis=0) / some, mean)  # of none: the place and width of all
        rows = np.where(absent, 1.0, present)
        if not self._dense:
            least = rows * (4 * EPS * mean) ** 2  # rounding, and not a spread
            scatter = np.where(scatter > least, scatter, 0.0) + present * regular
            if self.covariance == "spherical":
                rows = np.broadcast_to(present, mean.shape).sum(axis=1, keepdims=True)
                absent, rows = ~(rows > 0), np.where(rows > 0, rows, 1.0)
                scatter = scatter.sum(axis=1, keepdims=True)
                total = np.broadcast_to(total, mean.shape[1:]).sum(keepdims=True)
            pooled = np.where(total > 0, scatter.sum(axis=0) / np.where(total > 0, total, 1.0), 1.0)
            variance = np.where(absent, pooled, scatter / rows)
            _refuse_spikes(variance)
            return {"mean": mean, "variance": variance[:, 0] if self.covariance == "spherical" else variance}
        pooled = scatter.sum(axis=0) / some
        if self.covariance == "tied":
            covariance = pooled[None]
        else:
            covariance = np.where(absent[:, :, None], pooled, scatter / rows[:, :, None])
        covariance = covariance + np.diag(regular)
        covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
        return {"mean": mean, "covariance": covariance, "root": _checked_roots(covariance)}

    def log_prob(self, X: Any, params: Params) -> Array:
        return self._log(X, params, 0.0)

    def log_fit(self, X: Any, params: Params) -> Array:
        return self._log(X, params, self.regular)

    def _log(self, X: Any, params: Params, regular: Any) -> Array:
        mean = params["mean"]
        k, d = mean.shape
        regular = prior_of("regular", regular, d)
        if not self._dense:
            variance = np.broadcast_to(np.reshape(params["variance"], (k, -1)), (k, d))
            logs = -0.5 * (LOG_2_PI + np.log(variance) + regular / variance)
            return gaussian_scores(np.asarray(X), mean, variance, logs)
        X, out, root = np.asarray(X, dtype=np.float64), np.empty((len(X), k)), params["root"]
        logs = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        constant = logs - 0.5 * ((root**2).sum(axis=2) @ regular) - 0.5 * d * LOG_2_PI
        for each in range(k):
            moved = (X - mean[each]) @ root[min(each, len(root) - 1)]
            out[:, each] = -0.5 * np.einsum("ij,ij->i", moved, moved)
        out += constant
        return out

    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        drawn: Array = params["mean"][members] + sampled(self.covariance, self._roots(params), members, rng)
        return drawn

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        if self.covariance != "tied":
            return None
        white = params["mean"] @ params["root"][0]
        return white @ params["root"][0].T, -0.5 * (white**2).sum(axis=1)

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        used, tied = shares > 0, self.covariance == "tied"
        root, change = self._roots(params), self._covariances(after) - self._covariances(params)
        root, change = (root, change) if tied else (root[used], change[used])
        step = (after["mean"] - params["mean"])[used]
        return float(np.sqrt(squared_distance(self.covariance, shares[used], root, step, change)))

    def _covariances(self, params: Params) -> Array:
        """Of shape (K, d, d), (1, d, d) or (K, d)."""
        if self._dense:
            return params["covariance"]
        return np.broadcast_to(np.reshape(params["variance"], (len(params["mean"]), -1)), params["mean"].shape)

    def _roots(self, params: Params) -> Array:
        return params["root"] if self._dense else 1.0 / np.sqrt(self._covariances(params))

    def near(self, X: Any, weights: Array, rows: Any, own: Hard) -> Params:
        """Variances of columns alone: whole covariances would hide the directions in which groups differ."""
        kind = "spherical" if self.covariance == "spherical" else "diag"
        plain, places = Gaussian(kind, self.regular), Moments.of(rows, own, "diag")
        whole = plain.finish(plain.summarize(X, weights[:, None]))
        mean = np.where(places.present > 0, places.mean, whole["mean"])
        if not self._dense:
            return {"mean": mean, "variance": np.repeat(whole["variance"], own.n, axis=0)}
        each = np.repeat(np.diag(whole["variance"][0])[None], 1 if self.covariance == "tied" else own.n, axis=0)
        return {
            "mean": mean,
            "covariance": each,
            "root": np.sqrt(np.where(each > 0, 1.0 / np.maximum(each, 1e-300), 0.0)),
        }

    def n_free(self, params: Params) -> int:
        return free_numbers(self.covariance, *params["mean"].shape)

    def check_params(self, params: Params, k: int, d: int) -> None:
        one = {"full": (k, d, d), "tied": (1, d, d), "diag": (k, d), "spherical": (k,)}[self.covariance]
        names = ("covariance", "root") if self._dense else ("variance",)
        check_arrays("Gaussian", params, {"mean": (k, d), **dict.fromkeys(names, one)})
        wide = np.diagonal(params["root"], axis1=1, axis2=2) if self._dense else params["variance"]
        if not (wide > 0).all():
            raise ValueError(f"{names[-1]} of Gaussian must be positive")


def refuse_far(variance: Array) -> None:
    if not np.isfinite(variance).all():
        raise ValueError(
            "Gaussian: a variance is not finite: squares of the columns of X overflow float64. Rescale them to "
            "magnitudes below 1e100 (StandardScaler does)."
        )


def _checked_roots(covariance: Array) -> Array:
    """Upper triangular U with Σ⁻¹ = U Uᵀ of each Σ."""
    refuse_far(covariance)
    try:
        return roots_of(covariance)
    except np.linalg.LinAlgError:
        raise ValueError(
            "Gaussian: a covariance is singular: columns follow from others, or too few rows belong to one group. Give "
            'regular > 0, or use covariance="diag".'
        ) from None


def _refuse_spikes(variance: Array) -> None:
    refuse_far(variance)
    if not (variance > 0).all():
        k, j = np.argwhere(~(variance > 0))[0]
        raise ValueError(
            f"Gaussian: column {j} does not spread in the rows of one group (number {k}), where its density has no "
            "bound. Give regular > 0, or leave the column out."
        )
