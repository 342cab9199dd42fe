"""A kernel takes the codes of ``codes.py`` and no others: an unknown one is an error, never some other loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from corollary._compiled import codes, losses
from corollary._compiled.linear import cd, column_model, columns, row_pass
from corollary.core.loss import LOSSES as LOSS_CLASSES
from corollary.core.loss import Squared
from corollary.core.parallel import run_team
from corollary.core.trees.binning import Binner
from corollary.solvers.trees.boosting.growth import Growth
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.boosting.rules import HistogramRules

ONE = np.ones(1)


def value(code: int) -> float:
    return float(losses.loss_block(code, 0.5, ONE, 0.3 * ONE, ONE, np.zeros(1), np.zeros(1)))


def values(code: int) -> float:
    sums = np.zeros(1)
    run_team(losses.loss_rows, code, 0.5, False, ONE, 0.3 * ONE, ONE, 1, np.zeros(1), np.zeros(1), sums)
    return float(sums[0])


def conjugate(code: int) -> float:
    sums = np.zeros(1)
    # a dual point in the domain of every conjugate
    run_team(losses.conjugate_rows, code, 0.5, ONE, -0.1 * ONE, ONE, False, 1, sums)
    return float(sums[0])


def whole_pass(code: int) -> float:
    total = np.zeros(row_pass.HEAD + 2)
    rows, model = (np.ones((1, 1)), np.zeros(1)), (0.3 * ONE, 0.0)
    run_team(
        row_pass.loss_pass, rows, model, (code, 0.5, False), ONE, ONE, (1, 1), np.zeros(1), np.zeros(1),
        np.zeros((1, len(total))), total,
    )  # fmt: skip
    return float(total.sum())


def constant(code: int) -> float:
    return float(losses.best_shift(code, 0.5, ONE, 0.0 * ONE, ONE, 0.0, 1.0, 1.0))


def gram(code: int) -> float:
    return float(cd.gram_epochs(np.eye(1), -2.0 * ONE, np.zeros(1), code, 0.1, 0.1, 3, 0.0))


def gram_fit(code: int) -> float:
    small = 1e-8, 0.0, 3
    return float(cd.gram_fit(np.eye(1), 2.0 * ONE, 4.0, 0.0, np.zeros(1), np.zeros(1), code, 0.1, 0.1, *small)[1])


def _descend(code: int, rows: Any) -> float:
    w, places, one = np.zeros(1), np.array([0, 1]), np.array([0])
    scratch = one.copy(), np.zeros((6, 1)), np.zeros((6, 1))
    given = ONE, rows, places, one, np.zeros(1), ONE, ONE, 0.0, -2.0 * ONE, w
    columns.descend(*given, code, 0.1, 0.1, 0.0, 0.0, 3, *scratch)
    return float(w[0])


def dense(code: int) -> float:
    return _descend(code, np.empty(0, np.int32))


def sparse(code: int) -> float:
    return _descend(code, np.zeros(1, np.int32))


def model(code: int) -> float:
    w, one = np.zeros(1), np.array([0])
    matrix = ONE, np.zeros(1, np.int32), np.array([0, 1])
    sums = np.zeros(1), np.zeros(1)
    column_model.model_epoch(matrix, one, one, True, ONE, -2.0 * ONE, 0.0, w, *sums, (code, 0.1, 0.1), 0.0)
    return float(w[0])


TAKES_LOSS = [value, values, conjugate, constant, whole_pass]
TAKES_PENALTY = [gram, dense, sparse, model]


@pytest.mark.parametrize("call", TAKES_LOSS)
def test_every_loss_has_its_branch_and_others_are_refused(call: Callable[[int], Any]) -> None:
    assert np.isfinite([call(code) for code in codes.LOSSES]).all()
    for unknown in (-1, len(codes.LOSSES), 10**6):
        with pytest.raises(ValueError, match="Unknown loss code"):
            call(unknown)


@pytest.mark.parametrize("call", TAKES_PENALTY)
def test_every_penalty_has_its_branch_and_others_are_refused(call: Callable[[int], Any]) -> None:
    assert np.isfinite([call(code) for code in codes.PENALTIES]).all()
    for unknown in (-1, len(codes.PENALTIES), 10**6):
        with pytest.raises(ValueError, match="Unknown penalty code"):
            call(unknown)


def test_a_count_is_not_taken_for_another_penalty_where_it_has_no_branch() -> None:
    """It has no conjugate, and no value in a model of slopes: there it would have been that of the L1 penalty."""
    assert np.isfinite([gram_fit(codes.ELASTIC), gram_fit(codes.POSITIVE)]).all()
    for other in (codes.COUNT, -1, len(codes.PENALTIES)):
        with pytest.raises(ValueError, match="Unknown penalty code"):
            gram_fit(other)
    assert np.isfinite(columns._value(ONE, ONE, 0.0, ONE, codes.ELASTIC, 0.1, 0.1))
    assert np.isnan(columns._value(ONE, ONE, 0.0, ONE, codes.COUNT, 0.1, 0.1))


def test_a_code_without_a_branch_would_give_nan() -> None:
    """What an added code meets in a kernel that was not taught it (the plain Python of the kernels that call it)."""
    missing = len(codes.LOSSES)
    assert np.isnan(losses._point.py_func(missing, 0.5, 1.0, 0.3)).all()
    assert np.isnan(losses._conjugate.py_func(missing, 0.5, 1.0, -0.1))
    for z in (-2.0, 0.0, 2.0):
        assert np.isnan(cd._minimiser(len(codes.PENALTIES), z, 1.0, 0.1, 0.1))


def test_a_round_of_boosting_differentiates_the_losses_it_knows_and_others_give_nan() -> None:
    X, known = np.arange(6.0)[:, None], (codes.SQUARED, codes.LOGISTIC, codes.SOFTMAX)
    binner, objective = Binner.fit(X), Objective(Squared(), np.zeros(6), np.ones(6), 1)
    growth = Growth(binner.words(X), binner, objective, np.full((1, 6), 0.3), HistogramRules(), 0.1)
    for code in (*known, *set(codes.LOSSES).difference(known), -1, len(codes.LOSSES), 10**6):
        growth.gradient[:] = growth.hessian[:] = 1.0
        loss = growth._derive(objective, (code, *growth.target[1:]))
        found = [loss, *growth.gradient[0], *growth.hessian[0]]
        assert np.isfinite(found).all() if code in known else np.isnan(found).all(), code


def test_no_two_losses_share_a_code() -> None:
    used = [loss.code for loss in LOSS_CLASSES.values() if loss.code >= 0]
    assert len(set(used)) == len(used)
    assert set(used) == {*codes.LOSSES, codes.SOFTMAX}
