"""Pictures of clusters: rows by colour with their centres, silhouettes, and what criteria say of the number k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.cluster.k_criteria import CRITERIA
from corollary.core.types import Array

if TYPE_CHECKING:
    from corollary.cluster.choose_k import KChoice

_COLOUR, _CHOSEN = "#2b6cb0", "#dd6b20"
MOST_POINTS = 20_000  # more only make a picture slow
MOST_PAIRS = 5_000  # rows whose distances to each other are worth their square


def scatter(
    X: Any,
    labels: Any,
    centres: Any = None,
    responsibilities: Any = None,
    ax: Any = None,
    *,
    names: Any = None,
    seed: int = 0,
) -> Any:
    """Draw rows by cluster; returns the matplotlib axes.

    Beyond two columns rows are projected on their two principal axes. Label −1 (no cluster) is grey. With
    ``responsibilities`` (n × k) the colour of a row is the mix of the colours of the clusters it belongs to. ``names``
    are those of the columns.
    """
    import matplotlib.pyplot as plt

    columns = [str(name) for name in (("feature 0", "feature 1") if names is None else names)]
    X, labels = np.asarray(X, dtype=np.float64), np.asarray(labels)
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    kept = _some(len(X), MOST_POINTS, seed)
    project, titles = _plane(X, columns)
    k = max(int(labels.max(initial=-1)) + 1, 0 if centres is None else len(centres))
    palette = _palette(max(k, 1))
    colours = np.where((labels >= 0)[:, None], palette[np.maximum(labels, 0)], 0.6)
    if responsibilities is not None:
        colours = np.clip(np.asarray(responsibilities, dtype=np.float64) @ palette, 0.0, 1.0)
    points = project(X[kept])
    ax.scatter(points[:, 0], points[:, 1], s=max(3.0, 40 / len(kept) ** 0.2), c=colours[kept], alpha=0.7, lw=0)
    if centres is not None:
        places = project(np.asarray(centres, dtype=np.float64))
        ax.scatter(
            places[:, 0], places[:, 1], s=170, c=palette[: len(places)], marker="X", ec="black", lw=1.2, zorder=3
        )
    title = f"{k} clusters" + (f" ({len(kept)} of {len(X)} rows)" if len(kept) < len(X) else "")
    ax.set(xlabel=titles[0], ylabel=titles[1], title=title)
    return ax


def silhouette(X: Any, labels: Any, ax: Any = None, *, metric: str = "euclidean", seed: int = 0) -> Any:
    """Draw how much nearer each row is to its own cluster than to the next; returns the matplotlib axes.

    Beyond 5 000 rows a sample is drawn, since all pairs of rows are compared.
    """
    import matplotlib.pyplot as plt
    from sklearn.metrics import silhouette_samples

    labels = np.asarray(labels)
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    kept = _some(len(labels), MOST_PAIRS, seed)
    kept = kept[labels[kept] >= 0]
    present = np.unique(labels[kept])
    if len(present) < 2:
        raise ValueError(f"a silhouette needs at least 2 clusters, but labels has {len(present)}.")
    values = silhouette_samples(np.asarray(X)[kept], labels[kept], metric=metric)
    palette = _palette(int(present.max()) + 1)
    bottom = 0
    for label in present:
        bars = np.sort(values[labels[kept] == label])
        ax.fill_betweenx(np.arange(bottom, bottom + len(bars)), 0, bars, color=palette[label], lw=0)
        ax.text(-0.02, bottom + len(bars) / 2, str(label), ha="right", va="center")
        bottom += len(bars) + max(1, len(kept) // 50)
    mean = float(values.mean())
    ax.axvline(mean, color="0.3", ls="--", lw=1)
    ax.set(xlabel="silhouette", yticks=[], ylabel="rows, by cluster", title=f"mean silhouette {mean:.3f}")
    return ax


def plot_choice(choice: KChoice, axes: Any = None) -> Any:
    """Each criterion against k; the k that it speaks for is marked. Returns the axes, one for each criterion."""
    import matplotlib.pyplot as plt

    names = [name for name in choice.columns if name in CRITERIA]
    if axes is None:
        _, axes = plt.subplots(1, len(names), figsize=(2.7 * len(names), 2.7), layout="constrained", squeeze=False)
    axes = np.ravel(axes)
    if len(axes) != len(names):
        raise ValueError(f"axes must be {len(names)}, one for each criterion, but there are {len(axes)}.")
    for ax, name in zip(axes, names, strict=True):
        _draw_criterion(ax, choice, name)
    return axes


def _draw_criterion(ax: Any, choice: KChoice, name: str) -> None:
    values = np.asarray(choice.columns["within_share"] if name == "elbow" else choice.columns[name])
    if name == "gap":
        ax.errorbar(choice.ks, values, yerr=choice.columns["gap_error"], color=_COLOUR, lw=1.5, capsize=2)
    else:
        ax.plot(choice.ks, values, color=_COLOUR, lw=1.5)
    ax.plot(choice.ks, values, "o", color=_COLOUR, ms=3.5)
    if name == "elbow":
        ends = [0, -1]
        ax.plot(choice.ks[ends], values[ends], color="0.6", lw=1, ls="--")
    if name in choice.best:
        place = int(np.flatnonzero(choice.ks == choice.best[name])[0])
        ax.plot(choice.ks[place], values[place], "o", color=_CHOSEN, ms=8)
    said = f"{CRITERIA[name].title}: {choice.best.get(name, '–')}"
    ax.set(xlabel="k", title=f"{said}{' (sum of squares)' if name == 'elbow' else ''}")
    ax.title.set_fontsize(10)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)


def _some(n: int, most: int, seed: int) -> Array:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.RandomState(seed).choice(n, most, replace=False))


def _palette(k: int) -> Array:
    """k colours (k × 3) that differ: ten well known ones, then a wheel."""
    import matplotlib as mpl

    if k <= 10:
        return np.asarray(mpl.colormaps["tab10"](np.arange(k)))[:, :3]
    return np.asarray(mpl.colormaps["turbo"](np.linspace(0.04, 0.96, k)))[:, :3]


def _plane(X: Array, columns: list[str]) -> tuple[Any, tuple[str, str]]:
    """A map of rows to two coordinates, and their names."""
    if X.shape[1] == 1:
        return lambda rows: np.column_stack([rows[:, 0], np.zeros(len(rows))]), (columns[0], "")
    if X.shape[1] == 2:
        return lambda rows: rows, (columns[0], columns[1])
    mean = X.mean(axis=0)
    _, vectors = np.linalg.eigh(np.cov(X - mean, rowvar=False))
    axes = vectors[:, [-1, -2]]
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), [0, 1]])  # a fixed sign: the same picture every time
    return lambda rows: (rows - mean) @ axes, ("first principal axis", "second principal axis")
