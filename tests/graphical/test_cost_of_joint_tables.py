"""Joint tables are priced before anything is built, whatever the number of variables."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from corollary import BayesianNetwork
from corollary.core.memory import counted, in_bytes


def chain(size: int, states: int = 2) -> BayesianNetwork:
    even = 1 / states
    tables = {f"x{i}": ([f"x{i - 1}"], np.full((states, states), even)) for i in range(1, size)}
    return BayesianNetwork.from_tables({"x0": np.full(states, even), **tables})


@pytest.mark.parametrize("method", ["auto", "elimination"])
def test_a_joint_table_that_no_machine_holds_is_refused_at_once(method: str) -> None:
    network = chain(1100)
    began = process_time()
    with pytest.raises(MemoryError, match=r"10\^331 entries \(treewidth 1099\) and would take about 10\^332 bytes"):
        network.query(joint=True, method=method)
    with pytest.raises(MemoryError, match="ask for fewer variables together, or without joint=True"):
        network.query([f"x{i}" for i in range(200)], joint=True, method=method)
    assert process_time() - began < 2.0


def test_what_is_asked_for_and_given_is_in_the_table_too() -> None:
    network = chain(60)
    given = {f"x{i}": 0 for i in range(50)}
    assert network.query(joint=True, given=given).joint.shape == (2,) * 10
    with pytest.raises(MemoryError, match="would take about 10"):
        network.query(network.variables_.tolist(), given, joint=True)


def test_the_cost_of_a_joint_table_counts_it() -> None:
    cost = chain(1100).query_cost(joint=True)
    assert cost.entries == 2**1100
    assert str(cost) == "treewidth 1099, about 10^331 table entries, about 10^332 bytes"
    small = chain(10)
    assert small.query_cost(joint=True).largest_clique == 2**10
    assert small.query_cost(joint=True) == small.query_cost(small.variables_.tolist(), joint=True)
    assert small.query_cost(joint=True, given=["x9"]).largest_clique == 2**9


def test_more_axes_than_arrays_have() -> None:
    with pytest.raises(ValueError, match="at most 64 variables, an axis each, not for 70"):
        chain(70, states=1).query(joint=True)


def test_sizes_for_people() -> None:
    assert in_bytes(3 * 10**9) == "3.0 GB"
    assert in_bytes(10**331) == "about 10^331 bytes"
    assert counted(12) == "12"
