"""The HTML report of a comparison: one file, no network, no script; its charts are inline SVG."""

from __future__ import annotations

import os

from corollary.evaluate.comparison import Comparison
from corollary.evaluate.writing import check_output, write_text


def write_report(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the report to ``path``, all of it or nothing."""
    from corollary.report.page import render

    check_output(path, "report")
    write_text(path, render(comparison))
