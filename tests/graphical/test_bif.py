"""BIF: files of the bnlearn repository, round trips, and damage told by its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corollary import BayesianNetwork, read_bif, to_bif
from corollary.graphical.bif_words import BIFError

FILES = sorted((Path(__file__).parents[3] / "shared" / "data" / "bayesnet").glob("*.bif"))

RAIN = """network "a name" { property software x; }
// rain and what follows
variable rain { type discrete [ 2 ] { yes, no }; property p = 3; }
variable "wet grass" {
  type discrete [ 3 ] { 0, 1, 1.5 };  /* states
  that look like numbers */
}
probability ( rain ) { table 0.2, 0.8; }
probability ( "wet grass" | rain ) {
  (yes) 0.1, 0.2, 0.7;
  default 0.5 0.25 0.25;
}
"""


def equal(one: BayesianNetwork, two: BayesianNetwork) -> None:
    assert one.variables_.tolist() == two.variables_.tolist()
    for name in ("states_", "parents_", "tables_"):
        for a, b in zip(getattr(one, name), getattr(two, name), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not FILES, reason="needs ../shared/data/bayesnet")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_files_round_trip(path: Path, tmp_path: Path) -> None:
    network = read_bif(path)
    assert len(network.variables_) == path.read_text().count("variable ")
    to_bif(network, tmp_path / "copy.bif")
    equal(read_bif(tmp_path / "copy.bif"), network)


def test_the_grammar() -> None:
    network = read_bif(RAIN)
    assert network.variables_.tolist() == ["rain", "wet grass"]
    assert network.states_[1].tolist() == ["0", "1", "1.5"]
    np.testing.assert_array_equal(network.tables_[1], [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    assert network.query("wet grass", {"rain": "yes"})["wet grass"]["1.5"] == pytest.approx(0.7)
    assert network.query("rain", {"wet grass": 1}).given == {"wet grass": "1"}
    equal(read_bif(to_bif(network)), network)


def test_odd_names_round_trip() -> None:
    states = {"a b": ["x, y", "(z)"], "c|d": ["//", "/* */", "a/b"], "Übel": ["1e5", "é"]}
    tables = {
        "a b": [0.5, 0.5],
        "c|d": (["a b"], np.full((2, 3), 1 / 3)),
        "Übel": (["a b", "c|d"], np.full((2, 3, 2), 0.5)),
    }
    network = BayesianNetwork.from_tables(tables, states)
    equal(read_bif(to_bif(network)), network)
    with pytest.raises(ValueError, match="BIF cannot hold the name"):
        to_bif(BayesianNetwork.from_tables({'say "a"': [1.0]}))


def test_random_tables_round_trip() -> None:
    rng = np.random.default_rng(0)
    tables = {"a": rng.dirichlet(np.ones(7)), "b": (["a"], rng.dirichlet(np.ones(23) * 1e-2, size=7))}
    network = BayesianNetwork.from_tables(tables)
    again = read_bif(to_bif(network))
    for one, two in zip(network.tables_, again.tables_, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_whole_table_has_the_variable_first() -> None:
    """As the format says: P(child = first state | each parent state), then the second state."""
    text = RAIN.split("probability")[0] + "probability ( rain ) { table 0.2, 0.8; }\n"
    table = 'probability ( "wet grass" | rain ) { table 0.1 0.5 0.2 0.25 0.7 0.25; }'
    equal(read_bif(text + table), read_bif(RAIN))
    table = 'probability ( "wet grass" | rain ) { table 0.1 0.2 0.7 0.5 0.25 0.25; }'  # as some write it
    equal(read_bif(text + table), read_bif(RAIN))


def test_printed_numbers_are_scaled_and_said_so() -> None:
    text = RAIN.replace("0.1, 0.2, 0.7", "0.33333, 0.33333, 0.33333")
    with pytest.warns(UserWarning, match="sum to one only to 1e-05"):
        network = read_bif(text)
    np.testing.assert_allclose(network.tables_[1].sum(axis=-1), 1.0, atol=1e-15)


DAMAGE: dict[str, tuple[str, str, int, str]] = {
    "sum": ("0.1, 0.2, 0.7", "0.1, 0.2, 0.6", 9, "sums to 0.9 for rain = yes"),
    "too few numbers": ("0.1, 0.2, 0.7", "0.1, 0.9", 10, "needs 3 numbers, not 2"),
    "no number": ("0.1, 0.2, 0.7", "0.1, o.2, 0.7", 10, "'o.2' is not a probability"),
    "negative": ("0.1, 0.2, 0.7", "-0.1, 0.4, 0.7", 10, "'-0.1' is not a probability"),
    "NaN": ("0.1, 0.2, 0.7", "nan, 0.4, 0.7", 10, "'nan' is not a probability"),
    "unknown state": ("(yes)", "(maybe)", 10, "no state 'maybe'; its states are 'yes', 'no'"),
    "unknown variable": ("( rain ) {", "( reign ) {", 8, "no variable 'reign'"),
    "states miscounted": ("[ 3 ]", "[ 4 ]", 5, "to have 4 states, but 3 are listed"),
    "equal states": ("0, 1, 1.5", "0, 1, 1", 5, "must be different"),
    "no semicolon": ("0.2, 0.8;", "0.2, 0.8", 8, "'}' came where 'a name' was expected"),
    "missing row": ("  default 0.5 0.25 0.25;\n", "", 9, "has no row for rain = no"),
    "continuous": ("discrete [ 3 ]", "continuous [ 3 ]", 5, "only discrete"),
    "unfinished comment": ("that look like numbers */", "", 5, "does not end"),
    "missing table": ("probability ( rain ) { table 0.2, 0.8; }", "", 13, "no 'probability' block for 'rain'"),
    "two tables": ('( "wet grass" | rain )', "( rain )", 9, "two tables for 'rain'"),
    "declared twice": ('"wet grass" {', "rain {", 4, "declared twice"),
    "other words": ("network", "netwrok", 1, "'netwrok' came where"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_told_by_its_line(what: str) -> None:
    old, new, line, message = DAMAGE[what]
    assert old in RAIN
    with pytest.raises(BIFError, match=message) as caught:
        read_bif(RAIN.replace(old, new, 1))
    assert caught.value.line == line


def test_a_file_that_ends_early_never_passes() -> None:
    for end in range(0, len(RAIN) - 2, 7):
        text = RAIN[:end]
        with pytest.raises((ValueError, FileNotFoundError, IsADirectoryError)):
            read_bif(text if "{" in text else "{" + text)


def test_a_cycle_is_named() -> None:
    text = RAIN.replace(
        "probability ( rain ) { table 0.2, 0.8; }", 'probability ( rain | "wet grass" ) { default 0.5, 0.5; }'
    )
    with pytest.raises(ValueError, match=r"cycle: .*rain"):
        read_bif(text)
