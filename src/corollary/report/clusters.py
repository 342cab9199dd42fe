"""The HTML report of a clustering: one file, no network, no script."""

from __future__ import annotations

import shlex
from pathlib import PurePath

import numpy as np

from corollary.evaluate.clustering import Clustering
from corollary.report.charts import escaped, shortened
from corollary.report.cluster_figures import choice_figures, map_figure, profile_table, silhouette_figure, size_table
from corollary.report.document import document, section
from corollary.report.model_figures import convergence_figure
from corollary.tabular.errors import count
from corollary.tabular.roles import Role, tally

_SECTIONS = (
    ("clusters", "Clusters"),
    ("profile", "What they look like"),
    ("map", "Where they lie"),
    ("number", "How many"),
    ("evidence", "Evidence"),
    ("data", "Data"),
    ("again", "Do it again"),
)
_MORE_STYLE = """
.centre { stroke: var(--paper); stroke-width: 1.5; } .faint.fill { fill-opacity: 0.55; }
.centre + text { fill: var(--paper); font-weight: 700; }
.chart rect { shape-rendering: crispEdges; }
.heat th[scope=row] { white-space: nowrap; }
.heat tbody td.all { background: none; color: var(--soft); padding-left: 16px; }
"""


def render_clusters(clustering: Clustering) -> str:
    """The whole report as HTML that needs nothing else."""
    parts = [
        _header(clustering),
        _section("clusters", size_table(clustering), "Numbers are those that predict gives, from 0."),
        _section("profile", profile_table(clustering), _PROFILE_LEAD),
        _section("map", f'<div class="pair">{map_figure(clustering)}{silhouette_figure(clustering)}</div>'),
        _number(clustering),
        _evidence(clustering),
        _data(clustering),
        _again(clustering),
    ]
    title = f"{PurePath(clustering.facts.source).name} · clusters"
    return document(title, parts, clustering.settings["versions"], _MORE_STYLE)


_PROFILE_LEAD = (
    "Averages of numbers, commonest values of categories, in the units of the table. Coloured where a cluster differs "
    "from all rows (blue: more, orange: less); columns that tell clusters apart best come first."
)


def _section(key: str, body: str, lead: str = "") -> str:
    return section(key, dict(_SECTIONS)[key], body, lead)


def _header(clustering: Clustering) -> str:
    facts = clustering.facts
    meta = f"{PurePath(facts.source).name} · {facts.rows:,} rows · {tally(facts.columns)}"
    links = "".join(f'<a href="#{key}">{heading}</a>' for key, heading in _SECTIONS)
    name = shortened(PurePath(facts.source).name, 80)
    return (
        f'<header><p class="eyebrow">Clusters</p><h1>{count(clustering.k, "group")} of rows in {escaped(name)}</h1>'
        f'<p class="meta">{escaped(meta)}</p><nav aria-label="Sections">{links}</nav>'
        f'<p class="summary">{escaped(summary(clustering))}</p>{_tiles(clustering)}</header>'
    )


def summary(clustering: Clustering) -> str:
    """What was found, for someone who will read nothing else."""
    if clustering.k == 1:
        return f"{clustering.reason} The rows are best described as one group."
    score = clustering.silhouette
    words = "well apart" if score > 0.5 else "apart, with rows in between" if score > 0.25 else "not clearly apart"
    found = f"The clusters are {words} (mean silhouette {score:.2f})." if not np.isnan(score) else ""
    best = [trait.name for trait in clustering.traits[:3] if trait.tells_apart > 0.5]
    apart = f" What tells them apart most: {', '.join(shortened(name, 30) for name in best)}." if best else ""
    return f"{clustering.reason} {found}{apart}"


