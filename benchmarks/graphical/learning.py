"""Learning networks from a frame of text: tables by maximum likelihood, the Chow–Liu tree, hill climbing on BIC.

Rows are drawn from alarm (``../shared/data`` beside the repository) or, with another number of variables or where that
is absent, from a random network of the same kind. Reading the frame counts, for everyone.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from benchmarks.graphical.sampling import _ours, _written
from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

Edges = list[tuple[str, str]]


@functools.cache
def _frame(n: int, d: int) -> Any:
    network = _ours(_written(d))
    frame = network.sample(n, random_state=0)
    return frame.astype(str)


def frame(n: int, d: int) -> Data:
    """Rows of text, the network that they come from, and a small copy of them as numbers for the harness to weigh."""
    path = _written(d)
    return Data(np.empty((n, d), dtype=np.int64), None, {"frame": _frame(n, d), "path": path})


# tables: what is learned is read back into a network of ours, which says how likely the rows are


def _edges(path: str) -> Edges:
    network = _ours(path)
    return [(network._names[p], name) for v, name in enumerate(network._names) for p in network.parents_[v].tolist()]


def _our_tables(data: Data, _: float) -> Any:
    model = load("corollary.graphical", "BayesianNetwork")(_edges(data.settings["path"]), pseudo_counts=0.0)
    return model.fit(data.settings["frame"])


def _pgmpy_tables(data: Data, _: float) -> Any:
    model = load("pgmpy.models", "DiscreteBayesianNetwork")(_edges(data.settings["path"]))
    model.add_nodes_from(data.settings["frame"].columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data.settings["frame"]) or model


def _pyagrum_tables(data: Data, _: float) -> Any:
    template = load("pyagrum", "loadBN")(data.settings["path"])
    learner = load("pyagrum", "BNLearner")(data.settings["frame"], template)
    learner.useSmoothingPrior(1e-9)  # without one it refuses states of parents that no row has
    return learner.learnParameters(template.dag())


def surprise(data: Data, fit: Any) -> float:
    """Minus the mean log-likelihood of the rows."""
    if hasattr(fit, "get_cpds"):
        fit = _of_pgmpy(fit)
    elif hasattr(fit, "cpt"):
        fit = _of_pyagrum(fit)
    return -float(fit.score(data.settings["frame"]))


def _network(tables: dict[str, Any], states: dict[str, list[str]]) -> Any:
    return load("corollary.graphical", "BayesianNetwork").from_tables(tables, states)


def _of_pgmpy(model: Any) -> Any:
    tables, states = {}, {}
    for cpd in model.get_cpds():
        name, *parents = cpd.variables
        tables[name] = (parents, np.moveaxis(cpd.values, 0, -1))
        states |= {each: [str(state) for state in cpd.state_names[each]] for each in cpd.variables}
    return _network(tables, states)


def _of_pyagrum(model: Any) -> Any:
    tables, states = {}, {}
    for name in model.names():
        table = model.cpt(name)
        tables[name] = (list(reversed(table.names[1:])), table.toarray())
        states[name] = list(model.variable(name).labels())
    return _network(tables, states)


# trees


def _our_tree(data: Data, _: float) -> Edges:
    return list(load("corollary.graphical", "ChowLiu")().fit(data.settings["frame"]).edges_)


def _pgmpy_tree(data: Data, _: float) -> Edges:
    rows = data.settings["frame"]
    search = load("pgmpy.estimators", "TreeSearch")(rows, root_node=rows.columns[0], n_jobs=-1)
    return list(search.estimate(estimator_type="chow-liu", show_progress=False).edges())


def _pyagrum_tree(data: Data, _: float) -> Edges:
    """It has no method of its own for this: its mutual informations, and SciPy's spanning tree."""
    learner, names = load("pyagrum", "BNLearner")(data.settings["frame"]), list(data.settings["frame"].columns)
    cost = np.zeros((len(names), len(names)))
    for i, one in enumerate(names):
        for j in range(i + 1, len(names)):
            cost[i, j] = -learner.mutualInformation(one, names[j]) - 1e-12
    left, right = load("scipy.sparse.csgraph", "minimum_spanning_tree")(cost).nonzero()
    return [(names[i], names[j]) for i, j in zip(left, right, strict=True)]


