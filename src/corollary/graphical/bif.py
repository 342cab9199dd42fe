"""The BIF format of Bayesian networks: read with a grammar that knows its lines, and written so that it reads back."""

from __future__ import annotations

import math
import os
import re
import unicodedata
import warnings
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from corollary.base import caller_level
from corollary.core.memory import check_memory, counted, in_bytes
from corollary.core.types import Array
from corollary.graphical.bif_words import BIFError, Word, Words
from corollary.graphical.given_tables import PRINTED, place_of, setting_words
from corollary.graphical.network import BayesianNetwork
from corollary.graphical.queries import MOST_AXES
from corollary.graphical.states import States, shown

ROUNDED = 1e-6  # sums nearer to one than this, as of thirds with seven digits, are scaled without a word
LARGEST = 1 << 26  # entries of tables that a file may ask for, all together
_NAME = re.compile(r"(?a:[A-Za-z_][\w.-]*)")  # what every reader of the format takes for a name
_STATE = re.compile(rf"{_NAME.pattern}|(?a:-?\d+)")
_TAKEN = frozenset(
    ["network", "variable", "probability", "property", "type", "discrete", "table", "default", "observed"]
)
_OURS = "corollary_"  # how properties begin that hold what plain words cannot
_TYPES: dict[str, Any] = {"int": int, "float": float, "bool": {"False": False, "True": True}.__getitem__}


def read_bif(source: str | os.PathLike[str], *, encoding: str = "utf-8") -> BayesianNetwork:
    """A network from a BIF file, or from its text.

    Parameters
    ----------
    source : path or str
        A text that contains ``{`` or a line break is the network itself.
    encoding : str, default "utf-8"
        Of a file: "latin-1" or "cp1252" for old ones.

    Returns
    -------
    network : BayesianNetwork
        States are text, as they stand in the file, numbers too; of a file of ``to_bif`` they are what they were. Rows
        whose sums are off one by no more than printing explains (1e-4) are scaled, with a warning if it is more than
        1e-6; others are refused. Errors have the number of the line.

    Examples
    --------
    >>> network = read_bif('''
    ... network unknown { }
    ... variable rain { type discrete [ 2 ] { yes, no }; }
    ... probability ( rain ) { table 0.2, 0.8; }
    ... ''')
    >>> network.query("rain")
    rain  yes: 0.2, no: 0.8
    """
    if source == "":
        raise ValueError("source is an empty text; give a path, or the text of a network.")
    is_text = isinstance(source, str) and ("{" in source or "\n" in source)
    return _Reader(Words(str(source) if is_text else _file_text(Path(source).read_bytes(), encoding))).network()


def _file_text(content: bytes, encoding: str) -> str:
    try:
        text = content.decode(encoding)
        return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    except LookupError:
        raise ValueError(
            f"encoding must be one that Python knows, such as 'latin-1', but it is {encoding!r}."
        ) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise BIFError(
            line, f"the byte 0x{byte:02x} is not {encoding}: say what the file is, such as encoding='latin-1'."
        ) from None


