"""A picture of a fitted mixture: rows in the mixed colours of their components, an ellipse for each component."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from corollary.core.types import Array

SHOWN = 20_000  # more dots than this only hide one another
RINGS = (1.0, 2.0)  # standard deviations


def plot_mixture(model: Any, X: Any, ax: Any = None, columns: tuple[int, int] = (0, 1)) -> Any:
    """Two columns of X (or the only one, as a histogram with the density); returns the matplotlib axes."""
    import matplotlib.pyplot as plt

    shares = model.predict_proba(X)
    rows = check_array(X, dtype=np.float64)
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    palette = plt.get_cmap("tab10" if shares.shape[1] <= 10 else "tab20")
    colours = np.array([palette(k % palette.N)[:3] for k in range(shares.shape[1])])
    if rows.shape[1] == 1:
        _draw_line(model, rows[:, 0], ax, colours)
    else:
        _draw_plane(model, rows, shares, ax, colours, columns)
    ax.set_title(f"{shares.shape[1]} component{'s' * (shares.shape[1] != 1)}, {model.covariance_type} covariance")
    return ax


def _draw_plane(model: Any, rows: Array, shares: Array, ax: Any, colours: Array, columns: tuple[int, int]) -> None:
    from matplotlib.patches import Ellipse

    pair, names = list(columns), getattr(model, "feature_names_in_", None)
    step = max(1, -(-len(rows) // SHOWN))
    mixed = np.clip(shares[::step] @ colours, 0, 1)
    ax.scatter(*rows[::step, pair].T, c=mixed, s=8, alpha=0.6, linewidths=0)
    for k, covariance in enumerate(_pairwise(model, pair)):
        if model.weights_[k] == 0:
            continue
        values, vectors = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        for ring in RINGS:
            width, height = 2 * ring * np.sqrt(np.maximum(values[::-1], 0))
            place = {"xy": model.means_[k, pair], "width": width, "height": height, "angle": angle}
            ax.add_patch(Ellipse(**place, fill=False, edgecolor=colours[k], lw=1.6 if ring == 1 else 0.9))
        ax.plot(*model.means_[k, pair], "o", color=colours[k], mec="white", ms=7)
    labels = [f"feature {column}" if names is None else str(names[column]) for column in pair]
    ax.set(xlabel=labels[0], ylabel=labels[1])


def _draw_line(model: Any, values: Array, ax: Any, colours: Array) -> None:
    ax.hist(values, bins="auto", density=True, color="0.85")
    grid = np.linspace(values.min(), values.max(), 400)[:, None]
    density = np.exp(model.score_samples(grid))
    parts = model.predict_proba(grid) * density[:, None]
    for part, colour in zip(parts.T, colours, strict=True):
        ax.plot(grid[:, 0], part, color=colour, lw=1.2)
    ax.plot(grid[:, 0], density, color="0.2", lw=1.6)
    ax.set(xlabel=str(getattr(model, "feature_names_in_", ["x"])[0]), ylabel="density")


def _pairwise(model: Any, pair: list[int]) -> list[Array]:
    """The covariance of two columns in each component: a part of its whole."""
    kind, covariances = model.covariance_type, model.covariances_
    if kind == "full":
        return [each[np.ix_(pair, pair)] for each in covariances]
    if kind == "tied":
        return [covariances[np.ix_(pair, pair)]] * len(model.means_)
    if kind == "diag":
        return [np.diag(each[pair]) for each in covariances]
    return [each * np.eye(2) for each in covariances]
