"""``import corollary`` is lazy, and its names are those of the registry."""

from __future__ import annotations

import subprocess
import sys

import pytest

import corollary
from corollary.registry import ESTIMATORS, FUNCTIONS

HEAVY = ("numba", "scipy.optimize", "sklearn", "numpy", "pandas", "matplotlib", "typer", "rich")


def modules_after(statement: str) -> set[str]:
    """The modules of a fresh interpreter after one statement."""
    code = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing() -> None:
    loaded = modules_after("import corollary")
    assert {name for name in loaded if name.startswith("corollary")} == {"corollary", "corollary.registry"}
    assert not {name for name in loaded if name.split(".")[0] in HEAVY or name == "scipy.optimize"}


def test_listing_estimators_loads_none_of_them() -> None:
    loaded = modules_after("import corollary; corollary.all_estimators(); dir(corollary)")
    assert {name for name in loaded if name.startswith("corollary")} == {"corollary", "corollary.registry"}


def test_an_estimator_does_not_load_the_others_nor_a_compiler() -> None:
    loaded = modules_after("import corollary; corollary.Lasso")
    assert "corollary.linear.lasso" in loaded
    assert "corollary.linear.logistic" not in loaded
    assert "numba" not in loaded
    assert "matplotlib" not in loaded


def test_dir_has_everything_public() -> None:
    names = dir(corollary)
    assert set(ESTIMATORS) <= set(names)
    assert set(FUNCTIONS) <= set(names)
    assert names == sorted(names)
    for name in corollary.__all__:
        assert getattr(corollary, name) is not None


def test_modules_are_reachable() -> None:
    assert corollary.linear.Lasso is corollary.Lasso
    assert corollary.core.__name__ == "corollary.core"
    assert set(corollary.linear.__all__) >= {"Lasso", "lasso_path", "LogisticRegression"}


def test_linear_models_go_by_scikit_learns_module_too() -> None:
    from corollary.linear_model import Ridge

    assert Ridge is corollary.Ridge
    assert corollary.linear_model.__all__ == corollary.linear.__all__
    assert "corollary.linear.lasso" not in modules_after("from corollary.linear_model import Ridge")


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="module 'corollary' has no attribute 'Lassoo'"):
        _ = corollary.Lassoo
    with pytest.raises(AttributeError, match=r"module 'corollary\.linear' has no attribute 'Lassoo'"):
        _ = corollary.linear.Lassoo
    with pytest.raises(ImportError):
        from corollary import Lassoo  # noqa: F401


def test_judging_is_light_to_import() -> None:
    loaded = modules_after("import corollary.evaluate; dir(corollary.evaluate)")
    assert {name for name in loaded if name.startswith("corollary")} == {
        *("corollary", "corollary.registry", "corollary.evaluate")
    }
