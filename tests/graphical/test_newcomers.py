"""What people try first: plain files, many values, columns called by numbers, and slips that deserve a clear answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from corollary import BayesianNetwork, BayesianNetworkClassifier, explain_query, read_bif, to_bif
from corollary.bayes.conjugate import Gamma
from corollary.core.memory import counted


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_of_many_values(frame: Any) -> None:
    rows = frame({"zip": [f"{i % 700:05d}" for i in range(2000)], "y": [0, 1] * 1000})
    assert len(BayesianNetwork([("y", "zip")]).fit(rows).states_[0]) == 700


def test_most_probable_states_of_many_variables() -> None:
    tables: dict[str, Any] = {"v0": [0.4, 0.6]}
    tables |= {f"v{i}": ([f"v{i - 1}"], [[0.9, 0.1], [0.2, 0.8]]) for i in range(1, 200)}
    found = BayesianNetwork.from_tables(tables).map_query()
    assert found.log_probability == pytest.approx(np.log(0.4) + 199 * np.log(0.9))
    assert counted(10**4000) == "about 10^4000"


def test_columns_called_by_numbers() -> None:
    network = BayesianNetwork([(0, 1)]).fit(pd.DataFrame([["a", "b"], ["c", "d"]]))
    assert network.query(1, {0: "a"})[1]["b"] == pytest.approx(2 / 3)
    swapped = BayesianNetwork([(1, 0)]).fit(pd.DataFrame({1: ["a", "b"], 0: ["c", "d"]}))
    assert swapped.parents_[1].tolist() == [0]
    by_place = BayesianNetwork([(0, 1)], states={0: [0, 1, 2]}).fit(np.array([[0, 1], [1, 0], [1, 1]]))
    assert by_place.query(1, {0: 1})[1] == by_place.query("x1", {"x0": 1})["x1"]
    assert len(by_place.query(0)[0]) == 3


def test_files_keep_cuts_and_types() -> None:
    rows = pd.DataFrame({"age of": np.arange(40.0), "y": [0, 1] * 20})
    network = BayesianNetwork([("age of", "y")]).fit(rows)
    text = to_bif(network)
    assert text.isascii()
    assert '"' not in text
    again = read_bif(text)
    assert again.variables_.tolist() == network.variables_.tolist()
    assert [each.tolist() for each in again.states_] == [each.tolist() for each in network.states_]
    assert again.query("y", {"age of": 30}) == network.query("y", {"age of": 30})
    with pytest.raises(ValueError, match="do not fit its states"):
        read_bif(text.replace("corollary_cuts = ", "corollary_cuts = 99 "))


def test_slips() -> None:
    network = read_bif(
        "network u { } variable a { type discrete [ 2 ] { 0, 1 }; } probability ( a ) { table 0.2, 0.8; }"
    )
    answer = network.query("a", joint=True)
    assert answer["a"][1] == pytest.approx(0.8)
    with pytest.raises(KeyError, match="the states are '0', '1'"):
        answer["a"][7]
    with pytest.raises(ValueError, match="given must be a mapping"):
        network.query("a", "a=1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="given must be a mapping"):
        explain_query(network, {"a": 1}, "a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_samples must be"):
        network.sample(-1)


def test_the_class_by_another_name() -> None:
    X, y = pd.DataFrame({"sex": ["m", "f"] * 5}), pd.Series([0, 1] * 5, name="survived")
    with pytest.raises(ValueError, match="the class is called 'class'; pass target='survived'"):
        BayesianNetworkClassifier([("sex", "survived")]).fit(X, y)


def test_exposures_of_another_length() -> None:
    with pytest.raises(ValueError, match="exposure must be one number or 2"):
        Gamma(1, 1).update([1, 2], exposure=[1])
