"""A callback that the contract tests watch fits with."""

from __future__ import annotations

from typing import Any


class Recorder:
    """Counts iterations and may do something at one of them."""

    def __init__(self, at: int = -1, error: BaseException | None = None) -> None:
        self.at, self.error, self.seen = at, error, 0
        self.models: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> bool:
        if fitted_estimator is None:
            return False
        self.models.append(fitted_estimator)
        self.seen += 1
        if self.seen == self.at + 1 and self.error is not None:
            raise self.error
        return False

    def teardown(self, estimator: Any, context: Any) -> None: ...
