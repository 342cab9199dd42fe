"""What depends on what? Hill climbing finds the graph of a table of bicycle hire, and is asked about a wet Sunday.

3,000 days are drawn from a network of eight variables, which is then forgotten: what is left is a table. The picture
shows the graph that was learned from it, and what it expects of every variable once two are known. An arrow says that
one helps to predict the other; which way it points, rows alone cannot always tell.

Run: python examples/learned_network.py --out learned_network.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

from corollary import BayesianNetwork, HillClimb, plot_network


def hire_network() -> BayesianNetwork:
    return BayesianNetwork.from_tables(
        {
            "season": [0.25, 0.5, 0.25],
            "weekend": [0.71, 0.29],
            "rain": (["season"], [[0.5, 0.5], [0.7, 0.3], [0.8, 0.2]]),
            "warm": (["season"], [[0.95, 0.05], [0.5, 0.5], [0.1, 0.9]]),
            "commuters": (["weekend"], [[0.15, 0.85], [0.9, 0.1]]),
            "tourists": (
                ["weekend", "rain", "warm"],
                [[[[0.9, 0.1], [0.6, 0.4]], [[0.97, 0.03], [0.85, 0.15]]],
                 [[[0.6, 0.4], [0.15, 0.85]], [[0.9, 0.1], [0.7, 0.3]]]],
            ),
            "hire": (
                ["commuters", "tourists"],
                [[[0.8, 0.18, 0.02], [0.2, 0.5, 0.3]], [[0.2, 0.6, 0.2], [0.02, 0.18, 0.8]]],
            ),
            "repairs": (["hire"], [[0.95, 0.05], [0.85, 0.15], [0.5, 0.5]]),
        },
        states={
            "season": ["winter", "between", "summer"],
            "hire": ["low", "middle", "high"],
            **{name: ["no", "yes"] for name in ("weekend", "rain", "warm", "tourists", "repairs")},
            "commuters": ["few", "many"],
        },
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("learned_network.png"), help="the picture")
    out = parser.parse_args().out
    truth = hire_network()
    days = truth.sample(3000, random_state=0)
    model = HillClimb("bic").fit(days)
    print(model.evidence_)
    true_edges = {frozenset(edge) for edge in truth.edges_}
    found = {frozenset(edge) for edge in model.edges_}
    print(f"{len(found & true_edges)} of {len(true_edges)} pairs found, {len(found - true_edges)} that are not there")
    given = {"weekend": "yes", "rain": "yes"}
    for name in ("hire", "repairs"):
        print(
            f"P({name} | a wet weekend), learned:", {k: round(v, 3) for k, v in model.query(name, given)[name].items()}
        )
        print(
            "  of the network that made the rows:", {k: round(v, 3) for k, v in truth.query(name, given)[name].items()}
        )
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 7.2), layout="constrained")
    plot_network(model, ax=left)
    left.set_title("learned from 3,000 days")
    plot_network(model, given, ax=right)
    right.set_title("a wet weekend: what follows")
    figure.savefig(out, dpi=100)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
