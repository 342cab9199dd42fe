"""Learning by arithmetic: four beliefs that data update in closed form, and what a decision by cost makes of one.

A coin, a counter, a die with names and a scale: each has a prior whose posterior is of the same kind. The picture shows
what was believed, what the data say, and what is believed afterwards.

Run: python examples/conjugate_priors.py --out conjugate_priors.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from corollary.bayes.conjugate import Beta, Dirichlet, Gamma, NormalInverseGamma


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("conjugate_priors.png"), help="the picture")
    out = parser.parse_args().out
    rng = np.random.default_rng(0)
    tosses = [1, 1, 0, 1, 1, 1, 0, 1, 1, 0]
    calls = rng.poisson(3.2, 14)
    votes = ["red"] * 5 + ["blue"] * 9 + ["green"] * 2
    weights = rng.normal(5.2, 0.6, 12)

    figure, grid = plt.subplots(2, 3, figsize=(11.5, 6.2), layout="constrained")
    Beta(4, 4).plot(tosses, ax=grid[0, 0])
    Gamma(4, 2).plot(calls, ax=grid[0, 1])
    Dirichlet([2, 2, 2], ("red", "blue", "green")).plot(votes, ax=grid[0, 2])
    NormalInverseGamma(4, 1, 2, 0.5).plot(weights, axes=grid[1, :2])
    grid[0, 0].set_xlabel("probability of heads")
    grid[0, 1].set_xlabel("calls an hour")

    fair, any_coin = Beta(200, 200), Beta(1, 1)
    runs = np.arange(1, 41)
    odds = [any_coin.log_evidence([1] * n) - fair.log_evidence([1] * n) for n in runs]
    ax = grid[1, 2]
    ax.plot(runs, np.array(odds) / np.log(10), color="#2b5f91")
    ax.axhline(0, color="0.6", lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="heads in a row", ylabel="log₁₀ odds: any coin against a fair one")
    figure.savefig(out, dpi=105)

    posterior = Beta(4, 4).update(tosses)
    low, high = posterior.interval(0.95, "highest-density")
    print(f"coin: {posterior}, mean {posterior.mean():.3f}, 95% between {low:.3f} and {high:.3f}")
    print(f"  the next ten tosses: {posterior.predictive(10).mean():.2f} heads expected")
    rate = Gamma(4, 2).update(calls)
    print(f"calls: {rate}, P(more than 5 in an hour) = {rate.predictive().sf(5):.3f}")
    shares = Dirichlet([2, 2, 2], ("red", "blue", "green")).update(votes)
    print("votes:", dict(zip(shares.categories or (), shares.mean().round(3).tolist(), strict=True)))
    scale = NormalInverseGamma(4, 1, 2, 0.5).update(weights)
    print(f"scale: mean {scale.mean().mean:.3f}, the next weight is below 6 with P = {scale.predictive().cdf(6):.3f}")
    first = int(runs[np.argmax(np.array(odds) > np.log(10))])
    print(f"after {first} heads in a row, any coin is ten times as probable as a fair one")
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
