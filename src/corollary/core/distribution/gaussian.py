"""Gaussians with covariances of any of four kinds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from corollary.core.by_class import gaussian_scores
from corollary.core.distribution.base import Distribution, Params
from corollary.core.distribution.moments import Moments
from corollary.core.distribution.shares import Shares
from corollary.core.distribution.totals import PRIOR, check_arrays, prior_of, refuse
from corollary.core.limits import Choice, Limit
from corollary.core.types import Array

LOG_2_PI = float(np.log(2 * np.pi))
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
        return self.covariance in ("full", "tied")

    def check(self, X: Any) -> None:
        refuse(X, np.isinf, "Gaussian", "finite numbers")
        if self._dense:
            refuse(X, np.isnan, f'Gaussian(covariance="{self.covariance}")', "all numbers of a row")

    def summarize(self, X: Any, shares: Shares) -> Moments:
        return Moments.of(X, shares, self.covariance)

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
        return {"mean": mean, "covariance": covariance, "root": roots_of(covariance)}

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
        noise = rng.standard_normal((len(members), params["mean"].shape[1]))
        if not self._dense:
            noise *= np.sqrt(np.reshape(params["variance"], (len(params["mean"]), -1)))[members]
        else:
            for k in np.unique(members):
                own, root = members == k, params["root"][min(k, len(params["root"]) - 1)]
                noise[own] = solve_triangular(root, noise[own].T, trans="T").T  # Uᵀ x = z has covariance (U Uᵀ)⁻¹
        drawn: Array = params["mean"][members] + noise
        return drawn

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        if self.covariance != "tied":
            return None
        white = params["mean"] @ params["root"][0]
        return white @ params["root"][0].T, -0.5 * (white**2).sum(axis=1)

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        used = shares > 0
        step, shares = (after["mean"] - params["mean"])[used], shares[used]
        if not self._dense:
            variance, wide = (np.reshape(each["variance"], (len(used), -1))[used] for each in (params, after))
            squares = (step**2 / variance).sum(axis=1)
            times = 1 if self.covariance == "diag" else step.shape[1]  # columns for which one variance stands
            squares += 0.5 * times * (((wide - variance) / variance) ** 2).sum(axis=1)
            return float(np.sqrt(shares @ squares))
        root, change = params["root"], after["covariance"] - params["covariance"]
        tied = self.covariance == "tied"
        root, change = (root, change) if tied else (root[used], change[used])
        moved = np.einsum("kj,kjl->kl", step, np.broadcast_to(root, (len(step), *root.shape[1:])))
        spread = ((root.transpose(0, 2, 1) @ change @ root) ** 2).sum(axis=(1, 2))
        return float(np.sqrt(shares @ (moved**2).sum(axis=1) + 0.5 * ((np.ones(1) if tied else shares) @ spread)))

    def n_free(self, params: Params) -> int:
        k, d = params["mean"].shape
        each = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return each[self.covariance] + k * d

    def check_params(self, params: Params, k: int, d: int) -> None:
        one = {"full": (k, d, d), "tied": (1, d, d), "diag": (k, d), "spherical": (k,)}[self.covariance]
        names = ("covariance", "root") if self._dense else ("variance",)
        check_arrays("Gaussian", params, {"mean": (k, d), **dict.fromkeys(names, one)})
        wide = np.diagonal(params["root"], axis1=1, axis2=2) if self._dense else params["variance"]
        if not (wide > 0).all():
            raise ValueError(f"{names[-1]} of Gaussian must be positive")


def roots_of(covariance: Array) -> Array:
    """Upper triangular U with Σ⁻¹ = U Uᵀ of each Σ."""
    try:
        return np.array([dtrtri(lower.T)[0] for lower in np.linalg.cholesky(covariance)])
    except np.linalg.LinAlgError:
        raise ValueError(
            "Gaussian: a covariance is singular: columns follow from others, or too few rows belong to one group. Give "
            'regular > 0, or use covariance="diag".'
        ) from None


def _refuse_spikes(variance: Array) -> None:
    if not (variance > 0).all():
        k, j = np.argwhere(~(variance > 0))[0]
        raise ValueError(
            f"Gaussian: column {j} does not spread in the rows of one group (number {k}), where its density has no "
            "bound. Give regular > 0, or leave the column out."
        )
