"""Three ways to measure the luck of a search: nested folds, shuffled targets, a bootstrap of held-out predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

from corollary.evaluate.jobs import Progress, about, run_jobs
from corollary.evaluate.metrics import Score
from corollary.evaluate.nested import judge_search
from corollary.evaluate.optimisation_bias import OptimisationBias, bootstrap_optimisation_bias
from corollary.evaluate.recorded import record, recorded_models
from corollary.evaluate.scoring import (
    NamedScorer,
    as_search,
    check_rows,
    fitted,
    held_out_share,
    is_search,
    scorer_of,
    splits_of,
    take,
)

PERMUTATIONS, DRAWS = 30, 200
SHUFFLES = 9  # of the rows held out from a search on shuffled targets


@dataclass(frozen=True)
class Study:
    """A search, its rows, and how its fits are run."""

    search: Any
    scorer: NamedScorer
    X: Any
    y: Any
    cv: Any
    groups: Any
    weights: Any
    seed: int
    n_jobs: int | None
    progress: Progress | None
    resume: Any

    @classmethod
    def of(
        cls, search: Any, X: Any, y: Any, cv: Any, inner: Any, scoring: Any, groups: Any, weights: Any, seed: int,
        n_jobs: int | None, progress: Progress | None, resume: Any,
    ) -> Study:  # fmt: skip
        """Checked: what is no search is refused here."""
        check_rows(X, y, groups=groups, sample_weight=weights)
        if not (isinstance(search, Mapping) or hasattr(search, "fit")):
            raise ValueError(f"search must be a search or models by name, but it is a {type(search).__name__}.")
        search = as_search(search, scoring, inner)
        return cls(search, scorer_of(search, None), X, y, cv, groups, weights, seed, n_jobs, progress, resume)

    def run(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]], what: str, **others: Any) -> list[Any]:
        """The jobs' results, with the progress, the file and the parallelism that were asked for."""
        known = None if self.resume is None else about(
            self.search, self.X, self.y, weights=self.weights, groups=self.groups, **others
        )  # fmt: skip
        return run_jobs(
            function, jobs, what=what, n_jobs=self.n_jobs, progress=self.progress, resume=self.resume, about=known
        )

    def job(self, train: Any, test: Any, y: Any = None, keep: Any = None) -> tuple[Any, ...]:
        """What :func:`judge_search` is called with."""
        y = self.y if y is None else y
        return (self.search, self.scorer, self.X, y, self.weights, self.groups, train, test, keep)

    def all_rows(self) -> tuple[Any, ...]:
        """The search itself, on all rows."""
        return self.job(np.arange(len(np.asarray(self.y))), np.array([], dtype=np.intp))

    def splits(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        return splits_of(self.cv, self.search, self.X, self.y, self.groups)

    def best_of(self, result: Mapping[str, Any]) -> float:
        """The best score that a search reports."""
        best = float(result["inner"])
        if not np.isfinite(best):
            raise ValueError(
                f"search must have a best_score_ after its fit (GridSearchCV has, or models by name), but "
                f"{type(self.search).__name__} has none."
            )
        return best


def by_nesting(study: Study, repeats: int | None) -> OptimisationBias:
    """Best inner score less the score of the choice on the outer fold, with the corrected interval of their mean."""
    splits = study.splits()
    jobs = [study.all_rows(), *(study.job(train, test) for train, test in splits)]
    whole, *folds = study.run(judge_search, jobs, "nesting", splits=splits)
    best = study.best_of(whole)
    luck = Score(tuple(study.best_of(fold) - fold["score"] for fold in folds), held_out_share(splits))
    interval = (luck.mean - luck.half_width, luck.mean + luck.half_width)
    return OptimisationBias("nesting", best, luck.mean, interval, True, whole["tried"], len(folds))


def by_permutation(study: Study, repeats: int | None) -> OptimisationBias:
    """Best score of searches on shuffled targets less the score to be expected of what they chose."""
    repeats, splits = repeats or PERMUTATIONS, study.splits()
    jobs: list[tuple[Any, ...]] = [(study, None, *study.all_rows()[6:8])]
    jobs += [(study, number, *splits[number % len(splits)]) for number in range(repeats)]
    whole, *others = study.run(_shuffled_search, jobs, "permutation", splits=splits, seed=study.seed)
    best = study.best_of(whole)
    chance = np.array([each["inner"] for each in others])
    luck = chance - np.array([each["score"] for each in others])
    # of the luck of one search, not of the mean of many; and a search that finds something has less luck than these,
    # down to none where one configuration is clearly the best: the interval begins there
    half = float(stats.t.ppf(0.975, repeats - 1) * np.std(luck, ddof=1) * np.sqrt(1 + 1 / repeats))
    mean = float(luck.mean())
    p_value = float((1 + np.count_nonzero(chance >= best)) / (1 + repeats))
    return OptimisationBias(
        "permutation", best, mean, (min(mean, 0.0) - half, mean + half), True, whole["tried"], repeats, p_value
    )


def _shuffled_search(study: Study, number: int | None, train: Any, test: Any) -> dict[str, Any]:
    """One search on shuffled targets (``number`` None: as they are), judged on held-out rows with many shuffles of
    theirs: a model that has learnt nothing has the same chances with each."""
    if number is None:
        return judge_search(*study.job(train, test))
    rng, y = np.random.default_rng([study.seed, number]), np.asarray(study.y).copy()
    kept: dict[str, Any] = {}
    y[train] = y[rng.permutation(train)]
    result = judge_search(*study.job(train, test, y, lambda model: kept.update(model=model)))
    rows, weights = take(study.X, test), take(study.weights, test)
    again = [study.scorer(kept["model"], rows, rng.permutation(y[test]), weights) for _ in range(SHUFFLES)]
    return result | {"score": float(np.mean([result["score"], *again]))}


def by_bootstrap(study: Study, repeats: int | None) -> OptimisationBias:
    """Choose on a bootstrap sample of rows that were predicted while held out, score on the others."""
    if not is_search(study.search):
        raise ValueError(f"method='bootstrap' needs a search such as GridSearchCV, not {type(study.search).__name__}.")
    estimator, settings = study.search.estimator, _settings(study)
    splits = splits_of(study.search.cv, estimator, study.X, study.y, study.groups)
    jobs = [
        (clone(estimator).set_params(**each), study.X, study.y, study.weights, train, test)
        for each in settings
        for train, test in splits
    ]
    results = study.run(record, jobs, "bootstrap", splits=splits, settings=settings)
    parts = [results[start : start + len(splits)] for start in range(0, len(results), len(splits))]
    models, rows = recorded_models(parts, [test for _, test in splits], estimator, study.y)
    y, weights = np.asarray(study.y)[rows], None if study.weights is None else np.asarray(study.weights)[rows]
    scorer = study.scorer.of_predictions

    def score(configuration: int, chosen: NDArray[np.intp]) -> float:
        some = {} if weights is None else {"sample_weight": weights[chosen]}
        return float(scorer(models[configuration], chosen, y[chosen], **some))

    return bootstrap_optimisation_bias(
        score,
        len(models),
        len(rows),
        greater_is_better=True,
        draws=repeats or DRAWS,
        seed=study.seed,
        groups=None if study.groups is None else np.asarray(study.groups)[rows],
    )


def _settings(study: Study) -> list[dict[str, Any]]:
    """The configurations that the search tries; those of a grid are known without a fit."""
    if isinstance(study.search, GridSearchCV):
        return list(ParameterGrid(study.search.param_grid))
    done = study.search
    if not hasattr(done, "cv_results_"):
        done = fitted(clone(done), study.X, study.y, study.weights, study.groups)
    tried: list[dict[str, Any]] = []
    for each in done.cv_results_["params"]:
        if each not in tried:
            tried.append(each)
    return tried


BY_METHOD: dict[str, Callable[[Study, int | None], OptimisationBias]] = {
    "nesting": by_nesting,
    "permutation": by_permutation,
    "bootstrap": by_bootstrap,
}
