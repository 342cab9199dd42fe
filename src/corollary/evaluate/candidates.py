"""The models to try, in one or more configurations: those of the registry that suit the task, or the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from corollary.registry import Entry, all_estimators
from corollary.spaces import Space

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

    def space(self, rows: int) -> Space:
        """What is tried of it; of the user's models, what they are."""
        return self.source.space(rows) if isinstance(self.source, Entry) else Space(cost=0, share=0.15, wide="plain")

    @property
    def baseline(self) -> bool:
        return self.name == BASELINE


@dataclass(frozen=True)
class Configuration:
    """A candidate with some of its parameters set."""

    candidate: Candidate
    settings: Mapping[str, Any] = field(default_factory=dict)

    def make(self, seed: int) -> Any:
        """A new model with these settings."""
        model = self.candidate.make(seed)
        return model.set_params(**self.settings) if self.settings else model

    @property
    def model(self) -> str:
        """The name of the candidate."""
        return self.candidate.name

    @property
    def chosen(self) -> dict[str, Any]:
        """What differs from the defaults of the class."""
        source = self.candidate.source
        if not isinstance(source, Entry):
            return dict(self.settings)
        usual = source.load()().get_params(deep=False)
        found = {**source.arguments, **self.settings}
        return {name: value for name, value in found.items() if usual.get(name) != value}


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
