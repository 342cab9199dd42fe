"""Pictures of networks: the graph in layers, and a query with what was observed, what follows, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from corollary.core.drawing import BLUE, INK, ORANGE, SOFT, axes
from corollary.core.graphical.layout import Layout, layered
from corollary.graphical.reasons import Explanation, explain_query

FONT = 9.0  # points, in a picture that is as large as it wants to be
LETTER = 0.085  # inches across
HEIGHT, DROP, GAP, EDGE = 0.3, 0.85, 0.22, 0.25  # inches: of a node, between layers, between nodes, around it all
AFAR = 1.0  # inches across, from one layer to the next
LONGEST = 22  # letters of a name
WIDEST = 16.0  # inches
PALE = "#eef1f5"
Edge = tuple[int, int]
STATES = 12  # of the variable asked, that are drawn
FINDINGS = 8  # whose effects are drawn
LEAST = 5e-4  # of a probability: smaller changes would be printed as 0.000


def plot_network(network: Any, given: Mapping[str, Any] | None = None, *, ax: Any = None) -> Any:
    """Draw the graph of a network in layers, parents above their children; returns the matplotlib axes.

    Parameters
    ----------
    network : BayesianNetwork
    given : dict of name to state, or None
        Findings, which are drawn in orange. All other variables then show their most probable state with its
        probability, and are the bluer the more the findings have moved it.
    ax : matplotlib axes, or None
        None is a new figure of the size that the graph needs.
    """
    names = network._names
    if not given:
        return _Drawing.of(network, [_short(name) for name in names], ax).draw({})
    known = network._named(network._findings(given))
    before, after = network.marginals(), network.marginals(known)
    labels, colours = [], {}
    for node, name in enumerate(names):
        if name in known:
            labels.append(f"{_short(name)}\n{_short(str(known[name]))}")
            colours[node] = (ORANGE, "white")
            continue
        if name in after.densities:  # a number: its mean, the bluer the more standard deviations that has moved
            one, two = before[name], after[name]
            labels.append(f"{_short(name)}\n{two.mean:.4g} ± {two.std:.2g}")
            colours[node] = _blue(min(abs(two.mean - one.mean) / (2 * one.std), 1.0))
            continue
        state = max(after[name], key=after[name].__getitem__)
        labels.append(f"{_short(name)}\n{_short(str(state))} {after[name][state]:.2f}")
        moved = sum(abs(after[name][each] - before[name][each]) for each in after[name]) / 2
        colours[node] = _blue(moved)
    return _Drawing.of(network, labels, ax).draw(colours)


def plot_query(network: Any, query: str, given: Mapping[str, Any], *, figure: Any = None) -> Any:
    """Draw a query: what was observed, what follows, and why; returns the matplotlib figure.

    On the left is the graph, with findings in orange, what was asked in blue, and the active trails that carry evidence
    from the ones to the other in orange, the thicker the further a finding moves the answer. On the right are the
    probabilities before and after, and what each finding changes: the answer with all findings against that without
    this one.

    Parameters
    ----------
    network : BayesianNetwork
    query : name of a variable that is not given
    given : dict of name to state
    figure : matplotlib figure, or None
    """
    import matplotlib.pyplot as plt

    why = explain_query(network, query, given)
    names = network._names
    labels = [_short(name) + (f"\n{_short(str(why.given[name]))}" if name in why.given else "") for name in names]
    drawing = _Drawing.of(network, labels, None, make=False)
    width, height = drawing.size
    upper = 0.9 + 0.5 * min(len(why.after), STATES)
    lower = 1.0 + 0.35 * min(max(len(why.reasons), 1), FINDINGS)
    if figure is None:
        size = (min(width + 4.6, WIDEST + 4.6), max(height + 0.3, upper + lower))
        figure = plt.figure(figsize=size, layout="constrained")
    rest = max(figure.get_figheight() - upper - lower, 0.01)
    grid = figure.add_gridspec(3, 2, width_ratios=(max(width, 3.0), 4.2), height_ratios=(upper, lower, rest))
    graph = figure.add_subplot(grid[:, 0])
    _draw_change(figure.add_subplot(grid[0, 1]), why)
    _draw_effects(figure.add_subplot(grid[1, 1]), why)
    figure.draw_without_rendering()  # so that the graph knows how much room it has
    carried = _carried(why, {name: place for place, name in enumerate(names)})
    on_the_way = {node for edge in carried for node in edge}
    colours: dict[int, tuple[str, str]] = {}
    for node, name in enumerate(names):
        if name == why.query:
            colours[node] = (BLUE, "white")
        elif name in why.given:
            colours[node] = (ORANGE, "white")
        elif node not in on_the_way:
            colours[node] = ("white", SOFT)
    _Drawing.of(network, labels, graph).draw(colours, carried)
    return figure


@dataclass(frozen=True)
class _Drawing:
    """A layout in inches, and the axes it goes to."""

    layout: Layout
    labels: list[str]
    widths: list[float]
    tall: float  # a node's height
    ax: Any

    @classmethod
    def of(cls, network: Any, labels: list[str], ax: Any, *, make: bool = True) -> _Drawing:
        lines = max((label.count("\n") + 1 for label in labels), default=1)
        tall = HEIGHT + 0.15 * (lines - 1)
        widths = [0.2 + LETTER * max(map(len, label.split("\n"))) for label in labels]
        layout = layered([above.tolist() for above in network.parents_], widths, gap=GAP, drop=DROP + tall - HEIGHT)
        made = cls(layout, labels, widths, tall, ax)
        if ax is None and make:
            width, height = made.size
            made = cls(layout, labels, widths, tall, axes(None, (min(width, WIDEST), max(height, 1.5))))
        return made

    @property
    def _box(self) -> tuple[float, float, float, float]:
        left, right, bottom, top = self.layout.extent
        half = np.array(self.widths) / 2
        left = min(left, float((self.layout.places[:, 0] - half).min())) - EDGE
        right = max(right, float((self.layout.places[:, 0] + half).max())) + EDGE
        return left, right, bottom - self.tall / 2 - EDGE, top + self.tall / 2 + EDGE

    @property
    def size(self) -> tuple[float, float]:
        left, right, bottom, top = self._box
        return right - left, top - bottom

    def draw(self, colours: Mapping[int, tuple[str, str]], carried: Mapping[Edge, float] | None = None) -> Any:
        ax = self.ax
        left, right, bottom, top = self._box
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        ax.set_axis_off()
        box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        scale = min(box.width / (right - left), box.height / (top - bottom), 1.3)
        self._draw_edges(carried, scale)
        self._draw_nodes(colours, scale)
        return ax

    def _draw_nodes(self, colours: Mapping[int, tuple[str, str]], scale: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        for node, (x, y) in enumerate(self.layout.places):
            fill, ink = colours.get(node, (PALE, INK))
            width = self.widths[node]
            shape = FancyBboxPatch(
                (x - width / 2, y - self.tall / 2), width, self.tall, facecolor=fill, edgecolor=SOFT, lw=0.8 * scale,
                boxstyle=f"round,pad=0,rounding_size={HEIGHT / 3}", zorder=3,
            )  # fmt: skip
            self.ax.add_patch(shape)
            self.ax.text(
                x, y, self.labels[node], ha="center", va="center", color=ink, fontsize=FONT * scale, zorder=4,
                linespacing=1.15, parse_math=False,
            )  # fmt: skip

    def _draw_edges(self, carried: Mapping[Edge, float] | None, scale: float) -> None:
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        ends = self._ends()
        for edge, route in self.layout.routes.items():
            corners = _curve(_upright([ends[edge][0], *route[1:-1], ends[edge][1]], self.tall / 2))
            codes = [Path.MOVETO] + [Path.CURVE4] * (len(corners) - 1)
            strength = None if carried is None else carried.get(edge)
            colour = SOFT if carried is None else "0.8" if strength is None else _orange(strength)
            line = 0.9 if strength is None else 1.3 + 2.7 * strength
            arrow = FancyArrowPatch(
                path=Path(corners, codes), arrowstyle="-|>", mutation_scale=9 * scale, lw=line * scale, color=colour,
                fill=False, zorder=1 if strength is None else 2, shrinkA=0, shrinkB=0, capstyle="round",
            )  # fmt: skip
            self.ax.add_patch(arrow)

    def _ends(self) -> dict[Edge, tuple[tuple[float, float], tuple[float, float]]]:
        """Where edges leave their parent and meet their child: side by side, in the order in which they come."""
        routes, places = self.layout.routes, self.layout.places
        tops: dict[Edge, float] = {}
        bottoms: dict[Edge, float] = {}
        for node in range(len(places)):
            for own, at, found in ((0, 1, bottoms), (1, -2, tops)):
                mine = sorted((edge for edge in routes if edge[own] == node), key=lambda edge: routes[edge][at][0])
                room = min(0.7 * self.widths[node], 0.16 * max(len(mine) - 1, 0))
                for edge, shift in zip(mine, np.linspace(-room / 2, room / 2, max(len(mine), 1)), strict=False):
                    found[edge] = float(places[node, 0]) + (float(shift) if len(mine) > 1 else 0.0)
        half = self.tall / 2
        return {
            edge: (
                (bottoms[edge], float(places[edge[0], 1]) - half),
                (tops[edge], float(places[edge[1], 1]) + half),
            )
            for edge in routes
        }


def _upright(points: list[tuple[float, float]], half: float) -> list[tuple[float, float]]:
    """Points of an edge; where it comes from afar it passes a layer straight down, so as to touch no node there."""
    found = [points[0]]
    for (x0, _), (x1, y1), (x2, _) in zip(points, points[1:], points[2:], strict=False):
        steep = max(abs(x1 - x0), abs(x2 - x1)) <= AFAR
        found += [(x1, y1)] if steep else [(x1, y1 + half), (x1, y1 - half)]
    return [*found, points[-1]]


def _curve(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of cubic Bézier curves through points from top to bottom, upright at both ends, without overshoot.

    Slopes at points between are Fritsch and Butland's, so that x is monotone wherever the points are.
    """
    slopes = [0.0]
    for (x0, y0), (x1, y1), (x2, y2) in zip(points, points[1:], points[2:], strict=False):
        first, second = (x1 - x0) / (y1 - y0), (x2 - x1) / (y2 - y1)
        # less than theirs, so that a bend stays clear of the nodes beside it
        slopes.append(first * second / (first + second) if first * second > 0 else 0.0)
    slopes.append(0.0)
    corners = [points[0]]
    for (x0, y0), (x1, y1), m0, m1 in zip(points, points[1:], slopes, slopes[1:], strict=False):
        # an upright end is held for longer, so that the curve has left its node before it turns
        near, far = (0.5 if m0 == 0 else 1 / 3) * (y1 - y0), (0.5 if m1 == 0 else 1 / 3) * (y1 - y0)
        corners += [(x0 + m0 * near, y0 + near), (x1 - m1 * far, y1 - far), (x1, y1)]
    return corners


