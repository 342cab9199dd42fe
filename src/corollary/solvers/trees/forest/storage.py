"""What a forest keeps of its trees, a few bytes a node from which everything else follows, and how these predict.

Trees are stored level by level, so which nodes are leaves says where every child is. A threshold is the number of a
bin. Class masses of leaves are whole numbers, in the smallest type that holds them; those of inner nodes are sums over
leaves, and impurities and gains follow from them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.fitted import Booleans, Floats, Integers, Numbers, Record
from corollary.core.parallel import each_block
from corollary.core.trees import Trees
from corollary.core.trees.binning import MOST_BINS, Binner
from corollary.core.trees.paths import depth_first
from corollary.core.types import Array
from corollary.solvers.trees.forest.nodes import GrownTree, small

_CELLS = 1 << 16  # numbers of nodes that a thread fills at a time
_BY_INNER = ("feature", "cut")
_BY_LEAF = ("sums", "mass", "rows", "spread")
_MORE = ("inner_sums", "inner_spread")  # by inner node too, of some criteria


# what is stored, for those who read it from a file
NODES = Record(
    thresholds=Numbers("d", "bins", finite=False),
    n_bins=Integers("d", low=0, high=MOST_BINS),
    categorical=Booleans("d"),
    sizes=Integers("trees", low=1),
    seeds=Integers("trees", low=0),
    feature=Integers("inner", low=0, below="d"),
    cut=Integers("inner", low=0, below="bins"),
    sums=Numbers("leaves", "?"),
    mass=Numbers("leaves", low=0, above=True),
    rows=Numbers("leaves", low=1, high=2**31 - 1),
    spread=Numbers("leaves", low=0),
    leaf=Integers("?", high=255, low=0),
    missing_left=Integers("?", high=255, low=0),
    bits=Integers("sets", "?", low=0),
)
# where values and impurities of inner nodes do not follow from those of leaves
WHOLE_NODES = Record(**NODES.keys, inner_sums=Numbers("inner", "?"), inner_spread=Numbers("inner", low=0))
TARGETS = Record(
    values=Floats("distinct", increasing=True),
    ranks=Integers("listed", low=0, below="distinct"),
    mass=Numbers("listed", low=0),
)


def pack(
    parts: Sequence[GrownTree], seeds: Array, binner: Binner, earlier: dict[str, Array] | None
) -> dict[str, Array]:
    """All trees as plain arrays, after those of ``earlier``."""
    names = (*_BY_INNER, *_BY_LEAF, "bits", *(_MORE if parts[0].inner_sums is not None else ()))
    found: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    found["sizes"] = np.array([len(part.is_leaf) for part in parts])
    found["seeds"] = seeds
    bits = {
        "leaf": np.concatenate([part.is_leaf for part in parts]),
        "missing_left": np.concatenate([part.missing_left for part in parts]),
    }
    if earlier is not None:
        was = unpacked(earlier)
        found = {name: np.concatenate([was[name], values]) for name, values in found.items()}
        bits = {name: np.concatenate([was[name], values]) for name, values in bits.items()}
    kept = {name: small(values) for name, values in found.items() if name not in ("seeds", "bits")}
    kept |= {name: np.packbits(values) for name, values in bits.items()}
    return kept | {
        "bits": found["bits"],
        "seeds": found["seeds"],
        "thresholds": binner.thresholds,
        "n_bins": binner.n_bins,
        "categorical": binner.categorical,
    }


def unpacked(kept: dict[str, Array]) -> dict[str, Array]:
    """The stored arrays with one entry for each node or inner node; ValueError if their lengths do not fit."""
    nodes = int(kept["sizes"].sum())
    leaf = np.unpackbits(kept["leaf"], count=nodes).astype(bool) if 8 * len(kept["leaf"]) >= nodes else None
    if leaf is None or kept["sizes"].ndim != 1:
        raise ValueError("forest: the trees have more nodes than are stored.")
    n_leaves = int(leaf.sum())
    missing_left = np.unpackbits(kept["missing_left"])[: nodes - n_leaves].astype(bool)
    found = kept | {"leaf": leaf, "missing_left": missing_left}
    more = _MORE if "inner_sums" in kept else ()
    by_inner = (*_BY_INNER, *more, "missing_left")
    lengths = dict.fromkeys(by_inner, nodes - n_leaves) | dict.fromkeys(_BY_LEAF, n_leaves)
    wrong = {name: len(found[name]) for name, length in lengths.items() if len(found[name]) != length}
    if wrong or found["sums"].ndim != 2:
        raise ValueError(f"forest: there are {nodes - n_leaves} inner nodes and {n_leaves} leaves, but {wrong}.")
    if not (np.all(found["rows"] >= 1) and np.all(found["mass"] > 0)):
        raise ValueError("forest: every leaf must have rows.")
    return found


def stored_binner(kept: dict[str, Array]) -> Binner:
    """The bins that the trees were grown on."""
    dtype = np.uint8 if int(kept["n_bins"].max(initial=0)) < 256 else np.uint16
    return Binner(kept["thresholds"], kept["n_bins"], kept["categorical"], dtype)


def expand(kept: dict[str, Array], criterion: str, *, classes: bool, n_features: int | None = None) -> Trees:
    """The stored trees with everything that follows from them. Cost: two passes over the nodes, threads over trees."""
    from corollary._compiled.trees.forest.nodes import unfold

    found = unpacked(kept)
    leaf, sizes = found["leaf"], found["sizes"].astype(np.int64)
    left = np.empty(len(leaf), dtype=np.int32)
    if not unfold(leaf, sizes, left):
        raise ValueError("forest: the stored nodes are no trees.")
    split, category, bits = _splits(found, leaf)
    ends = np.cumsum(sizes)
    roots = ends - sizes
    follows = _class_nodes(found, left, roots, criterion) if classes else _mean_nodes(found, left, criterion)
    trees = Trees(roots=roots.astype(np.int32), left=left, category=category, bitsets=bits, **split, **follows)
    trees.check(len(kept["n_bins"]) if n_features is None else n_features)
    return trees


def _class_nodes(found: dict[str, Array], left: Array, roots: Array, criterion: str) -> dict[str, Array]:
    """Class shares, mass, rows, impurity and gain of every node."""
    from corollary._compiled.trees.forest.nodes import fill_classes

    n, sums, leaf_mass = len(left), found["sums"], found["mass"]
    # each row has a class in each output; of two classes of one output, only the second is stored
    c = sums.shape[1]
    n_outputs = 1 if c == 1 else round(float(sums[0].sum(dtype=np.float64) / leaf_mass[0]))
    out = {"value": np.empty((n, max(c, 2))), "weight": np.empty(n), "count": np.empty(n, dtype=np.int32)}
    out |= {"impurity": np.empty(n), "gain": np.empty(n)}
    ends, leaves = np.append(roots, n), (np.append(roots, n) + np.arange(len(roots) + 1)) // 2

    def fill(start: int, stop: int) -> None:
        nodes, own = slice(ends[start], ends[stop]), slice(leaves[start], leaves[stop])
        given = [array[own].astype(np.float64) for array in (sums, leaf_mass, found["rows"])]
        into = [array[nodes] for array in out.values()]
        task: Any = (left[nodes], ends[start], *given, criterion != "gini", n_outputs, *into)
        fill_classes(*task)

    each_block(fill, len(roots), max(1, _CELLS * len(roots) // (n * c)))
    return out


def _mean_nodes(found: dict[str, Array], left: Array, criterion: str) -> dict[str, Array]:
    """Means, mass, rows, impurity and gain of every node."""
    from corollary._compiled.trees.forest.nodes import average_up

    leaf, n, outputs = found["leaf"], len(left), found["sums"].shape[1]
    mean, (mass, rows, spread, gain) = np.zeros((n, outputs)), np.zeros((4, n))
    mean[leaf], mass[leaf], rows[leaf], spread[leaf] = (found[name] for name in _BY_LEAF)
    if "inner_sums" in found:
        return _told_nodes(found, left, mean, mass, rows, spread)
    spread *= outputs
    average_up(left, mean, mass, rows, spread, gain, criterion == "poisson")
    return {
        "value": mean,
        "weight": mass,
        "count": rows.astype(np.int32),
        "impurity": spread / (mass * outputs),
        "gain": np.maximum(gain / outputs, 0.0),
    }


def _told_nodes(
    found: dict[str, Array], left: Array, value: Array, mass: Array, rows: Array, spread: Array
) -> dict[str, Array]:
    """The same where inner nodes are stored too; what is given is filled for leaves."""
    from corollary._compiled.trees.forest.nodes import average_up

    inner = np.flatnonzero(~found["leaf"])
    value[inner], spread[inner] = found["inner_sums"].reshape(len(inner), -1), found["inner_spread"]
    gain, nothing = np.zeros((2, len(left)))
    average_up(left, np.empty((len(left), 0)), mass, rows, nothing, gain, False)  # of no outputs: mass and rows alone
    gain[inner] = np.maximum(spread[inner] - spread[left[inner]] - spread[left[inner] + 1], 0.0)
    impurity = np.where(spread > 0, spread / mass, 0.0)
    return {"value": value, "weight": mass, "count": rows.astype(np.int32), "impurity": impurity, "gain": gain}


def _splits(found: dict[str, Array], leaf: Array) -> tuple[dict[str, Array], Array, Array]:
    """Feature, threshold and side of missing values at every node; its row of bits; the bits."""
    inner, n = ~leaf, len(leaf)
    at, cut = found["feature"].astype(np.int64), found["cut"].astype(np.int64)
    thresholds, categorical = found["thresholds"], found["categorical"]
    if np.any(at >= len(thresholds)) or np.any(cut >= thresholds.shape[1]):
        raise ValueError("forest: a split uses a column or a bin that does not exist.")
    by_bits = categorical[at]
    if by_bits.sum() != len(found["bits"]) or found["bits"].ndim != 2:
        raise ValueError("forest: there must be a set of categories for each split of a categorical column.")
    if len(found["bits"]) and 32 * found["bits"].shape[1] < int(found["n_bins"][categorical].max(initial=0)):
        raise ValueError("forest: a set of categories has no room for all of them.")
    feature, threshold = np.full(n, -1, dtype=np.int32), np.full(n, np.nan)
    missing_left, category = np.zeros(n, dtype=bool), np.full(n, -1, dtype=np.int32)
    feature[inner] = at
    threshold[inner] = np.where(by_bits, np.nan, thresholds[at, cut])
    missing_left[inner] = found["missing_left"]
    category[np.flatnonzero(inner)[by_bits]] = np.arange(len(found["bits"]), dtype=np.int32)
    split = {"feature": feature, "threshold": threshold, "missing_left": missing_left}
    return split, category, found["bits"].astype(np.uint32)


@dataclass(eq=False)
class Walker:
    """The trees of a forest, and their tables once many rows have asked for them (8 bytes a node)."""

    trees: Trees
    kept: dict[str, Array]

    @functools.cached_property
    def scorer(self) -> Any:
        """The tables, a ``Scorer`` or None. Thresholds are bins, so their ranks need not be looked for."""
        from corollary.core.trees.coder import Ranks
        from corollary.core.trees.scorer import Scorer

        leaf = np.unpackbits(self.kept["leaf"], count=self.trees.node_count).astype(bool)
        ranks = np.zeros(self.trees.node_count, dtype=np.int64)
        ranks[~leaf] = self.kept["cut"]
        counts = np.where(self.kept["categorical"], 0, self.kept["n_bins"].astype(np.int64) - 1)
        return Scorer.of(self.trees, Ranks(ranks, self.kept["thresholds"], counts))

    @functools.cached_property
    def places(self) -> Array:
        """The number of each node within its tree, depth first."""
        return depth_first(self.trees).astype(np.int32)

    def worth_tables(self, n_rows: int) -> bool:
        """Whether so many rows take longer to walk than the tables do to fill."""
        return n_rows >= 16 and (16 * n_rows * self.trees.n_trees > self.trees.node_count or "scorer" in vars(self))

    def predict_sum(self, X: Any) -> Array:
        """Sum over trees of the value at each row's leaf, float64 (rows, outputs)."""
        start = np.zeros(self.trees.value.shape[1])
        if scipy.sparse.issparse(X) or not self.worth_tables(X.shape[0]) or self.scorer is None:
            return self.trees.walk_sum(X, start)
        sums: Array = self.scorer.sums(X, start)
        return sums
