"""The HTML reports of a comparison and of a clustering: one file, no network, no script; charts are inline SVG."""

from __future__ import annotations

import os

from corollary.evaluate.clustering import Clustering
from corollary.evaluate.comparison import Comparison
from corollary.tabular.writing import check_output, write_text


def write_report(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the report to ``path``, all of it or nothing."""
    from corollary.report.page import render

    check_output(path, "report")
    write_text(path, render(comparison))


def write_cluster_report(clustering: Clustering, path: str | os.PathLike[str]) -> None:
    """Write the report of a clustering to ``path``, all of it or nothing."""
    from corollary.report.clusters import render_clusters

    check_output(path, "report")
    write_text(path, render_clusters(clustering))
