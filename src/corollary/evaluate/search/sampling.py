"""Drawing configurations: what a space begins with, then at random, then near the best so far."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from corollary.evaluate.candidates import Candidate, Configuration
from corollary.spaces import Range, Space

_NEAR = 0.6  # how often a draw is near the best so far, once there are a few
_ATTEMPTS = 20


class Sampler:
    """The configurations of one candidate, each handed out once."""

    def __init__(self, candidate: Candidate, space: Space, seed: int) -> None:
        self.candidate, self.space = candidate, space
        self._random = np.random.default_rng([seed, *candidate.name.encode()])
        self._seen: set[str] = set()
        self.drawn = 0

    def first(self, count: int) -> list[Configuration]:
        """The first ``count`` that the space begins with."""
        return [found for _ in range(min(count, len(self.space.first))) if (found := self.next(None))]

    def next(self, best: Mapping[str, Any] | None) -> Configuration | None:
        """Another configuration, perhaps near ``best``; None if there is no new one."""
        while self.drawn < len(self.space.first):
            settings = self.space.first[self.drawn]
            self.drawn += 1
            if self._is_new(settings):
                return Configuration(self.candidate, settings)
        if not self.space.ranges:
            return None
        for _ in range(_ATTEMPTS):
            settings = self._draw(best)
            if self._is_new(settings):
                self.drawn += 1
                return Configuration(self.candidate, settings)
        return None

    def _is_new(self, settings: Mapping[str, Any]) -> bool:
        key = json.dumps(dict(settings), sort_keys=True, default=str)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _draw(self, best: Mapping[str, Any] | None) -> dict[str, Any]:
        ranges = self.space.ranges
        drawn = {name: draw(kind, self._random) for name, kind in ranges.items()}
        if best is None or self._random.random() > _NEAR:
            return drawn
        changed = self._random.random(len(ranges)) < max(0.3, 1.5 / len(ranges))
        near = {
            name: near_to(best[name], kind, self._random) if change and name in best else drawn[name] if change
            else best.get(name)
            for (name, kind), change in zip(ranges.items(), changed, strict=True)
        }  # fmt: skip
        return {**best, **{name: value for name, value in near.items() if value is not None}}


def draw(kind: Range, random: np.random.Generator) -> Any:
    """A value of a range, the same chance for each part of its scale."""
    if kind[0] == "one of":
        return kind[1 + int(random.integers(len(kind) - 1))]
    low, high = float(kind[1]), float(kind[2])
    if kind[0] == "linear":
        return round(float(random.uniform(low, high)), 3)
    value = math.exp(random.uniform(math.log(low), math.log(high)))
    return round(value) if kind[0] == "whole" else float(f"{value:.3g}")


def near_to(value: Any, kind: Range, random: np.random.Generator) -> Any:
    """A value of a range that is not far from another: within about a fifth of the scale."""
    if kind[0] == "one of" or not isinstance(value, int | float):
        return draw(kind, random)
    low, high = float(kind[1]), float(kind[2])
    if kind[0] == "linear":
        return round(float(np.clip(value + 0.15 * (high - low) * random.normal(), low, high)), 3)
    step = 0.15 * math.log(high / low) * random.normal()
    moved = float(np.clip(max(value, low) * math.exp(step), low, high))
    return round(moved) if kind[0] == "whole" else float(f"{moved:.3g}")
