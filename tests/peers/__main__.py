"""Scikit-learn's own tests with our classes in the place of theirs: ``python -m tests.peers [family ...] [-k words]``.

Counted are tests that construct, fit or are given a class of ours. Public ones must pass, or be on the written list of
differences (``differences.txt``); private ones, which look inside scikit-learn, are told apart and may fail. The run
fails if another public test fails, if a line of the list has no failing test any more, or if too few tests pass.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from differences import LIST, read
from families import FAMILIES
from outcomes import ALL, Result, first_line, judge, share, together

HEAD = f"{'family':14s} {'about ours':>17s} {'public':>28s} {'private':>17s} {'not ours':>9s} {'known':>6s}"


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    ask.add_argument("families", nargs="*", metavar="family", help=f"of {', '.join(FAMILIES)} (all)")
    ask.add_argument("-k", default="", metavar="WORDS", help="only tests whose names match, as in pytest")
    ask.add_argument("--workers", type=int, default=1, help="processes side by side (1)")
    ask.add_argument("--baseline", action="store_true", help="with scikit-learn's own classes")
    ask.add_argument("--private", action="store_true", help="list private tests that fail")
    given = ask.parse_args()
    if unknown := set(given.families) - set(FAMILIES):
        ask.error(f"there is no family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    differences, faults, results, known = read(LIST.read_text(encoding="utf-8")), [], [], 0
    print(HEAD)
    for family in given.families or FAMILIES:
        result = judge(family, given.k, given.workers, swapped=not given.baseline)
        on_list = len(result.failed([each for each in differences if each.family == family])[0])
        print(row(result, on_list), flush=True)
        results.append(result)
        faults += [f"{family}: {fault}" for fault in result.faults(differences, whole=not given.k)]
        known += on_list
    total = together(results)
    print(row(total, known))
    if not given.k and len(results) == len(FAMILIES) and share(total.public + total.private) < ALL:
        faults.append(
            f"{share(total.public + total.private):.1f} % of all tests about ours pass, less than {ALL:.0f} %"
        )
    for result in results:
        for each in result.alike:
            print(f"{result.family}: fails with scikit-learn's own class, too: {each.test}")
        for each in result.private if given.private else ():
            if not each.passed:
                print(f"{result.family}: private: {each.test}\n      {first_line(each.words)}")
    if faults:
        print(*faults, sep="\n")
    return int(bool(faults))


def row(result: Result, known: int) -> str:
    """A line of the table."""
    ours = result.public + result.private

    def counts(tests: list, percent: bool) -> str:
        good = sum(each.passed for each in tests)
        return f"{good:5d} of {len(tests):4d}" + (f", {share(tests):5.1f} % pass" if percent else "")

    cells = f"{counts(ours, False):>17s} {counts(result.public, True):>28s} {counts(result.private, False):>17s}"
    return f"{result.family:14s} {cells} {result.elsewhere:9d} {known:6d}"


if __name__ == "__main__":
    sys.exit(main())
