"""NUMBA_DISABLE_JIT=1 runs every kernel as plain Python: slowly, and to the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corollary._compiled import _jit

pytestmark = pytest.mark.skipif(not _jit.HAVE_NUMBA, reason="there is nothing to compare with")

CONTRACT = Path(__file__).parents[1] / "contract"


def answers() -> dict[str, Any]:
    """What a tiny model of every class says about its rows."""
    sys.path.insert(0, str(CONTRACT))
    import instances
    import unlabelled

    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in instances.FIRST:
            X, y = case.data(n=24)
            found |= {f"{case.name}.{k}": v for k, v in instances.outputs(case.make().fit(X, y), X).items()}
        for rows in unlabelled.FIRST:
            X = rows.rows(n=24)
            found |= {f"{rows.name}.{k}": v for k, v in unlabelled.said(rows.make().fit(X), X).items()}
    return found


def test_plain_python_gives_the_same_answers(tmp_path: Path) -> None:
    path = tmp_path / "answers.npz"
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import numpy, test_without_jit as t; "
    program += f"assert not t._jit.HAVE_NUMBA; numpy.savez({str(path)!r}, **t.answers())"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    compiled, plain = answers(), np.load(path)
    assert set(plain) == set(compiled)
    for name, value in compiled.items():
        if np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(plain[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(plain[name], value, err_msg=name)


def test_kernels_do_not_warn() -> None:
    """Of whole numbers that wrap around on purpose, in hashes of leaves and in random numbers."""
    program = """
import numpy as np
from corollary import DecisionTreeRegressor, RandomForestRegressor
X = np.random.default_rng(0).normal(size=(40, 3))
for model in (RandomForestRegressor(2, max_depth=4, random_state=0), DecisionTreeRegressor(max_features=1)):
    assert model.fit(X, X[:, 0]).predict(X).shape == (40,)
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", program]
    subprocess.run(command, env=environment, timeout=300, check=True)


def test_bits_and_back() -> None:
    """The stand-ins for what only machine code can do, in a process of their own."""
    program = """
from corollary._compiled import _jit
for number in (0.0, 1.0, -2.5, 5e-324, 1.7e308, float("inf")):
    assert _jit.float_of(_jit.bits_of(number)) == number
assert _jit.float_of(_jit.bits_of(1.5) + (3 << 52)) == 12.0
assert _jit.float_of(_jit.bits_of(1.5) + (_jit.bits_of(-1.0) << 52)) == 1.5
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, timeout=300, check=True)
