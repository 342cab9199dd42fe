"""Pictures of a belief: before, what the data say, after."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.drawing import BLUE, ORANGE, SOFT, axes, panels
from corollary.core.types import Array

POINTS = 500
LEVEL = 0.95


def plot_density(prior: Any, parameter: str, data: Any, told: dict[str, Any], ax: Any) -> Any:
    """Density over one number, for beliefs that are a frozen distribution."""
    ax = axes(ax)
    if data is None:
        _draw(ax, _grid([prior.distribution()]), prior.distribution(), None, None)
        _mark(ax, prior.interval(LEVEL), prior.mean())
    else:
        posterior = prior.update(data, **told)
        grid = _grid([posterior.distribution(), prior.distribution()])
        likelihood = prior.log_likelihood(grid, data, **told)
        _draw(ax, grid, prior.distribution(), likelihood, posterior.distribution())
        _mark(ax, posterior.interval(LEVEL), posterior.mean())
    ax.set(xlabel=parameter, ylabel="density")
    return ax


def plot_shares(prior: Any, data: Any, weights: Any, ax: Any) -> Any:
    """Mean and interval of each share, side by side."""
    k = len(prior.alpha)
    ax = axes(ax, (min(3 + 0.8 * k, 14), 4))
    groups = [(prior, "prior" if data is not None else "belief", SOFT)]
    if data is not None:
        groups.append((prior.update(data, weights=weights), "posterior", BLUE))
    for place, (belief, name, colour) in enumerate(groups):
        x, mean = np.arange(k) + (place - (len(groups) - 1) / 2) * 0.34, belief.mean()
        low, high = belief.interval(LEVEL).T
        ax.bar(x, mean, 0.3, color=colour, alpha=0.55, label=name)
        ax.vlines(x, low, high, color=colour, lw=1.6)
    if data is not None:
        ax.plot(prior.mle(data, weights=weights), "_", ms=26, mew=2, color=ORANGE, label="share in the data")
    names = range(k) if prior.categories is None else prior.categories
    ax.set_xticks(range(k), [str(name) for name in names])
    ax.set(ylabel=f"share, with {LEVEL:.0%} interval", ylim=(0, 1.3 * ax.get_ylim()[1]))
    ax.legend(frameon=False, loc="upper right", fontsize="small")
    return ax


def plot_mean_and_variance(prior: Any, data: Any, weights: Any, given: Any) -> Array:
    """Both parameters of a normal distribution, each alone."""
    both = panels(("mean", "variance"), given, (9, 3.6), "parameter")
    before = prior.marginals()
    if data is None:
        for ax, about in zip(both, before, strict=True):
            _draw(ax, _grid([about]), about, None, None)
    else:
        posterior = prior.update(data, weights=weights)
        after, best = posterior.marginals(), prior.mle(data, weights=weights)
        for j, (ax, name) in enumerate(zip(both, ("mean", "variance"), strict=True)):
            grid = _grid([after[j], before[j]])
            likelihood = _profile(prior, name, grid, best, data, weights) if best.variance > 0 else None
            _draw(ax, grid, before[j], likelihood, after[j])
            _mark(ax, posterior.interval(LEVEL)[j], posterior.mean()[j])
    for ax, name in zip(both, ("mean", "variance"), strict=True):
        ax.set(xlabel=name, ylabel="density")
    return both


def _profile(prior: Any, name: str, grid: Array, best: Any, data: Any, weights: Any) -> Array:
    """The likelihood of one parameter, where the other one is the most likely beside it."""
    mean = grid if name == "mean" else best.mean
    variance = best.variance + (grid - best.mean) ** 2 if name == "mean" else np.maximum(grid, 1e-300)
    likelihood: Array = prior.log_likelihood(mean, variance, data, weights=weights)
    return likelihood


def _grid(distributions: list[Any]) -> Array:
    """Where the first distribution lives, and of the others what is not much further out."""
    low, high = distributions[0].ppf([0.0005, 0.9995])
    room = 1.5 * (high - low)
    for other in distributions[1:]:
        start, end = other.ppf([0.01, 0.99])
        low, high = max(min(low, start), low - room), min(max(high, end), high + room)
    start, end = distributions[0].support()
    if high - low > 0.3 * (end - start):
        low, high = start, end
    # not the ends themselves, where a density may be infinite
    return np.linspace(low if low > start + 0.1 * (high - low) else start, min(high, end), POINTS + 2)[1:-1]


def _draw(ax: Any, grid: Array, prior: Any, log_likelihood: Array | None, posterior: Any) -> None:
    before, peak = prior.pdf(grid), 0.0
    ax.plot(grid, before, color=SOFT, lw=1.6, ls="--", label="prior" if posterior is not None else "belief")
    if log_likelihood is not None and np.isfinite(log_likelihood).any():
        relative = np.exp(log_likelihood - np.max(log_likelihood))
        area = float(np.trapezoid(relative, grid))
        if area > 0:
            peak = 1 / area
            ax.plot(grid, relative / area, color=ORANGE, lw=1.6, label="likelihood (scaled)")
    top = np.quantile(before, 0.98)
    if posterior is not None:
        after = posterior.pdf(grid)
        ax.plot(grid, after, color=BLUE, lw=2, label="posterior")
        top = max(np.quantile(after, 0.995), min(max(top, peak), 2.5 * np.max(after)))
    ax.set_ylim(0, 1.15 * top if top > 0 else None)
    ax.legend(frameon=False)


def _mark(ax: Any, interval: tuple[float, float], mean: float) -> None:
    ax.axvspan(*interval, color=BLUE, alpha=0.08, lw=0)
    ax.axvline(mean, color=BLUE, lw=0.9, ls=":")
    ax.set_title(f"mean {mean:.3g}, {LEVEL:.0%} in {interval[0]:.3g} … {interval[1]:.3g}", fontsize="medium")
