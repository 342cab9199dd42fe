"""Distributions of mixtures as the referee knows them: densities, best parameters and lengths, from the textbook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import gammaln

from corollary.referee.rows import EPS, LONG, Array


class Step(ABC):
    """One exact iteration for the columns X of one distribution; weights of rows add up to one, ``total`` before."""

    def __init__(self, X: Array, params: dict[str, Array], numbers: dict[str, Any], total: Any) -> None:
        self.X, self.params, self.numbers, self.total = X, params, numbers, total
        self.there = ~np.isnan(X)
        self.x = np.where(self.there, X, 0)

    def number(self, name: str) -> Array:
        """A number of the prior, which counts rows: over the weight of all."""
        return np.asarray(self.numbers[name], dtype=LONG) / self.total

    @abstractmethod
    def logs(self) -> Array:
        """Logarithms of densities of rows under each component, less what regularisation takes."""

    @abstractmethod
    def squared_step(self, post: Array, pi: Array) -> Any:
        """The squared length of the change of parameters, for shares (n, k) of rows and weights of components."""

    def prior(self) -> Any:
        return LONG(0)

    def blur(self) -> float:
        """What rounding of the parameters to float64 can do."""
        return 0.0


def _over(change: Array, size: Array) -> Array:
    return np.where(change == 0, 0, change * change / np.where(size > 0, size, 1)) + np.where(
        (change != 0) & (size == 0), np.inf, 0
    )


def _times(x: Array, logs: Array) -> Array:
    """x · logsᵀ where nothing times the logarithm of zero is nothing."""
    never = np.isneginf(logs)
    found = x @ np.where(never, 0, logs).T
    return np.where((x != 0).astype(LONG) @ never.T.astype(LONG) > 0, -np.inf, found)


def _prior(number: Array, logs: Array) -> Any:
    """Σ number × logs."""
    weights = np.broadcast_to(number, logs.shape)
    return np.where(weights > 0, weights * np.where(weights > 0, logs, 0), 0).sum()


class Ones(Step):
    """Columns of zeros and ones."""

    def logs(self) -> Array:
        others = np.where(self.there, 1 - self.x, 0)
        return _times(self.x, self.params["log_one"]) + _times(others, self.params["log_zero"])

    def squared_step(self, post: Array, pi: Array) -> Any:
        alpha, one = self.number("alpha"), np.exp(self.params["log_one"])
        following = (post.T @ self.x + alpha) / (post.T @ self.there.astype(LONG) + 2 * alpha)
        return (pi[:, None] * _over(following - one, one * np.exp(self.params["log_zero"]))).sum()

    def prior(self) -> Any:
        return _prior(self.number("alpha"), self.params["log_one"]) + _prior(
            self.number("alpha"), self.params["log_zero"]
        )


class States(Step):
    """Columns of states, whose probabilities stand one column after the other."""

    def _columns(self) -> list[Array]:
        return np.split(self.params["log"], np.cumsum(self.numbers["n_states"])[:-1], axis=1)

    def logs(self) -> Array:
        found = np.zeros((len(self.X), len(self.params["log"])), dtype=LONG)
        for j, table in enumerate(self._columns()):
            found += np.where(self.there[:, [j]], table.T[self.x[:, j].astype(int)], 0)
        return found

    def squared_step(self, post: Array, pi: Array) -> Any:
        squares, alpha = LONG(0), self.number("alpha")
        for j, table in enumerate(self._columns()):
            states = np.arange(table.shape[1])
            is_state = (self.x[:, [j]] == states) & self.there[:, [j]]
            counts = post.T @ is_state.astype(LONG) + alpha
            before = np.exp(table)
            squares += (pi[:, None] * _over(counts / counts.sum(axis=1, keepdims=True) - before, before)).sum()
        return squares

    def prior(self) -> Any:
        return _prior(self.number("alpha"), self.params["log"])


class Words(Step):
    """Rows of counts of things of d kinds."""

    def logs(self) -> Array:
        whole, each = self.x.sum(axis=1).astype(float), self.x.astype(float)
        orders = gammaln(whole + 1) - gammaln(each + 1).sum(axis=1)
        return _times(self.x, self.params["log"]) + orders[:, None]

    def squared_step(self, post: Array, pi: Array) -> Any:
        totals, before = post.T @ self.x, np.exp(self.params["log"])
        counts = totals + self.number("alpha")
        following = counts / counts.sum(axis=1, keepdims=True)
        sizes = totals.sum(axis=1) / post.sum(axis=0)
        return ((pi * sizes)[:, None] * _over(following - before, before)).sum()

    def prior(self) -> Any:
        return _prior(self.number("alpha"), self.params["log"])


class Counts(Step):
    """Columns of Poisson counts."""

    def logs(self) -> Array:
        rate = self.params["rate"]
        factorials = np.where(self.there, gammaln(self.x.astype(float) + 1), 0).sum(axis=1)
        return _times(self.x, np.log(rate)) - self.there.astype(LONG) @ rate.T - factorials[:, None]

    def squared_step(self, post: Array, pi: Array) -> Any:
        rate, rows = self.params["rate"], post.T @ self.there.astype(LONG) + self.number("beta")
        return (pi[:, None] * _over((post.T @ self.x + self.number("alpha")) / rows - rate, rate)).sum()

    def prior(self) -> Any:
        rate = self.params["rate"]
        return _prior(self.number("alpha"), np.log(rate)) - (self.number("beta") * rate).sum()


class Times(Counts):
    """Columns of waiting times."""

    def logs(self) -> Array:
        rate = self.params["rate"]
        return self.there.astype(LONG) @ np.log(rate).T - self.x @ rate.T

    def squared_step(self, post: Array, pi: Array) -> Any:
        rate, rows = self.params["rate"], post.T @ self.there.astype(LONG) + self.number("alpha")
        following = rows / (post.T @ self.x + self.number("beta"))
        return (pi[:, None] * ((following - rate) / rate) ** 2).sum()


class Bells(Step):
    """Gaussians; covariances as whole matrices, whatever their kind."""

    def __init__(self, X: Array, params: dict[str, Array], numbers: dict[str, Any], total: Any) -> None:
        super().__init__(X, params, numbers, total)
        self.kind, (k, d) = numbers["covariance"], params["mean"].shape
        self.ridge = np.broadcast_to(np.asarray(numbers["regular"], dtype=LONG), (d,))
        if self.kind in ("full", "tied"):
            self.full = np.broadcast_to(params["covariance"], (k, d, d))
            self.roots = [_inverse_root(each) for each in self.full]
        else:
            self.wide = np.broadcast_to(params["variance"].reshape(k, -1), (k, d))

    def logs(self) -> Array:
        mean, found = self.params["mean"], []
        constant = np.log(2 * LONG(np.pi))
        for j, at in enumerate(mean):
            if self.kind in ("full", "tied"):
                root = self.roots[j]
                z, taken = (self.x - at) @ root.T, ((root * root) @ self.ridge).sum()
                found.append(np.log(np.diag(root)).sum() - (len(at) * constant + (z * z).sum(axis=1) + taken) / 2)
            else:
                square = ((self.x - at) ** 2 + self.ridge) / self.wide[j] + np.log(self.wide[j]) + constant
                found.append(-np.where(self.there, square, 0).sum(axis=1) / 2)
        return np.stack(found, axis=1)

    def squared_step(self, post: Array, pi: Array) -> Any:
        mean = self.params["mean"]
        rows = post.T @ self.there.astype(LONG)
        moved = [np.where(self.there, self.x - at, 0) for at in mean]
        steps = np.stack([post[:, j] @ moved[j] for j in range(len(mean))]) / rows
        if self.kind in ("full", "tied"):
            return self._whole(post, pi, steps, moved)
        squares = np.stack([post[:, j] @ (moved[j] - steps[j] * self.there) ** 2 for j in range(len(mean))])
        squares += rows * self.ridge
        if self.kind == "spherical":
            following = np.broadcast_to((squares.sum(axis=1) / rows.sum(axis=1))[:, None], squares.shape)
        else:
            following = squares / rows
        found = (pi[:, None] * steps**2 / self.wide).sum()
        return found + (pi[:, None] * ((following - self.wide) / self.wide) ** 2).sum() / 2

    def _whole(self, post: Array, pi: Array, steps: Array, moved: list[Array]) -> Any:
        mass, k = post.sum(axis=0), len(pi)
        scatter = np.stack([(post[:, [j]] * (moved[j] - steps[j])).T @ (moved[j] - steps[j]) for j in range(k)])
        if self.kind == "tied":
            following = np.repeat((scatter.sum(axis=0) / mass.sum())[None], k, axis=0)
        else:
            following = scatter / mass[:, None, None]
        found = LONG(0)
        for j, root in enumerate(self.roots):
            change = root @ (following[j] + np.diag(self.ridge) - self.full[j]) @ root.T
            spread = LONG(j == 0) if self.kind == "tied" else pi[j]
            found += pi[j] * ((root @ steps[j]) ** 2).sum() + spread * (change**2).sum() / 2
        return found

    def blur(self) -> float:
        if self.kind in ("full", "tied"):
            wide = np.stack([np.diag(each) for each in self.full])
            whole = [each / np.sqrt(np.outer(v, v)) for each, v in zip(self.full, wide, strict=True)]
            worst = max(float(np.linalg.cond(each.astype(float))) for each in whole)
        else:
            wide, worst = self.wide, 1.0
        far = float((np.abs(self.params["mean"]) / np.sqrt(wide)).max())
        return 16 * EPS * (far + worst * wide.shape[1])


def _inverse_root(covariance: Array) -> Array:
    """L⁻¹ of the Cholesky factor L, NaN where there is none."""
    d = len(covariance)
    L, inverse = np.zeros((d, d), LONG), np.eye(d, dtype=LONG)
    for j in range(d):
        L[j, j] = np.sqrt(covariance[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = (covariance[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
        inverse[j] = (inverse[j] - L[j, :j] @ inverse[:j]) / L[j, j]
    return inverse


KINDS: dict[str, type[Step]] = {
    "gaussian": Bells,
    "bernoulli": Ones,
    "categorical": States,
    "multinomial": Words,
    "poisson": Counts,
    "exponential": Times,
}
