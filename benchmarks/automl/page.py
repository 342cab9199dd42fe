"""The page of the race: for each table every tool's score on the test part, and how far ours is from the best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OURS = "corollary"
PEERS = ("FLAML", "AutoGluon")
SHOWN = {"classification": ("log-loss", "accuracy"), "regression": ("rmse", "r2")}
LESS_IS_BETTER = ("log-loss", "rmse")
WITHIN = 0.005

HEAD = """# A search against searches

`corollary.compare(train, target, minutes=2)` beside FLAML and AutoGluon (tabular, without neural networks), each told
to make log-loss or RMSE small, each in a process of its own with both cores to itself; scores are of a test part that
no tool saw. `make bench-automl` makes this page. *Lead* is how much better ours is than the better peer, relative to
the peer's score: losses have a minus. Small tables are noisy: on wine and penguins one test row is 2 and 1 per cent.

"""


def lead(name: str, ours: float, peer: float) -> float:
    """How much better ours is than the peer, relative to the peer's score."""
    gain = peer - ours if name in LESS_IS_BETTER else ours - peer
    return gain / abs(peer) if peer else 0.0


def best_peer(name: str, line: Mapping[str, Any]) -> float | None:
    """The better of the peers' scores; None if none has one."""
    found = [line[peer][name] for peer in PEERS if name in line.get(peer, {})]
    return (min(found) if name in LESS_IS_BETTER else max(found)) if found else None


def _cell(scores: Mapping[str, Any], name: str) -> str:
    if "failed" in scores:
        return "failed"
    if name not in scores:
        return "–"
    return f"{scores[name]:,.0f}" if name == "rmse" else f"{scores[name]:.4f}"


def text(found: Mapping[str, Any]) -> str:
    """The page."""
    lines = [
        "| table | training part | metric | corollary | FLAML | AutoGluon | lead | seconds (ours, FLAML, AutoGluon) |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    for table, line in found.items():
        for index, name in enumerate(SHOWN[line["task"]]):
            tools = [line.get(tool, {}) for tool in (OURS, *PEERS)]
            peer = best_peer(name, line)
            ahead = f"{lead(name, tools[0][name], peer):+.2%}" if peer is not None and name in tools[0] else "–"
            seconds = ", ".join(f"{tool['seconds']:.0f}" if "seconds" in tool else "–" for tool in tools)
            first = (f"`{table}`", f"{line['rows']:,} × {line['columns']}") if index == 0 else ("", "")
            cells = [*first, name, *(_cell(tool, name) for tool in tools), ahead, "" if index else seconds]
            lines.append(f"| {' | '.join(cells)} |")
    return HEAD + "\n".join(lines) + "\n"
