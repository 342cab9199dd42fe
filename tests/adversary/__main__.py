"""``python -m tests.adversary --fits 20000 --seed 0 --processes 16``, from the root of the repository."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from hostile_fits import FAILURES, drawn, many_fits, one_fit, table

LEGEND = """\
error: refused in words (a documented ValueError); not proved: the fit claims nothing; confirmed: the referee finds
that the claim stands; undecided: it cannot tell. Failures: refuted (proved and false), not finite, broken (any other
exception), hang, crash. 2nd agrees: Clarabel was asked too, and says the same."""


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m tests.adversary", description=__doc__)
    ask.add_argument(
        "--fits", type=int, default=500, help="how many, drawn from all estimators (500); 31 a second on two cores"
    )
    ask.add_argument("--first", type=int, default=0, help="number of the first fit, to go on where a run ended")
    ask.add_argument("--seconds", type=float, default=float("inf"), help="end after so long, with the table so far")
    ask.add_argument("--seed", type=int, default=0, help="of data, weights and settings (0)")
    ask.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="side by side (all cores)")
    ask.add_argument("--estimator", help="fit this one only")
    ask.add_argument("--number", type=int, help="one fit, in this process: how a failure is reproduced")
    ask.add_argument("--undecided", action="store_true", help="print what could not be decided, too")
    given = ask.parse_args()
    if given.number is not None:
        print(drawn(given.seed, given.number, given.estimator)[2], flush=True)
        fit = one_fit(given.seed, given.number, given.estimator)
        print(f"{fit.outcome}: {fit.words}")
        return int(fit.outcome in FAILURES)
    began, fits = time.monotonic(), []
    numbers = range(given.first, given.first + given.fits)
    for fit in many_fits(given.seed, numbers, given.processes, given.estimator):
        fits.append(fit)
        if fit.outcome in FAILURES or (given.undecided and fit.outcome == "undecided"):
            print(
                f"{fit.outcome} --seed {given.seed} --number {fit.number}: {fit.label}\n    {fit.words.strip()}",
                flush=True,
            )
        if len(fits) % 1000 == 0:
            print(f"{len(fits)} fits, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        if time.monotonic() - began > given.seconds:
            print(f"Ended after {given.seconds:g} s; go on with --first {max(fit.number for fit in fits) + 1}.")
            break
    failed = sum(fit.outcome in FAILURES for fit in fits)
    print(table(fits))
    print(LEGEND)
    if importlib.util.find_spec("clarabel") is None:
        print("Clarabel is not installed: no second opinions.")
    print(f"{len(fits)} fits, {failed} failures, {time.monotonic() - began:.0f} s.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