def _carried(why: Explanation, places: dict[str, int]) -> dict[Edge, float]:
    """Edges on active trails of findings that change something, with how much, between 0 and 1."""
    most = max((reason.moved for reason in why.reasons), default=0.0) or 1.0
    found: dict[Edge, float] = {}
    for reason in why.reasons:
        strength = reason.moved / most
        if reason.moved < LEAST:
            continue
        for trail in reason.trails:
            for first, second in pairwise(trail):
                for edge in ((places[first], places[second]), (places[second], places[first])):
                    found[edge] = max(found.get(edge, 0.0), strength)
    return found


def _draw_change(ax: Any, why: Explanation) -> None:
    """Bars of the probabilities before and after, as many states as there is room for."""
    ax = axes(ax)
    changed = sorted(why.after, key=lambda state: -abs(why.after[state] - why.before[state]))[:STATES]
    states = [state for state in why.after if state in changed]
    rows = np.arange(len(states))
    before, after = [why.before[each] for each in states], [why.after[each] for each in states]
    ax.barh(rows - 0.2, before, 0.36, color="0.75", label="before")
    ax.barh(rows + 0.2, after, 0.36, color=BLUE, label="given the findings")
    for shift, values in ((-0.2, before), (0.2, after)):
        for row, value in enumerate(values):
            ax.text(value + 0.015, row + shift, f"{value:.3g}", va="center", fontsize=8, color=INK)
    ax.set_yticks(rows, [_short(str(each)) for each in states], parse_math=False)
    ax.set(xlim=(0, 1.16), ylim=(len(states) - 0.4, -0.6), xticks=(0, 0.5, 1))
    more = f", {len(states)} of {len(why.after)} states" if len(states) < len(why.after) else ""
    ax.set_title(f"What follows: {_short(why.query)}{more}", fontsize="medium", loc="left", parse_math=False)
    ax.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=1, borderaxespad=0.0)