class _Reader:
    def __init__(self, words: Words) -> None:
        self.words = words
        self.states: dict[str, list[str]] = {}  # as the file calls them
        self.places: dict[str, dict[str, int]] = {}  # of states, by variable
        self.names: dict[str, str] = {}
        self.labels: dict[str, Array] = {}
        self.bins: dict[str, Array] = {}
        self.parents: dict[str, list[str]] = {}
        self.tables: dict[str, Array] = {}
        self.entries = 0  # of all tables
        self.off = 0.0

    def network(self) -> BayesianNetwork:
        words = self.words
        while words.peek() is not None:
            block = words.take()
            if block.written == "network":
                self._skip_network()
            elif block.written == "variable":
                self._variable()
            elif block.written == "probability":
                self._probability(block.line)
            else:
                raise BIFError(block.line, f"{block.text!r} came where 'variable' or 'probability' was expected.")
        if not self.states:
            raise BIFError(words.line, "there are no variables.")
        missing = [name for name in self.states if name not in self.tables]
        if missing:
            raise BIFError(words.line, f"there is no 'probability' block for {shown(missing)}.")
        if self.off > ROUNDED:
            warnings.warn(
                f"Rows of tables sum to one only to {self.off:.1g}, as printed numbers do; they were scaled.",
                UserWarning,
                stacklevel=caller_level(),
            )
        names = list(self.states)
        number = {name: v for v, name in enumerate(names)}
        parents = [[number[parent] for parent in self.parents[name]] for name in names]
        labels = [self.labels[name] for name in names]
        tables = [self.tables[name] for name in names]
        network = BayesianNetwork._made([self.names[name] for name in names], labels, parents, tables)
        network.bins_ = {v: self.bins[name] for v, name in enumerate(names) if name in self.bins}
        return network

    def _skip_network(self) -> None:
        while self.words.peek() not in ("{", None):
            self.words.take()
        self.words.take("{")
        while self.words.peek() not in ("}", None):
            self.words.statement()
        self.words.take("}")

    def _variable(self) -> None:
        name = self.words.take()
        if name.text in self.states:
            raise BIFError(name.line, f"the variable {name.text!r} is declared twice.")
        kept: dict[str, list[str]] = {}
        self.words.take("{")
        while self.words.peek() != "}":
            if self.words.peek() != "type":
                texts = [word.text for word in self.words.statement()]  # a property
                if texts[:1] == ["property"] and texts[1:2] and texts[1].startswith(_OURS):
                    kept[texts[1].removeprefix(_OURS)] = texts[3:]
                continue
            begin = self.words.take("type")
            if name.text in self.states:
                raise BIFError(begin.line, f"the variable {name.text!r} has two types.")
            kind = self.words.take()
            if kind.text != "discrete":
                raise BIFError(kind.line, f"{name.text!r} is {kind.text!r}; only discrete variables can be read.")
            self.words.take("[")
            size = self.words.take()
            self.words.take("]")
            self.words.take("{")
            states = self.words.listed("}")
            self.words.take(";")
            texts = [state.text for state in states]
            if size.text != str(len(texts)):
                raise BIFError(size.line, f"{name.text!r} is to have {size.text} states, but {len(texts)} are listed.")
            if not texts:
                raise BIFError(size.line, f"the variable {name.text!r} has no states.")
            if len(set(texts)) < len(texts):
                raise BIFError(size.line, f"states of {name.text!r} must be different, but they are {shown(texts)}.")
            self.states[name.text] = texts
            self.places[name.text] = {text: place for place, text in enumerate(texts)}
        self.words.take("}")
        if name.text not in self.states:
            raise BIFError(name.line, f"the variable {name.text!r} has no states ('type discrete [ … ] {{ … }};').")
        try:
            self._restore(name.text, kept)
        except (LookupError, ValueError):
            raise BIFError(name.line, f"the properties '{_OURS}…' of {name.text!r} do not fit its states.") from None

    def _restore(self, name: str, kept: dict[str, list[str]]) -> None:
        """What the variable and its states are called, and where it was cut, if ``to_bif`` has left it there."""
        (called,) = [_decoded(word) for word in kept.get("name", [_encoded(name)])]
        states = [_decoded(word) for word in kept["states"]] if "states" in kept else self.states[name]
        if len(states) != len(self.states[name]) or called in self.names.values():
            raise ValueError
        self.names[name] = called
        self.labels[name] = np.array([_TYPES[kept["type"][0]](each) for each in states] if "type" in kept else states)
        if len({label for label in self.labels[name].tolist() if label == label}) < len(states):
            raise ValueError
        if "cuts" in kept:
            cuts = np.array(kept["cuts"], dtype=np.float64)
            if len(cuts) != len(states) - 1 or not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
                raise ValueError
            self.bins[name] = cuts

    def _probability(self, line: int) -> None:
        self.words.take("(")
        name = self._known(self.words.take())
        parents: list[str] = []
        if self.words.peek() == "|":
            self.words.take("|")
            parents = [self._known(word) for word in self.words.listed(")")]
        else:
            self.words.take(")")
        if name in self.tables:
            raise BIFError(line, f"there are two tables for {name!r}.")
        if len({name, *parents}) < len(parents) + 1:
            raise BIFError(line, f"the parents of {name!r} must be different variables, but they are {shown(parents)}.")
        if len(parents) >= MOST_AXES:
            raise BIFError(line, f"{name!r} has {len(parents)} parents; the most is {MOST_AXES - 1}, an axis each.")
        self._count(name, math.prod(len(self.states[each]) for each in (*parents, name)), line)
        scopes = [States(each, np.array(self.states[each])) for each in (*parents, name)]
        values = np.full([scope.size for scope in scopes], np.nan)
        self.words.take("{")
        while self.words.peek() != "}":
            self._row(values, scopes)
        self.words.take("}")
        self.parents[name], self.tables[name] = parents, self._checked(values, scopes, line)

    def _count(self, name: str, entries: int, line: int) -> None:
        """Refuse a table before it is made: a short file can ask for a large one, and for many."""
        self.entries += entries
        if self.entries > LARGEST:
            size = f"{counted(self.entries)} entries, {in_bytes(8 * self.entries)}"
            raise BIFError(line, f"with that of {name!r} the tables would have {size}; the most is {LARGEST} entries.")
        work = 4 * entries  # beside the tables before it, which are there: what is checked, and its copies
        check_memory(8 * work, f"BIF, line {line}: the table of {name!r}", "give it fewer parents")

    def _known(self, word: Word) -> str:
        if word.text not in self.states:
            raise BIFError(word.line, f"there is no variable {word.text!r} before this line.")
        return word.text

    def _row(self, values: Array, scopes: list[States]) -> None:
        """``table …;``, ``default …;``, or ``(states of parents) …;``"""
        words, line = self.words, self.words.line
        first = words.peek()
        if first in ("table", "default"):
            words.take()
            numbers = self._numbers()
            empty = np.isnan(values).all(axis=-1)
            if not (empty.all() if first == "table" else empty.any()):
                raise BIFError(line, f"the table of {scopes[-1].name!r} is there already, before this {first!r}.")
            if first == "table":
                if len(numbers) != values.size:
                    raise BIFError(
                        line, f"the table of {scopes[-1].name!r} needs {values.size} numbers, not {len(numbers)}."
                    )
                values[...] = _ordered(np.array(numbers), values.shape)
                return
            self._place(values, scopes, line, numbers, empty)
        elif first == "(":
            words.take("(")
            settings = words.listed(")")
            if len(settings) != len(scopes) - 1:
                raise BIFError(
                    line, f"{scopes[-1].name!r} has {len(scopes) - 1} parents, but {len(settings)} states came."
                )
            at = tuple(self._state(scope, word) for scope, word in zip(scopes, settings, strict=False))
            if not np.isnan(values[at]).all():
                raise BIFError(line, f"{scopes[-1].name!r} has two rows for {setting_words(scopes, at)}.")
            self._place(values, scopes, line, self._numbers(), at)
        else:
            words.statement()  # a property

    def _state(self, scope: States, word: Word) -> int:
        places = self.places[scope.name]
        if word.text not in places:
            known = shown(self.states[scope.name])
            raise BIFError(word.line, f"{scope.name!r} has no state {word.text!r}; its states are {known}.")
        return places[word.text]

    def _place(self, values: Array, scopes: list[States], line: int, numbers: list[float], at: Any) -> None:
        if len(numbers) != scopes[-1].size:
            raise BIFError(line, f"a row of {scopes[-1].name!r} needs {scopes[-1].size} numbers, not {len(numbers)}.")
        values[at] = numbers

    def _numbers(self) -> list[float]:
        found = []
        for word in self.words.listed(";"):
            try:
                number = float(word.text)
            except ValueError:
                number = math.nan
            if not 0.0 <= number <= 1.0 + PRINTED:
                raise BIFError(word.line, f"{word.text!r} is not a probability.")
            found.append(number)
        return found

    def _checked(self, values: Array, scopes: list[States], line: int) -> Array:
        rows = values.reshape(-1, scopes[-1].size)
        gaps = np.isnan(rows).any(axis=-1)
        sums = rows.sum(axis=-1)
        off = np.where(gaps, np.inf, np.abs(sums - 1.0))
        worst = int(off.argmax())
        where = setting_words(scopes, place_of(worst, values.shape[:-1])) if len(scopes) > 1 else "it"
        if gaps.any():
            raise BIFError(line, f"the table of {scopes[-1].name!r} has no row for {where}.")
        if off[worst] > PRINTED:
            raise BIFError(line, f"the table of {scopes[-1].name!r} sums to {sums[worst]:.6g} for {where}, not to one.")
        self.off = max(self.off, float(off[worst]))
        # a sum that is off by rounding alone stays as it was printed, so that a file and its copy are equal
        exact = (off <= 1e-12)[:, None]
        scaled: Array = np.where(exact, rows, rows / sums[:, None]).reshape(values.shape)
        return scaled


