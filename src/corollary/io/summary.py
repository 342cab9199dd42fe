"""What is in a model file, told without constructing the model."""

from __future__ import annotations

import inspect as signatures
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corollary.io.archive import Archive
from corollary.io.card import ModelCard
from corollary.io.classes import resolve_class
from corollary.io.decode import Decoder
from corollary.io.encode import Encoder
from corollary.io.errors import ModelFileError
from corollary.io.places import Place, describe, is_named, of_element

_SHOWN = 12


@dataclass(frozen=True)
class ArraySummary:
    """One array of a model file and the first place where the model uses it."""

    place: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True)
class EstimatorSummary:
    """One estimator of a model file: its parameters as text, the names of those that differ from their defaults."""

    place: str
    class_id: str
    parameters: dict[str, str]
    changed: frozenset[str]
    nested: tuple[EstimatorSummary, ...]

    def lines(self, indent: int = 0) -> Iterator[str]:
        shown = {name: text for name, text in self.parameters.items() if name in self.changed and text != "…"}
        own = ", ".join(f"{name}={text}" for name, text in shown.items())
        label = f"{self.place}: " if indent else ""
        yield f"{'  ' * indent}{label}{self.class_id}({own})"
        for nested in self.nested:
            yield from nested.lines(indent + 1)


@dataclass(frozen=True)
class ModelSummary:
    """The content of a model file.

    ``versions`` holds the versions of python, numpy, scipy and scikit-learn at the time of saving; ``evidence`` is the
    sentence with which the model answers "is this the answer?", or None for a model without evidence. ``card`` is what
    ``compare --save`` knew of the model, or None.
    """

    path: str
    file_bytes: int
    format_version: int
    library_version: str
    created: str
    versions: dict[str, str]
    estimator: EstimatorSummary
    arrays: tuple[ArraySummary, ...]
    evidence: str | None
    card: ModelCard | None = None

    @property
    def class_id(self) -> str:
        return self.estimator.class_id

    @property
    def parameters(self) -> dict[str, str]:
        return self.estimator.parameters

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.class_id.partition(':')[2]}, {size_text(self.file_bytes)}"]
        lines += [f"{label.lower()}: {text}" for label, text in self.about()]
        lines += ["", *self.structure(), *([] if self.card else self._largest())]
        return "\n".join(map(_printable, lines))

    def about(self) -> list[tuple[str, str]]:
        """What there is to say of the model, its card included: labels and what stands beside them."""
        others = "".join(f"; {name} {version}" for name, version in self.versions.items() if name != "corollary")
        written = f"{self.created} by corollary {self.library_version} (format {self.format_version}"
        written += ")" if self.card is not None else f"{others})"
        found = [] if self.card is None else self.card.lines()
        found += [("Evidence", self.evidence)] if self.evidence else []
        return [(label, _printable(text)) for label, text in (*found, ("Written", written))]

    def structure(self) -> list[str]:
        """The estimators in it, with the parameters that are not as usual, and how much they hold."""
        lines = [*self.estimator.lines()]
        if self.arrays:
            total = size_text(sum(array.nbytes for array in self.arrays))
            lines += ["", f"{len(self.arrays)} array{'s' * (len(self.arrays) != 1)}, {total}"]
        return [_printable(line) for line in lines]

    def _largest(self) -> list[str]:
        largest = sorted(self.arrays, key=lambda array: -array.nbytes)
        lines = [f"  {a.place}: {a.dtype} {a.shape}, {size_text(a.nbytes)}" for a in largest[:_SHOWN]]
        rest = len(largest) - _SHOWN
        return [*lines, f"  and {rest} smaller one{'s' * (rest != 1)}"] if rest > 0 else lines

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "path": self.path, "bytes": self.file_bytes, "format_version": self.format_version,
            "created": self.created, "versions": self.versions, "evidence": self.evidence,
            "card": None if self.card is None else self.card.to_json(), "model": _tree(self.estimator),
            "arrays": [asdict(array) for array in self.arrays],
        }  # fmt: skip


def _tree(estimator: EstimatorSummary) -> dict[str, Any]:
    return {
        "place": estimator.place, "class": estimator.class_id, "parameters": estimator.parameters,
        "changed": sorted(estimator.changed), "nested": [_tree(each) for each in estimator.nested],
    }  # fmt: skip


