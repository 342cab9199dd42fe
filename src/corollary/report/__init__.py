"""The HTML reports of a comparison and of a clustering: one file, no network, no script; charts are inline SVG."""

from __future__ import annotations

import os
from functools import singledispatch
from typing import Any

from corollary.evaluate.clustering import Clustering
from corollary.evaluate.comparison import Comparison
from corollary.report.clustering_page import clustering_page
from corollary.report.comparison_page import comparison_page
from corollary.tabular.writing import check_output, write_text


def write_report(result: Comparison | Clustering, path: str | os.PathLike[str]) -> None:
    """Write the report of ``corollary.compare`` or of ``cluster`` to ``path``, all of it or nothing.

    Examples
    --------
    >>> import os, tempfile, corollary
    >>> from sklearn.datasets import load_diabetes
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> table = load_diabetes(as_frame=True).frame
    >>> result = corollary.compare(table, "target", models={"ridge": corollary.Ridge()})
    >>> corollary.write_report(result, path)
    """
    check_output(path, "report")
    write_text(path, render(result))


@singledispatch
def render(result: Any) -> str:
    """The whole report as HTML that needs nothing else."""
    raise TypeError(f"a report is about a Comparison or a Clustering, not about {type(result).__name__}.")


render.register(Comparison, comparison_page)
render.register(Clustering, clustering_page)