def _ordered(numbers: Array, shape: tuple[int, ...]) -> Array:
    """A whole table: the variable itself first, as the format has it, or last, if only that sums to one."""
    first = np.moveaxis(numbers.reshape(shape[-1], *shape[:-1]), 0, -1)
    last = numbers.reshape(shape)
    off = [float(np.abs(each.sum(axis=-1) - 1.0).max()) for each in (first, last)]
    return last if off[1] <= PRINTED < off[0] else first


def to_bif(network: BayesianNetwork, path: str | os.PathLike[str] | None = None) -> str:
    """The network as BIF, also written to ``path`` if there is one; ``read_bif`` gives an equal network.

    Numbers are written with all their digits. Names and states that are no plain words, such as "≤ 1.5", are written as
    words that every reader of the format takes; what they were, and where numbers were cut, stands beside them as
    properties, which ``read_bif`` reads.
    """
    network._require_tables()
    network._refuse_beyond_tables(network._names)
    names, lines = _words(network._names, _NAME), ["network unknown {", "}"]
    states = [_words([str(state) for state in labels.tolist()], _STATE) for labels in network.states_]
    for v, name in enumerate(names):
        lines += [f"variable {name} {{", f"  type discrete [ {len(states[v])} ] {{ {', '.join(states[v])} }};"]
        lines += [f"  property {_OURS}{what} = {said};" for what, said in _beside(network, v, name, states[v])] + ["}"]
    for v, (name, table) in enumerate(zip(names, network.tables_, strict=True)):
        above = network.parents_[v].tolist()
        if not above:
            lines += [f"probability ( {name} ) {{", f"  table {_printed(table)};", "}"]
            continue
        lines.append(f"probability ( {name} | {', '.join(names[p] for p in above)} ) {{")
        for place in np.ndindex(*table.shape[:-1]):
            setting = ", ".join(states[p][i] for p, i in zip(above, place, strict=True))
            lines.append(f"  ({setting}) {_printed(table[place])};")
        lines.append("}")
    text = "\n".join([*lines, ""])
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _printed(row: Array) -> str:
    return ", ".join(repr(number) for number in row.tolist())


