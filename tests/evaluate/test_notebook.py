"""Progress in a notebook, and the head of a comparison as it is shown there."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import corollary
from corollary.evaluate.notebook import in_notebook, notebook_progress

TABLE = pd.DataFrame({"x": np.arange(60.0), "y": 3 * np.arange(60.0) + np.arange(60) % 4})


class Kernel:
    """Stands for IPython in a kernel: keeps what is displayed."""

    def __init__(self, kernel: object = True) -> None:
        self.shown: list[str] = []
        self.shell = SimpleNamespace(kernel=kernel)
        self.display = SimpleNamespace(display=self._display)

    def get_ipython(self) -> Any:
        return self.shell

    def _display(self, thing: Any, display_id: bool) -> Any:
        assert display_id
        self.update(thing)
        return self

    def update(self, thing: Any) -> None:
        self.shown.append(thing._repr_html_())


def test_a_bar_follows_a_comparison_in_a_notebook_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notebook_progress() is None
    kernel = Kernel()
    monkeypatch.setitem(sys.modules, "IPython", kernel)  # type: ignore[arg-type]
    corollary.compare(TABLE, "y", models={"ridge": corollary.Ridge()}, folds=3)
    assert kernel.shown[0].startswith("<div")
    assert "<progress value=" in kernel.shown[0]
    last = kernel.shown[-1]
    done = int(last.split('value="')[1].split('"')[0])
    assert f'max="{done}"' in last
    assert f"{done} of {done} fits (" in last
    before = len(kernel.shown)
    calls: list[int] = []
    corollary.compare(TABLE, "y", models={"ridge": corollary.Ridge()}, folds=3, progress=lambda *a: calls.append(a[0]))
    assert calls
    assert len(kernel.shown) == before
    monkeypatch.setitem(sys.modules, "IPython", Kernel(kernel=None))  # type: ignore[arg-type]
    assert not in_notebook()  # IPython in a terminal


def test_the_head_of_a_comparison() -> None:
    result = corollary.compare(
        TABLE, "y", models={"ridge": corollary.Ridge(), "a<b": corollary.Lasso(alpha=1.0)}, folds=3
    )
    shown = result._repr_html_()
    assert shown.index(f"<b>{result.best.replace('<', '&lt;')}</b> predicts <b>y</b>") < shown.index("<table ")
    assert "a&lt;b" in shown
    for row in result.rows:
        assert row.verdict in shown
    assert "<b>optimal</b>: a bound was computed" in shown
    assert "a<b" not in shown
