"""The pictures of a clustering: the map of its rows, silhouettes, sizes, profiles, and why so many clusters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corollary.cluster.choose_k import KChoice
from corollary.cluster.k_criteria import CRITERIA
from corollary.evaluate.clustering import Clustering
from corollary.report.charts import Chart, Scale, drawing, escaped
from corollary.report.document import figure, heat_cell, heat_table, table
from corollary.tabular.messages import shortened

_POINTS = 1200
_SLICES = 240
_TRAITS = 30
_STRONG = 2.0  # standard deviations that are shown in full colour


def colour(each: int) -> str:
    """The style of a cluster, the same in every picture."""
    return f"s{each % 10}"


def map_figure(clustering: Clustering) -> str:
    """The rows on their first two principal components."""
    from corollary.decomposition.pca import PCA

    rows, labels = clustering.prepared, clustering.labels[clustering.silhouettes[0]]
    if rows.shape[1] < 2 or len(rows) < 3:
        return ""
    pca = PCA(n_components=2).fit(rows)
    places = np.asarray(pca.transform(rows))
    share = float(np.sum(pca.explained_variance_ratio_))
    chart = Chart(
        Scale.around(places[:, 0]), Scale.around(places[:, 1]), title="Map of the rows", height=380,
        description=f"{len(rows)} rows on two principal components, coloured by cluster",
        x_label="first principal component", y_label="second principal component",
    )  # fmt: skip
    shown = np.linspace(0, len(rows) - 1, min(_POINTS, len(rows))).astype(int)
    for each in range(clustering.k):
        mine = shown[labels[shown] == each]
        if len(mine):
            chart.points(places[mine, 0], places[mine, 1], f"{colour(each)} faint", 2.6)
    for each in range(clustering.k):
        if (labels == each).any():
            x, y = places[labels == each].mean(axis=0)
            chart.points([x], [y], f"{colour(each)} centre", 9.0)
            chart.text(x, y, str(each), "middle", (0, 4))
    caption = (
        f"{len(shown):,} of {clustering.facts.rows:,} rows; numbers mark the middle of each cluster. "
        f"The two directions hold {share:.0%} of the variance: clusters that overlap here may be apart in others."
    )
    return figure(chart.svg(), "Map", caption)


def silhouette_figure(clustering: Clustering) -> str:
    """Silhouettes, sorted within each cluster; a bar to the left of zero is a row that another cluster would suit."""
    rows, values = clustering.silhouettes
    if np.isnan(values).all():
        return ""
    labels = clustering.labels[rows]
    chart = Chart(
        Scale(min(-0.2, float(values.min())), 1.0), Scale(0.0, float(len(values))), title="Silhouettes",
        description=f"Sorted within each of {clustering.k} clusters; the mean is {values.mean():.2f}",
        x_label="silhouette", y_label="rows, by cluster", height=380,
    )  # fmt: skip
    top = float(len(values))
    for each in range(clustering.k):
        mine = np.sort(values[labels == each])[::-1]
        if not len(mine):
            continue
        slices = min(len(mine), max(2, round(_SLICES * len(mine) / len(values))))
        edges = np.linspace(0, len(mine), slices + 1).round().astype(int)
        for low, high in pairwise(edges):
            chart.box((0.0, float(mine[low:high].mean())), (top - low, top - high), colour(each))
        chart.text(chart.x.low, top - len(mine) / 2, str(each), "start", (4, 4))
        top -= len(mine)
    chart.line([values.mean()] * 2, [0, len(values)], "s7", dashed=True)
    wrong = float((values < 0).mean())
    caption = (
        "1: far from other clusters; 0: between two; below 0: another cluster would suit better "
        f"({wrong:.0%} of these rows). Dashed: the mean, {values.mean():.2f}."
    )
    return figure(chart.svg(), "Silhouettes", caption)


def choice_figures(choice: KChoice) -> list[str]:
    """Each criterion against the number of clusters."""
    found = []
    for name in (each for each in choice.columns if each in CRITERIA):
        values = np.asarray(choice.columns["within_share"] if name == "elbow" else choice.columns[name], dtype=float)
        known = np.isfinite(values)
        if known.sum() < 2:
            continue
        said = f"says {choice.best[name]}" if name in choice.best else "has no answer"
        chart = Chart(
            Scale(float(choice.ks[0]) - 0.3, float(choice.ks[-1]) + 0.3, whole=True),
            Scale.around(values[known], pad=0.1),
            title=CRITERIA[name].title, description=f"Against the number of clusters; it {said}", height=240,
            x_label="clusters", y_label="within share" if name == "elbow" else CRITERIA[name].title,
        )  # fmt: skip
        if name == "elbow":
            chart.line(choice.ks[[0, -1]], values[[0, -1]], "s7", dashed=True)
        chart.line(choice.ks[known], values[known])
        chart.points(choice.ks[known], values[known])
        if name in choice.best:
            place = int(np.flatnonzero(choice.ks == choice.best[name])[0])
            chart.points([choice.ks[place]], [values[place]], "s1", 6.0)
        heading = f"{CRITERIA[name].title[:1].upper()}{CRITERIA[name].title[1:]} {said}"
        found.append(figure(chart.svg(), heading, f"It takes {CRITERIA[name].rule}."))
    return found


def profile_table(clustering: Clustering) -> str:
    """A heat map: columns of the table against clusters, coloured where a cluster is unusual."""
    rows = []
    for trait in clustering.traits[:_TRAITS]:
        pairs = zip(trait.values, trait.strength, strict=True)
        cells = "".join(heat_cell(escaped(shortened(value, 26)), strength / _STRONG) for value, strength in pairs)
        rows.append((trait.name, f'{cells}<td class="all">{escaped(shortened(trait.overall, 26))}</td>'))
    more = len(clustering.traits) - _TRAITS
    rest = f'<p class="why">{more:,} more columns tell the clusters apart less.</p>' if more > 0 else ""
    return heat_table("column ╲ cluster", [*map(str, range(clustering.k)), "all rows"], rows) + rest


def size_table(clustering: Clustering) -> str:
    """Rows, share, silhouette and a typical row of each cluster, with a bar for its size."""
    largest = max(int(clustering.sizes.max()), 1)
    rows = []
    for each, size in enumerate(clustering.sizes):
        shape = f'x="0" y="2" width="{max(190 * size / largest, 0.5):.1f}" height="10"'
        bar = drawing(190, 14, f"Cluster {each}", f"{size} rows", [f'<rect class="fill {colour(each)}" {shape}/>'])
        score, typical = clustering.silhouette_of(each), clustering.typical[each]
        rows.append(
            f'<tr><th scope="row" class="keep">cluster {each}</th><td class="n">{size:,}</td>'
            f'<td class="n">{size / clustering.facts.rows:.1%}</td><td class="interval">{bar}</td>'
            f'<td class="n">{"–" if np.isnan(score) else f"{score:.2f}"}</td>'
            f'<td class="n">{f"{typical + 1:,}" if typical >= 0 else "–"}</td></tr>'
        )
    return table(("cluster", ">rows", ">share", "", ">silhouette", ">typical row"), rows)
