"""The fuzzer of model files: saved models of every estimator, changed, loaded, and asked everything.

    python tests/io/fuzz.py --mutations 100000 --seed 1 --processes 15
    python tests/io/fuzz.py --seed 1 --only 4711

A file is refused, or its model answers with numbers or with a ValueError. A crash, a hang, NaN, a huge allocation or
any other error is a failure, told with the number that makes it happen again.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import multiprocessing
import os
import resource
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fuzz_mutations as mutations
import numpy as np
from fuzz_subjects import SLOW, Subject, has_nan, subjects
from threadpoolctl import threadpool_limits

from corollary import io
from corollary.core.parallel import threads

HANG_SECONDS = 10.0
_MEMORY = 6 * 2**30  # more than this beyond what fitting took is a huge allocation
_SLOW_SHARE = 0.1


@dataclass
class Report:
    """How many files ended in which way, and what must not have happened."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{counts}; {len(self.failures)} failures"


class Fuzzer:
    """Fitted models and their files."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.subjects = subjects()
        self.contents = [mutations.encoded(subject.model) for subject in self.subjects]
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.TemporaryDirectory(prefix="corollary-fuzz-", dir=place)
        for subject, content in zip(self.subjects, self.contents, strict=True):
            self._learn(subject, content)

    def _learn(self, subject: Subject, content: Any) -> None:
        """What the model says before its file is touched; also compiles whatever it needs."""
        path = Path(self.folder.name)
        mutations.write(path / "plain", content)
        model = io.load(path / "plain")
        for name, ask in subject.questions(model, path):
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                subject.plain[name] = has_nan(ask())
        assert {"repr", "clone", "save"} <= set(subject.plain), (subject.name, subject.plain)

    def forged(self, number: int) -> tuple[Subject, Any, str, np.random.Generator]:
        """Mutation ``number``: its model, the changed content, and what was changed."""
        rng = np.random.default_rng([self.seed, number])
        at, other = number % len(self.subjects), int(rng.integers(len(self.subjects)))
        content, said = mutations.mutated(self.contents[at], self.contents[other], rng)
        return self.subjects[at], content, said, rng

    def once(self, number: int) -> tuple[str, str | None]:
        """(how it ended, what failed)."""
        subject, content, said, rng = self.forged(number)
        folder = Path(self.folder.name) / str(os.getpid())
        folder.mkdir(exist_ok=True)
        try:
            mutations.write(folder / "model", content)
        except (ValueError, TypeError):
            return "not writable", None
        label = f"{number} [{subject.name}] {said}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = io.load(folder / "model")
            except io.ModelFileError:
                return "refused", None
            except Exception:
                return "failed", f"{label}: load\n{traceback.format_exc(limit=-3)}"
            if type(model) is not type(subject.model):
                return "another class", None
            return self._asked(subject, model, folder, label, rng)

    def _asked(
        self, subject: Subject, model: Any, folder: Path, label: str, rng: np.random.Generator
    ) -> tuple[str, str | None]:
        ended = "answered"
        for name, ask in subject.questions(model, folder):
            if name not in subject.plain or (name in SLOW and rng.random() > _SLOW_SHARE):
                continue
            try:
                answer = ask()
            except ValueError:
                ended = "answered with an error"
            except Exception:
                return "failed", f"{label}: {name}\n{traceback.format_exc(limit=-4)}"
            else:
                if has_nan(answer) and not subject.plain[name]:
                    return "failed", f"{label}: {name} has NaN"
        return ended, None


def _work(fuzzer: Fuzzer, numbers: list[int], channel: Any, log: str) -> None:
    """In a process of its own: tell what is begun and how it ended."""
    with open(log, "w") as file:
        faulthandler.enable(file)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with open("/proc/self/statm") as statm:
            used = max(used, int(statm.read().split()[0]) * resource.getpagesize())
        resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
        for number in numbers:
            channel.send(("begin", number, None))
            channel.send(("end", *fuzzer.once(number)))
        channel.send(("done", None, None))
        channel.close()


class _Worker:
    """One process, watched."""

    def __init__(self, fuzzer: Fuzzer, numbers: list[int]) -> None:
        self.left, self.fuzzer = numbers, fuzzer
        self.begun: int | None = None
        context = multiprocessing.get_context("fork")
        self.channel, theirs = context.Pipe(duplex=False)
        handle, self.log = tempfile.mkstemp(prefix="fault-", dir=fuzzer.folder.name)
        os.close(handle)
        self.process = context.Process(target=_work, args=(fuzzer, numbers, theirs, self.log), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about threads: there are none
            self.process.start()
        theirs.close()
        self.heard = self._clocks()

    def _clocks(self) -> tuple[float, float]:
        """Seconds of the processor that this process has had, and seconds on the wall."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0, time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), time.monotonic()

    def listen(self, report: Report) -> bool:
        """Whether it is done; what it says goes into the report."""
        try:
            while self.channel.poll(0):
                kind, first, second = self.channel.recv()
                self.heard = self._clocks()
                if kind == "done":
                    return True
                if kind == "begin":
                    self.begun = first
                    continue
                self.left, self.begun = self.left[1:], None
                report.counts[first] += 1
                if second is not None:
                    report.failures.append(second)
        except EOFError:
            self.process.join()
        return False

    def fallen(self) -> str | None:
        """Why it will say nothing more, if so."""
        if not self.process.is_alive() and not self.channel.poll(0):
            return f"the process died with {self.process.exitcode}"
        worked, waited = (now - then for now, then in zip(self._clocks(), self.heard, strict=True))
        if worked > HANG_SECONDS or waited > 12 * HANG_SECONDS:  # other processes may keep the machine busy
            self.process.kill()
            self.process.join()
            return f"no answer in {worked:.1f} s of work, {waited:.0f} s in all"
        return None

    def replaced(self, reason: str, report: Report) -> _Worker | None:
        """Another process for the rest, after the mutation that made this one fall is reported."""
        subject, _, said, _ = self.fuzzer.forged(self.left[0])
        trace = "\n".join(Path(self.log).read_text().splitlines()[:12])
        report.counts["fell"] += 1
        report.failures.append(f"{self.left[0]} [{subject.name}] {said}: {reason}\n{trace}")
        return _Worker(self.fuzzer, self.left[1:]) if self.left[1:] else None


