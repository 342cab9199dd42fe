"""What every report shares: one HTML text that needs no network, no script and no fonts, and its common parts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import PurePath
from typing import Any

from corollary.report.charts import escaped
from corollary.report.style import STYLE
from corollary.tabular.messages import shortened
from corollary.tabular.roles import DataFacts, Role, tally

_OPTION = re.compile(r" (?=--)")
Sections = Mapping[str, str]  # the id of each section and its heading


def document(title: str, parts: Sequence[str], versions: Mapping[str, Any]) -> str:
    """The whole page; parts that are empty are left out."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n<footer>Written by corollary {escaped(versions['corollary'])} on {date.today().isoformat()}. "
        "This file is complete in itself.</footer>\n</main>\n</body>\n</html>\n"
    )


def header(eyebrow: str, title: str, facts: DataFacts, sections: Sections, summary: str, rest: str) -> str:
    """The top of a page: its title, where the data came from, links to the sections, and the summary."""
    meta = f"{PurePath(facts.source).name} · {facts.rows:,} rows · {tally(facts.columns)}"
    links = "".join(f'<a href="#{key}">{heading}</a>' for key, heading in sections.items())
    return (
        f'<header><p class="eyebrow">{eyebrow}</p><h1>{escaped(title)}</h1><p class="meta">{escaped(meta)}</p>'
        f'<nav aria-label="Sections">{links}</nav><p class="summary">{escaped(summary)}</p>{rest}</header>'
    )


def tiles(found: Iterable[tuple[str, str, str]]) -> str:
    """Large numbers side by side: (what, the number, a small remark)."""
    cells = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}<small>{escaped(small)}</small></dd></div>"
        for name, value, small in found
    )
    return f'<dl class="tiles">{cells}</dl>'


def section(key: str, heading: str, body: str, lead: str = "") -> str:
    """One part of a page, under its heading."""
    opening = f'<p class="lead">{escaped(lead)}</p>' if lead else ""
    return f'<section id="{key}"><h2>{heading}</h2>{opening}{body}</section>'


def figure(drawing: str, heading: str, caption: str, key: str = "", whole: bool = False) -> str:
    """A drawing with its heading above and an explanation below; a ``whole`` one takes the width of the page."""
    opening = '<figure class="whole">' if whole else "<figure>"
    body = f"<h3>{escaped(heading)}</h3>{drawing}{key}<figcaption>{escaped(caption)}</figcaption>"
    return f"{opening}{body}</figure>"