def summarize(path: Path, archive: Archive) -> ModelSummary:
    """Read the whole file, checking every hash, and describe it."""
    header = archive.header
    for number in range(len(header.arrays)):
        archive.read(number)
    walk = _Walk()
    top: list[EstimatorSummary] = []
    walk.visit(header.model, (), (), top)
    if len(top) != 1:
        raise ModelFileError("it does not hold an estimator")
    arrays = tuple(
        ArraySummary(walk.arrays.get(number, "unused"), str(np.dtype(entry.dtype)), entry.shape, entry.nbytes)
        for number, entry in enumerate(header.arrays)
    )
    return ModelSummary(
        path=str(path),
        file_bytes=path.stat().st_size,
        format_version=header.format_version,
        library_version=header.versions["corollary"],
        created=header.created,
        versions=header.versions,
        estimator=top[0],
        arrays=arrays,
        evidence=_sentence(walk.evidence),
        card=header.card,
    )


class _Walk:
    """One pass over the tree of a file, which collects arrays, evidence and estimators with their places."""

    def __init__(self) -> None:
        self.arrays: dict[int, str] = {}
        self.evidence: list[tuple[Place, dict[str, Any]]] = []

    def visit(self, node: Any, place: Place, parent: Place, nested: list[EstimatorSummary]) -> None:
        if isinstance(node, list):
            for index, item in enumerate(node):
                is_tuple = isinstance(item, dict) and "tuple" in item
                self.visit(item, of_element(place, index, item["tuple"] if is_tuple else item), parent, nested)
        elif isinstance(node, dict):
            for kind, content in node.items():
                self._tagged(kind, content, place, parent, nested)

    def _tagged(self, kind: str, content: Any, place: Place, parent: Place, nested: list[EstimatorSummary]) -> None:
        if kind == "estimator":
            nested.append(self._estimator(content, place, parent))
        elif kind == "part":
            for name, item in content["parameters"].items():
                self.visit(item, (*place, name), parent, nested)
        elif kind == "array":
            self.arrays.setdefault(content, describe(place))
        elif isinstance(content, dict):
            if kind == "evidence":
                self.evidence.append((place, content))
            for name, item in content.items():
                self.visit(item, (*place, f"[{name!r}]"), parent, nested)
        elif kind == "tuple" and is_named(content):
            for item in content:
                self.visit(item, place, parent, nested)
        else:
            self.visit(content, place, parent, nested)

    def _estimator(self, content: Any, place: Place, parent: Place) -> EstimatorSummary:
        attributes = content["attributes"]
        shown: list[EstimatorSummary] = []
        for name, node in attributes.items():
            # where there is a fitted twin, it says more; what is private is nobody's business
            hidden = name.startswith("_") or f"{name}_" in attributes
            self.visit(node, (*place, name), place, [] if hidden else shown)
        parameters = {name: _text(node) for name, node in attributes.items() if name.strip("_") == name}
        changed = frozenset(parameters) - _unchanged(content["class"], attributes)
        return EstimatorSummary(
            describe(place[len(parent) :]), str(content["class"]), parameters, changed, tuple(shown)
        )


def _sentence(found: list[tuple[Place, dict[str, Any]]]) -> str | None:
    """The outermost evidence, in words; of a pipeline, that of its last step."""
    if not found:
        return None
    _, content = min(reversed(found), key=lambda item: len(item[0]))
    nothing: dict[str, Any] = {"dict": {}}
    return str(Decoder(_no_array).decode({"evidence": {**content, "history": nothing, "facts": nothing}}))


def _no_array(number: int) -> Any:
    raise ModelFileError(f"the sentence of its evidence would need array {number}")


def _unchanged(class_id: Any, attributes: dict[str, Any]) -> set[str]:
    """Names of the parameters that have their default value, as far as this version knows the class."""
    try:
        parameters = signatures.signature(resolve_class(class_id)).parameters
    except ModelFileError:
        return set()
    defaults = {name: parameter.default for name, parameter in parameters.items() if name in attributes}
    known = {name: default for name, default in defaults.items() if default is not signatures.Parameter.empty}
    return {name for name, default in known.items() if Encoder().encode(default) == attributes[name]}


def _text(node: Any) -> str:
    """A parameter for reading; estimators, arrays and long values are shown elsewhere or not at all."""
    if isinstance(node, dict):
        kind, content = next(iter(node.items()))
        if kind == "part":
            inside = ", ".join(f"{name}={_text(item)}" for name, item in content["parameters"].items())
            text = f"{content['class'].partition(':')[2]}({inside})"
        elif kind in ("float", "type", "function", "dtype", "scalar", "tuple"):
            text = str(content[1] if kind == "scalar" else content)
        else:
            return "…"
    else:
        text = repr(node)
    return text if len(text) <= 40 and "{" not in text else "…"


def _printable(line: str) -> str:
    # a file from a stranger must not move the reader's cursor
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def size_text(nbytes: int) -> str:
    """``"3.4 kB"``: thousands, as file managers count."""
    size, units = float(nbytes), iter(("B", "kB", "MB"))
    for unit in units:
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