def run(count: int, seed: int = 0, processes: int = 1, *, loud: bool = False) -> Report:
    """Mutations 0 … count − 1 of a seed."""
    fuzzer, report, began = Fuzzer(seed), Report(), time.monotonic()
    if loud:
        print(f"{len(fuzzer.subjects)} models fitted", flush=True)
    shares = [list(range(first, count, processes)) for first in range(processes)]
    workers = [_Worker(fuzzer, share) for share in shares if share]
    shown, told = began, 0
    while workers:
        time.sleep(0.02)
        for worker in list(workers):
            if worker.listen(report):
                worker.process.join()
                workers.remove(worker)
            elif (reason := worker.fallen()) is not None:
                workers.remove(worker)
                another = worker.replaced(reason, report)
                workers += [another] if another is not None else []
        if loud and time.monotonic() - shown > 20:
            shown = time.monotonic()
            print(f"{shown - began:.0f} s: {report}", *report.failures[told:], sep="\n", flush=True)
            told = len(report.failures)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of mutations to run in this process")
    arguments = parser.parse_args()
    with threads(1), threadpool_limits(1):  # there is a process for each core
        return _fuzz(arguments)


def _fuzz(arguments: argparse.Namespace) -> int:
    if arguments.only:
        faulthandler.enable()
        fuzzer = Fuzzer(arguments.seed)
        results = [fuzzer.once(number) for number in arguments.only]
        print(*(f"{ended}: {failure}" for ended, failure in results), sep="\n")
        return int(any(failure for _, failure in results))
    report = run(arguments.mutations, arguments.seed, arguments.processes, loud=True)
    print(*report.failures, report, sep="\n")
    return int(bool(report.failures))


if __name__ == "__main__":
    raise SystemExit(main())