def lost_information(data: Data, edges: Edges) -> float:
    """Minus the mutual information of the edges, by scikit-learn."""
    measure = load("sklearn.metrics", "mutual_info_score")
    rows = {name: np.unique(column, return_inverse=True)[1] for name, column in data.settings["frame"].items()}
    return -sum(float(measure(rows[one], rows[two])) for one, two in edges)


# structures


def _our_climb(data: Data, _: float) -> Edges:
    return list(load("corollary.graphical", "HillClimb")("bic").fit(data.settings["frame"]).edges_)


def _pgmpy_climb(data: Data, _: float) -> Edges:
    search = load("pgmpy.estimators", "HillClimbSearch")(data.settings["frame"])
    return list(search.estimate(scoring_method="bic-d", show_progress=False).edges())


def _pyagrum_climb(data: Data, _: float) -> Edges:
    learner = load("pyagrum", "BNLearner")(data.settings["frame"])
    learner.useScoreBIC()
    learner.useSmoothingPrior(1e-9)
    learner.useGreedyHillClimbing()
    found = learner.learnBN()
    return [(found.variable(a).name(), found.variable(b).name()) for a, b in found.arcs()]


def minus_bic(data: Data, edges: Edges) -> float:
    """− BIC of a structure, a row."""
    rows = data.settings["frame"]
    codes = {name: np.unique(column, return_inverse=True)[1] for name, column in rows.items()}
    total = 0.0
    for name in rows.columns:
        parents = [parent for parent, child in edges if child == name]
        place, q = np.zeros(len(rows), dtype=np.int64), 1.0
        for parent in parents:
            place, q = place * (codes[parent].max() + 1) + codes[parent], q * (codes[parent].max() + 1)
        place, r = np.unique(place, return_inverse=True)[1], int(codes[name].max()) + 1
        cells, sums = np.bincount(place * r + codes[name]), np.bincount(place)
        cells = cells[cells > 0]
        total += cells @ np.log(cells) - sums @ np.log(sums) - 0.5 * np.log(len(rows)) * q * (r - 1)
    return -float(total) / len(rows)


def _workload(
    name: str, title: str, sizes: tuple[int, int], peer: Candidate, ours: Any, quality: Quality, bar: float
) -> Workload:
    return Workload(
        f"{name}-{peer.package}", f"{title}, against {peer.name}", frame, sizes, (500, min(8, sizes[1])),
        (Candidate(OURS, OURS, ours), peer), quality, bar,
    )  # fmt: skip


LIKELIHOOD = Quality("− mean log-likelihood", surprise, 1e-6)
INFORMATION = Quality("− mutual information of the tree", lost_information, 1e-9)
BIC = Quality("− BIC a row", minus_bic, 0.02)
TABLES, TREE = "network parameters by maximum likelihood, from text", "Chow–Liu tree, from text"
CLIMB = "hill climbing on BIC, from text"

WORKLOADS = (
    _workload(
        "network-mle",
        TABLES,
        (100_000, 37),
        Candidate("pyAgrum", "pyagrum", _pyagrum_tables),
        _our_tables,
        LIKELIHOOD,
        1.0,
    ),
    _workload(
        "network-mle", TABLES, (100_000, 37), Candidate("pgmpy", "pgmpy", _pgmpy_tables), _our_tables, LIKELIHOOD, 20.0
    ),
    _workload(
        "chow-liu", TREE, (100_000, 50), Candidate("pyAgrum", "pyagrum", _pyagrum_tree), _our_tree, INFORMATION, 1.0
    ),
    # of fewer rows, since pgmpy takes minutes
    _workload("chow-liu", TREE, (10_000, 50), Candidate("pgmpy", "pgmpy", _pgmpy_tree), _our_tree, INFORMATION, 20.0),
    _workload("hill-climb", CLIMB, (10_000, 37), Candidate("pyAgrum", "pyagrum", _pyagrum_climb), _our_climb, BIC, 1.0),
    _workload("hill-climb", CLIMB, (5_000, 37), Candidate("pgmpy", "pgmpy", _pgmpy_climb), _our_climb, BIC, 20.0),
)
