"""The models to try: those of the registry that suit the task, or the user's own, and a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from corollary.registry import Entry, all_estimators

PRESETS = ("fast", "full")
BASELINE = "Baseline"


@dataclass(frozen=True)
class Candidate:
    """A model to try: its name, its CANON id, and how to make one."""

    name: str
    canon: str
    source: Any  # an entry of the registry, or a model

    def make(self, seed: int) -> Any:
        """A new model, with its ``random_state`` set if it has one that was left open."""
        source = self.source
        model = source.load()(**source.arguments) if isinstance(source, Entry) else clone(source)
        parameters = model.get_params(deep=False)
        return model.set_params(random_state=seed) if parameters.get("random_state", seed) is None else model


def candidates_for(task: str, preset: str, models: Mapping[str, Any] | None) -> list[Candidate]:
    """The registry's models for ``task`` and ``preset`` (or ``models`` instead), and the baseline."""
    if models is not None:
        found = [Candidate(name, "", model) for name, model in models.items()]
    else:
        wanted = PRESETS[: PRESETS.index(preset) + 1]
        entries = (entry for entry in all_estimators(task) if entry.compare in wanted)
        found = [Candidate(entry.name, entry.canon, entry) for entry in entries]
    baseline = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    return [*found, Candidate(BASELINE, "", baseline)]
