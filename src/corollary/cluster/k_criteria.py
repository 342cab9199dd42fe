"""What says how many clusters there are: five criteria, each a number for every k and a rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import calinski_harabasz_score, silhouette_score

from corollary.core.types import Array
from corollary.solvers.cluster_scores import (
    box_around,
    chord_distances,
    gap_choice,
    rows_without_clusters,
    spherical_bic,
    within_dispersion,
)


@dataclass(frozen=True)
class Study:
    """The data and what was fitted to them: for each k a model and its labels."""

    X: Array  # as the models saw it
    scaled: Array  # centred and of magnitude one, so that no square overflows
    ks: Array
    models: Sequence[Any]
    labels: Sequence[Array]
    sample: Array  # row numbers for what is too costly on all rows
    label_rows: Callable[[int, Array], Array]  # a fresh fit with k clusters to other rows
    references: int
    random: np.random.RandomState
    n_jobs: int | None

    def dispersions(self) -> Array:
        """Within-cluster sums of squares, never quite zero."""
        found = np.array([within_dispersion(self.scaled, labels)[0] for labels in self.labels])
        return np.maximum(found, self.least)

    @property
    def least(self) -> float:
        total = float(((self.scaled - self.scaled.mean(axis=0)) ** 2).sum())
        return total * float(np.finfo(np.float64).eps)


class Criterion(ABC):
    """A number for each k, and which k it speaks for."""

    name: ClassVar[str]
    title: ClassVar[str]
    rule: ClassVar[str]
    judges_one: ClassVar[bool] = False  # whether it can say that there is one cluster only

    @abstractmethod
    def scores(self, study: Study) -> dict[str, Array]:
        """Columns of the table; the first is the criterion's own."""

    def choose(self, columns: dict[str, Array]) -> int | None:
        """The position of the k it speaks for; None if it has nothing to say."""
        values = columns[self.name]
        return None if np.isnan(values).all() else int(np.nanargmax(values))


def _for_several(study: Study, score: Callable[[Array], float]) -> Array:
    """The score of each division into two clusters or more; NaN elsewhere."""
    found = np.full(len(study.ks), np.nan)
    for position, labels in enumerate(study.labels):
        if 1 < len(np.unique(labels)) < len(labels):
            found[position] = score(labels)
    return found


class CalinskiHarabasz(Criterion):
    name, title = "calinski_harabasz", "Calinski–Harabasz"
    rule = "the largest ratio of the variance between clusters to that within"

    def scores(self, study: Study) -> dict[str, Array]:
        return {self.name: _for_several(study, lambda labels: calinski_harabasz_score(study.scaled, labels))}


class Elbow(Criterion):
    name, title = "elbow", "elbow"
    rule = "the k whose within-cluster sum of squares lies farthest below the chord from the first k to the last"

    def scores(self, study: Study) -> dict[str, Array]:
        dispersion = study.dispersions()
        share = dispersion / max(float(((study.scaled - study.scaled.mean(axis=0)) ** 2).sum()), study.least)
        return {self.name: chord_distances(study.ks, dispersion), "within_share": share}


class Silhouette(Criterion):
    name, title = "silhouette", "silhouette"
    rule = "the largest mean silhouette"

    def scores(self, study: Study) -> dict[str, Array]:
        rows = study.scaled[study.sample]

        def score(labels: Array) -> float:
            found = labels[study.sample]
            return float(silhouette_score(rows, found)) if 1 < len(np.unique(found)) < len(found) else np.nan

        return {self.name: _for_several(study, score)}


class Gap(Criterion):
    name, title = "gap", "gap"
    rule = "the first k whose gap is within one standard error of the next"
    judges_one = True

    def scores(self, study: Study) -> dict[str, Array]:
        whole = len(study.sample) == len(study.X)
        rows = study.X if whole else study.X[study.sample]
        labels = study.labels if whole else [study.label_rows(int(k), rows) for k in study.ks]
        unit = np.abs(rows).max() or 1.0
        here = np.log(np.maximum([within_dispersion(rows / unit, each)[0] for each in labels], study.least))
        box = box_around(rows)
        draws = [rows_without_clusters(box, len(rows), study.random) for _ in range(study.references)]
        tasks = (delayed(_log_dispersion)(study, int(k), draw, unit) for draw in draws for k in study.ks)
        found = Parallel(n_jobs=study.n_jobs, prefer="threads")(tasks)
        there = np.reshape(found, (study.references, len(study.ks)))
        error = there.std(axis=0) * np.sqrt(1 + 1 / study.references)
        return {self.name: there.mean(axis=0) - here, "gap_error": error}

    def choose(self, columns: dict[str, Array]) -> int | None:
        return gap_choice(columns[self.name], columns["gap_error"])


def _log_dispersion(study: Study, k: int, rows: Array, unit: float) -> float:
    return float(np.log(max(within_dispersion(rows / unit, study.label_rows(k, rows))[0], study.least)))


class BIC(Criterion):
    name, title = "bic", "BIC"
    rule = "the lowest Bayesian information criterion"
    judges_one = True

    def scores(self, study: Study) -> dict[str, Array]:
        if all(hasattr(model, "bic") for model in study.models):
            return {self.name: np.array([float(model.bic(study.X)) for model in study.models])}
        d, least = study.X.shape[1], study.least
        pairs = [within_dispersion(study.scaled, labels) for labels in study.labels]
        return {self.name: np.array([spherical_bic(max(W, least), counts, d) for W, counts in pairs])}

    def choose(self, columns: dict[str, Array]) -> int | None:
        return int(np.argmin(columns[self.name]))


CRITERIA: dict[str, Criterion] = {each.name: each for each in (CalinskiHarabasz(), Elbow(), Silhouette(), Gap(), BIC())}


def vote(best: Mapping[str, int], ks: Array) -> tuple[int, str]:
    """The k that more criteria name than any other; if there is none, their lower median. And why, in a sentence.

    If all criteria that can judge k = 1 name it, those that cannot do not count.
    """
    if not best:
        raise ValueError(f"No criterion can choose among k = {ks.tolist()}; try more numbers of clusters.")
    judges = [name for name in best if CRITERIA[name].judges_one]
    if judges and all(best[name] == 1 for name in judges):
        others = [name for name in best if name not in judges]
        aside = f"; {_titles(others)} cannot tell one cluster from several" if others else ""
        return 1, f"1 cluster, because {_titles(judges)} found no more{aside}."
    votes = {k: [name for name in best if best[name] == k] for k in sorted(set(best.values()))}
    most = max(map(len, votes.values()))
    first = [k for k, names in votes.items() if len(names) == most]
    if len(first) > 1:
        number = sorted(best.values())[(len(best) - 1) // 2]
        noun = "cluster" if number == 1 else "clusters"
        return number, f"{number} {noun}, the median, because the criteria disagree: {_say(votes)}."
    number = first[0]
    winners = votes.pop(number)
    agreed = "agree" if not votes and most > 1 else "say so" if most > 1 else "says so"
    noun = "cluster" if number == 1 else "clusters"
    return number, f"{number} {noun}, because {_titles(winners)} {agreed}{f' ({_say(votes)})' if votes else ''}."


def _say(votes: Mapping[int, Sequence[str]]) -> str:
    return "; ".join(f"{_titles(names)} say{'s' * (len(names) == 1)} {k}" for k, names in votes.items())


def _titles(names: Sequence[str]) -> str:
    titles = [CRITERIA[name].title for name in names]
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
