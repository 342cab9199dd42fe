"""scikit-learn's own checks, on every instance, with no expected failures."""

from __future__ import annotations

from typing import Any

from instances import CASES, OF_IMAGES, TABLE
from sklearn.utils.estimator_checks import parametrize_with_checks
from unlabelled import UNLABELLED

from corollary.registry import ESTIMATORS


def test_every_registered_estimator_is_in_the_table() -> None:
    assert set(TABLE) | set(UNLABELLED) == set(ESTIMATORS) - OF_IMAGES
    assert all(TABLE.values())
    assert all(UNLABELLED.values())


@parametrize_with_checks([case.make() for case in CASES])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
