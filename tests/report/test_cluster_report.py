"""The report of a clustering: whole, safe, and it says what was found."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from test_report import Page

from corollary.evaluate.cluster_profile import traits, typical_rows
from corollary.evaluate.clustering import Clustering, cluster
from corollary.report import render, write_report
from corollary.tabular.messages import InputError
from corollary.tabular.roles import Column, Role


def _frame() -> pd.DataFrame:
    X, kind = make_blobs(120, centers=[[0, 0, 0], [9, 9, 0], [0, 9, 9]], random_state=1)
    frame = pd.DataFrame(X * [1, 100, 1], columns=["width", "<b>price</b>", "age"])
    frame["town"] = np.array(["<script>alert(1)</script>", "Köln", None], dtype=object)[kind]
    frame["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(120) + 100 * kind, unit="D")
    return frame


@pytest.fixture(scope="module")
def found() -> Clustering:
    return cluster(_frame(), seed=0)


def test_the_page_is_whole_and_safe(found: Clustering) -> None:
    source = render(found)
    page = Page(source)
    assert found.evidence is not None
    assert len(source.encode()) < 1_000_000
    assert not {"script", "link", "img"} & set(page.tags)
    assert "url(" not in source
    assert "prefers-color-scheme: dark" in source
    assert page.tags.count("svg") == page.tags.count("desc")
    assert "nan" not in re.sub(r"[a-z-]*nan[a-z]+", "", page.text)
    for words in ("3 groups", "<b>price</b>", "<script>alert(1)</script>", "(missing) 100%", "cluster 2", "Map",
                  "Silhouettes", "Gap says 3", "Elbow says 3", found.evidence.claim,
                  found.evidence.certificate.kind.value, "Data SHA-256", "typical row"):  # fmt: skip
        assert words in page.text, words


def test_a_number_that_was_asked_for() -> None:
    result = cluster(_frame()[["width", "age"]], k=2, method="medoids")
    page = Page(render(result))
    assert "2 clusters, as asked" in page.text
    assert "KMedoids" in page.text
    assert result.evidence is not None
    assert result.evidence.holds


def test_one_cluster_and_one_column() -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60)})
    page = Page(render(cluster(frame, k=1)))
    assert "1 group of rows" in page.text


def test_written_whole_or_not_at_all(found: Clustering, tmp_path: Path) -> None:
    write_report(found, tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(InputError, match="does not exist"):
        write_report(found, tmp_path / "no" / "out.html")


def test_traits_are_averages_and_commonest_values() -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, 10.0, 20.0], "c": ["a", "a", "b", "b", "b"]})
    columns = [Column("n", Role.NUMBER, 0, 5), Column("c", Role.CATEGORY, 0, 2)]
    by_name = {trait.name: trait for trait in traits(frame, columns, np.array([0, 0, 0, 1, 1]), 2)}
    assert by_name["n"].values == ("2.0", "15.0")
    values = frame["n"].to_numpy()
    np.testing.assert_allclose(by_name["n"].strength, (np.array([2.0, 15.0]) - values.mean()) / values.std())
    assert by_name["c"].values == ("a 67%", "b 100%")
    assert by_name["c"].strength[1] == pytest.approx((1 - 0.6) / np.sqrt(0.24))


def test_typical_rows_are_nearest_to_the_mean() -> None:
    rows = np.array([[0.0], [1.0], [5.0], [100.0], [101.0], [109.0]])
    assert typical_rows(rows, np.array([0, 0, 0, 1, 1, 1]), 3).tolist() == [1, 4, -1]
