"""Every estimator has its line in the table of memory, and a line that can be measured."""

from __future__ import annotations

import pytest
from benchmarks import promises
from benchmarks.workload import OURS

from corollary.registry import ESTIMATORS

OF_IMAGES = {"HaarFeatures", "CascadeClassifier"}  # a column is a pixel to these


def test_every_estimator_is_measured() -> None:
    assert {promise.name for promise in promises.PROMISES} == set(ESTIMATORS) - OF_IMAGES
    names = [check.name for check in promises.CHECKS]
    assert len(set(names)) == len(names) == 2 * len(promises.PROMISES)


def test_parameters_are_known() -> None:
    for promise in promises.PROMISES:
        ESTIMATORS[promise.name].load()(**promise.parameters)._check_parameters()


def test_a_promise_is_words_with_a_formula() -> None:
    for promise in promises.PROMISES:
        assert bool(promise.words) == (promise.most is not None)
        for dtype in promises.DTYPES:
            bar = promise.bar(dtype)
            assert bar is None or promises.SLACK / 1e6 < bar < 1000


@pytest.mark.parametrize("dtype", promises.DTYPES)
def test_a_fit_is_measured_in_a_process_of_its_own(dtype: str) -> None:
    found = dict(promises.measure(promises.PROMISES[0], dtype, quick=True))
    assert found["X"] == pytest.approx(2000 * 8 * (4 if dtype == "float32" else 8) / 1e6)
    assert 0 <= found[OURS] < 200
    assert found["over X"] == pytest.approx(found[OURS] / found["X"])
