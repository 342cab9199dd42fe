"""Leading eigenpairs by block iteration: against a full decomposition, with repeated eigenvalues and restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary import Status
from corollary.core.types import Array
from corollary.solvers import eigen as eigen_block
from corollary.solvers.eigen import BlockLanczos, leading
from corollary.solvers.loop import Rules, run


def matrix(values: Any, seed: int = 0) -> Array:
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return np.asarray((turn * values) @ turn.T)


def start(n: int, width: int) -> Array:
    return np.random.RandomState(1).standard_normal((n, width))


@pytest.mark.parametrize("kept", [12, 200])
@pytest.mark.parametrize(
    "values",
    [np.linspace(1, 0, 80), np.repeat([3.0, 2.0, 1.0, 0.0], 20), 0.9 ** np.arange(80.0), np.linspace(2, -5, 80)],
)
def test_equals_a_full_decomposition(values: Array, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigen_block, "KEPT", kept)
    monkeypatch.setattr(eigen_block, "KEPT_BLOCKS", 2)
    C = matrix(values)
    found = run(BlockLanczos(lambda V: C @ V, start(80, 8), 4, 1e-9), Rules(10_000, 1e-9))
    pairs = found.state
    assert found.status is Status.CONVERGED
    assert found.certificate.holds
    np.testing.assert_allclose(pairs.values, np.sort(values)[::-1][:4], atol=1e-8)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(4), atol=1e-10)
    measured = np.linalg.norm(C @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    np.testing.assert_allclose(pairs.residuals, measured, atol=1e-12)
    assert measured.max() <= 1.1e-9 * np.abs(pairs.values).max()


def test_the_objective_never_rises() -> None:
    C = matrix(np.linspace(1, 0, 300) ** 2)
    found = run(BlockLanczos(lambda V: C @ V, start(300, 6), 3, 1e-10), Rules(10_000, 1e-10))
    assert (np.diff(found.history["objective"]) <= 1e-12).all()
    assert found.history["certificate"][-1] == found.certificate.value == found.state.residual
    assert found.history["iteration"] == list(range(1, found.n_iter + 1))


def test_limits() -> None:
    C = matrix(np.linspace(1, 0.9, 300))
    algorithm = BlockLanczos(lambda V: C @ V, start(300, 6), 3, 1e-12)
    assert run(algorithm, Rules(4, 1e-12)).status is Status.MAX_ITER
    assert run(algorithm, Rules(999, 1e-12, lambda record, pairs: True)).status is Status.BUDGET
    nothing = leading(lambda V: 0 * V, start(30, 6), 3, 1e-12, 999)
    assert nothing.residual == 0.0
    assert not nothing.values.any()


def test_an_interrupt_keeps_the_best_so_far() -> None:
    C, widths = matrix(np.linspace(1, 0.9, 300)), []

    def apply(V: Array) -> Array:
        if len(widths) == 2:
            raise KeyboardInterrupt
        widths.append(V.shape[1])
        return C @ V

    found = run(BlockLanczos(apply, start(300, 6), 3, 1e-12), Rules(999, 1e-12))
    assert found.status is Status.INTERRUPTED
    assert (found.n_iter, widths) == (2, [6, 6])
    assert np.isfinite(found.state.vectors).all()
    with pytest.raises(KeyboardInterrupt):
        leading(apply, start(300, 6), 3, 1e-12, 999)