def listing(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what they stand for (HTML), in two columns."""
    rows = "".join(f"<dt>{escaped(name)}</dt><dd>{value}</dd>" for name, value in pairs)
    return f'<dl class="facts">{rows}</dl>'


def code(text: str, language: str) -> str:
    """A block to copy: one click selects all of it."""
    words = "\n".join(map(pieces, text.split("\n"))) if language == "shell" else escaped(text)
    return f'<pre class="code"><code class="{language}">{words}</code></pre>'


def pieces(line: str) -> str:
    """A command that is broken before its options, not at a hyphen inside of one."""
    return " ".join(f'<span class="piece">{escaped(each)}</span>' for each in _OPTION.split(line))


def folded(summary: str, body: str) -> str:
    """A part that is opened by a click; on paper it is open."""
    return f"<details><summary>{escaped(summary)}</summary>{body}</details>"


def pair(figures: Iterable[str]) -> str:
    """Figures side by side where there is room."""
    return f'<div class="pair">{"".join(figures)}</div>'


def table(titles: Iterable[str], rows: Iterable[str], style: str = "") -> str:
    """A table that may be scrolled sideways; a title that begins with ``>`` is that of a column of numbers."""
    cells = (f'<th scope="col" class="n">{each[1:]}</th>' if each[:1] == ">" else f'<th scope="col">{each}</th>'
             for each in titles)  # fmt: skip
    kind = f' class="{style}"' if style else ""
    head, body = "".join(cells).replace('<th scope="col"></th>', "<td></td>"), "".join(rows)
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def heat_table(corner: str, columns: Iterable[str], rows: Iterable[tuple[str, str]]) -> str:
    """A table of shaded cells: the names of its columns, and (name, cells) of each row."""
    head = "".join(f'<th scope="col">{escaped(shortened(name, 18))}</th>' for name in columns)
    body = "".join(f'<tr><th scope="row">{escaped(shortened(name, 44))}</th>{cells}</tr>' for name, cells in rows)
    return (
        f'<div class="wide"><table class="heat"><thead><tr><td>{corner}</td>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def heat_cell(words: str, strength: float) -> str:
    """A cell with ``words`` (HTML), blue for a positive strength and orange for a negative one, full at ±1."""
    kind = "minus" if strength < 0 else "plus"
    return f'<td class="{kind}" style="--v:{min(abs(strength), 1.0):.2f}">{words}</td>'


def columns_table(facts: DataFacts, notes: Iterable[str]) -> str:
    """What became of every column, and remarks about the data."""
    rows = (
        f"<tr{' class=dim' if column.role is Role.UNUSED else ''}>"
        f'<th scope="row">{escaped(shortened(column.name, 60))}</th><td>{column.role.value}</td>'
        f'<td class="n">{column.missing:,}</td><td class="n">{column.distinct:,}</td>'
        f'<td class="why">{escaped(column.note)}</td></tr>'
        for column in facts.columns
    )
    whole = table(("column", "role", ">missing", ">distinct", "note"), rows)
    if len(facts.columns) > 40:
        whole = folded(f"All {len(facts.columns):,} columns", whole)
    return "".join(f'<p class="why">{escaped(note)}</p>' for note in notes) + whole


def again(command: str, call: str, facts: DataFacts, settings: Mapping[str, Any]) -> str:
    """The command (for a file) or the call (for a table) that does it again, and what fixes its numbers."""
    pairs = {
        "Data SHA-256": facts.sha256,
        "Seed": settings["seed"],
        "Versions": ", ".join(f"{name} {number}" for name, number in settings["versions"].items()),
    }
    if settings.get("minutes") or settings.get("time_budget"):
        pairs["Time"] = "what is tried depends on the clock: done again, the numbers may differ"
    line = asked_line(command, call, facts, settings)
    language = "shell" if is_command(settings) else "python"
    return code(line, language) + listing((name, escaped(value)) for name, value in pairs.items())


def asked_line(command: str, call: str, facts: DataFacts, settings: Mapping[str, Any]) -> str:
    """The command, or the call where there is no command for it, with these settings."""
    chosen = {name: value for name, value in settings.items() if name not in ("versions", "from_file")}
    if is_command(settings):
        return command_line(command, facts.source, chosen)
    return _call(call, repr(facts.source) if settings["from_file"] else "data", chosen)


def is_command(settings: Mapping[str, Any]) -> bool:
    """Whether a command can do it again: all data came from files, and no models were given."""
    return bool(settings["from_file"]) and not settings.get("models") and settings.get("holdout") is not True


def _call(function: str, data: str, settings: Mapping[str, Any]) -> str:
    models = settings.get("models")
    shown = {name: value for name, value in settings.items() if not _is_usual(name, value)}
    said = {name: repr(value) for name, value in shown.items()}
    said |= {name: name for name in ("holdout", "models") if shown.get(name) is True or (name == "models" and models)}
    options = [value if name == "target" else f"{name}={value}" for name, value in said.items()]
    line = f"{function}({', '.join([data, *options])})"
    return f"{line}  # models: {', '.join(map(repr, models))}" if models else line


_USUAL = {"task": "auto", "k": "auto", "method": "auto", "split": "random", "encoding": "utf-8", "header": True}


def _is_usual(name: str, value: Any) -> bool:
    """Whether an option has the value that it has if it is not given; what is another's is none (``target="auto"``)."""
    return value is None or value is False or value == () if name not in _USUAL else value == _USUAL[name]


def command_line(command: str, source: str, settings: Mapping[str, Any]) -> str:
    """A command with these options; those that have their usual value are left out."""
    words = ["corollary", command, source]
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or _is_usual(name, value):
            continue
        if isinstance(value, tuple):
            words += [word for each in value for word in (option, each)]
        elif name == "header":
            words.append("--no-header")
        else:
            words += [option] if value is True else [option, str(value)]
    return shlex.join(words)