def _draw_effects(ax: Any, why: Explanation) -> None:
    """By how much each finding changes the probability of the state that changed most."""
    ax = axes(ax)
    shown = why.reasons[:FINDINGS]
    shifts = [reason.shift for reason in shown]
    reach = max([abs(shift) for shift in shifts] + [1e-6])
    rows = np.arange(len(shown))
    ax.barh(rows, shifts, 0.5, color=ORANGE)
    ax.axvline(0, color=SOFT, lw=0.8)
    for row, shift in enumerate(shifts):
        side, sign = ("left", 1) if shift >= 0 else ("right", -1)
        text = "no way" if not shown[row].trails else f"{shift:+.3f}" if abs(shift) >= LEAST else "0"
        ax.text(shift + 0.03 * reach * sign, row, text, va="center", ha=side, fontsize=8, color=INK)
    ax.set_yticks(rows, [f"{_short(each.variable)} = {_short(str(each.state))}" for each in shown], parse_math=False)
    ax.set(xlim=(-1.5 * reach, 1.5 * reach), ylim=(max(len(shown), 1) - 0.4, -0.6))
    ax.locator_params(axis="x", nbins=5)
    title = f"Why: what each finding adds to\nP({_short(why.query)} = {_short(str(why.state))})"
    ax.set_title(title, fontsize="medium", loc="left", parse_math=False)


def _blue(moved: float) -> tuple[str, str]:
    """The colour of a node whose probabilities moved so far, and that of its text."""
    from matplotlib.colors import to_hex, to_rgb

    share = min(1.0, moved) ** 0.7 if moved > 0.01 else 0.0
    mixed = (1 - share) * np.array(to_rgb(PALE)) + share * np.array(to_rgb(BLUE))
    return to_hex(mixed), "white" if share > 0.55 else INK


def _orange(strength: float) -> str:
    """The colour of an edge that carries so much of what the strongest carries: hardly any is hardly to be seen."""
    from matplotlib.colors import to_hex, to_rgb

    share = 0.35 + 0.65 * min(1.0, strength) ** 0.3 if strength > 0.01 else 0.35
    return to_hex((1 - share) * np.array(to_rgb("0.8")) + share * np.array(to_rgb(ORANGE)))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
