"""What the functions that judge models share: scorers with their range, fits with weights and groups, checked input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from corollary.evaluate.metrics import Score

_UP_TO_ONE = ("r2", "explained_variance", "d2_")
_FRACTIONS = (
    *("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "f1", "precision", "recall", "jaccard"),
    "roc_auc",
)


@dataclass(frozen=True)
class NamedScorer:
    """A scorer (greater is better, as everywhere in scikit-learn), what it is called, and the range of its scores."""

    name: str
    scorer: Any = field(compare=False)
    of_predictions: Any = field(compare=False)  # the same by name: takes weights, and asks only for predictions
    low: float = -np.inf
    high: float = np.inf

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if sample_weight is None:
            return float(self.scorer(model, X, y))
        return float(self.of_predictions(model, X, y, sample_weight=sample_weight))

    @property
    def asked(self) -> Any:
        """All that scores depend on: a scorer of scikit-learn holds its function, its sign and its arguments."""
        return [self.name, self.scorer, self.of_predictions]

    def interval(self, score: Score) -> tuple[float, float]:
        """The score's 95 % interval within the range."""
        low, high = score.mean - score.half_width, score.mean + score.half_width
        return max(low, self.low), min(high, self.high)


def scorer_of(model: Any, scoring: Any) -> NamedScorer:
    """The scorer that ``scoring`` names, or the model's own."""
    if isinstance(scoring, (list, tuple, set, Mapping)):
        raise ValueError(
            "scoring must be one scorer, a name or a callable, but several came; judge with one at a time."
        )
    if isinstance(scoring, str) and scoring not in (names := get_scorer_names()):
        near = get_close_matches(scoring, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else "sklearn.metrics.get_scorer_names() lists them."
        raise ValueError(f"scoring {scoring!r} is not one of scikit-learn's scorers; {hint}")
    own = _own(model) if scoring is None else scoring
    name = own if isinstance(own, str) else _name_of(own)
    low, high = _range(name)
    return NamedScorer(name, check_scoring(model, scoring=scoring), check_scoring(model, scoring=own), low, high)


def _own(model: Any) -> Any:
    """What a model scores by, as a name or a scorer: a search by its ``scoring``, others by what their kind does."""
    inner = getattr(model, "scoring", None)
    if isinstance(inner, Mapping):
        return inner[model.refit]
    if isinstance(inner, (list, tuple, set)):
        return str(model.refit)
    return inner if inner is not None else "accuracy" if is_classifier(model) else "r2"


def _name_of(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", scorer)
    return str(getattr(function, "__name__", type(function).__name__))


def _range(name: str) -> tuple[float, float]:
    if name.startswith("neg_"):
        return -np.inf, 0.0
    if name.startswith(_UP_TO_ONE):
        return -np.inf, 1.0
    if name.startswith("matthews"):
        return -1.0, 1.0
    return (0.0, 1.0) if name.startswith(_FRACTIONS) else (-np.inf, np.inf)


def take(rows: Any, numbers: Any) -> Any:
    """Some rows of an array, a sparse matrix, a table or a list; None of None."""
    if rows is None:
        return None
    if hasattr(rows, "iloc"):
        return rows.iloc[numbers]
    return rows[numbers] if hasattr(rows, "shape") else [rows[number] for number in np.asarray(numbers).tolist()]


def check_rows(X: Any, y: Any, **others: Any) -> int:
    """The number of rows, after X, y and what else has an entry for each row were found to agree."""
    count = _length(X, "X")
    if count < 2:
        raise ValueError(f"X must have at least 2 rows, but it has {count}.")
    for name, values in {"y": y, **others}.items():
        if values is not None and _length(values, name) != count:
            raise ValueError(
                f"{name} must have one entry for each row of X ({count}), but it has {_length(values, name)}."
            )
    return count


def _length(values: Any, name: str) -> int:
    shape = getattr(values, "shape", None)
    try:
        return int(shape[0]) if shape else len(values)
    except (TypeError, IndexError):
        raise ValueError(f"{name} must have rows, but it is a {type(values).__name__}.") from None


def splits_of(cv: Any, model: Any, X: Any, y: Any, groups: Any = None) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Row numbers of each split's training and test part; every part must have rows."""
    splits = [
        (np.asarray(a), np.asarray(b)) for a, b in check_cv(cv, y, classifier=is_classifier(model)).split(X, y, groups)
    ]
    for number, (train, test) in enumerate(splits, start=1):
        if not len(train) or not len(test):
            part = "training" if not len(train) else "test"
            raise ValueError(f"cv: the {part} part of split {number} is empty; use fewer folds or other groups.")
    if len(splits) < 2:
        raise ValueError(f"cv must give at least 2 splits, but it gives {len(splits)}.")
    return splits


def held_out_share(splits: list[tuple[NDArray[Any], NDArray[Any]]]) -> float:
    """Rows in a test part for each row in its training part, on average over the splits."""
    return float(np.mean([len(test) / len(train) for train, test in splits]))


def fitted(model: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
    """The model after ``fit`` with weights, and with groups if it is a search, whose splitter wants them."""
    arguments: dict[str, Any] = {}
    if sample_weight is not None:
        arguments[_weight_name(model)] = sample_weight
    if groups is not None and is_search(model):
        arguments["groups"] = groups
    return model.fit(X, y, **arguments)


def is_search(model: Any) -> bool:
    return hasattr(model, "estimator") and hasattr(model, "cv") and hasattr(model, "refit")


def _weight_name(model: Any) -> str:
    """What the fit calls the weights: those of a pipeline are its last step's."""
    inner = model.estimator if is_search(model) else model
    if isinstance(inner, Pipeline):
        name, last = inner.steps[-1]
        if has_fit_parameter(last, "sample_weight"):
            return f"{name}__sample_weight"
    elif has_fit_parameter(inner, "sample_weight"):
        return "sample_weight"
    raise ValueError(f"sample_weight: {type(inner).__name__} cannot be fitted with weights; leave them out.")


def as_search(search: Any, scoring: Any = None, cv: Any = None) -> Any:
    """A search as it is, or a search among named models; ``scoring`` and ``cv`` replace its own."""
    if isinstance(search, Mapping):
        if not search:
            raise ValueError("search must have at least one model, but the mapping is empty.")
        models = list(search.values())
        return GridSearchCV(Pipeline([("model", models[0])]), {"model": models}, scoring=scoring, cv=cv)
    changed = {name: value for name, value in (("scoring", scoring), ("cv", cv)) if value is not None}
    if not changed:
        return search
    if not is_search(search):
        raise ValueError(
            f"{' and '.join(changed)} can be set for a search such as GridSearchCV, not for {type(search).__name__}."
        )
    return clone(search).set_params(**changed)
