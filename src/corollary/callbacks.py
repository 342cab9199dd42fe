"""Callbacks beyond scikit-learn's own: a time budget, early stopping on your validation set, a log of JSON lines.

Attach any of them, or scikit-learn's ``ProgressBar``, to any iterative estimator::

    model.set_callbacks(TimeBudget(seconds=10), JSONLog("fit.jsonl")).fit(X, y)
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import check_scoring

from corollary.core.evidence import Evidence
from corollary.solvers.loop import BackTo


class TimeBudget:
    """Stop a fit after ``seconds``; the best answer so far is kept and ``evidence_`` says how good it is.

    The time is shared by all fits under the outermost one: set on a grid search or a pipeline, it is not the time of
    each fit but of all of them together, the final one included. A fit that finds it spent keeps its start, and warns
    that nothing was fitted.

    Parameters
    ----------
    seconds : float > 0
        Wall-clock seconds from the start of the outermost fit.
    """

    max_propagation_depth: Final = None

    def __init__(self, seconds: float) -> None:
        given: object = seconds
        if not (isinstance(given, (int, float, np.number)) and given > 0):
            raise ValueError(f"TimeBudget: seconds must be > 0, but it is {seconds!r}.")
        self.seconds = seconds
        self._deadline = np.inf

    def setup(self, estimator: Any, context: Any) -> None:
        self._deadline = time.monotonic() + self.seconds

    def spent(self) -> bool:
        """Whether nothing is left; a fit asks before its first iteration."""
        return time.monotonic() >= self._deadline

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        return self.spent()

    def teardown(self, estimator: Any, context: Any) -> None:
        self._deadline = np.inf


class EarlyStopping:
    """Stop when the score on a validation set has not improved for ``patience`` iterations.

    Gradient boosting then keeps the rounds up to the best score, and its evidence says so. Other models keep what is
    best by their own objective, which need not have the best validation score, and warn that they were stopped.

    Parameters
    ----------
    X_val, y_val : array-like
        The validation set; never seen by the fit.
    sample_weight_val : array-like, optional
    scoring : str or callable, optional
        Any scikit-learn scorer; default is the log-loss for classifiers that have probabilities, R² for regressors.
    patience : int ≥ 1
    min_delta : float ≥ 0
        What counts as an improvement.

    Attributes
    ----------
    scores_ : list of float
        The validation score after each iteration.
    """

    def __init__(
        self,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any = None,
        *,
        scoring: Any = None,
        patience: int = 5,
        min_delta: float = 0.0,
    ) -> None:
        if patience < 1:
            raise ValueError(f"EarlyStopping: patience must be ≥ 1, but it is {patience!r}.")
        self.X_val, self.y_val, self.sample_weight_val = X_val, y_val, sample_weight_val
        self.scoring, self.patience, self.min_delta = scoring, patience, min_delta

    def setup(self, estimator: Any, context: Any) -> None:
        self.scores_: list[float] = []
        self._iterations: list[int] = []
        scoring = self.scoring
        if scoring is None and not is_regressor(estimator) and hasattr(estimator, "predict_proba"):
            scoring = "neg_log_loss"
        self._scorer = check_scoring(estimator, scoring)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> bool:
        if fitted_estimator is None:
            return False
        extra = {} if self.sample_weight_val is None else {"sample_weight": self.sample_weight_val}
        self.scores_.append(float(self._scorer(fitted_estimator, self.X_val, self.y_val, **extra)))
        self._iterations.append(int(getattr(context, "record", {}).get("iteration", len(self.scores_))))
        best = int(np.argmax(self.scores_))
        recent = max(self.scores_[-self.patience :])
        earlier = max(self.scores_[: -self.patience], default=-np.inf)
        stop = len(self.scores_) - 1 - best >= self.patience or (
            len(self.scores_) > self.patience and recent <= earlier + self.min_delta
        )
        if stop:
            context.back_to = BackTo(self._iterations[best], type(self).__name__)
        return stop

    def teardown(self, estimator: Any, context: Any) -> None:
        self._scorer = None


class JSONLog:
    """Append one JSON object per iteration to a file, so that a long fit can be followed from outside.

    Each line has the estimator's name, the iteration, the objective, the certificate's value and the seconds.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._file: Any = None

    def setup(self, estimator: Any, context: Any) -> None:
        self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 - closed in teardown, as the protocol has it

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        record = getattr(context, "record", None)  # of an iteration; tasks of other kinds have none
        if record and self._file is not None:
            line = {"estimator": type(estimator).__name__, **record}
            finite = {
                key: value if not isinstance(value, float) or np.isfinite(value) else None
                for key, value in line.items()
            }
            self._file.write(json.dumps(finite) + "\n")
            self._file.flush()
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        if self._file is not None:  # None if it could not be opened
            self._file.close()
            self._file = None


class Progress:
    """What ``verbose`` shows of any fit, on standard output: its iterations, and the evidence it leaves.

    At ``verbose=1`` the first ten iterations have a line each, then every tenth, every hundredth and so on, and any
    that comes a second after the last line; from 2 on all have one. It observes the one loop, as callbacks do.
    ``words`` are those that people know for the numbers of this model's iterations.
    """

    def __init__(self, name: str, verbose: int = 1, words: Mapping[str, str] | None = None) -> None:
        self.name, self.every, self.words = name, verbose > 1, words or {}
        self._parts: dict[str, int] = {}
        self._shown = -np.inf

    def __call__(self, record: dict[str, float], snapshot: Callable[[], Any]) -> bool:
        """Tell of an iteration; never stops the fit."""
        count = int(record["iteration"])
        shown = ((key, value) for key, value in record.items() if key not in ("iteration", "seconds"))
        numbers = (f"{self.words.get(key, key)} {value:.6g}" for key, value in shown)
        self._line(count, ", ".join([f"{self.words.get('iteration', 'iteration')} {count}", *numbers]))
        return False

    def between(self) -> bool:
        """Tell that one of several starts has ended; never stops the fit."""
        self.part("start")
        return False

    def part(self, what: str) -> None:
        """Tell that a part of a fit has ended: a fold, a strength, a start."""
        count = self._parts[what] = self._parts.get(what, 0) + 1
        self._line(count, f"{what} {count} done")

    def say(self, text: str) -> None:
        """A line of its own."""
        self._write(text)

    def end(self, evidence: Evidence) -> None:
        """The last line."""
        self._write(str(evidence))

    def _line(self, count: int, text: str) -> None:
        now = time.monotonic()
        if self.every or now - self._shown >= 1.0 or count < 10 or count % 10 ** (len(str(count)) - 1) == 0:
            self._shown = now
            self._write(text)

    def _write(self, text: str) -> None:
        stream = sys.stdout
        if stream is None or getattr(stream, "closed", False):  # a service without a console
            return
        with suppress(OSError, ValueError):  # nobody reads any more, or it was closed just now: no reason to lose a fit
            stream.write(f"{self.name}: {text}\n")  # in one piece: other threads may write as well
            stream.flush()
