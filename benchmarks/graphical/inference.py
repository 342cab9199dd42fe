"""Exact inference: all marginals of alarm given five findings, and a network of 250 variables of treewidth 12.

The network is alarm, from ``../shared/data`` beside the repository; where that is absent, a random one of its size.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphical.sampling import FINDINGS, _ours, _pgmpy, _pyagrum, _written
from benchmarks.memory import extra_peak
from benchmarks.workload import OURS, Candidate, Check, Data, Quality, Workload, load

ROOT = Path(__file__).resolve().parents[2]
Shares = dict[str, list[float]]


def cases(n: int, d: int) -> Data:
    """Findings of the same five leaves in n rows that were drawn, with all marginals that follow, by elimination."""
    path = _written(d)
    network = _ours(path)
    leaves = [name for v, name in enumerate(network._names) if not network.dag.children[v]][:FINDINGS]
    drawn = network.sample(n, random_state=3)
    given = [{name: str(row[name]) for name in leaves} for _, row in drawn[leaves].iterrows()]
    truth = _shares(network.query(None, given[0], method="elimination"))
    return Data(np.empty((n, d), dtype=np.int32), truth, {"path": path, "given": given})


def farthest(data: Data, found: list[Shares]) -> float:
    """The largest difference of a marginal probability of the first case from the truth."""
    return max(float(np.abs(np.subtract(found[0][name], shares)).max()) for name, shares in data.y.items())


def _ours_at_once(data: Data, _: float) -> list[Shares]:
    """A copy of the network has no junction tree yet: each case compiles its own."""
    network = _ours(data.settings["path"])
    return [_shares(copy.copy(network).marginals(given)) for given in data.settings["given"]]


def _ours_again(data: Data, _: float) -> list[Shares]:
    network = copy.copy(_ours(data.settings["path"]))
    return [_shares(network.marginals(given)) for given in data.settings["given"]]


def _shares(answer: Any) -> Shares:
    return {name: list(shares.values()) for name, shares in answer.items()}


def _pyagrum_case(network: Any, engine: Any, given: dict[str, str]) -> Shares:
    engine.setEvidence(given)
    engine.makeInference()
    return {name: engine.posterior(name).toarray().tolist() for name in network.names() if name not in given}


def _pyagrum_at_once(data: Data, _: float) -> list[Shares]:
    network, lazy = _pyagrum(data.settings["path"]), load("pyagrum", "LazyPropagation")
    return [_pyagrum_case(network, lazy(network), given) for given in data.settings["given"]]


def _pyagrum_again(data: Data, _: float) -> list[Shares]:
    network = _pyagrum(data.settings["path"])
    engine = load("pyagrum", "LazyPropagation")(network)
    return [_pyagrum_case(network, engine, given) for given in data.settings["given"]]


def _pgmpy_each(data: Data, _: float) -> list[Shares]:
    model = _pgmpy(data.settings["path"])
    engine, ours, found = load("pgmpy.inference", "VariableElimination")(model), _ours(data.settings["path"]), []
    for given in data.settings["given"]:
        shares = {}
        for v, name in enumerate(ours._names):
            if name not in given:
                factor = engine.query([name], evidence=given, show_progress=False)
                order = [factor.state_names[name].index(state) for state in ours.states_[v].tolist()]
                shares[name] = factor.values[order].tolist()
        found.append(shares)
    return found


def banded(size: int, width: int, seed: int = 0) -> Any:
    """Binary variables, each with four parents among the ``width`` before it, one of which is the farthest."""
    rng = np.random.default_rng(seed)
    parents = [
        tuple(sorted({max(v - width, 0), *rng.integers(max(v - width, 0), v, 3).tolist()})) if v else ()
        for v in range(size)
    ]
    tables = [rng.dirichlet(np.ones(2), size=(2,) * len(above)) if above else np.full(2, 0.5) for above in parents]
    return load("corollary.core.graphical.tables", "TableNetwork").of(parents, tables)


def _large(size: int) -> None:
    """Print seconds and extra bytes at the peak of all marginals given five findings."""
    network, tree = banded(size, 12), load("corollary.solvers.graphical.exact.junction_tree", "JunctionTree")
    rows = np.zeros((1, size), dtype=np.int64)
    tree.of(banded(20, 3), [0]).run(np.zeros((1, 20), dtype=np.int64))  # compiled code is loaded

    def ask() -> None:
        tree.of(network, list(range(0, size, size // 5))).run(rows)

    start = time.perf_counter()
    ask()
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "bytes": extra_peak(ask)}))


def _measured(quick: bool) -> dict[str, float]:
    code = f"from benchmarks.graphical.inference import _large; _large({50 if quick else 250})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def seconds(quick: bool) -> Iterator[tuple[str, float]]:
    yield OURS, _measured(quick)["seconds"]


def megabytes(quick: bool) -> Iterator[tuple[str, float]]:
    yield OURS, _measured(quick)["bytes"] / 1e6


EXACT = Quality("largest error of a marginal", farthest, 1e-7, absolute=True)  # pyAgrum reads files to eight digits

WORKLOADS = (
    Workload(
        "marginals-at-once",
        "All marginals of alarm given 5 findings, from the network (20 times)",
        cases,
        sizes=(20, 37),
        quick_sizes=(2, 12),
        candidates=(
            Candidate(OURS, OURS, _ours_at_once),
            Candidate("pyAgrum (LazyPropagation)", "pyagrum", _pyagrum_at_once),
            Candidate("pgmpy (VariableElimination)", "pgmpy", _pgmpy_each),
        ),
        quality=EXACT,
    ),
    Workload(
        "marginals-again",
        "All marginals of alarm given 5 findings, other findings each time (100 times)",
        cases,
        sizes=(100, 37),
        quick_sizes=(5, 12),
        candidates=(
            Candidate(OURS, OURS, _ours_again),
            Candidate("pyAgrum (LazyPropagation)", "pyagrum", _pyagrum_again),
        ),
        quality=EXACT,
    ),
)

CHECKS = (
    Check("marginals-250", "250 binary variables, treewidth ≤ 12: all marginals given 5", "s", 2.0, False, seconds),
    Check("marginals-250-memory", "the same: memory beyond the network", "MB", 1074.0, False, megabytes),
)
