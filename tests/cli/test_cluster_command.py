"""``corollary cluster``: what it prints and writes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from test_bad_input import refused

from corollary.cluster.kmeans import KMeans
from corollary.core.evidence import Kind
from corollary.evaluate.cluster_number import choose_number
from corollary.evaluate.clustering import METHODS

Run = Callable[..., Any]


@pytest.fixture
def shops() -> pd.DataFrame:
    """Three kinds of shop that differ in two numbers and in their colour; a number is missing, a column is noise."""
    X, kind = make_blobs(90, centers=[[10, 200], [30, 900], [55, 500]], cluster_std=[1.5, 1.5, 1.5], random_state=0)
    X[:, 1] += np.random.default_rng(0).normal(0, 20, 90)
    frame = pd.DataFrame({"size": X[:, 0].round(2), "sales": X[:, 1].round(1)})
    frame["colour"] = np.array(["red", "green", "blue"])[kind]
    frame["opened"] = [f"20{10 + i % 9}-0{1 + i % 9}-15" for i in range(90)]
    frame["chain"] = "one"
    frame.loc[4, "sales"] = np.nan
    return frame


@pytest.fixture
def shops_csv(shops: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "shops.csv"
    shops.to_csv(path, index=False)
    return path


def test_finds_describes_and_writes(run: Run, shops: pd.DataFrame, shops_csv: Path, tmp_path: Path) -> None:
    report, model, labels = (tmp_path / name for name in ("r.html", "m.corollary", "l.csv"))
    found = run("cluster", shops_csv, "--report", report, "--save", model, "--labels", labels, "--drop", "opened")
    assert found.code == 0, found.err
    for words in ("90 rows", "chain: constant", "Calinski–Harabasz", "silhouette", "3 clusters, because", "Evidence",
                  "KMeans, fitted to every row.", "cluster  rows  share",
                  "green 100%", "typical row", "corollary predict"):  # fmt: skip
        assert words in found.out, words
    assert any(f"{kind.word}: " in found.out for kind in Kind)
    assert all(len(line) <= 80 for line in found.out.splitlines() if str(tmp_path) not in line)
    groups = pd.read_csv(labels)
    assert groups["row"].tolist() == list(range(1, 91))
    assert pd.crosstab(groups["cluster"], shops["colour"]).astype(bool).sum().tolist() == [1, 1, 1]
    again = run("predict", model, shops_csv)
    assert again.code == 0, again.err
    assert [int(each) for each in again.out.split()[1:]] == groups["cluster"].tolist()
    assert report.read_text(encoding="utf-8").endswith("</html>\n")


@pytest.mark.parametrize("method", METHODS[1:])
def test_every_method_divides_the_shops(method: str, run: Run, shops_csv: Path, tmp_path: Path) -> None:
    labels, model = tmp_path / "l.csv", tmp_path / "m.corollary"
    found = run("cluster", shops_csv, "--k", "3", "--method", method, "--columns", "size", "--columns", "sales",
                "--labels", labels, "--save", model)  # fmt: skip
    assert found.code == 0, found.err
    assert "3 clusters, as asked" in found.out
    assert sorted(pd.read_csv(labels)["cluster"].value_counts().tolist()) == [30, 30, 30]
    assert model.exists()


def test_one_cluster_when_there_is_one(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cloud.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=list("abc")).to_csv(path, index=False)
    found = run("cluster", path, "--report", tmp_path / "r.html")
    assert found.code == 0, found.err
    assert "1 cluster, because" in found.out
    assert "one group" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_beyond_ten_clusters(run: Run, tmp_path: Path) -> None:
    centres = [(10 * i, 10 * j) for i in range(4) for j in range(4)]
    X, _ = make_blobs(640, centers=centres, cluster_std=1.0, random_state=0)
    path = tmp_path / "grid.csv"
    pd.DataFrame(X, columns=["x", "y"]).to_csv(path, index=False)
    found = run("cluster", path)
    assert found.code == 0, found.err
    text = " ".join(found.out.split())
    assert "16 clusters, because Calinski–Harabasz, silhouette and BIC say so" in text
    assert "The clusters are well apart: silhouette 0." in text
    assert "elbow and gap are asked for small k only" in text
    assert all(len(line) <= 80 for line in found.out.splitlines() if str(tmp_path) not in line)


def test_no_structure_is_said(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "even.csv"
    pd.DataFrame(np.random.default_rng(0).uniform(size=(300, 2)), columns=["x", "y"]).to_csv(path, index=False)
    found = run("cluster", path, "--k", "4", "--method", "kmeans", "--report", tmp_path / "r.html")
    assert found.code == 0, found.err
    text = " ".join(found.out.split())
    assert "4 clusters, as asked. No structure was found: a silhouette of 0." in text
    assert "Look at nothing shows that there are groups at all" in text
    assert "No structure was found" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_criterion_at_the_edge_is_a_warning() -> None:
    centres = [(10 * i, 10 * j) for i in range(5) for j in range(6)]
    X, _ = make_blobs(200, centers=centres, cluster_std=0.5, random_state=0)
    study, told = choose_number("kmeans", lambda k: KMeans(k, moves=True, random_state=0), X, 0)
    assert study.ks[-1] == 20  # ten rows for a cluster
    assert study.best["calinski_harabasz"] == 20
    assert "Calinski–Harabasz" in told[0]
    assert "best at k = 20, the largest number that was tried; more clusters might be better still by" in told[0]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "truth"), [("s-set1.csv.gz", 15), ("birch-rg1.csv.gz", 100)])
def test_the_truth_of_benchmarks(name: str, truth: int, run: Run) -> None:
    path = Path(__file__).parents[3] / "shared" / "data" / "clustering" / name
    if not path.exists():
        pytest.skip("the shared data are not there")
    drop = ("--drop", "class") if truth == 15 else ()
    assert f"{truth} clusters, because Calinski–Harabasz, silhouette and BIC say so" in " ".join(
        run("cluster", path, *drop).out.split()
    )


def test_the_same_seed_gives_the_same_labels(run: Run, shops_csv: Path, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        assert run("cluster", shops_csv, "--seed", "3", "--labels", tmp_path / name).code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--k", "0"), ("--k 0", "1 or more")),
        (("--k", "many"), ("--k many", "auto")),
        (("--k", "500"), ("--k 500", "90 rows that differ")),
        (("--method", "magic"), ("--method",)),
        (("--columns", "price"), ("--columns price", "no such column", "'size'")),
        (("--drop", "price"), ("--drop price", "no such column")),
        (("--columns", "size", "--drop", "size"), ("no column is left",)),
        (("--columns", "chain"), ("no usable column", "constant")),
        (("--encoding", "klingon"), ("--encoding klingon",)),
    ],
)
def test_bad_options_are_one_line(arguments: tuple[str, ...], words: tuple[str, ...], run: Run, shops_csv: Path,
                                  tmp_path: Path) -> None:  # fmt: skip
    outputs = ("--report", tmp_path / "r.html", "--save", tmp_path / "m", "--labels", tmp_path / "l.csv")
    refused(run("cluster", shops_csv, *arguments, *outputs), *words)
    assert [each.name for each in tmp_path.iterdir()] == ["shops.csv"]


@pytest.mark.parametrize("option", ["--report", "--save", "--labels"])
def test_outputs_are_checked_before_the_work(option: str, run: Run, shops_csv: Path, tmp_path: Path) -> None:
    refused(run("cluster", shops_csv, "--k", "0", option, tmp_path / "no" / "x"), option, "does not exist")


def test_tables_without_clusters_in_them(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    refused(run("cluster", path), "no such file")
    path.write_text("x\n1\n2\n")
    refused(run("cluster", path), "2 rows", "at least 5")
    path.write_text("x,y\n" + "1,\n" * 5 + "1,\n")
    refused(run("cluster", path), "no usable column")
    path.write_text("x\n" + "1\n" * 5 + "inf\n")
    refused(run("cluster", path), "t.csv")
