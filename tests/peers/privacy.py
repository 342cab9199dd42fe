"""Which of scikit-learn's tests look inside it, by reading their source.

A test is *private* if it, or a function, class, constant or fixture of its file that it uses, mentions

- a name imported from a module of scikit-learn with a leading underscore in its path (``sklearn.linear_model._ridge``),
  unless the package above has the same name for everyone (``ExtraTreesClassifier`` of ``sklearn.ensemble._forest``) or
  it is a mere number (``TREE_LEAF``);
- an attribute with a leading underscore (``model._fit_X``; not of ``self`` or ``cls``, which are classes of the test's
  own, nor of NumPy and the like), by dot or as a string for ``getattr``, ``setattr``, ``hasattr`` or a patch;
- the methods by which pickle takes an object apart.

What only serves to write tests (``sklearn.utils._testing``, mocks, lists of array libraries, anything in a folder
``tests``) is not the inside of an estimator, and does not count.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType

HELPERS = ("sklearn.utils._testing", "sklearn.utils._mocking", "sklearn.utils._test_common", "sklearn.utils._array_api")
TAKING_APART = {"__getstate__", "__setstate__", "__reduce__"}
BY_STRING = {"getattr", "setattr", "hasattr", "delattr", "patch", "object"}  # the last two of unittest.mock
FOREIGN = {"self", "cls", "np", "numpy", "scipy", "sp", "pytest", "os", "sys"}


class TestFile:
    """The source of one module of tests."""

    __test__ = False

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.private_imports = {name for node in self.tree.body for name in _private_names(node)}

    @classmethod
    def of(cls, module: str) -> TestFile:
        spec = importlib.util.find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        return cls(Path(spec.origin).read_text(encoding="utf-8"))

    @cached_property
    def definitions(self) -> dict[str, list[ast.stmt]]:
        """Functions, classes and constants by name; a name may be assigned more than once."""
        found: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for name in _defined(node):
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def private(self) -> frozenset[str]:
        """Names of the tests that are private."""
        looks = {
            name: any(self._looks_inside(node) for node in nodes) or name in self.private_imports
            for name, nodes in self.definitions.items()
        }
        tests = [name for name in self.definitions if name.startswith("test")]
        return frozenset(name for name in tests if any(looks[each] for each in self._reached(name)))

    def _reached(self, name: str) -> set[str]:
        """The definitions that a test uses, itself included."""
        reached, ahead = set[str](), [name]
        while ahead:
            at = ahead.pop()
            if at not in reached:
                reached.add(at)
                used = {each for node in self.definitions[at] for each in _used(node)}
                ahead.extend(used & self.definitions.keys())
        return reached

    def _looks_inside(self, definition: ast.stmt) -> bool:
        inner = {name for node in ast.walk(definition) for name in _private_names(node)}
        if inner or _used(definition) & self.private_imports:
            return True
        return any(_private_attribute(node) for node in ast.walk(definition))


def _private_names(node: ast.AST) -> Iterator[str]:
    """Names that an import statement takes from the inside of scikit-learn."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
        module = node.module or ""
        for each in node.names:
            if _is_private(module, each.name):
                yield each.asname or each.name
    elif isinstance(node, ast.Import):
        for each in node.names:
            if each.asname and each.name.startswith("sklearn.") and _underscored(each.name):
                yield each.asname


def _is_private(module: str, name: str) -> bool:
    if module.startswith(HELPERS) or "tests" in module.split("."):
        return False
    if not _underscored(module):  # a name of a public module; only if it is itself a module does it lead inside
        return name.startswith("_") and isinstance(getattr(importlib.import_module(module), name, None), ModuleType)
    above = importlib.import_module(module[: module.index("._")])
    constant = isinstance(getattr(importlib.import_module(module), name, None), (int, float, str))
    return name.startswith("_") or not (constant or hasattr(above, name))


def _underscored(path: str) -> bool:
    return any(part.startswith("_") for part in path.split("."))


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    else:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                yield each.id


def _used(node: ast.AST) -> set[str]:
    """Names that are read, and the arguments of functions, which may be fixtures."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    return names | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}


def _private_attribute(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        hidden = node.attr in TAKING_APART or (node.attr.startswith("_") and not node.attr.startswith("__"))
        return hidden and _root(node) not in FOREIGN
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        words = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return called in BY_STRING and any(_underscored(word) and not word.startswith("__") for word in words)
    return False


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
