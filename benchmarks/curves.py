"""How time falls with threads, ours beside the peers': ``python -m benchmarks.curves`` (``make bench-threads``).

A workload is run by ``python -m benchmarks`` once for each number of threads, in a process that sees as many cores and
no more, so that everybody's default is that number. With few threads several workloads run at once, each on cores of
its own and on half of the machine together; from half of the cores on, one at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks import find, machine, results
from benchmarks.results import REACHED
from benchmarks.table import NONE, Table, duration, size
from benchmarks.workload import OURS

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "docs" / "curves.json"
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "COROLLARY_NUM_THREADS")
NOISE = 1.1  # more threads that take a tenth longer than fewer are slower


@dataclass(frozen=True)
class Bars:
    """What is asked for on the most cores: against the best peer, and against ourselves on one."""

    peer: float = 1.0
    speedup: float | None = None


SCALED: dict[tuple[str, str], Bars] = {
    ("trees", "boosting-binary"): Bars(1.2, 8.0),
    ("trees", "random-forest"): Bars(1.0, 8.0),
    ("trees", "exact-tree"): Bars(),
    ("trees", "adaboost"): Bars(),
    ("trees", "boosting-predict"): Bars(),
    ("clusters", "k-means-64"): Bars(3.0, 8.0),
    ("clusters", "gaussian-mixture-full"): Bars(10.0, 8.0),
    ("clusters", "neighbors-8"): Bars(1.0, 8.0),
    ("clusters", "neighbors-64"): Bars(1.5, 8.0),
    ("clusters", "linkage-average"): Bars(),
    ("clusters", "k-medoids"): Bars(),
    ("clusters", "pca-tall"): Bars(),
    ("linear", "ols"): Bars(),
    ("linear", "lasso-dense"): Bars(),
    ("linear", "logistic-l2"): Bars(1.5),
    ("linear", "softmax"): Bars(),
}


@dataclass
class Curve:
    """Seconds by candidate and number of threads; only of those that reached the quality asked for."""

    family: str
    name: str
    title: str
    sizes: tuple[int, int]
    seconds: dict[str, dict[int, float]] = field(default_factory=dict)
    date: str = ""

    @property
    def ours(self) -> dict[int, float]:
        return self.seconds.get(OURS, {})

    @property
    def most(self) -> int:
        return max(self.ours, default=0)

    @property
    def speedup(self) -> float | None:
        """One thread over the most."""
        return self.ours[1] / self.ours[self.most] if 1 in self.ours and self.most > 1 else None

    @property
    def best_peer(self) -> tuple[str, float] | None:
        """Who is fastest on the most threads beside us."""
        found = {who: times[self.most] for who, times in self.seconds.items() if who != OURS and self.most in times}
        return min(found.items(), key=lambda item: item[1], default=None)

    @property
    def slower(self) -> int | None:
        """The first number of threads that takes longer than fewer do."""
        least = float("inf")
        for threads, seconds in sorted(self.ours.items()):
            if seconds > NOISE * least:
                return threads
            least = min(least, seconds)
        return None

    @property
    def verdict(self) -> str:
        bars, peer, losses = SCALED[self.family, self.name], self.best_peer, []
        if not self.ours:
            return "LOSS: ours was not measured"
        if peer is not None and peer[1] / self.ours[self.most] < bars.peer:
            losses.append("slower than the bar")
        if bars.speedup is not None and self.speedup is not None and self.speedup < bars.speedup:
            losses.append("gains less than the bar")
        if self.slower is not None:
            losses.append(f"slower with {self.slower} threads than with fewer")
        return f"LOSS: {', '.join(losses)}" if losses else "met"


def write(path: Path, here: Mapping[str, str], curves: Iterable[Curve]) -> None:
    """The machine and its curves, as JSON."""
    text = json.dumps({"machine": dict(here), "curves": [asdict(curve) for curve in curves]}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path = STORE) -> tuple[dict[str, str], list[Curve]]:
    """What was written; nothing when there was no run."""
    if not path.exists():
        return {}, []
    content = json.loads(path.read_text(encoding="utf-8"))
    curves = [Curve(**{**entry, "sizes": tuple(entry["sizes"])}) for entry in content["curves"]]
    for curve in curves:
        curve.seconds = {
            who: {int(threads): value for threads, value in times.items()} for who, times in curve.seconds.items()
        }
    return content["machine"], curves


def _start(family: str, name: str, cores: Sequence[int], target: Path, options: Sequence[str]) -> subprocess.Popen[str]:
    """A run of one workload on these cores."""
    environment = dict(os.environ) | dict.fromkeys(VARIABLES, str(len(cores)))
    code = "import os, sys; os.sched_setaffinity(0, map(int, sys.argv.pop(1).split(','))); from benchmarks.__main__ "
    code += "import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, ",".join(map(str, cores)), family, "--only", name, "--json", str(target)]
    command += ["--no-memory", "--no-growth", *options]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, text=True)


def _collect(curve: Curve, threads: int, target: Path) -> None:
    """Take over the times of one run."""
    if target.exists():
        for record in results.read(target)[1]:
            assert isinstance(record, results.Race)
            curve.date = record.date
            for outcome in record.outcomes:
                if outcome.status == REACHED and outcome.times:
                    curve.seconds.setdefault(outcome.name, {})[threads] = outcome.best


def measure(works: Sequence[tuple[str, str]], counts: Sequence[int], options: Sequence[str] = ()) -> Iterator[Curve]:
    """Yield each curve anew whenever a number of threads has been added to it."""
    cores = sorted(os.sched_getaffinity(0))
    workloads = {key: find(*key) for key in works}
    curves = {key: Curve(*key, workload.title, workload.sizes) for key, workload in workloads.items()}
    with tempfile.TemporaryDirectory() as folder:
        for threads in counts:
            places = max(1, len(cores) // (2 * threads))
            free = [cores[place * threads : (place + 1) * threads] for place in range(places)]
            waiting, running = list(works), list[tuple[tuple[str, str], list[int], Path, subprocess.Popen[str]]]()
            while waiting or running:
                while waiting and free:
                    key, place = waiting.pop(0), free.pop()
                    target = Path(folder) / f"{key[1]}-{threads}.json"
                    running.append((key, place, target, _start(*key, place, target, options)))
                for entry in [entry for entry in running if entry[3].poll() is not None]:
                    running.remove(entry)
                    free.append(entry[1])
                    _collect(curves[entry[0]], threads, entry[2])
                    yield curves[entry[0]]
                time.sleep(0.05)


def overview(curves: Sequence[Curve]) -> Table:
    """One row a workload: what threads bring, and the best peer on the most of them."""
    header = ("workload", "size", "threads", "ours", "over one thread", "best peer", "ratio", "bars", "verdict")
    rows = []
    for curve in curves:
        bars, peer, speedup = SCALED[curve.family, curve.name], curve.best_peer, curve.speedup
        least = curve.ours.get(curve.most)
        asked = f"≥ {bars.peer:g}× the peer" + ("" if bars.speedup is None else f", ≥ {bars.speedup:g}× one thread")
        rows.append(
            (
                curve.title,
                size(curve.sizes),
                str(curve.most),
                NONE if least is None else duration(least),
                NONE if speedup is None else f"{speedup:.1f}×",
                NONE if peer is None else f"{duration(peer[1])} {peer[0]}",
                NONE if peer is None or least is None else f"{peer[1] / least:.2f}",
                asked,
                curve.verdict,
            )
        )
    return Table("What threads bring", header, tuple(rows))


def times(curves: Sequence[Curve]) -> Table:
    """Every candidate with every number of threads."""
    counts = sorted({threads for curve in curves for seconds in curve.seconds.values() for threads in seconds})
    rows = [
        (curve.name, who, *(duration(seconds[count]) if count in seconds else NONE for count in counts))
        for curve in curves
        for who, seconds in curve.seconds.items()
    ]
    header = ("workload", "candidate", *(f"{count} thread{'s' if count > 1 else ''}" for count in counts))
    return Table("Threads and time", header, tuple(rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", nargs="*", help="workloads (default: all)")
    parser.add_argument("--threads", default="1,2,4,8,16", help="numbers of threads (default %(default)s)")
    parser.add_argument("--repeats", default="3", help="rounds (default %(default)s)")
    parser.add_argument("--cap", default="10", help="seconds of timing per candidate (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small sizes: checks the harness")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the figures; those of others in it are kept")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for, print it as it comes and write it down; returns the exit code."""
    options = _parser().parse_args(arguments)
    if not hasattr(os, "sched_setaffinity"):
        sys.exit("Curves need a system on which a process can be given some of the cores (Linux).")
    works = [key for key in SCALED if not options.name or key[1] in options.name]
    counts = [count for count in map(int, options.threads.split(",")) if count <= len(os.sched_getaffinity(0))]
    passed = ["--repeats", options.repeats, "--cap", options.cap, *(["--quick"] if options.quick else [])]
    here = machine.describe()
    there, old = read(options.write) if options.write else ({}, [])
    known = {curve.name: curve for curve in old if machine.same_hardware(here, there)}
    for curve in measure(works, counts, passed):
        known[curve.name] = curve
        for who, seconds in curve.seconds.items():
            shown = "  ".join(f"{threads}: {duration(value)}" for threads, value in seconds.items())
            print(f"{curve.name:24} {who:20} {shown}", flush=True)
        if options.write:  # after every run: what breaks off later loses nothing
            write(options.write, here, [known[name] for _, name in SCALED if name in known])
    return 0


if __name__ == "__main__":
    sys.exit(main())
