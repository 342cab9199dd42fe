"""``corollary warmup`` uses what a first fit or query of a network would compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from corollary import registry
from corollary.cli import warming
from corollary.graphical import states

Run = Callable[..., Any]


def test_text_of_frames_is_warmed_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    networks = [entry for entry in registry.all_estimators() if entry.module == "graphical.network"]
    found, encode = [], states.text_codes

    def seen(*column: Any) -> Any:
        found.append(encode(*column))
        return found[-1]

    monkeypatch.setattr(warming, "all_estimators", lambda: networks)
    monkeypatch.setattr(states, "text_codes", seen)
    assert run("warmup").code == 0
    assert any(codes is not None for codes in found)
