"""``cluster``: a table divided into groups of similar rows, why so many, and what they look like."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples, silhouette_score
from sklearn.pipeline import Pipeline

from corollary.core.evidence import Evidence
from corollary.evaluate.cluster_number import choose_number
from corollary.evaluate.cluster_profile import Trait, traits, typical_rows
from corollary.evaluate.cluster_structure import Structure, find_structure
from corollary.evaluate.compare import versions
from corollary.evaluate.cross_validation import Progress, evidence_of
from corollary.solvers.cluster_scores import distinct_rows
from corollary.tabular.columns import preparation
from corollary.tabular.messages import InputError, count, one_line, sentences
from corollary.tabular.reading import read_table
from corollary.tabular.roles import Column, DataFacts, choose_columns

if TYPE_CHECKING:
    from corollary.cluster.choose_k import KChoice

METHODS = ("auto", "kmeans", "gmm", "medoids", "hierarchical", "spectral")
_CHOOSING_ROWS = 5000  # rows on which k is chosen
_SILHOUETTE_ROWS = 2000  # and the method
_CLEARLY = 0.01  # by how much another method must beat k-means in silhouette to be taken instead


@dataclass(frozen=True, eq=False)
class Clustering:
    """What ``cluster`` found.

    Attributes
    ----------
    k, method, labels
        The number of clusters, the estimator's name, and the cluster of each row, from 0.
    reason : str
        Why this number and this method.
    model_ : Pipeline
        Preparation and clusterer, fitted to every row.
    sizes, typical : arrays of shape (k,)
        Rows in each cluster, and the row (from 0) nearest to its mean.
    traits : tuple of Trait
        Each column in each cluster, those that tell clusters apart best first.
    silhouettes : pair of arrays
        Row numbers of a sample and their silhouettes.
    choice : KChoice or None
        The table of criteria, if k was chosen.
    structure : Structure or None
        Whether the rows divide better than rows without clusters do; None for one cluster.
    warnings : tuple of str
        What to know about the choice of k: a criterion that is best at the largest number tried.
    prepared : array
        The sampled rows as the model saw them.
    """

    facts: DataFacts
    k: int
    method: str
    reason: str
    model_: Any
    labels: NDArray[Any]
    sizes: NDArray[np.int64]
    typical: NDArray[np.int64]
    traits: tuple[Trait, ...]
    silhouettes: tuple[NDArray[np.int64], NDArray[np.float64]]
    prepared: NDArray[np.float64]
    choice: KChoice | None
    evidence: Evidence | None
    notes: tuple[str, ...]
    settings: Mapping[str, Any]
    structure: Structure | None = None
    warnings: tuple[str, ...] = ()

    def summary(self) -> str:
        """What was found, for someone who will read nothing else: how many, why, and whether there is anything."""
        if self.k == 1:
            return f"{self.reason} The rows are best described as one group."
        return self.reason if self.structure is None else f"{self.reason} {self.structure}"

    @property
    def silhouette(self) -> float:
        """The mean silhouette of the sample; NaN for one cluster."""
        return float(self.silhouettes[1].mean())

    def silhouette_of(self, each: int) -> float:
        """The mean silhouette of one cluster's rows in the sample."""
        rows, values = self.silhouettes
        mine = values[self.labels[rows] == each]
        return float(mine.mean()) if len(mine) else np.nan


