"""The chart writer: scales that hold their values, round ticks, and text that cannot escape."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.report.charts import (
    Chart,
    Scale,
    bars,
    compact,
    density,
    drawing,
    escaped,
    nice_step,
    thinned,
    tick_text,
)  # fmt: skip
from corollary.tabular.messages import shortened

finite = st.floats(-1e12, 1e12, allow_nan=False)


@given(st.lists(finite, min_size=1, max_size=20))
def test_a_scale_holds_its_values_and_has_ticks_inside(values: list[float]) -> None:
    scale = Scale.around(values)
    assert scale.low <= min(values)
    assert max(values) <= scale.high
    places = scale.place(values)
    assert ((places >= 0) & (places <= 1)).all()
    ticks = [value for value, _ in scale.ticks()]
    assert all(scale.low - 1e-6 * abs(scale.low) <= tick <= scale.high + 1e-6 * abs(scale.high) for tick in ticks)
    assert len(ticks) <= 12


@given(st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=20))
def test_a_logarithmic_scale(values: list[float]) -> None:
    scale = Scale.around(values, log=True)
    assert scale.low <= min(values) * (1 + 1e-9)
    assert max(values) <= scale.high * (1 + 1e-9)
    assert len(scale.ticks()) >= 2


def test_empty_and_constant_scales() -> None:
    assert Scale.around([]).low < Scale.around([]).high
    assert Scale.around([0.0]).low < 0 < Scale.around([0.0]).high
    assert Scale.around([np.nan, 5.0]).place([5.0])[0] == pytest.approx(0.5)
    assert [value for value, _ in Scale(0, 3, whole=True).ticks()] == [0, 1, 2, 3]


@pytest.mark.parametrize("span", [1e-9, 0.3, 1, 7, 99, 1e6, 3.3e11])
def test_steps_are_round(span: float) -> None:
    step = nice_step(span, 5)
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - round_one) for round_one in (1, 2, 5, 10)) < 1e-6
    assert 2 <= span / step <= 10


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [(20_000, 5000, "20k"), (1.5e6, 5e5, "1.5M"), (0.25, 0.05, "0.25"), (-0.5, 0.5, "−0.5"), (0, 1000, "0"),
     (1200, 20, "1,200"), (-0.0, 0.1, "0.0")],
)  # fmt: skip
def test_tick_texts(value: float, step: float, text: str) -> None:
    assert tick_text(value, step) == text


@pytest.mark.parametrize(
    ("value", "largest", "text"),
    [(132556.2, 2e5, "+133k"), (-63198.0, 2e5, "−63.2k"), (570, 2e5, "+570"), (-1.5, 2.39, "−1.50"),
     (0.01, 2.39, "+0.01"), (2e-4, 1e-3, "+0.00020"), (3e-9, 4e-9, "+3.00e−09"), (0.0, 0.0, "+0.00")],
)  # fmt: skip
def test_numbers_beside_bars(value: float, largest: float, text: str) -> None:
    assert compact(value, largest) == text


@given(st.text(max_size=60))
def test_any_text_is_harmless(text: str) -> None:
    chart = Chart(Scale(0, 1), Scale(0, 1), title=text, description=text, x_label=text, y_label=text)
    chart.text(0.5, 0.5, text)
    root = ElementTree.fromstring(chart.svg().encode("utf-8", "replace"))
    assert {element.tag for element in root.iter()} <= {"svg", "title", "desc", "text", "line"}
    listed = bars([text], [1.0], title=text, errors=[0.1])
    assert ElementTree.fromstring(listed.encode("utf-8", "replace")).tag == "table"


def test_marks_lie_where_they_should() -> None:
    chart = Chart(Scale(0, 10), Scale(0, 1), title="t", description="d")
    (left_bottom, right_top) = chart.at([0, 10], [0, 1])
    assert left_bottom.tolist() == [chart.left, chart.height - chart.bottom]
    assert right_top.tolist() == [chart.width - chart.right, chart.top]
    chart.points([5], [0.5])
    chart.line([0, 10], [0, 1], dashed=True)
    chart.box((0, 5), (0, 0.5), opacity=0.5)
    root = ElementTree.fromstring(chart.svg())
    assert len(root.findall(".//circle")) == 1
    assert len(root.findall(".//polyline")) == 1
    assert len(root.findall(".//rect")) == 1


def test_bars_begin_at_zero() -> None:
    root = ElementTree.fromstring(bars(["up", "down"], [3.0, -1.0], title="t", errors=[0.5, 0.25]))
    styles = [each.attrib["style"] for each in root.iter("i")]
    assert styles == ["margin-left:25.00%;width:75.00%", "margin-left:0.00%;width:25.00%"]
    assert [each.text for each in root.iter("td") if each.attrib["class"] == "n"] == ["+3.00 ± 0.50", "−1.00 ± 0.25"]


def test_a_cloud_of_any_size_is_small() -> None:
    rng = np.random.default_rng(0)
    chart = Chart(Scale(-4, 4), Scale(-4, 4), title="t", description="d")
    density(chart, rng.normal(size=100_000), rng.normal(size=100_000))
    assert len(chart.svg()) < 300_000


def test_a_thinned_line_keeps_its_ends_and_shape() -> None:
    x = np.linspace(0, 1, 10_000)
    a, b = thinned(x, x**2, most=100)
    assert len(a) <= 100
    assert (a[0], b[0], a[-1], b[-1]) == (0, 0, 1, 1)
    np.testing.assert_allclose(b, a**2)


def test_small_words() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abc", 4) == "abc"
    assert escaped('<a b="\'&\x00">') == "&lt;a b=&quot;&#x27;&amp;�&quot;&gt;"
    assert drawing(1, 2, "a", "b", []).startswith('<svg class="chart" role="img" viewBox="0 0 1 2"')
