"""One hostile fit, and many of them in processes that may die without taking the others along."""

from __future__ import annotations

import multiprocessing as mp
import os
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

import numpy as np

LIMIT, PATIENCE = 20.0, 120.0  # seconds for a fit; and for its second try, which may have kernels to compile
BUSY = 5.0  # times that, where other processes take the processor

# in the order of the table; those that must not be are marked
OUTCOMES = ("error", "not proved", "confirmed", "undecided", "refuted", "not finite", "broken", "hang", "crash")
FAILURES = frozenset({"refuted", "not finite", "broken", "hang", "crash"})


@dataclass(frozen=True)
class Fit:
    """What came of one fit; ``number`` and the seed reproduce it."""

    number: int
    name: str
    outcome: str
    words: str = ""
    label: str = ""
    second: bool | None = None  # whether another solver agrees, where one was asked


def drawn(seed: int, number: int, only: str | None = None) -> tuple[Any, Any, str]:
    """The model and the hostile data of that number, and how to print them."""
    import hostile_models as models
    from hostile_data import draw
    from sklearn.utils import get_tags
    from sklearn.utils.validation import has_fit_parameter

    rng = np.random.default_rng([seed, number])
    name = only or models.NAMES[number % len(models.NAMES)]
    settings = models.TABLE[name][int(rng.integers(len(models.TABLE[name])))]
    model = models.make(name, settings, number)
    target = models.target_of(name, settings)
    weighted, sparse = has_fit_parameter(model, "sample_weight"), get_tags(model).input_tags.sparse
    with np.errstate(all="ignore"):
        data = draw(rng, target, sparse=sparse, weighted=weighted)
    return model, data, f"{name}({', '.join(f'{k}={v!r}' for k, v in settings.items())}) on {data}"


def one_fit(seed: int, number: int, only: str | None = None) -> Fit:
    """Draw a model and hostile data, fit, and put the claim to the referee."""
    from second_opinion import second_opinion

    model, data, label = drawn(seed, number, only)
    name, rng = type(model).__name__, np.random.default_rng([seed, number, 1])
    options = {} if data.weights is None else {"sample_weight": data.weights}
    given = (data.X,) if data.y is None else (data.X, data.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(*given, **options)
        except ValueError as error:
            return Fit(number, name, "error", str(error), label)
        except Exception:
            return Fit(number, name, "broken", traceback.format_exc(limit=-3), label)
        try:
            outcome, words = _judged(model, data)
            again = second_opinion(model, data, rng) if outcome in ("confirmed", "undecided") else None
        except Exception:
            return Fit(number, name, "broken", "while judging: " + traceback.format_exc(limit=-3), label)
    if again is not None and not again[0]:
        outcome, words = "refuted", again[1]
    return Fit(number, name, outcome, words, label, None if again is None else again[0])


def _judged(model: Any, data: Any) -> tuple[str, str]:
    evidence = model.evidence_
    if not evidence.holds:
        return "not proved", str(evidence)
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(model, method):
            try:
                said = np.asarray(getattr(model, method)(data.X))
            except ValueError as error:  # as in fit: a sentence is an answer
                return "error", str(error)
            if said.dtype.kind == "f" and not np.isfinite(said).all():
                return "not finite", f"{method} says NaN or inf; {evidence}"
    found = evidence.verify(data.X, data.y, data.weights)
    return {True: "confirmed", None: "undecided", False: "refuted"}[found.stands], str(found)


def _work(seed: int, only: str | None, pipe: connection.Connection) -> None:
    """A worker: a number comes, a Fit goes."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    while (number := pipe.recv()) is not None:
        pipe.send(one_fit(seed, number, only))


class _Worker:
    def __init__(self, seed: int, only: str | None) -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(seed, only, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.number: int | None = None
        self.limit = self.began = self.spent = 0.0

    def give(self, number: int, limit: float) -> None:
        # importing and compiling at the very first fit is not the fit's fault
        self.number, self.limit, self.began, self.spent = number, limit, time.monotonic(), self._cpu()
        self.pipe.send(number)

    @property
    def hangs(self) -> bool:
        """Whether its time is over: on a busy machine that of the processor counts, and a long wait all the same."""
        waited = time.monotonic() - self.began
        return waited > self.limit and (self._cpu() - self.spent > self.limit or waited > BUSY * self.limit)

    def _cpu(self) -> float:
        """Seconds of processor time so far; where the system does not tell, those of the wall clock."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return time.monotonic()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def many_fits(seed: int, numbers: Iterable[int], processes: int, only: str | None = None) -> Iterator[Fit]:
    """The fits of these numbers, as they come. A process that dies or hangs is replaced; a hang is tried once more."""
    waiting = [(number, LIMIT) for number in reversed(list(numbers))]
    retried: set[int] = set()
    workers = [_Worker(seed, only) for _ in range(processes)]
    fresh = set(map(id, workers))
    try:
        while waiting or any(worker.number is not None for worker in workers):
            for worker in workers:
                if worker.number is None and waiting:
                    number, limit = waiting.pop()
                    worker.give(number, max(limit, PATIENCE) if id(worker) in fresh else limit)
                    fresh.discard(id(worker))
            busy = {worker.pipe: worker for worker in workers if worker.number is not None}
            ready = connection.wait(list(busy), timeout=0.5)
            for at, worker in enumerate(workers):
                if worker.number is None:
                    continue
                number, outcome = worker.number, ""
                if worker.pipe in ready:
                    try:
                        yield worker.pipe.recv()
                        worker.number = None
                        continue
                    except (EOFError, ConnectionResetError):
                        worker.process.join(5)
                        outcome = "crash"
                elif worker.hangs:
                    outcome = "hang"
                if not outcome:
                    continue
                code = worker.process.exitcode
                worker.end()
                workers[at] = _Worker(seed, only)
                fresh.add(id(workers[at]))
                if number not in retried and outcome == "hang":
                    retried.add(number)
                    waiting.append((number, PATIENCE))
                else:
                    model, _, label = drawn(seed, number, only)
                    words = f"exit code {code}" if outcome == "crash" else "no answer"
                    yield Fit(number, type(model).__name__, outcome, words, label)
    finally:
        for worker in workers:
            worker.end()


def table(fits: list[Fit]) -> str:
    """Counts of outcomes, an estimator a line."""
    names = sorted({fit.name for fit in fits})
    width = max(map(len, [*names, "estimator"]))
    lines = [f"{'estimator':<{width}} {'fits':>6} " + " ".join(f"{o:>10}" for o in OUTCOMES) + f" {'2nd agrees':>10}"]
    for name in [*names, "all"]:
        own = [fit for fit in fits if name in (fit.name, "all")]
        counts = [sum(fit.outcome == outcome for fit in own) for outcome in OUTCOMES]
        agree = sum(fit.second is True for fit in own)
        lines.append(
            f"{name:<{width}} {len(own):>6} " + " ".join(f"{c or '·':>10}" for c in counts) + f" {agree or '·':>10}"
        )
    return "\n".join(lines)
