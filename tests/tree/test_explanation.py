"""Explanations: what they show, in words and in pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse

from corollary.core.evidence import Certificate, Kind
from corollary.core.explanation import Explanation


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    plt.close("all")


def explanation(n_outputs: int = 1, rows: int = 40, data: Any = None) -> Explanation:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(rows, 4, n_outputs)) * np.array([1.0, 4.0, 0.0, 2.0])[:, None]
    cells = rng.normal(size=(rows, 4))
    cells[:, 3] = rng.integers(0, 2, size=rows)
    cells[0, 0] = np.nan
    return Explanation(
        values=values[..., 0] if n_outputs == 1 else values,
        base_values=0.5 if n_outputs == 1 else np.full(n_outputs, 0.5),
        data=cells if data is None else data,
        feature_names=("age", "income", "idle", "colour"),
        output_names=("",) if n_outputs == 1 else ("no", "yes")[:n_outputs],
        meaning="prediction",
        certificate=Certificate(Kind.OPTIMAL, "distance", 0.0, 1e-9),
        categories={3: np.array(["blue", "red"])},
    )


def test_predictions_and_importances() -> None:
    one, two = explanation(), explanation(2)
    np.testing.assert_allclose(one.predictions, 0.5 + one.values.sum(axis=1))
    np.testing.assert_allclose(one.importances(), np.abs(one.values).mean(axis=0))
    np.testing.assert_allclose(two.importances(), 0.5 * (two.importances("no") + two.importances("yes")))
    np.testing.assert_allclose(two.importances(1), two.importances("yes"))
    assert two.predictions.shape == (40, 2)


def test_cells_in_words() -> None:
    one = explanation()
    assert one.shown(0, 0) == "missing"
    assert one.shown(0, 3) in ("blue", "red")
    assert "40 rows by 4 columns" in repr(one)
    sparse = explanation(data=scipy.sparse.csr_array(np.full((40, 4), 2.0)))
    assert sparse.shown(1, 1) == "2"


def test_dots_show_every_row_and_the_columns_that_matter() -> None:
    axes = explanation().plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age", "colour", "income"]
    assert sum(len(dots.get_offsets()) for dots in axes.collections) == 3 * 40
    found = explanation()
    places = np.concatenate([np.asarray(dots.get_offsets())[:, 0] for dots in found.plot(top=1).collections])
    np.testing.assert_allclose(np.sort(places), np.sort(found.values[:, 1]))


def test_dots_stay_in_their_line() -> None:
    axes = explanation(rows=3000).plot()
    heights = np.concatenate([dots.get_offsets()[:, 1] for dots in axes.collections])
    assert np.abs(heights - np.round(heights)).max() <= 0.45


def test_bars() -> None:
    axes = explanation().plot(kind="bars")
    np.testing.assert_allclose(sorted(bar.get_width() for bar in axes.patches), sorted(explanation().importances())[1:])
    several = explanation(2).plot()
    assert [text.get_text() for text in several.get_legend().get_texts()] == ["no", "yes"]
    assert several.get_xlabel().endswith("(prediction), 2 outputs added up")
    assert "of yes" in explanation(2).plot("yes").get_xlabel()


def test_steps_lead_from_base_to_prediction() -> None:
    found = explanation()
    axes = found.plot_row(3, top=2)
    bars = axes.patches
    assert len(bars) == 3  # two columns and the rest
    np.testing.assert_allclose(bars[0].get_x(), 0.5)
    np.testing.assert_allclose(bars[-1].get_x() + bars[-1].get_width(), found.predictions[3])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "2 other columns"
    largest = found.feature_names[int(np.argmax(np.abs(found.values[3])))]
    assert labels[-1].startswith(f"{largest} = ")


def test_steps_of_the_likeliest_output() -> None:
    found = explanation(2)
    axes = found.plot_row(0)
    assert axes.get_xlabel() == f"prediction of {('no', 'yes')[int(np.argmax(found.predictions[0]))]}"


def test_given_axes_are_used() -> None:
    _, axes = plt.subplots()
    assert explanation().plot(ax=axes) is axes
    assert explanation().plot_row(0, ax=axes) is axes


def test_refusals_name_what_there_is() -> None:
    with pytest.raises(ValueError, match="dots"):
        explanation().plot(kind="pie")
    with pytest.raises(ValueError, match="name one of"):
        explanation(2).plot(kind="dots")
    with pytest.raises(ValueError, match="one of"):
        explanation(2).plot("maybe")
    with pytest.raises(ValueError, match="40 rows"):
        explanation().plot_row(40)