def _beside(network: BayesianNetwork, v: int, name: str, states: list[str]) -> list[tuple[str, str]]:
    """What plain words leave out of a variable: its own name, states, their type and cuts."""
    found, labels = [], network.states_[v]
    texts = [str(label) for label in labels.tolist()]
    if name != network._names[v]:
        found.append(("name", _encoded(network._names[v])))
    if states != texts:
        found.append(("states", " ".join(map(_encoded, texts))))
    if labels.dtype.kind in "ifb":
        found.append(("type", {"i": "int", "f": "float", "b": "bool"}[labels.dtype.kind]))
    if v in network.bins_:
        found.append(("cuts", " ".join(map(repr, network.bins_[v].tolist()))))
    return found


def _words(texts: list[str], plain: re.Pattern[str]) -> list[str]:
    """Different words of the format for names: each as it is if it is plain, or something near it."""
    fit = {text for text in texts if plain.fullmatch(text) and text not in _TAKEN}
    found: list[str] = []
    for text in texts:
        if '"' in text or any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
            raise ValueError(f"BIF cannot hold the name {text!r}: it has a quotation mark or a control character.")
        word = text
        if text not in fit:
            near = re.sub(r"(?a:[^\w.-]+)", "_", text.replace("≤", "up to").replace(">", "above"))
            near = near if _NAME.fullmatch(near) and near not in _TAKEN else f"_{near}"
            words = (near if k == 1 else f"{near}_{k}" for k in count(1))
            word = next(each for each in words if each not in fit)
            fit.add(word)
        found.append(word)
    return found


def _encoded(text: str) -> str:
    """Text as one word of letters that cannot be mistaken for marks of the format."""
    return quote(text, safe="") or "%"


def _decoded(word: str) -> str:
    return "" if word == "%" else unquote(word, errors="strict")
