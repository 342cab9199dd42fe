"""Why does my head ache? A Bayesian network is asked, and shows which finding told it what, and by which way.

Flu and pollen both block the sinuses, and a blocked sinus makes the head ache and the nose run. A runny nose speaks for
flu; pollen in the air explains it away again. The picture has what was observed, what follows, and why.

Run: python examples/network_query.py --out network_query.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

from corollary import BayesianNetwork, explain_query, plot_query

NO_YES = ["no", "yes"]


def sinus_network() -> BayesianNetwork:
    """Eight variables; the numbers are made up, the way they hang together is not."""
    return BayesianNetwork.from_tables(
        {
            "season": [0.5, 0.25, 0.25],
            "flu": (["season"], [[0.9, 0.1], [0.97, 0.03], [0.99, 0.01]]),
            "pollen": (["season"], [[0.95, 0.05], [0.2, 0.8], [0.5, 0.5]]),
            "allergy": (["pollen"], [[0.97, 0.03], [0.75, 0.25]]),
            "fever": (["flu"], [[0.98, 0.02], [0.3, 0.7]]),
            "sinus": (["flu", "allergy"], [[[0.97, 0.03], [0.3, 0.7]], [[0.2, 0.8], [0.1, 0.9]]]),
            "headache": (["sinus"], [[0.9, 0.1], [0.3, 0.7]]),
            "nose": (["sinus"], [[0.95, 0.05], [0.15, 0.85]]),
        },
        states={
            "season": ["winter", "spring", "summer"],
            **dict.fromkeys(("flu", "pollen", "allergy", "fever", "sinus", "headache", "nose"), NO_YES),
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("network_query.png"), help="the picture")
    out = parser.parse_args().out
    network = sinus_network()
    given = {"nose": "yes", "headache": "yes", "pollen": "yes", "fever": "yes"}
    print(explain_query(network, "flu", given))
    print("what an exact answer takes:", network.query_cost("flu", given))
    plot_query(network, "flu", given).savefig(out, dpi=120)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
