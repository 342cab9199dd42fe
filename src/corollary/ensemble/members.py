"""Members of an ensemble: seeding, fitting with weights, many at once, and what they leave of its evidence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

import joblib
import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import check_random_state

from corollary.core.inner_models import weakened as weakened
from corollary.core.inner_models import weight_argument as weight_argument
from corollary.core.membership import as_member
from corollary.core.parallel import map_blocks
from corollary.core.types import Array

T = TypeVar("T")
SEEDS = 2**31 - 1


def generator(random_state: Any) -> np.random.RandomState:
    """The random numbers that a seed, a generator of either kind, or None stands for."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    numbers: np.random.RandomState = check_random_state(random_state)
    return numbers


def seeded(estimator: Any, random: np.random.RandomState) -> Any:
    """An unfitted copy with every ``random_state`` in it set to a number drawn from ``random``."""
    member = clone(estimator)
    names = sorted(name for name in member.get_params(deep=True) if name.split("__")[-1] == "random_state")
    return member.set_params(**{name: int(random.randint(SEEDS)) for name in names}) if names else member


def refuse_other_kind(ensemble: Any, estimator: Any) -> None:
    """Raise ValueError for a regressor as a member of a classifier, or the other way round."""
    wanted, other, given = ("classifier", is_regressor, "regressor")
    if is_regressor(ensemble):
        wanted, other, given = ("regressor", is_classifier, "classifier")
    if estimator is not None and other(estimator):
        raise ValueError(f"{type(ensemble).__name__}: estimator must be a {wanted}, but {estimator!r} is a {given}.")


def refuse_other_columns(before: int | None, now: int) -> None:
    """Raise ValueError where ``warm_start`` would go on with members of other columns than X has."""
    if before != now:
        raise ValueError(
            f"warm_start needs the {before} columns of the last fit; X has {now}. Give the same columns, or begin anew "
            "with warm_start=False."
        )


def refuse_other_classes(before: Any, now: Any) -> None:
    """Raise ValueError where ``warm_start`` would go on with members that tell other classes apart than y has."""
    if not np.array_equal(before, now):
        raise ValueError(
            f"warm_start needs the same classes as the fit before, {_shown(before)}, but y has {_shown(now)}. Begin "
            "anew with warm_start=False."
        )


def refuse_other_categories(before: dict[int, Any], now: dict[int, Any]) -> None:
    """Raise ValueError where trees of the last fit split columns by categories that would now be others."""
    for column in sorted(before.keys() | now.keys()):
        old, new = before.get(column), now.get(column)
        if old is None or new is None:
            was, is_ = ("numbers", "categories") if old is None else ("categories", "numbers")
            raise ValueError(
                f"warm_start goes on from a fit to which column {column} was one of {was}, but it is one of {is_} now. "
                "Give it as before, or begin anew with warm_start=False."
            )
        if not np.array_equal(old, new):
            raise ValueError(
                f"warm_start needs the same categories in column {column} as the fit before, {_shown(old)}, but it has "
                f"{_shown(new)}. Give rows of every category, or begin anew with warm_start=False."
            )


def _shown(values: Any) -> str:
    """Up to eight of them."""
    values = np.asarray(values).tolist()
    return f"{values!r}" if len(values) <= 8 else f"[{', '.join(map(repr, values[:8]))}, … ({len(values)})]"


def fit_member(
    member: Any, X: Any, y: Any, weights: Array | None = None, *, one_of_many: bool = True,
    told: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Fit, with weights if there are any and the member takes them; ``one_of_many`` costs no proof of its own.

    ``told``: what its fit is called with instead of weights.
    """
    name = None if weights is None else weight_argument(member)
    known = {} if name is None else {name: weights}
    with as_member() if one_of_many else nullcontext():
        member.fit(X, y, **(known if told is None else told))
    return member


def check_members(members: Iterable[Any], labels: Array | None) -> None:
    """Raise ValueError if a member, as a file holds it, speaks of classes that the ensemble does not have."""
    for member in members:
        classes = getattr(member, "classes_", None)
        if (classes is None) != (labels is None):
            raise ValueError(f"a member is {type(member).__name__}, which is not of the kind of the ensemble.")
        if labels is not None and not (isinstance(classes, np.ndarray) and np.isin(classes, labels).all()):
            raise ValueError(f"a member has the classes {classes!r}, but the ensemble has {labels!r}.")


def is_ours(estimator: Any) -> bool:
    """Whether a model's fit releases the interpreter lock, so that threads serve it better than processes."""
    return type(estimator).__module__.split(".")[0] == "corollary"


def in_order(
    calls: Sequence[Callable[[], T]], models: Iterable[Any], n_jobs: int | None, prefer: str | None = None
) -> Generator[T, None, None]:
    """What the calls return, in their order, as it comes: on our threads if all models are ours, else by joblib.

    Closing the generator ends what has not been waited for.
    """
    if all(map(is_ours, models)):
        yield from map_blocks(lambda start, stop: calls[start](), len(calls), 1)
        return
    results = joblib.Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(
        joblib.delayed(call)() for call in calls
    )
    try:
        for result in results:  # noqa: UP028 - ``yield from`` would close the results itself, with a warning
            yield result
    finally:
        with warnings.catch_warnings():  # joblib warns of results that nobody waited for
            warnings.simplefilter("ignore", UserWarning)
            results.close()