def _tiles(clustering: Clustering) -> str:
    score = clustering.silhouette
    proof = "–" if clustering.evidence is None else "✓ proved" if clustering.evidence.holds else "✗ not proved"
    tiles = [
        ("Clusters", str(clustering.k), "chosen" if clustering.choice is not None else "as asked"),
        ("Method", clustering.method, ""),
        ("Silhouette", "–" if np.isnan(score) else f"{score:.2f}", "mean, from −1 to 1"),
        ("Smallest, largest", f"{clustering.sizes.min():,}, {clustering.sizes.max():,}", "rows"),
        ("Fit", proof, ""),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{escaped(value)}<small>{escaped(small)}</small></dd></div>"
        for name, value, small in tiles
    )
    return f'<dl class="tiles">{cells}</dl>'


def _number(clustering: Clustering) -> str:
    choice = clustering.choice
    if choice is None:
        return _section("number", "", clustering.reason)
    head, *body = choice.table()
    titles = "".join(f'<th scope="col" class="n">{escaped(cell)}</th>' for cell in head)
    rows = "".join(
        f'<tr class="{"first" if line[0] == str(clustering.k) else ""}">'
        + "".join(f'<td class="n">{escaped(cell.strip())}</td>' for cell in line)
        + "</tr>"
        for line in body
    )
    table = f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table></div>'
    figures = "".join(choice_figures(choice))
    return _section("number", f'{table}<div class="pair">{figures}</div>', f"{choice.reason} * marks what each says.")


def _evidence(clustering: Clustering) -> str:
    evidence = clustering.evidence
    if evidence is None:
        return _section("evidence", "<p>This model keeps no evidence.</p>")
    mark = "good" if evidence.holds else "bad"
    drawn = convergence_figure(clustering.method, evidence)
    words = f'<p><span class="{mark}">{"✓" if evidence.holds else "✗"}</span> {escaped(str(evidence))}</p>'
    return _section("evidence", f'{words}<div class="pair">{drawn}</div>' if drawn else words)


def _data(clustering: Clustering) -> str:
    body = "".join(
        f"<tr{' class=dim' if column.role is Role.UNUSED else ''}>"
        f'<th scope="row">{escaped(shortened(column.name, 60))}</th><td>{column.role.value}</td>'
        f'<td class="n">{column.missing:,}</td><td class="n">{column.distinct:,}</td>'
        f'<td class="why">{escaped(column.note)}</td></tr>'
        for column in clustering.facts.columns
    )
    head = "".join(f'<th scope="col"{n}>{name}</th>' for name, n in (
        ("column", ""), ("role", ""), ("missing", ' class="n"'), ("distinct", ' class="n"'), ("note", "")))  # fmt: skip
    notes = "".join(f'<p class="why">{escaped(note)}</p>' for note in clustering.notes)
    lead = "Numbers were standardised (missing: the median), categories became indicator columns."
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return _section("data", notes + table, lead)


def command_line(clustering: Clustering) -> str:
    """The command, or the call, that does this again."""
    settings = clustering.settings
    if not settings["from_file"]:
        options = ", ".join(f"{name}={settings[name]!r}" for name in ("k", "method", "columns", "drop", "seed"))
        return f"corollary.evaluate.clustering.cluster(data, {options})"
    words = ["corollary", "cluster", clustering.facts.source]
    for option in ("k", "method", "seed", "encoding"):
        if settings[option] not in ("auto", "utf-8"):
            words += [f"--{option}", str(settings[option])]
    for option in ("columns", "drop"):
        for name in settings[option]:
            words += [f"--{option}", name]
    return shlex.join(words + ["--no-header"] * (not settings["header"]))


def _again(clustering: Clustering) -> str:
    settings = clustering.settings
    pairs = [
        ("Data SHA-256", clustering.facts.sha256),
        ("Seed", str(settings["seed"])),
        ("Versions", ", ".join(f"{name} {number}" for name, number in settings["versions"].items())),
    ]
    listing = "".join(f"<dt>{name}</dt><dd>{escaped(value)}</dd>" for name, value in pairs)
    code = f"<pre><code>{escaped(command_line(clustering))}</code></pre>"
    return _section("again", f'{code}<dl class="facts">{listing}</dl>')
