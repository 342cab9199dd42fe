"""What every report shares: one HTML text that needs no network, no script and no fonts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from corollary.report.charts import escaped
from corollary.report.style import STYLE


def document(title: str, parts: Sequence[str], versions: Mapping[str, Any], style: str = "") -> str:
    """The whole page; parts that are empty are left out."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escaped(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n<footer>Written by corollary {escaped(versions['corollary'])} on {date.today().isoformat()}. "
        "This file is complete in itself.</footer>\n</main>\n</body>\n</html>\n"
    )


def section(key: str, heading: str, body: str, lead: str = "") -> str:
    """One part of a page, under its heading."""
    opening = f'<p class="lead">{escaped(lead)}</p>' if lead else ""
    return f'<section id="{key}"><h2>{heading}</h2>{opening}{body}</section>'
