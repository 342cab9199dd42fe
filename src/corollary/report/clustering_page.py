"""The report of a clustering, as one self-contained HTML text."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from corollary.evaluate.clustering import Clustering
from corollary.report.charts import escaped
from corollary.report.clustering_figures import choice_figures, map_figure, profile_table, silhouette_figure, size_table
from corollary.report.document import again, columns_table, document, header, pair, section, table, tiles
from corollary.report.model_figures import convergence_figure
from corollary.report.words import kinds_explained
from corollary.tabular.messages import count, shortened

_SECTIONS = {
    "clusters": "Clusters",
    "profile": "What they look like",
    "map": "Where they lie",
    "number": "How many",
    "evidence": "Evidence",
    "data": "Data",
    "again": "Do it again",
}
_PROFILE_LEAD = (
    "Averages of numbers, commonest values of categories, in the units of the table. Coloured where a cluster differs "
    "from all rows (blue: more, orange: less); columns that tell clusters apart best come first."
)
_DATA_LEAD = "Numbers were standardised (missing: the median), categories became indicator columns."


def clustering_page(clustering: Clustering) -> str:
    """The whole report as HTML that needs nothing else."""
    facts, settings = clustering.facts, clustering.settings
    parts = [
        _header(clustering),
        _section("clusters", size_table(clustering), "Numbers are those that predict gives, from 0."),
        _section("profile", profile_table(clustering), _PROFILE_LEAD),
        _section("map", pair((map_figure(clustering), silhouette_figure(clustering)))),
        _number(clustering),
        _evidence(clustering),
        _section("data", columns_table(facts, clustering.notes), _DATA_LEAD),
        _section("again", again("cluster", "corollary.evaluate.clustering.cluster", facts, settings)),
    ]
    return document(f"{PurePath(facts.source).name} · clusters", parts, settings["versions"])


def _section(key: str, body: str, lead: str = "") -> str:
    return section(key, _SECTIONS[key], body, lead)


def _header(clustering: Clustering) -> str:
    title = f"{count(clustering.k, 'group')} of rows in {shortened(PurePath(clustering.facts.source).name, 80)}"
    return header("Clusters", title, clustering.facts, _SECTIONS, summary(clustering), _tiles(clustering))


def summary(clustering: Clustering) -> str:
    """What was found, for someone who will read nothing else."""
    best = [trait.name for trait in clustering.traits[:3] if trait.tells_apart > 0.5]
    apart = f" What tells them apart most: {', '.join(shortened(name, 30) for name in best)}." if best else ""
    return clustering.summary() + (apart if clustering.k > 1 else "")


def _tiles(clustering: Clustering) -> str:
    score, evidence = clustering.silhouette, clustering.evidence
    return tiles((
        ("Clusters", str(clustering.k), "chosen" if clustering.choice is not None else "as asked"),
        ("Method", clustering.method, ""),
        ("Silhouette", "–" if np.isnan(score) else f"{score:.2f}", "mean, from −1 to 1"),
        ("Smallest, largest", f"{clustering.sizes.min():,}, {clustering.sizes.max():,}", "rows"),
        ("Fit", "–" if evidence is None else evidence.verdict, ""),
    ))  # fmt: skip


def _number(clustering: Clustering) -> str:
    choice = clustering.choice
    if choice is None:
        return _section("number", "", clustering.reason)
    head, *body = choice.table()
    rows = (
        f'<tr class="{"first" if line[0] == str(clustering.k) else ""}">'
        + "".join(f'<td class="n">{escaped(cell.strip())}</td>' for cell in line)
        + "</tr>"
        for line in body
    )
    whole = table([f">{escaped(cell)}" for cell in head], rows) + pair(choice_figures(choice))
    edge = "".join(f" {each[:1].upper()}{each[1:]}." for each in clustering.warnings)
    return _section("number", whole, f"{choice.reason} * marks what each says.{edge}")


def _evidence(clustering: Clustering) -> str:
    evidence = clustering.evidence
    if evidence is None:
        return _section("evidence", "<p>This model keeps no evidence.</p>")
    words = f'<p><span class="{evidence.tone}">{evidence.verdict[0]}</span> {escaped(evidence)}</p>'
    meaning = kinds_explained([evidence.certificate.kind])
    drawn = convergence_figure(clustering.method, evidence)
    return _section("evidence", words + meaning + (pair([drawn]) if drawn else ""))
