"""What pictures and explanations of a query say is what the network says."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from corollary import BayesianNetwork, explain_query, plot_network, plot_query, read_bif
from corollary.core.graphical.layout import layered

ALARM = Path(__file__).parents[3] / "shared" / "data" / "bayesnet" / "alarm.bif"
YES_NO = ["no", "yes"]


@pytest.fixture
def garden() -> BayesianNetwork:
    """Rain and a sprinkler wet the grass, which wets shoes; clouds bring rain, and nobody cares about the moon."""
    tables = {
        "clouds": [0.5, 0.5],
        "rain": (["clouds"], [[0.9, 0.1], [0.4, 0.6]]),
        "sprinkler": [0.7, 0.3],
        "wet": (["rain", "sprinkler"], [[[0.99, 0.01], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]),
        "shoes": (["wet"], [[0.9, 0.1], [0.3, 0.7]]),
        "moon": [0.5, 0.5],
    }
    return BayesianNetwork.from_tables(tables, states=dict.fromkeys(tables, YES_NO))


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    plt.close("all")


def test_reasons_are_queries_without_a_finding(garden: BayesianNetwork) -> None:
    given = {"shoes": "yes", "sprinkler": "yes", "moon": "no"}
    why = explain_query(garden, "rain", given)
    assert why.before == garden.query("rain")["rain"]
    assert why.after == garden.query("rain", given)["rain"]
    assert [reason.moved for reason in why.reasons] == sorted((reason.moved for reason in why.reasons), reverse=True)
    for reason in why.reasons:
        others = {name: state for name, state in given.items() if name != reason.variable}
        assert reason.without == garden.query("rain", others)["rain"]
        assert reason.alone == garden.query("rain", {reason.variable: reason.state})["rain"]
        assert reason.shift == pytest.approx(why.after[why.state] - reason.without[why.state])
    by_name = {reason.variable: reason for reason in why.reasons}
    assert by_name["sprinkler"].words == ("sprinkler → wet ← rain",)  # explained away
    assert by_name["shoes"].words == ("shoes ← wet ← rain",)
    assert by_name["moon"].trails == ()
    assert by_name["moon"].moved == pytest.approx(0, abs=1e-12)
    text = str(why)
    for words in ("given shoes = yes, sprinkler = yes, moon = no", "sprinkler → wet ← rain", "says nothing about it"):
        assert words in text


def test_what_is_given_cannot_be_asked(garden: BayesianNetwork) -> None:
    with pytest.raises(ValueError, match="query must be a variable that is not given"):
        explain_query(garden, "rain", {"rain": "yes"})
    with pytest.raises(ValueError, match="snow"):
        explain_query(garden, "snow", {"rain": "yes"})


def test_graph(garden: BayesianNetwork) -> None:
    ax = garden.plot()
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert (len(boxes), len(arrows)) == (6, 4)
    assert {text.get_text() for text in ax.texts} == set(garden.variables_.tolist())
    told = plot_network(garden, {"shoes": "yes"})
    texts = dict(text.get_text().split("\n") for text in told.texts)
    assert texts["shoes"] == "yes"
    rain = garden.query("rain", {"shoes": "yes"})["rain"]
    state = max(rain, key=rain.__getitem__)
    assert texts["rain"] == f"{state} {rain[state]:.2f}"
    _, given = plt.subplots(figsize=(3, 3))
    assert plot_network(garden, ax=given) is given


def test_text_stays_in_its_box(garden: BayesianNetwork) -> None:
    for ax in (plot_network(garden), plot_network(garden, {"shoes": "yes"}), plt.figure(figsize=(3, 2)).subplots()):
        if not ax.texts:
            plot_network(garden, ax=ax)
        ax.figure.draw_without_rendering()
        boxes = [patch.get_window_extent() for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
        for text, box in zip(ax.texts, boxes, strict=True):
            inner = text.get_window_extent()
            assert inner.width < box.width * 1.02
            assert inner.height < box.height * 1.1


def test_query(garden: BayesianNetwork) -> None:
    figure = plot_query(garden, "rain", {"shoes": "yes", "sprinkler": "yes"})
    graph, change, effects = figure.axes
    why = explain_query(garden, "rain", {"shoes": "yes", "sprinkler": "yes"})
    before, after = change.containers
    np.testing.assert_allclose([bar.get_width() for bar in before], list(why.before.values()))
    np.testing.assert_allclose([bar.get_width() for bar in after], list(why.after.values()))
    np.testing.assert_allclose([bar.get_width() for bar in effects.containers[0]], [r.shift for r in why.reasons])
    thick = [p for p in graph.patches if isinstance(p, FancyArrowPatch) and p.get_linewidth() > 1.0]
    assert len(thick) == 3  # wet → shoes, rain → wet, sprinkler → wet
    assert "What follows: rain" in change.get_title(loc="left")


@pytest.mark.parametrize(("n", "seed"), [(12, 0), (20, 1), (37, 2), (60, 0)])
def test_no_edge_runs_over_a_node(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables: dict[str, Any] = {}
    for child in range(n):
        parents = [f"v{p}" for p in range(child) if rng.random() < 2.2 / n][:4]
        tables[f"v{child}"] = (parents, np.full((2,) * (len(parents) + 1), 0.5))
    network = BayesianNetwork.from_tables(tables)
    for given in (None, {"v0": 1}):
        ax = plot_network(network, given)
        boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
        arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
        assert len(arrows) == sum(len(above) for above in network.parents_)
        for arrow in arrows:
            # inside by more than the width of a line; the ends touch the nodes that they join from outside
            points = arrow._path_original.interpolated(1).to_polygons(closed_only=False)[0]
            for box in boxes:
                x0, y0, width, height = box.get_x(), box.get_y(), box.get_width(), box.get_height()
                inside = (points[:, 0] > x0 + 0.01) & (points[:, 0] < x0 + width - 0.01)
                inside &= (points[:, 1] > y0 + 0.01) & (points[:, 1] < y0 + height - 0.01)
                assert not inside.any()


@pytest.mark.skipif(not ALARM.exists(), reason="needs ../shared/data/bayesnet")
def test_alarm_can_be_read() -> None:
    """37 variables and 46 edges: on one page, few of them crossing, and a query with the trails of each finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of printed numbers
        network = read_bif(ALARM)
    found = layered([above.tolist() for above in network.parents_], [1.0] * 37)
    assert found.crossings <= 8
    ax = plot_network(network)
    assert max(ax.figure.get_size_inches()) < 14
    why = explain_query(network, "LVFAILURE", {"BP": "LOW", "CVP": "LOW"})
    assert why.state == "TRUE"
    assert why.reasons[0].words[0] == "CVP ← LVEDVOLUME ← LVFAILURE"
    for reason in why.reasons:
        others = [name for name in why.given if name != reason.variable]
        assert bool(reason.trails) is not network.independent(reason.variable, "LVFAILURE", others)


def test_names_that_look_like_mathematics() -> None:
    odd = BayesianNetwork.from_tables({"$a_1": [0.5, 0.5], "x" * 60: (["$a_1"], [[0.5, 0.5], [0.1, 0.9]])})
    figure = plot_query(odd, "x" * 60, {"$a_1": 1})
    figure.draw_without_rendering()