def cluster(
    data: Any,
    *,
    k: int | str = "auto",
    method: str = "auto",
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    seed: int = 0,
    header: bool = True,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Clustering:
    """Divide the rows of a table into clusters; every column is prepared as ``compare`` prepares it.

    Parameters
    ----------
    data : path or data frame
        Text (CSV, TSV), JSON lines, Parquet, Arrow, Feather or Excel, also packed (``.gz``, ``.zip``, …); ``"-"`` is
        standard input; or a pandas, polars or pyarrow table.
    k : int ≥ 1 or "auto"
        "auto" asks the criteria of :func:`corollary.choose_k` on at most 5000 rows, for up to 250 clusters.
    method : {"auto", "kmeans", "gmm", "medoids", "hierarchical", "spectral"}
        "auto" is k-means, unless a mixture, k-medoids or Ward's method has a clearly better silhouette.
    columns, drop : sequences of str
        Columns to use (all by default), and columns to leave out.
    seed : int
    header, encoding
        Of a text file.
    progress : callable, optional
        Called with (steps done, steps in all, what is being done).

    Returns
    -------
    Clustering
    """
    say = progress or (lambda done, total, name: None)
    if method not in METHODS:
        raise InputError(f"--method {method}: expected one of {', '.join(METHODS)}")
    settings = {"k": k, "method": method, "seed": seed, "columns": tuple(columns), "drop": tuple(drop),
                "header": header, "encoding": encoding, "from_file": isinstance(data, str | os.PathLike),
                "versions": versions()}  # fmt: skip
    table = read_table(data, header=header, encoding=encoding)
    frame, facts = choose_columns(table, columns, drop)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prepare = _preparation(facts.used, len(frame))
        rows = prepare.fit_transform(frame)
        wanted = _wanted_k(k, rows, table.source)
        say(0, 4, "choosing the number of clusters")
        few = _sample(len(frame), _CHOOSING_ROWS, seed)
        choice, edge = (None, ()) if wanted else choose_number(
            method, lambda each: _estimator("kmeans" if method == "auto" else method, each, seed), _dense(rows[few]),
            seed,
        )  # fmt: skip
        number = wanted or (choice.k if choice else 1)
        say(1, 4, "choosing the method")
        sample = _sample(len(frame), _SILHOUETTE_ROWS, seed)
        prepared = _dense(rows[sample])
        name, why = _method(method, number, prepared, seed)
        say(2, 4, name)
        model = _fitted(name, number, rows, seed, table.source)
        say(3, 4, "the same with rows that have no clusters")
        structure = find_structure(lambda: _estimator(name, number, seed), number, prepared, seed)
        say(4, 4, name)
    evidence = evidence_of(model)
    labels = np.asarray(model.labels_ if hasattr(model, "labels_") else model.predict(rows)).astype(np.int64)
    return Clustering(
        facts=facts,
        k=number,
        method=type(model).__name__,
        reason=_reason(wanted, choice, few, len(frame), why),
        model_=Pipeline([("prepare", prepare), ("model", model)]),
        labels=labels,
        sizes=np.bincount(labels, minlength=number),
        typical=_typical(rows, labels, number),
        traits=traits(frame, facts.used, labels, number),
        silhouettes=(sample, _silhouettes(prepared, labels[sample])),
        prepared=prepared,
        choice=choice,
        evidence=evidence,
        notes=(*table.notes, *sentences(caught, evidence)),
        settings=settings,
        structure=structure,
        warnings=edge,
    )


def _preparation(used: Sequence[Column], n: int) -> Any:
    """That of ``compare``, less the columns that say "was missing": one such row would be a cluster of its own."""
    prepare = preparation(used, n)
    known = prepare.get_params()
    names = [name for name in known if name.endswith("__simpleimputer__add_indicator")]
    return prepare.set_params(**dict.fromkeys(names, False))


def _wanted_k(k: int | str, rows: Any, source: str) -> int | None:
    """The number that was asked for, None for "auto"; refused unless so many rows differ."""
    try:
        number = None if k == "auto" else int(k)
    except ValueError:
        number = 0
    if number is not None and number < 1:
        raise InputError(f"--k {k}: expected auto or a whole number of 1 or more")
    different = distinct_rows(_dense(rows), max(2, number or 0))
    if different < 2:
        raise InputError(f"{source}: all rows are the same in the columns that are used; there is nothing to divide")
    if number is not None and number > different:
        raise InputError(f"--k {k}: {source} has {count(different, 'row')} that differ, too few for {k} clusters")
    return number


def _dense(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _sample(n: int, size: int, seed: int) -> NDArray[np.int64]:
    return np.arange(n) if n <= size else np.sort(np.random.default_rng(seed).permutation(n)[:size])


def _estimator(name: str, k: int, seed: int) -> Any:
    from corollary.cluster.agglomerative import AgglomerativeClustering
    from corollary.cluster.kmeans import KMeans
    from corollary.cluster.kmedoids import KMedoids
    from corollary.cluster.spectral import SpectralClustering
    from corollary.mixture.gaussian_mixture import GaussianMixture

    makers: dict[str, Callable[[], Any]] = {
        "kmeans": lambda: KMeans(k, n_init=1, moves=True, random_state=seed),
        # a little ridge: indicator columns that are constant within a component must not end the fit
        "gmm": lambda: GaussianMixture(k, reg_covar=1e-3, n_init=2, random_state=seed),
        "medoids": lambda: KMedoids(k, random_state=seed),
        "hierarchical": lambda: AgglomerativeClustering(k),
        "spectral": lambda: SpectralClustering(k, affinity="nearest_neighbors", random_state=seed),
    }
    return makers[name]()


def _method(method: str, k: int, rows: NDArray[np.float64], seed: int) -> tuple[str, str]:
    """The method to use, and why if it was chosen here."""
    if method != "auto":
        return method, ""
    if k == 1 or k >= len(rows):
        return "kmeans", ""
    scores = {}
    for name in ("kmeans", "gmm", "medoids", "hierarchical"):
        try:
            labels = _estimator(name, k, seed).fit_predict(rows)
        except (ValueError, MemoryError):  # a method that cannot take these rows is not the one to take
            continue
        if 1 < len(np.unique(labels)) < len(labels):
            scores[name] = float(silhouette_score(rows, labels))
    best = max(scores, key=lambda name: scores[name], default="kmeans")
    if best == "kmeans" or scores[best] < scores.get("kmeans", -1.0) + _CLEARLY:
        return "kmeans", ""
    return best, f"of four methods it has the best silhouette, {scores[best]:.2f} ({scores['kmeans']:.2f} by k-means)"


def _fitted(name: str, k: int, rows: Any, seed: int, source: str) -> Any:
    model = _estimator(name, k, seed)
    if name in ("kmeans", "gmm"):
        model.set_params(n_init=4)  # the fit that is kept deserves more starts than those that only chose k
    try:
        return model.fit(rows)
    except (ValueError, MemoryError) as error:
        raise InputError(f"{source}: {type(model).__name__} cannot be fitted ({one_line(error)})") from None


def _reason(wanted: int | None, choice: KChoice | None, few: NDArray[Any], n: int, why: str) -> str:
    number = f"{count(wanted or 0, 'cluster')}, as asked." if choice is None else choice.reason
    sampled = f" Chosen on {len(few):,} rows drawn at random." if len(few) < n and choice is not None else ""
    return f"{number}{sampled}{f' The method was chosen because {why}.' if why else ''}"


def _typical(rows: Any, labels: NDArray[Any], k: int) -> NDArray[np.int64]:
    few = _sample(len(labels), 20 * _CHOOSING_ROWS, 0)
    found = typical_rows(_dense(rows[few]), labels[few], k)
    return np.where(found >= 0, few[found], -1)


def _silhouettes(rows: NDArray[np.float64], labels: NDArray[Any]) -> NDArray[np.float64]:
    if not 1 < len(np.unique(labels)) < len(labels):
        return np.full(len(labels), np.nan)
    return np.asarray(silhouette_samples(rows, labels))
