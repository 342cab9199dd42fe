"""BIF that is damaged on purpose: what a file asks for is known before it is made, and every name comes back."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import BayesianNetwork, read_bif, to_bif
from corollary.core import memory
from corollary.graphical import bif
from corollary.graphical.bif_words import BIFError

VARIABLE = "variable a { type discrete [ 2 ] { x, y }; }\n"
TABLE = "probability ( a ) { table 0.5, 0.5; }\n"


def wide(children: int, parents: int) -> str:
    """Variables that all have the same parents, with a table that is one row in the file."""
    names = [f"v{i}" for i in range(parents + children)]
    text = "".join(f"variable {name} {{ type discrete [ 2 ] {{ x, y }}; }}\n" for name in names)
    text += "".join(f"probability ( {name} ) {{ table .5, .5; }}\n" for name in names[:parents])
    above = ", ".join(names[:parents])
    return text + "".join(f"probability ( {name} | {above} ) {{ default .5, .5; }}\n" for name in names[parents:])


def test_all_tables_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        BIFError, match=r"with that of 'v25' the tables would have 67108914 entries, 0.5 GB; the most is"
    ):
        read_bif(wide(41, 25))
    monkeypatch.setattr(bif, "LARGEST", 10_000)
    assert len(read_bif(wide(4, 10)).variables_) == 14
    with pytest.raises(BIFError, match=r"with that of 'v14' the tables would have 10260 entries, 0.0 GB") as caught:
        read_bif(wide(41, 10))
    assert caught.value.line == 51 + 10 + 5


def test_sizes_beyond_any_machine_are_told() -> None:
    with pytest.raises(BIFError, match=r"the tables would have about 10\^18 entries, about 10\^19 bytes"):
        read_bif(wide(1, 60))
    with pytest.raises(BIFError, match="'v70' has 70 parents; the most is 63"):
        read_bif(wide(1, 70).replace("[ 2 ] { x, y }", "[ 1 ] { x }").replace(".5, .5", "1"))


def test_tables_are_held_against_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_free_memory", lambda: 10_000)
    with pytest.raises(
        MemoryError, match=r"BIF, line 22: the table of 'v10' would take .* Instead, give it fewer parents"
    ):
        read_bif(wide(1, 10))


def test_time_grows_with_the_file() -> None:
    many = 8000
    text = f"variable a {{ type discrete [ {many} ] {{ {','.join(f's{i}' for i in range(many))} }}; }}\n"
    text += "variable b { type discrete [ 2 ] { x, y }; }\n"
    text += f"probability ( a ) {{ table {','.join([repr(1 / many)] * many)}; }}\n"
    text += f"probability ( b | a ) {{ {''.join(f'(s{i}) .5 .5;' for i in range(many))} }}"
    began = process_time()
    read_bif(text)
    for hostile in ("network x " + "{" * 1_000_000, "network x { {" * 100_000, VARIABLE + "/ " * 500_000):
        with pytest.raises(BIFError):
            read_bif(hostile)
    assert process_time() - began < 3.0


DAMAGE = {
    "no states": ("variable a { type discrete [ 0 ] { }; }\n" + TABLE, 1, "'a' has no states"),
    "two types": (VARIABLE.replace("; }", ";\ntype discrete [ 1 ] { z }; }") + TABLE, 2, "'a' has two types"),
    "two tables": (
        VARIABLE + "probability ( a ) {\n table .5 .5;\n table .2 .8; }",
        4,
        "there already, before this 'table'",
    ),
    "two defaults": (VARIABLE + "probability ( a ) {\n default .5 .5;\n default .2 .8; }", 4, "before this 'default'"),
    "a brace in a property": ("variable a { property p } ;\n" + TABLE, 1, "'}' came where ';' was expected"),
    "a key word in quotes": ('"variable" a { }', 1, "'variable' came where 'variable' or 'probability'"),
    "a mark in quotes": (VARIABLE.replace("};", '"}";') + TABLE, 1, "';' came where 'a name' was expected"),
    "NUL": (VARIABLE + "\n\0" + TABLE, 3, "NUL character"),
    "lines without braces": ("variable a\nprobability", 2, "'probability' came where '{' was expected"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_told_by_its_line(what: str) -> None:
    text, line, message = DAMAGE[what]
    with pytest.raises(BIFError, match=message) as caught:
        read_bif(text)
    assert caught.value.line == line


def test_spaces_of_other_kinds_are_spaces() -> None:
    assert read_bif(VARIABLE.replace(" ", "\u00a0") + TABLE).query("a")["a"] == {"x": 0.5, "y": 0.5}


def test_an_empty_text_is_not_a_folder() -> None:
    with pytest.raises(ValueError, match="source is an empty text"):
        read_bif("")


def test_files_in_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "old.bif"
    path.write_bytes((VARIABLE + "// é\r" + TABLE).replace("x", "ü").encode("latin-1"))
    with pytest.raises(BIFError, match=r"the byte 0xfc is not utf-8: say .* encoding='latin-1'"):
        read_bif(path)
    assert read_bif(path, encoding="latin-1").states_[0].tolist() == ["ü", "y"]
    with pytest.raises(ValueError, match="encoding must be one that Python knows"):
        read_bif(path, encoding="no-such")
    path.write_text("\ufeff" + VARIABLE + TABLE, encoding="utf-8")
    assert read_bif(path).variables_.tolist() == ["a"]


PRINTABLE = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"], exclude_characters='"'), max_size=6)
MARKS = st.sampled_from(["}", "{", ";", ",", "(", ")", "|", "[", "]", "//", "/*", "table", "default", "type", "", " "])
NAMES = st.lists(PRINTABLE | MARKS, min_size=2, max_size=2, unique=True)


@settings(max_examples=60, deadline=None)
@given(NAMES, NAMES, NAMES)
def test_any_printable_names_come_back(names: list[str], one: list[str], two: list[str]) -> None:
    states = dict(zip(names, (one, two), strict=True))
    tables = {names[0]: [0.25, 0.75], names[1]: ([names[0]], [[0.1, 0.9], [0.3, 0.7]])}
    network = BayesianNetwork.from_tables(tables, states)
    again = read_bif(to_bif(network))
    assert again.variables_.tolist() == names
    assert [labels.tolist() for labels in again.states_] == [one, two]
    for before, after in zip(network.tables_, again.tables_, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["a\rb", "a\nb", "a\x85b", "a\x1bb", "\ud800"])
def test_control_characters_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"BIF cannot hold the name .* control character"):
        to_bif(BayesianNetwork.from_tables({name: [1.0]}))
